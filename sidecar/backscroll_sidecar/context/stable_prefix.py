"""What a payload begins with that the next one of the conversation begins with, too: its length, its marks for prompt
caches, and why it changed. Pure but for what `PrefixLog` remembers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from backscroll_scoring.layout import PLACE
from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels import LIVE
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.layouts import Part, Parts
from backscroll_sidecar.context.model import PrefixChange, TokenCounts
from backscroll_sidecar.domain import Layout, NeutralMessage, Role, TimeStyle

MARK_EVERY = 32
"""Messages between two marks."""
REMEMBERED = 1_024
"""Conversations whose last prefixes are in memory."""
OPEN_MESSAGES = 20
"""Among the newest so many a call may still get its result; what came before is as it is."""
KEPT = 4
"""Prefixes of each: vendors keep the earlier ones as well, for some minutes."""
_TURNS = Layout.TURNS


class StablePrefix(NamedTuple):
    """How much of a payload's beginning stays: tokens, messages of the answer's list, of the payload, and of the talk.

    `change`: None where nobody looked.
    """

    tokens: int
    message_count: int
    payload_message_count: int
    talk_count: int = 0
    change: PrefixChange | None = None


def stable_prefix(
    parts: Parts, frame: Frame, tokens: TokenCounts, stable_system: str, *, is_steady: bool
) -> StablePrefix:
    """Tools, then what of the system text stays; in turns also the summary and, `is_steady`, the talk.

    In other layouts preferences and lines follow in the same message, and may be others in the next turn. The talk ends
    before a call whose result may still come.
    """
    if parts.system and stable_system != parts.system:
        # What follows the cut may join with the last token before it.
        count = repeated_tokens(stable_system, frame.tokenizer)
        message_tokens = tokens.system - repeated_tokens(parts.system, frame.tokenizer)
        return StablePrefix(tokens.tools + (message_tokens + count - 1 if count else 0), 0, 0)
    found = tokens.tools + tokens.system
    has_system, shows_system = bool(parts.system), False
    if frame.layout is not _TURNS:
        shows_system = has_system and frame.layout is Layout.SYSTEM_AND_USER
        is_apart = has_system and (shows_system or not frame.include_system)
        return StablePrefix(found, int(shows_system), int(is_apart))
    shows_system = has_system and frame.include_system
    talk_count, open_tokens = _settled(parts) if is_steady else (0, 0)
    beside = int(bool(parts.summary)) + talk_count
    return StablePrefix(
        found + tokens.summary + (max(0, tokens.recent - open_tokens) if is_steady else 0),
        int(shows_system) + beside,
        int(has_system) + beside,
        talk_count,
    )


def _settled(parts: Parts) -> tuple[int, int]:
    """How many messages of the talk come before the first call of its end that nobody answered, and the most tokens of
    the others.
    """
    lines, shown = parts.lines, parts.shown_in(Part.RECENT)
    if lines.source is None or not lines.source.additions:
        return len(shown), 0
    places, costs = lines.places, lines.costs
    for n in range(max(0, len(shown) - OPEN_MESSAGES), len(shown)):
        if places[shown[n]] in lines.source.additions:
            return n, int(costs[shown[n:]].sum())
    return len(shown), 0


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
    first_seq : the number of the first message of the talk; 0 none.
    messages : what each of the talk says, and by which name: int64[k] as bytes.
    """

    tools: int
    system: int
    summary: int
    style: Hashable
    first_seq: int
    messages: bytes


def sent_prefix(
    parts: Parts, frame: Frame, stable_system: str, talk_count: int, style: Hashable
) -> SentPrefix:
    """What a payload by turns begins with, so many messages of the talk among it."""
    lines, source = parts.lines, parts.lines.source
    shown = [*parts.shown_in(Part.RECENT)[:talk_count]]
    first_seq = 0
    names: Sequence[object] = [""] * len(shown)
    if source is not None and shown:
        rows = source.rows[lines.columns[PLACE][shown]]
        first_seq = source.view.seq.item(rows[0])
        if frame.has_names:
            authors = source.view.columns.author[rows].tolist()
            names = [(source.view.people.names[one], one in source.shared) for one in authors]
    said = [hash((lines.said(i), name)) for i, name in zip(shown, names, strict=True)]
    return SentPrefix(
        hash(frame.tools_json),
        hash(stable_system),
        hash((parts.summary_title, parts.summary)) if parts.summary else 0,
        (style, frame.has_names),
        first_seq,
        np.array(said, np.int64).tobytes(),
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
    if now.messages.startswith(before.messages):
        return PrefixChange.NONE
    if now.style != before.style:
        return PrefixChange.STYLE
    is_trimmed = now.first_seq != before.first_seq and is_shown(before.first_seq)
    return PrefixChange.TRIMMED if is_trimmed else PrefixChange.MESSAGES


class PrefixLog:
    """What the last payloads of each conversation began with, of those that were asked about lately."""

    def __init__(self) -> None:
        self._sent: OrderedDict[Hashable, list[SentPrefix]] = OrderedDict()

    def noted(
        self,
        conversation: Hashable,
        prefix: StablePrefix,
        parts: Parts,
        frame: Frame,
        stable_system: str,
    ) -> StablePrefix:
        """Remember what a payload by turns begins with; the same with what became of the ones before: `NONE` where it
        begins with all of one of them, else what is another than in the last one.
        """
        source = parts.lines.source
        style: Hashable = parts.speaker
        if source is not None and source.line_style.time in {None, TimeStyle.RELATIVE}:
            style = parts.speaker, source.line_style.asked_at_ms
        sent = sent_prefix(parts, frame, stable_system, prefix.talk_count, style)

        def is_shown(seq: int) -> bool:
            if source is None:
                return False
            return bool((source.view.state[source.view.seq == seq] == LIVE).any())

        known = self._sent.pop(conversation, [])
        found = [one for one in known if change_of(sent, one, is_shown) is PrefixChange.NONE]
        change = change_of(sent, known[-1] if known else None, is_shown)
        if found:
            change = PrefixChange.NONE
        self._sent[conversation] = [*(one for one in known if one not in found), sent][-KEPT:]
        if len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)
        return prefix._replace(change=change)
