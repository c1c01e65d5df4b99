"""A reply that broke off stays out of contexts, and says so where it stands in the chain (laws 7 and 8)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import Channels
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Category, MessageState, Reply, Rung
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import ANN, BEN, BOT, KEY, MINUTE_MS, SECOND_MS, PlainCodec, say
from tests.kit.rooms import Fixed, Room, fates, ids


def chat(*, reply_to: str | Reply = "") -> list:
    """Lines, a broken reply of the bot, more lines; `q` answers `reply_to`."""
    return [
        say("m0", ANN, "which train goes to Basel?", 5 * MINUTE_MS),
        say("r1", BOT, "The train to", 4 * MINUTE_MS, reply_to="m0", is_partial=True),
        say("m2", BEN, "the train at six", 3 * MINUTE_MS, reply_to="m0"),
        say("m3", BEN, "and go on?", 2 * MINUTE_MS, reply_to=reply_to),
    ]


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("own", [False, True])
def test_a_partial_reply_is_no_candidate(profile, own):
    """Law 8: whatever the profile and whoever proposes it."""
    semantic = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("r1", "m0")))
    room = Room(chat(), own=[semantic] if own else [])
    built = room.build_now(
        "and the train?", profile=profile, explain=True, overrides={"relevance_threshold": 0.0}
    )
    assert "r1" not in fates(built)
    assert "m0" in ids(built)
    assert "The train to" not in built.text


@pytest.mark.parametrize("profile", ["balanced", "classic", "chain_recent", "steady"])
def test_in_the_chain_its_fate_is_visibility(profile):
    """Laws 7 and 8: the question answers what answers it; it is not shown; its own parent is."""
    built = Room(chat(reply_to="r1")).build_now(
        "and?",
        profile=profile,
        explain=True,
        overrides={"relevance_threshold": 0.0},
        reply=Reply("m3"),
    )
    assert fates(built)["r1"] == "visibility"
    assert "m0" in ids(built)
    assert "r1" not in ids(built)
    assert "The train to" not in built.text


def test_a_sibling_of_the_chain_is_none_of_it():
    """Law 8: the reply tree has it, the chain has not."""
    built = Room(chat()).build_now("and?", profile="classic", explain=True, reply=Reply("m2"))
    assert "r1" not in fates(built)
    assert "m0" in ids(built)


def test_it_takes_no_place_of_others():
    """S2-04: the last lines are the last whole ones; the floor counts those, too."""
    lines = [say(f"m{n}", BEN, f"line {n}", (60 - n) * SECOND_MS) for n in range(4)]
    lines += [
        say(f"r{n}", BOT, "The", (20 - n) * SECOND_MS, reply_to="m0", is_partial=True)
        for n in range(9)
    ]
    near = {"recent_limit": 3, "sources": ("recent",)}
    built = Room(lines).build_now(profile="balanced", overrides=near)
    assert ids(built) == ["m1", "m2", "m3"]
    built = Room(lines).build_now(
        profile="chain_recent",
        overrides={"relevance_threshold": 1.0, "recent_floor": 2, "recent_limit": 2},
    )  # fmt: skip
    assert ids(built)[-2:] == ["m2", "m3"]


@pytest.mark.injects_fault
def test_the_fallback_leaves_it_out_as_well():
    """Laws 5 and 8: rung two is made of the last whole lines."""

    def broken(*_):
        raise RuntimeError("boom")

    built = Room(chat(), ranker=broken).build_now("and the train?")
    assert (built.rung, ids(built)) == (Rung.RECENT, ["m0", "m2", "m3"])


def test_named_as_the_trigger_it_is_one():
    """Its text is there: whoever asks about it by id gets an answer, and it is no recalled message."""
    built = Room(chat()).build_now("", None, trigger_message_id="r1", profile="classic")
    assert built.trigger_fragment is not None
    assert built.messages[-1].content.endswith("The train to")


async def test_a_view_knows_whether_all_its_rows_are_live():
    """Channels without one pay nothing for it; recalled and partial rows are both noticed."""
    for states, all_live in (
        ([MessageState.LIVE] * 4, True),
        ([MessageState.LIVE, MessageState.PARTIAL, *[MessageState.LIVE] * 2], False),
        ([*[MessageState.LIVE] * 3, MessageState.RECALLED], False),
    ):
        room = Room(chat())
        room.reader.stored = [
            replace(s, state=state) for s, state in zip(room.reader.stored, states, strict=True)
        ]
        view = await Channels(room.reader, PlainCodec()).view(KEY)
        assert view is not None
        assert view.all_live is all_live
        assert view.state.tolist() == states


async def test_a_view_knows_its_blank_rows():
    """They are live and few, so that nobody looks at the states of a channel for their sake."""
    lines = [*chat(), say("blank", BEN, " \n", MINUTE_MS)]
    for said, all_live, blank_rows in ((lines, False, ()), (lines[2:], True, (2,))):
        view = await Channels(Room(said).reader, PlainCodec()).view(KEY)
        assert view is not None
        assert (view.all_live, view.shown.blank_rows) == (all_live, blank_rows)
