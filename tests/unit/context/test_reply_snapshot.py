"""What a segment keeps of the reply model: taken when the rows are those it was made from, else made anew."""

import numpy as np
import pytest
from msgspec.structs import replace

from backscroll_scoring.links import CAPACITY
from backscroll_sidecar.channels import HotChannel, reply_snapshot
from backscroll_sidecar.channels.segments import batch_of_rows, links_in, pack, unpack
from backscroll_sidecar.context.reply_ranker import linked
from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.ports import Applied
from tests.kit.chats import ANN, CAT, KEY, SECOND_MS, PlainCodec, say, stored_in_order
from tests.unit.context.test_replies import chat, ranked

COUNT = 600
CHAT = chat(COUNT + 40)


def packed(stored):
    """A channel that was asked about, as one segment."""
    hot = HotChannel(KEY, PlainCodec(), stored)
    linked(hot.view(), len(stored))
    view = hot.view()
    rows = np.argsort(view.seq, kind="stable")
    links = reply_snapshot.packed(view, hot.revised)
    return pack(KEY, batch_of_rows(view, rows, hot.revised), links)


def loaded(segment, more=(), first=()):
    """The channel as a load reads it, from a segment and rows; `first`: users who have lower numbers."""
    hot = HotChannel(KEY, PlainCodec())
    for user in first:
        hot.people.intern(user)
    hot.load([unpack(KEY, segment)])
    if more:
        hot.publish(Applied(stored=tuple(more)))
    hot.take_links(links_in(segment))
    return hot


@pytest.mark.parametrize("count", [1, 90, 250, COUNT])
@pytest.mark.parametrize("more", [0, 1, 40])
def test_a_loaded_channel_goes_on_where_it_was(count, more):
    """Law 2: the same links and the same ranking as if all was worked out anew, and only new rows are."""
    stored = chat(count + more)
    grown = loaded(packed(stored[:count]), stored[count:], first=[CAT.id, "somebody else"])
    fresh = HotChannel(KEY, PlainCodec(), stored)
    assert grown.view().replies.missing(count + more) <= more
    one, other = linked(grown.view(), count + more), linked(fresh.view(), count + more)
    assert (one.cues_from, one.links.first, one.upto) == (
        other.cues_from, other.links.first, other.upto,
    )  # fmt: skip
    known = one.upto - one.links.first
    for name in ("rows", "chances", "starts", "together"):
        kept, made = getattr(one.links, name), getattr(other.links, name)
        assert kept.shape == made.shape
        np.testing.assert_array_equal(kept[:known], made[:known])
    np.testing.assert_array_equal(one.flags, other.flags)
    for name in ("called", "shortened"):
        users = [
            [hot.people.ids[user] if user >= 0 else "" for user in getattr(state, name).tolist()]
            for hot, state in ((grown, one), (fresh, other))
        ]
        assert users[0] == users[1]
    assert ranked(grown.view()) == ranked(fresh.view())


@pytest.mark.parametrize("changed", [0, 500, COUNT - 1])
@pytest.mark.parametrize("how", ["edit", "recall", "late"])
def test_of_other_rows_nothing_is_taken(changed, how):
    """Law 2: an edit, a recall or a late line after a segment was made, wherever it is."""
    stored = CHAT[:COUNT]
    item = stored[changed]
    if how == "edit":
        new = replace(item, revision=1)
    elif how == "recall":
        new = replace(item, state=MessageState.RECALLED)
    else:
        late = say("late", ANN, "which driver?", (len(CHAT) - changed) * 7 * SECOND_MS + 1)
        new = replace(stored_in_order([late])[0], seq=9_000)
    segment = packed(stored)
    hot = loaded(segment, [new])
    hot.take_links(links_in(segment))
    assert hot.view().replies.state is None


def test_a_channel_nobody_asked_about_keeps_nothing():
    """There is nothing to keep, and nothing is made of it."""
    hot = HotChannel(KEY, PlainCodec(), CHAT)
    assert reply_snapshot.packed(hot.view(), {}) is reply_snapshot.NOTHING


def test_damaged_numbers_are_not_taken():
    """Law 2: a number that is none of a row that is there would be read past the end."""
    links = links_in(packed(CHAT[:COUNT]))
    hot = HotChannel(KEY, PlainCodec(), CHAT[:COUNT])
    hot.take_links(links)
    assert hot.view().replies.state is not None
    for name, value in (
        ("links.rows", COUNT),
        ("links.rows", -2),
        ("links.called", COUNT + CAPACITY),
        ("links.shortened", -1),
        ("links.places", COUNT + 1),
        ("links.places", -1),
        ("links.made_of", 1),
    ):
        damaged = links[name].copy()
        damaged[-1] = value
        hot.take_links({**links, name: damaged})
        assert hot.view().replies.state is None, (name, value)
    for name in reply_snapshot.ARRAYS:
        hot.take_links({**links, name: links[name][:-1]})
        assert hot.view().replies.state is None, name
