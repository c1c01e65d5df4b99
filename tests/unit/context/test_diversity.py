"""Diversity of references, through a whole build."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.context.profiles import PROFILES, ContextSettings
from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import ANN, BEN, DAY_MS, say
from tests.kit.rooms import Fixed, Room, fates, ids, ids_by_rank, with_profile

KEYS = "The keys are under the blue flower pot next to the back door"
CATS = "我家的猫每天早上六点钟准时叫我起床给它开罐头"
LINES = [
    say("old", BEN, KEYS, 9 * DAY_MS),
    say("cat", BEN, CATS, 8 * DAY_MS),
    say("other", ANN, "The train to Basel leaves at 10:04", 7 * DAY_MS),
    say("copy", BEN, KEYS.lower() + "!", 6 * DAY_MS),
    say("喵", ANN, CATS + "。", 5 * DAY_MS),
    say("later", BEN, "The train to Basel leaves at 10:34", 4 * DAY_MS),
    *(say(f"r{n}", BEN, f"recent talk, line {n}", (9 - n) * 60_000) for n in range(9)),
    say("again", ANN, KEYS + " :)", 1_000),
]
FAR = ("old", "cat", "other", "copy", "喵", "later")


def room(lines=LINES, **changes):
    changed = with_profile(ContextSettings(), "retrieval", **changes)
    far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=FAR))
    return Room(lines, own=[far], settings=changed)


def test_references_that_repeat_a_better_line_go():
    """P-05, law 7: golden ranking of `retrieval`: the newest of three about the keys is in the talk, so both references
    go; of the cats the better ranked stays; another number is another message; each says why."""
    built = room().build_now("where are the keys?", profile="retrieval", explain=True)
    assert PROFILES["retrieval"].diversity == "collapse"
    assert ids_by_rank(built)[-3:] == ["later", "喵", "other"]
    assert [fates(built)[id] for id in FAR] == [
        "diversity", "diversity", "selected", "diversity", "selected", "selected",
    ]  # fmt: skip
    (why,) = {c.decided_by for c in built.explanation.candidates if c.fate.value == "diversity"}
    assert why == "diversity"
    assert set(ids(room(diversity="none").build_now(profile="retrieval"))) >= set(FAR[1:])


def test_the_conversation_is_left_alone():
    """P-05: what people say twice in the talk itself stays."""
    talk = [say(f"m{n}", BEN, KEYS, (20 - n) * 60_000) for n in range(10)]
    assert len(room(talk).build_now(profile="retrieval").items) == 10


def test_a_place_set_free_goes_to_the_next():
    """P-05: with room for 12, the two places of near-duplicates go to what had lost to the limit."""
    wanted = {"overrides": {"max_context": 12}, "profile": "retrieval", "explain": True}
    with_copies = room(diversity="none").build_now(**wanted)
    without = room().build_now(**wanted)
    assert ids_by_rank(with_copies)[10:] == ["later", "喵"]
    assert ids_by_rank(without)[10:] == ["later", "喵"]
    wanted["overrides"] = {"max_context": 13}
    assert ids_by_rank(room(diversity="none").build_now(**wanted))[10:] == ["later", "喵", "copy"]
    assert ids_by_rank(room().build_now(**wanted))[10:] == ["later", "喵", "other"]
    assert fates(room().build_now(**wanted))["other"] == "selected"


def test_mmr_puts_what_is_new_first():
    """P-05, law 7: golden ranking: by hand .7 * .75 - .3 * 1 for k1, .7 * .5 for what is new; what loses its place by
    that says so. References that are not alike keep their order."""
    built = room(diversity="mmr").build_now(
        profile="retrieval", explain=True, overrides={"max_context": 13}
    )
    assert ids_by_rank(built)[10:] == ["later", "喵", "copy"]
    alike = [say(f"k{n}", BEN, KEYS + "!" * n, (9 - n) * DAY_MS) for n in range(3)]
    new = say("new", BEN, "something else altogether, about boats", 8 * DAY_MS + 1)
    far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("k0", "new", "k1", "k2")))
    changed = with_profile(ContextSettings(), "retrieval", diversity="mmr")
    one = Room([alike[0], new, *alike[1:]], own=[far], settings=changed).build_now(
        profile="retrieval", explain=True,
        overrides={"max_context": 2, "sources": ("semantic",)},
    )  # fmt: skip
    assert ids_by_rank(one) == ["k2", "new"]
    assert fates(one) == {
        "new": "selected", "k0": "limit", "k1": "diversity", "k2": "selected",
    }  # fmt: skip


@pytest.mark.parametrize("diversity", ["none", "collapse", "mmr"])
@settings(max_examples=40)
@given(
    texts=st.lists(st.sampled_from([KEYS, KEYS + "!", CATS, CATS + "。", "ok"]), max_size=10),
    far=st.sets(st.integers(0, 9)),
    most=st.integers(1, 12),
)
def test_a_smaller_maximum_is_a_prefix(diversity, texts, far, most):
    """P-05: whatever the references are, a cut anywhere is what a smaller maximum gives."""
    lines = [say(f"m{n}", BEN, text, (20 - n) * 60_000) for n, text in enumerate(texts)]
    source = Fixed(
        "semantic", Messages(Category.SEMANTIC, message_ids=tuple(f"m{n}" for n in sorted(far)))
    )
    changed = with_profile(ContextSettings(), "retrieval", diversity=diversity)

    def order(most):
        overrides = {"max_context": most, "recent_limit": 3}
        built = Room(lines, own=[source], settings=changed).build_now(
            profile="retrieval", overrides=overrides
        )
        return ids_by_rank(built)

    assert order(most) == order(12)[:most]
