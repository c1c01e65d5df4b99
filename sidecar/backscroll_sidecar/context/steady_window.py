"""The newest part of a conversation from a point on that moves in steps: what payloads begin with stays the same for
many turns, and vendors' prompt caches hit. Pure.

A window that slides loses its oldest line with each new one, and no cache helps. This one grows until it is full, then
drops three quarters of itself at once. Where it begins depends on the messages alone: it is the same after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.adapters import Speaker
from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.compress import MOST_CHARS_A_TOKEN, Limits
from backscroll_sidecar.context.opening import StoredSummary
from backscroll_sidecar.domain import AuthorKind, Role, TimeStyle
from backscroll_sidecar.lines.line_format import MS_PER_DAY, LineStyle, Said, line_prefix, outside
from backscroll_sidecar.lines.rendering import RenderStyle, name_tokens
from backscroll_sidecar.strategies import StrategyQuery, newest_live_rows
from backscroll_sidecar.tool_outputs import OutputPolicy

ROOM_SHARE = 7 / 8
"""Of what system text, tools and summary leave of the budget; the rest is for the question and references."""
STEP_SHARE = 3 / 4
"""Of the room, what is dropped at once: a window holds a quarter of it to all of it."""
LEAST_ROOM_TOKENS = 256
BLOCK_MESSAGES = 2_048
"""Steps are counted from a message whose number is a multiple of this: what becomes of older ones changes nothing."""
SPEAKERS_LOOKED_AT = 4_096
"""Messages, the newest, among which those are looked for who speak."""
DATE_TOKENS = 9
"""Of ``[2026-11-20] ``."""
SKIPPED_OUTPUT_TOKENS = 32
"""Rough tokens of a tool's result that is not shown."""


def room_tokens(frame: Frame, beside_tokens: int) -> float:
    """Tokens for the talk, where system text and summary take so many."""
    left = frame.budget - frame.fixed_tokens - beside_tokens
    return max(LEAST_ROOM_TOKENS, left * ROOM_SHARE)


def line_tokens(
    view: ChannelView,
    rows: NDArray[np.int32],
    style: RenderStyle,
    dates: LineStyle,
    max_chars: int | None,
) -> NDArray[np.float64]:
    """float64[k]: about what each row takes as a message of its own: its text, cut to so many characters, its speaker,
    its date, the framing.
    """
    tokens = view.token_count[rows].astype(np.float64)
    outputs = style.tool_outputs
    if max_chars is not None:
        for i in (tokens > max_chars / MOST_CHARS_A_TOKEN).nonzero()[0].tolist():
            chars = len(view.texts[rows.item(i)])
            tokens[i] *= min(1.0, max_chars / max(1, chars))
    if outputs.policy is not OutputPolicy.KEEP:
        is_cut = outputs.policy is OutputPolicy.HEAD_TAIL
        most = outputs.max_chars if is_cut else SKIPPED_OUTPUT_TOKENS
        is_tool = view.role[rows] == Role.TOOL
        tokens[is_tool] = np.minimum(tokens[is_tool], most)
    tokens += style.adapter.framing.message_tokens
    who = view.columns.author[rows].astype(np.int64) * len(Role) + view.role[rows]
    _, first, number = np.unique(who, return_index=True, return_inverse=True)
    tokens += np.array([_speaker_tokens(view, row, style) for row in rows[first].tolist()])[number]
    times_ms = view.columns.time_ms[rows]
    if dates.time is None:
        tokens[dates.asked_at_ms - times_ms > MS_PER_DAY] += DATE_TOKENS
    elif dates.time is not TimeStyle.NONE:
        tokens += DATE_TOKENS
    return tokens


def _speaker_tokens(view: ChannelView, row: int, style: RenderStyle) -> int:
    """Tokens of who says a row, in its text or beside it."""
    author, role = view.columns.author.item(row), Role(view.role.item(row))
    author_id, name = view.people.ids[author], view.people.names[author]
    is_own = style.is_own(role, author_id)
    said = Said("", role, is_own, author_id, name, AuthorKind(view.kind.item(row)), "", 0)
    tokens = 0
    if not outside(said, style.speaker):
        tokens += repeated_tokens(line_prefix(said, style.speaker), style.tokenizer)
    if style.with_names and not is_own and not style.is_platform(role):
        named = style.adapter.name_alone(Speaker(author_id, name or author_id))
        tokens += name_tokens(named, style.adapter, style.tokenizer)
    return tokens


