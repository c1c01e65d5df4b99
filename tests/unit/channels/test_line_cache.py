"""What is kept of rendered lines: bounded, and gone with whatever it was made from."""

import numpy as np
import pytest
from msgspec.structs import replace

from backscroll_scoring import FeatureSets, key_of, shingle_sets
from backscroll_scoring.layout import COLUMNS, FORMS, LINE, NUMBERS, SLOT
from backscroll_sidecar.channels import HotChannel, line_cache
from backscroll_sidecar.channels.line_cache import MAX_SETS_BYTES, MAX_TABLE_BYTES, LineCache
from backscroll_sidecar.domain import Member, MessageState
from backscroll_sidecar.ports import Applied
from tests.kit.chats import ANN, BEN, KEY, PlainCodec, say, stored_in_order


def keep(cache: LineCache, seqs, text: str = "line", style: str = "style", mark: int = 0) -> None:
    """Enter a line for each, whose forms are all the same."""
    keys = [key_of(seq, mark, is_shared=False) for seq in seqs]
    forms = [[f"{text} {seq}".encode()] * FORMS for seq in seqs]
    cache.keep(style, keys, forms, [[1] * NUMBERS] * len(keys))


def kept(cache: LineCache, seqs, style: str = "style", mark: int = 0) -> list[str | None]:
    """The lines that are there."""
    keys = np.array([key_of(seq, mark, is_shared=False) for seq in seqs], np.int64)
    columns = np.empty((COLUMNS, len(keys)), np.int64)
    table = cache.table(style)
    table.look_up(keys, columns)
    return [table.text(slot, LINE) if slot >= 0 else None for slot in columns[SLOT].tolist()]


def room(count: int = 4) -> HotChannel:
    """A channel with a line kept for each of its messages."""
    lines = [say(f"m{n}", (ANN, BEN)[n % 2], f"line {n}", 99 - n) for n in range(count)]
    channel = HotChannel(KEY, PlainCodec(), stored_in_order(lines))
    keep(channel.view().lines, range(1, count + 1))
    return channel


def test_tables_never_exceed_their_bytes():
    """When they are full they begin anew, in all styles."""
    cache, most = LineCache(), 0
    for seq in range(3_000):
        keep(cache, [seq], "x" * 2_000, style=str(seq % 3))
        assert cache.nbytes <= MAX_TABLE_BYTES
        most = max(most, cache.nbytes)
    assert most > MAX_TABLE_BYTES / 2
    assert None in kept(cache, range(3_000), style="0")


def test_what_is_lent_is_given_back():
    """It makes a table larger for one answer, however that ends."""
    cache = LineCache()
    keep(cache, [1])
    table, before = cache.table("style"), cache.nbytes
    for seq in range(2, 200):
        table.lend([[bytes(MAX_TABLE_BYTES // 20)] * FORMS], [[1] * NUMBERS])
        keep(cache, [seq])
    assert cache.table("style") is table
    assert cache.nbytes == cache.sets.nbytes + table.nbytes < before + MAX_TABLE_BYTES
    assert kept(cache, (1, 2, 199, 200)) == ["line 1", "line 2", "line 199", None]


def sets(places) -> FeatureSets:
    """One for each, of 20 KB."""
    return shingle_sets(["".join(map(chr, range(0x4E00, 0x4E00 + 5_000)))] * len(places))


def test_what_lines_are_compared_by_is_bounded():
    """When it is too much it begins anew, and those asked for are there all the same. Tables stay."""
    cache, made = LineCache(), []
    keep(cache, [0])
    for first in range(0, 400, 4):
        seqs = np.arange(first, first + 4, dtype=np.int64)
        found = cache.sets_with(seqs, lambda new: made.append(len(new)) or sets(new))
        assert not found.lacks(seqs).any()
        assert cache.nbytes < 2 * MAX_SETS_BYTES
    assert made == [4] * 100
    assert cache.sets.lacks(np.arange(4, dtype=np.int64)).all()
    assert kept(cache, [0]) == ["line 0"]


def test_marks_have_numbers(monkeypatch: pytest.MonkeyPatch):
    """Each its own, which is none of those of no mark and of a date. When there are too many all begins anew, but no
    number comes again that a question may still look for in the old table.
    """
    assert key_of(0, 2 + line_cache.MARK_NUMBERS, is_shared=True) < key_of(1, 0, is_shared=False)
    monkeypatch.setattr(line_cache, "MARK_NUMBERS", 7)
    monkeypatch.setattr(line_cache, "MOST_MARKS", 3)
    cache = LineCache()
    assert [cache.mark_number(mark) for mark in ("now", "an hour", "now", "a day")] == [2, 3, 2, 4]
    keep(cache, [1], mark=2)
    other, table = cache.without([9]), cache.table("style")
    assert [cache.mark_number(mark) for mark in ("two days", "two days", "now")] == [5, 5, 6]
    assert cache.table("style") is not table
    assert kept(other, [1], mark=other.mark_number("now")) == ["line 1"]
    assert [other.mark_number(mark) for mark in ("three days", "an hour", "then")] == [7, 8, 2]


def test_their_bytes_are_the_channels():
    """They count under the limit of all channels."""
    channel = room()
    before, lines = channel.nbytes, channel.view().lines
    keep(lines, range(5, 500))
    assert channel.nbytes - before == lines.nbytes - room().view().lines.nbytes > 0


def test_an_append_leaves_them():
    """Also one that comes late and moves rows: they go by arrival."""
    channel = room()
    lines = channel.view().lines
    late = replace(stored_in_order([say("late", ANN, "said before", 5_000)])[0], seq=5)
    channel.publish(Applied(stored=(late,)))
    view = channel.view()
    assert view.message_ids[0] == "late"
    assert view.lines is lines
    assert kept(lines, view.seq.tolist()) == [None, "line 1", "line 2", "line 3", "line 4"]


def test_a_changed_message_goes_and_an_old_view_cannot_bring_it_back():
    """Law 1: a build that reads the rows before a recall keeps what it renders to itself, and goes on as before."""
    channel = room()
    old, seqs = channel.view().lines, np.arange(1, 5, dtype=np.int64)
    old.sets_with(seqs, sets)
    (stored,) = stored_in_order([say("m1", BEN, "")])
    recalled = replace(stored, seq=2, revision=1, state=MessageState.RECALLED)
    channel.publish(Applied(stored=(recalled,)))
    keep(old, [2], "what was taken back")
    assert kept(channel.view().lines, [1, 2]) == ["line 1", None]
    assert channel.view().lines.sets.lacks(seqs).tolist() == [False, True, False, False]
    assert not old.sets.lacks(seqs).any()


def test_another_name_makes_all_anew():
    """Names stand in the lines; a former name or an alias does not. Who is not done goes on with the name of now."""
    channel = room()
    lines = channel.view().lines
    channel.publish(Applied(members=(Member("u1", "Ann", aliases=("Annie",)),)))
    assert channel.view().lines is lines
    assert kept(lines, [1]) == ["line 1"]
    lines.wanted = "style"
    channel.publish(Applied(members=(Member("u1", "Anna"),)))
    assert channel.view().lines is not lines
    assert channel.view().lines.wanted == "style"
    assert kept(channel.view().lines, [1]) == kept(lines, [1]) == [None]
