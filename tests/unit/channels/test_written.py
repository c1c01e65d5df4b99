"""What is kept of written messages: bounded, and gone with whatever it was made from."""

import numpy as np
from msgspec.structs import replace

from backscroll_scoring import FeatureSets, shingle_sets
from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.channels.written import MAX_BYTES, Written
from backscroll_sidecar.domain import Member, MessageState
from backscroll_sidecar.ports import Applied
from tests.kit.chats import ANN, BEN, KEY, PlainCodec, say, stored_in_order


def filled(channel: HotChannel) -> Written:
    """The channel's fragments with something for each of its messages."""
    view = channel.view()
    for seq in view.seq.tolist():
        view.written.keep("style", seq, f"written {seq}", 100)
    return view.written


def room(count: int = 4) -> HotChannel:
    lines = [say(f"m{n}", (ANN, BEN)[n % 2], f"line {n}", 99 - n) for n in range(count)]
    return HotChannel(KEY, PlainCodec(), stored_in_order(lines))


def test_they_never_exceed_their_bytes():
    """When they are full they begin anew; one that is too large by itself is kept alone."""
    kept = Written()
    for seq in range(3_000):
        kept.keep(seq % 5, seq, object(), MAX_BYTES // 100)
        assert kept.nbytes <= MAX_BYTES
    assert kept.of(2_999 % 5)[2_999]
    assert 0 < sum(len(kept.of(style)) for style in range(5)) <= 100


def sets(places) -> FeatureSets:
    """One for each, of 20 KB."""
    return shingle_sets(["".join(map(chr, range(0x4E00, 0x4E00 + 5_000)))] * len(places))


def test_what_lines_are_compared_by_is_bounded():
    """It counts as much as lines do: when both are full all begins anew, and those asked for are there all the same."""
    kept, made = Written(), []
    kept.keep("style", 0, object(), 100)
    for first in range(0, 400, 4):
        seqs = np.arange(first, first + 4, dtype=np.int64)
        found = kept.sets_with(seqs, lambda new: made.append(len(new)) or sets(new))
        assert not found.lacks(seqs).any()
        assert kept.nbytes < 2 * MAX_BYTES
    assert made == [4] * 100
    assert kept.sets.lacks(np.arange(4, dtype=np.int64)).all()
    assert not kept.of("style")


def test_a_changed_line_is_cut_again():
    """An edit takes away what it was compared by, for who looks from now on; who looks already goes on as before."""
    channel = room()
    old, seqs = channel.view().written, np.arange(1, 5, dtype=np.int64)
    old.sets_with(seqs, sets)
    recalled = stored_in_order([say("m1", BEN, "")])[0]
    recalled = replace(recalled, seq=2, revision=1, state=MessageState.RECALLED)
    channel.publish(Applied(stored=(recalled,)))
    assert channel.view().written.sets.lacks(seqs).tolist() == [False, True, False, False]
    assert not old.sets.lacks(seqs).any()


def test_their_bytes_are_the_channels():
    """They count under the limit of all channels."""
    channel = room()
    before = channel.nbytes
    filled(channel)
    assert channel.nbytes >= before + 400


def test_an_append_leaves_them():
    """Also one that comes late and moves rows: they go by arrival."""
    channel = room()
    kept = filled(channel)
    late = replace(stored_in_order([say("late", ANN, "said before", 5_000)])[0], seq=5)
    channel.publish(Applied(stored=(late,)))
    view = channel.view()
    assert view.message_ids[0] == "late"
    assert view.written is kept
    assert [view.written.of("style").get(seq) for seq in view.seq.tolist()] == [
        None, "written 1", "written 2", "written 3", "written 4",
    ]  # fmt: skip


def test_a_changed_message_goes_and_an_old_view_cannot_bring_it_back():
    """Law 1: a build that still reads the rows before a recall keeps what it writes to itself."""
    channel = room()
    filled(channel)
    old = channel.view()
    recalled = replace(
        stored_in_order([say("m1", BEN, "")])[0], seq=2, revision=1, state=MessageState.RECALLED
    )
    channel.publish(Applied(stored=(recalled,)))
    old.written.keep("style", 2, "what was taken back", 100)
    new = channel.view()
    assert 2 not in new.written.of("style")
    assert new.written.of("style")[1] == "written 1"


def test_another_name_writes_all_anew():
    """Names stand in the lines; a former name or an alias does not."""
    channel = room()
    kept = filled(channel)
    channel.publish(Applied(members=(Member("u1", "Ann", aliases=("Annie",)),)))
    assert channel.view().written is kept
    channel.publish(Applied(members=(Member("u1", "Anna"),)))
    assert channel.view().written.of("style") == {}
