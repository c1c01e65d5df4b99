"""What a payload begins with that the next one of the conversation begins with, too: its length, its marks for prompt
caches, and why it changed. Pure but for what `PrefixLog` remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from backscroll_scoring.layout import COUNT, PLACE
from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.layouts import Block, Part, Parts
from backscroll_sidecar.context.model import PrefixChange, TokenCounts
from backscroll_sidecar.domain import Layout, NeutralMessage, Role

MARK_EVERY = 16
"""Messages between two marks: Anthropic looks for what it keeps no more than 20 blocks before one."""
REMEMBERED = 1_024
"""Conversations whose last prefix is in memory."""
_TURNS = Layout.TURNS


class StablePrefix(NamedTuple):
    """How much of a payload's beginning stays: tokens, messages of the answer's list, and of the payload.

    `change`: None where nobody looked.
    """

    tokens: int
    message_count: int
    payload_message_count: int
    change: PrefixChange | None = None


def stable_prefix(
    parts: Parts, frame: Frame, tokens: TokenCounts, stable_system: str, *, is_steady: bool
) -> StablePrefix:
    """Tools, then what of the system text stays; in turns also the summary and, `is_steady`, the talk.

    In other layouts preferences and lines follow in the same message, and may be others in the next turn.
    """
    if parts.system and stable_system != parts.system:
        # What follows the cut may join with the last token before it.
        count = repeated_tokens(stable_system, frame.tokenizer)
        message_tokens = tokens.system - repeated_tokens(parts.system, frame.tokenizer)
        return StablePrefix(tokens.tools + (message_tokens + count - 1 if count else 0), 0, 0)
    plan = parts.plan(frame.layout, include_system=frame.include_system)
    found = tokens.tools + tokens.system
    if frame.layout is _TURNS:
        found += tokens.summary + (tokens.recent if is_steady else 0)
    shown, sent = (
        _leading(parts, blocks, frame.layout, is_steady=is_steady)
        for blocks in (plan.messages, plan.payload)
    )
    return StablePrefix(found, shown, sent)


def _leading(parts: Parts, blocks: Sequence[Block], layout: Layout, *, is_steady: bool) -> int:
    """How many messages of a plan stay."""
    count = 0
    for _, of in blocks:
        if of == (Part.SYSTEM,) or (of == (Part.SUMMARY,) and layout is _TURNS):
            count += 1
        elif not of and is_steady:
            return count + parts.lines.sums[COUNT]
        else:
            break
    return count


def with_cache_marks(
    messages: Sequence[NeutralMessage], stable_count: int
) -> tuple[NeutralMessage, ...]:
    """The messages with marks where a cache may end: the system text's end, the last that stays, and some between,
    always in the same places. Calls of tools and their results have none: adapters arrange them anew.
    """
    if not stable_count:
        return tuple(messages)
    may_be = [
        at
        for at, one in enumerate(messages[:stable_count])
        if one.role is not Role.TOOL and not one.tool_calls
    ]
    marked = {at for n, at in enumerate(may_be, 1) if n % MARK_EVERY == 0} | set(may_be[-1:])
    system = [at for at in may_be if messages[at].role is Role.SYSTEM and at == 0]
    return tuple(
        replace(one, ends_prefix=True) if at in marked or at in system else one
        for at, one in enumerate(messages)
    )


class SentPrefix(NamedTuple):
    """What a payload began with, as far as the next one is compared with it. Texts are hashes.

    Attributes
    ----------
    style : how the messages were written.
    seqs : the numbers of the messages of the talk, in order.
    messages : what each says, and by which name.
    """

    tools: int
    system: int
    summary: int
    style: Hashable
    seqs: tuple[int, ...]
    messages: tuple[int, ...]


def sent_prefix(parts: Parts, frame: Frame, stable_system: str, style: Hashable) -> SentPrefix:
    """What a payload by turns begins with; no message where the system text before them may be another."""
    lines, source = parts.lines, parts.lines.source
    shown = parts.shown_in(Part.RECENT) if stable_system == parts.system else ()
    seqs: list[int] = []
    names: Sequence[object] = [""] * len(shown)
    if source is not None:
        rows = source.rows[lines.columns[PLACE][np.array(shown, np.intp)]]
        seqs = source.view.seq[rows].tolist()
        if frame.has_names:
            authors = source.view.columns.author[rows].tolist()
            names = [(source.view.people.names[one], one in source.shared) for one in authors]
    return SentPrefix(
        hash(frame.tools_json),
        hash(stable_system),
        hash(parts.summary),
        style,
        tuple(seqs),
        tuple([hash((lines.said(i), name)) for i, name in zip(shown, names, strict=True)]),
    )


def change_of(
    now: SentPrefix, before: SentPrefix | None, is_shown: Callable[[int], bool]
) -> PrefixChange:
    """Whether a payload begins with all that the one before did, and if not, what is another.

    `is_shown`: whether a message of this number may still be shown. A window that moved on leaves behind one that may.
    """
    if before is None:
        return PrefixChange.FIRST
    for change, is_other in (
        (PrefixChange.TOOLS, now.tools != before.tools),
        (PrefixChange.SYSTEM, now.system != before.system),
        (PrefixChange.SUMMARY, now.summary != before.summary),
    ):
        if is_other:
            return change
    count = len(before.messages)
    if now.messages[:count] == before.messages:
        return PrefixChange.NONE
    if now.style != before.style:
        return PrefixChange.STYLE
    first = before.seqs[0]
    is_trimmed = now.seqs[:1] != (first,) and is_shown(first)
    return PrefixChange.TRIMMED if is_trimmed else PrefixChange.MESSAGES


class PrefixLog:
    """What the last payload of each conversation began with, of those that were asked about lately."""

    def __init__(self) -> None:
        self._sent: OrderedDict[Hashable, SentPrefix] = OrderedDict()

    def noted(
        self,
        conversation: Hashable,
        prefix: StablePrefix,
        parts: Parts,
        frame: Frame,
        stable_system: str,
    ) -> StablePrefix:
        """Remember what a payload by turns begins with; the same with what became of the one before."""
        source = parts.lines.source
        dated_at_ms = source.line_style.asked_at_ms if source else 0
        style = parts.speaker, dated_at_ms, parts.texts.language
        sent = sent_prefix(parts, frame, stable_system, style)

        def is_shown(seq: int) -> bool:
            if source is None:
                return False
            return bool((source.view.state[source.view.seq == seq] == LIVE).any())

        change = change_of(sent, self._sent.pop(conversation, None), is_shown)
        self._sent[conversation] = sent
        if len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return prefix._replace(change=change)
