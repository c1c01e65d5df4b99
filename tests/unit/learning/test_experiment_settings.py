"""An experiment as it is kept: its times, who moves, what share each arm has."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.domain import Overrides, ScoreWeights
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.learning.experiment_settings import (
    AssignedBy,
    ExperimentSettings,
    ExperimentState,
    PlannedArm,
    moved_share,
    shares,
    with_times,
)
from backscroll_sidecar.learning.placing import Placing, fields_set
from backscroll_sidecar.ports import CONTROL, HOLDOUT, NOWHERE, ArmSettings

NOW = 1_000_000
part = st.floats(0.0, 1.0)
names = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4, unique=True)


@st.composite
def plans(draw):
    arms = [
        PlannedArm(name, draw(st.floats(0.1, 10.0)))
        for name in draw(names.filter(lambda some: HOLDOUT not in some and CONTROL not in some))
    ]
    return ExperimentSettings(tuple(arms), draw(part), draw(st.floats(0.0, 0.9)))


@given(plans(), st.lists(st.text(max_size=9), max_size=20))
def test_channels_are_where_the_shares_say(plan, channels):
    """Shares sum to what is in the experiment; each channel is in an arm that has a share, or in none."""
    wanted = shares(plan, "e")
    assert sum(wanted.values()) <= 1 + 1e-9
    if plan.has_control:
        assert sum(wanted.values()) == pytest.approx(1.0)
    placing = Placing("e", plan)
    for channel in channels:
        place = placing.of(channel)
        assert place is placing.of(channel)
        assert place is NOWHERE or place.arm in wanted


@given(plans(), part, st.lists(st.text(max_size=9), max_size=20))
def test_wider_moves_nobody_who_is_in(plan, coverage, channels):
    assume(coverage >= plan.coverage)
    wider = replace(plan, coverage=coverage)
    assert moved_share("e", plan, wider, NOW) == 0
    before, after = Placing("e", plan), Placing("e", wider)
    arms = {arm.name for arm in plan.arms} | {HOLDOUT}
    for channel in channels:
        if before.of(channel).arm in arms:
            assert after.of(channel).arm == before.of(channel).arm


def test_what_has_not_begun_moves_nobody_and_another_assignment_all():
    plan = ExperimentSettings((PlannedArm("a"), PlannedArm("b")))
    other = replace(plan, arms=(PlannedArm("b"), PlannedArm("a")))
    assert moved_share("e", None, plan, NOW) == 0
    assert moved_share("e", replace(plan, starts_at_ms=NOW + 1), other, NOW) == 0
    assert moved_share("e", plan, other, NOW) == 1
    by_resolver = replace(plan, assigned_by=AssignedBy.RESOLVER)
    assert moved_share("e", plan, by_resolver, NOW) == 1
    assert moved_share("e", by_resolver, replace(by_resolver, arms=other.arms), NOW) == 0
    assert shares(by_resolver, "e") == {"a": 0.5, "b": 0.5}


def test_times_go_by_the_servers_clock():
    plan = ExperimentSettings((PlannedArm("a"),))
    first = with_times(plan, None, NOW, None)
    assert (first.starts_at_ms, first.comparable_since_ms, first.assigned_since_ms) == (NOW,) * 3
    assert with_times(plan, None, NOW, NOW - 5).starts_at_ms == NOW
    later = with_times(plan, None, NOW, NOW + 5)
    assert later.starts_at_ms == later.comparable_since_ms == NOW + 5
    assert later.state_at(NOW) is ExperimentState.SCHEDULED
    # What began keeps its start; what changes says since when.
    wider = with_times(replace(plan, coverage=0.5), first, NOW + 9, None)
    assert (wider.starts_at_ms, wider.comparable_since_ms, wider.assigned_since_ms) == (
        NOW,
        NOW,
        NOW + 9,
    )
    changed = with_times(
        replace(plan, arms=(PlannedArm("a", 1.0, ArmSettings("steady")),)), wider, NOW + 20, 1
    )
    assert (changed.starts_at_ms, changed.comparable_since_ms, changed.assigned_since_ms) == (
        NOW,
        NOW + 20,
        NOW + 20,
    )
    described = with_times(replace(changed, description="new"), changed, NOW + 30, None)
    assert described.comparable_since_ms == NOW + 20
    stopped = changed.stopped_at(NOW + 40)
    assert [stopped.state_at(NOW + n) for n in (39, 40)] == [
        ExperimentState.RUNNING,
        ExperimentState.STOPPED,
    ]
    assert stopped.stopped_at(NOW + 50) == stopped
    with pytest.raises(InvalidRequest):
        with_times(replace(plan, stops_at_ms=NOW), None, NOW, None)


def test_two_overlap_where_there_is_a_moment_of_both():
    plan = ExperimentSettings((PlannedArm("a"),), starts_at_ms=10, stops_at_ms=20)
    for starts, stops, is_both in (
        (0, 10, False),
        (0, 11, True),
        (20, None, False),
        (19, None, True),
    ):
        other = replace(plan, starts_at_ms=starts, stops_at_ms=stops)
        assert plan.overlaps(other) is other.overlaps(plan) is is_both


def test_fields_that_arms_set():
    weights = ArmSettings(overrides=Overrides(weights=ScoreWeights(time_decay=0.0), max_context=5))
    assert fields_set([ArmSettings("classic"), weights]) == {"profile", "weights", "max_context"}
    assert fields_set([ArmSettings()]) == frozenset()
