"""What holds when, whatever the windows: of a topic with one value one at most, and always the one that ranks first."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.preferences.preference import Kept, Origin, Preference, decode, encode
from backscroll_sidecar.preferences.topics import KNOWN
from backscroll_sidecar.preferences.validity import Status, Timeline, contradicts

TIMES = st.one_of(st.none(), st.integers(0, 9))


@st.composite
def preferences(draw) -> list[Preference]:
    found = []
    for number in range(draw(st.integers(0, 8))):
        topic = draw(st.sampled_from(["", "name", "language", "likes", "dislikes"]))
        value = draw(st.sampled_from(["x", "X", "y"])) if topic else ""
        start = draw(TIMES)
        end = None if draw(st.booleans()) else (start or 0) + draw(st.integers(1, 5))
        origin = draw(st.sampled_from(Origin))
        kept = Kept(f"t{number}", topic, value, start, end, origin)
        channel = draw(st.sampled_from(["", "room"]))
        found.append(Preference(f"p{number}", "u", channel, kept, 0, number))
    return found


def is_open(one: Preference, at: int) -> bool:
    start, end = one.kept.valid_from_ms, one.kept.valid_until_ms
    return (start is None or start <= at) and (end is None or at < end)


@given(preferences(), st.integers(-1, 16))
def test_what_holds_at_a_moment(found: list[Preference], at: int) -> None:
    timeline = Timeline(found, KNOWN)
    held = timeline.holding(at)
    judged = timeline.judged(at)
    assert held == [one.preference for one in judged if one.status is Status.CURRENT]
    for one in held:
        assert is_open(one, at)
        for other in held:
            if other is not one:
                topic = KNOWN.of(one.kept.topic)
                assert not one.kept.topic or not contradicts(one.kept, other.kept, topic)
    families = {
        KNOWN.of(one.kept.topic).family for one in found if one.kept.topic and is_open(one, at)
    }
    assert families == {KNOWN.of(one.kept.topic).family for one in held if one.kept.topic}
    for one in judged:
        if one.status is Status.PAST and is_open(one.preference, at):
            assert one.superseded_by in {other.id for other in held}


def test_what_comes_before_what() -> None:
    """What is set before what was read, then what is of the channel, then the newer, then the later one."""

    def one(
        number: int, channel: str, start: int | None, origin: Origin = Origin.SET
    ) -> Preference:
        kept = Kept(f"t{number}", "name", f"v{number}", start, None, origin)
        return Preference(f"p{number}", "u", channel, kept, 0, number)

    ranked = [
        one(1, "room", 2), one(9, "room", 1), one(8, "room", 1), one(3, "", 6), one(4, "", 5), one(7, "", None),
        one(5, "room", 8, Origin.RULES), one(6, "", 9, Origin.RULES),
    ]  # fmt: skip
    for first in range(len(ranked)):
        left = sorted(ranked[first:], key=lambda preference: preference.number)
        assert Timeline(left, KNOWN).holding(9) == [ranked[first]]


@given(preferences(), st.integers(-1, 16))
def test_nothing_changes_within_a_stretch(found: list[Preference], at: int) -> None:
    timeline = Timeline(found, KNOWN)
    for other in range(-1, 17):
        if timeline.stretch(other) == timeline.stretch(at):
            assert timeline.holding(other) == timeline.holding(at)


@given(preferences())
def test_what_is_kept_comes_back(found: list[Preference]) -> None:
    """A text alone is kept as it always was."""
    for one in found:
        assert decode(encode(one.kept)) == one.kept
    assert encode(Kept("喜欢喝茶")) == "喜欢喝茶".encode()
