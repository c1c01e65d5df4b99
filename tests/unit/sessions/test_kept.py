"""What is kept is bounded by count and by size, and by what names need alone."""

from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.rooms.tables import table_of
from backscroll_sidecar.sessions import persona_prompts
from backscroll_sidecar.sessions.kept import Kept
from backscroll_sidecar.sessions.participants import (
    Participant,
    ParticipantKind,
    Presence,
    as_named,
)
from backscroll_sidecar.sessions.routing import Lookup
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.texts import Language

CAT = Participant(
    "cat",
    "Tom",
    ParticipantKind.PERSONA,
    "Tommy",
    ("T",),
    "a cat",
    "meows",
    presences=(Presence(until_seq=2), Presence(after_seq=4)),
    model="m",
)


def test_those_asked_for_last_are_kept():
    kept: Kept[str, str] = Kept(2, 10, len)
    kept.put("a", "1")
    kept.put("b", "22")
    assert kept.get("a") == "1"
    kept.put("c", "333")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("1", None, "333")
    kept.put("c", "4444444444")
    assert (len(kept), kept.size, kept.get("c")) == (1, 10, "4444444444")
    kept.put("c", "too large to be kept")
    assert (len(kept), kept.size, kept.get("c")) == (0, 0, None)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.text(max_size=6) | st.none())))
def test_no_more_is_kept_than_fits(steps):
    kept: Kept[str, str] = Kept(3, 9, len)
    for key, value in steps:
        if value is None:
            kept.drop(key)
        else:
            kept.put(key, value)
            assert kept.get(key) == value
        held = [one for each in "abcdef" if (one := kept.get(each)) is not None]
        assert len(kept) == len(held) <= 3
        assert kept.size == sum(map(len, held)) <= 9
    kept.drop_where(lambda key: True)
    assert (len(kept), kept.size) == (0, 0)


def test_names_are_kept_without_personas():
    (named,) = as_named([CAT])
    assert (named.persona, named.summary, named.model) == ("", "", "")
    assert named.presences == CAT.presences[-1:]
    assert [*named.names()] == [*CAT.names()]
    assert Lookup([named]).able == (named,)


def test_a_table_is_kept_for_the_same_names():
    key = ChannelKey("t", "c")
    one, other = (
        Session(key, "s", participants=(Participant("cat", "Tom", ParticipantKind.PERSONA, persona=text),))
        for text in ("a cat", "a very black cat")
    )  # fmt: skip
    assert table_of(one) is table_of(other)


def test_the_line_of_a_colleague_is_kept_without_its_persona():
    persona_prompts._colleague_line.cache_clear()
    me = Participant("me", "Me", ParticipantKind.PERSONA)
    for text in ("x" * 30_000, "y" * 30_000):
        other = Participant("cat", "Tom", ParticipantKind.PERSONA, persona=text)
        said = persona_prompts.persona_prompt("{{colleagues}}", me, [other], [], Language.EN)
        assert said == "- Tom"
    assert persona_prompts._colleague_line.cache_info().currsize == 1
