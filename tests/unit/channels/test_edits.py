"""Law 9: many edits in one commit cost the event loop one copy of what they change, and no pass over the index."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.channels.columns import Column
from backscroll_sidecar.channels.links import Links
from backscroll_sidecar.domain import Reply
from backscroll_sidecar.ports import Applied
from tests.kit.chats import KEY, PlainCodec, say, stored_in_order


@pytest.mark.parametrize("edits", [1, 40])
def test_one_copy_however_many_edits(edits, monkeypatch):
    """Columns whose values stay are not copied at all; edges are worked out once; the postings stay where they are."""
    stored = stored_in_order([say(f"m{n}", text=f"line {n} 猫", ago_ms=99 - n) for n in range(80)])
    channel = HotChannel(KEY, PlainCodec(), stored)
    pool = channel.view().lexicon.postings.pool
    calls: Counter[str] = Counter()
    for owner, name in ((Column, "copy"), (Links, "rebuilt")):
        real = getattr(owner, name)

        def counted(self, *args, _real=real, _name=name):
            calls[_name] += 1
            return _real(self, *args)

        monkeypatch.setattr(owner, name, counted)
    changed = [
        replace(s, analysis=replace(s.analysis, text="fish 鱼", token_count=99, keywords=("fish",),
                                    reply=Reply("m0")), revision=2)
        for s in stored[1 : edits + 1]
    ]  # fmt: skip
    channel.publish(Applied(stored=tuple(changed)))
    assert calls == {"copy": 1, "rebuilt": 1}
    assert channel.view().lexicon.postings.pool is pool
    assert channel.view().token_count.tolist()[1 : edits + 1] == [99] * edits