def first_shown(tokens: NDArray[np.float64], seq: NDArray[np.int64], room: float, most: int) -> int:
    """The index of the line that the window begins with; of no lines 0.

    A line takes its share of the room in tokens, or one of the `most` messages, whichever is more; none takes more than
    all of it. `seq` are the messages' numbers.
    """
    if not len(tokens):
        return 0
    costs = np.minimum(np.maximum(tokens, room / most), room)
    before = np.append(0.0, costs.cumsum())
    blocks = seq // BLOCK_MESSAGES
    begins = np.append(0, (blocks[1:] != blocks[:-1]).nonzero()[0] + 1)
    behind = before[-1] - before[begins]
    full = begins[behind >= room]
    origin = before.item(int(full[-1])) if len(full) else 0.0
    step = room * STEP_SHARE
    steps = max(0.0, np.ceil((before.item(-1) - origin - room) / step))
    return min(int(before[:-1].searchsorted(origin + steps * step)), len(tokens) - 1)


class Window(NamedTuple):
    """The newest messages that are shown; `is_whole`: these are all since the summary."""

    message_count: int
    is_whole: bool


def window_of(
    query: StrategyQuery,
    after_seq: int,
    frame: Frame,
    beside_tokens: int,
    limits: Limits,
    style: RenderStyle,
    dates: LineStyle,
) -> Window:
    """The window behind a summary that tells of the messages up to `after_seq`, 0 none.

    `beside_tokens` are those of the system text and the summary. `limits`: the most messages, and characters of one.
    """
    view, most = query.view, max(1, int((limits.max_messages or 1) * ROOM_SHARE))
    rows = newest_live_rows(query, most + 2 * BLOCK_MESSAGES)
    behind = (view.seq[rows] > after_seq).nonzero()[0]
    if not len(behind):
        return Window(0, is_whole=True)
    rows = rows[behind.item(0) :]
    tokens = line_tokens(view, rows, style, dates, limits.max_chars_per_message)
    first = first_shown(tokens, view.seq[rows], room_tokens(frame, beside_tokens), most)
    return Window(len(rows) - first, is_whole=not first)


def window_behind(
    summaries: Sequence[StoredSummary],
    query: StrategyQuery,
    frame: Frame,
    system: str,
    limits: Limits,
    style: RenderStyle,
    dates: LineStyle,
) -> tuple[StoredSummary | None, int]:
    """The summary before the window, one of these, the newest first; and how many messages stand in the window.

    An older summary stays for as long as all that was said since then has room behind it.
    """
    system_tokens = repeated_tokens(system, frame.tokenizer)

    def window(summary: StoredSummary | None) -> Window:
        told = repeated_tokens(summary.text, frame.tokenizer) if summary else 0
        upto_seq = summary.upto_seq if summary else 0
        return window_of(query, upto_seq, frame, system_tokens + told, limits, style, dates)

    for older in reversed(summaries[1:]):
        found = window(older)
        if found.is_whole:
            return older, found.message_count
    newest = summaries[0] if summaries else None
    return newest, window(newest).message_count


def speaking_rows(view: ChannelView, end: int) -> NDArray[np.int32]:
    """A row of each who spoke lately before `end`, in each of their roles: it does not matter who is in the window."""
    first = max(0, end - SPEAKERS_LOOKED_AT)
    who = view.columns.author[first:end].astype(np.int64) * len(Role) + view.role[first:end]
    rows: NDArray[np.int32] = (np.unique(who, return_index=True)[1] + first).astype(np.int32)
    return rows


def end_of_day_ms(at_ms: int, zone: tzinfo) -> int:
    """The end of a moment's day: what is dated by it is dated the same all day long."""
    try:
        day = datetime.fromtimestamp(at_ms / 1000, zone).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        return int((day + timedelta(days=1)).timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return at_ms
