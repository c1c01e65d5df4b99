"""Law 9: many edits in one commit cost the event loop one copy of what they change, and no pass over the index."""

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.channels.columns import Column
from backscroll_sidecar.channels.links import Edges
from backscroll_sidecar.channels.reply_cache import ReplyCache
from backscroll_sidecar.domain import Reply
from backscroll_sidecar.ports import Applied
from tests.kit.chats import KEY, PlainCodec, say, stored_in_order


@pytest.mark.parametrize("edits", [1, 40])
def test_one_copy_however_many_edits(edits, monkeypatch):
    """Columns whose values stay are not copied at all; edges are worked out once; the postings stay where they are."""
    stored = stored_in_order([say(f"m{n}", text=f"line {n} 猫", ago_ms=99 - n) for n in range(80)])
    channel = HotChannel(KEY, PlainCodec(), stored)
    pool = channel.view().lexicon.postings.pool
    copied: list[str] = []
    linked: list[int] = []
    copy, link = Column.copy, Edges.link

    def counted_copy(self):
        copied.append(next(name for name, one in channel._columns.items() if one is self))
        return copy(self)

    def counted_link(self, rows, parent):
        linked.append(len(rows))
        return link(self, rows, parent)

    monkeypatch.setattr(Column, "copy", counted_copy)
    monkeypatch.setattr(Edges, "link", counted_link)
    changed = [
        replace(s, analysis=replace(s.analysis, text="fish 鱼", token_count=99, keywords=("fish",),
                                    reply=Reply("m0")), revision=2)
        for s in stored[1 : edits + 1]
    ]  # fmt: skip
    channel.publish(Applied(stored=tuple(changed)))
    of_bodies = ["start", "fragment_size", "text_size"]
    assert sorted(copied) == sorted(["token_count", "target", *of_bodies])
    assert linked == [80]
    assert channel.view().lexicon.postings.pool is pool
    assert channel.view().token_count.tolist()[1 : edits + 1] == [99] * edits


def test_what_was_read_of_the_newest_lines_goes_with_an_edit():
    """Whose names are looked for, and in what, is kept by the row they stand before, which an edit leaves as it is."""
    memo = ReplyCache(names=(5, object()))
    assert memo.before(3).names is None
