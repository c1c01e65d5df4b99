"""Numbers by minute, and how many different ones there were."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.telemetry import distinct
from backscroll_sidecar.telemetry.distinct import Distinct
from backscroll_sidecar.telemetry.minutes import Minutes


class Tally:
    def __init__(self) -> None:
        self.count = 0

    def add(self, other: "Tally") -> None:
        self.count += other.count


steps = st.lists(
    st.tuples(st.floats(0, 5_000, allow_nan=False), st.sampled_from("ab")), max_size=30
)


@given(st.floats(0, 1e6), steps, st.floats(0, 8_000))
def test_each_event_counts_for_its_minute(
    began_s: float, steps: Sequence[tuple[float, str]], later_s: float
):
    """Since the start all of them; of the last hour those of the running minute and the 59 before it."""
    minutes, now_s, told = Minutes(Tally), began_s, []
    for step_s, label in steps:
        now_s += step_s
        minutes.tally(label, now_s).count += 1
        told.append((now_s, label))
    now_s += later_s
    for label in "ab":
        start = minutes.since_start().get(label, Tally()).count
        hour = minutes.last_hour(now_s).get(label, Tally()).count
        assert start == sum(one == label for _, one in told)
        late = [one for at_s, one in told if at_s // 60 > now_s // 60 - 60]
        assert hour == late.count(label)
    assert len(minutes._known[1]) <= 60


def test_an_hour_of_minutes_is_kept():
    """What is older is one sum, however long it goes on."""
    minutes = Minutes(Tally)
    for minute in range(500):
        minutes.tally("", minute * 60.0).count += 1
    assert minutes.since_start()[""].count == 500
    assert minutes.last_hour(499 * 60.0)[""].count == 60
    assert len(minutes._known[1]) == 60


def test_the_last_hour_ends_though_nothing_comes_after_it():
    """The running minute and the 59 before it: no more, also where no later event made the oldest one go."""
    minutes = Minutes(Tally)
    minutes.tally("", 0.0).count += 1
    assert minutes.last_hour(3_599.0)[""].count == 1
    assert minutes.last_hour(3_600.0) == {}


def test_different_ones_exactly_while_they_are_few():
    groups = Distinct()
    for n in range(5_000):
        groups.add(hash(("tenant", f"channel {n % 1_000}")), n * 2.0)
    assert groups.since_start() == 1_000
    assert groups.last_hour(9_999.0) == 1_000
    assert groups.last_hour(9_998.0 + 3_600 - 10.5) == 6
    assert groups.last_hour(1e9) == 0


def test_different_ones_estimated_when_they_are_many(monkeypatch: pytest.MonkeyPatch):
    """Memory is bounded; the estimate is within four standard errors (.8 %)."""
    monkeypatch.setattr(distinct, "MOST", 1_000)
    groups, count = Distinct(), 100_000
    for n in range(count):
        groups.add(hash(("tenant", n * 7919)), n * 1.0)
        groups.add(hash(("tenant", n * 7919)), n * 1.0)
    assert abs(groups.since_start() - count) / count < 0.032
    assert len(groups._last_s) <= 1_000
    assert 0 < groups.last_hour(count * 1.0) <= 1_000
