"""The newest part of a conversation from a point on that moves in steps: what payloads begin with stays the same for
many turns, and vendors' prompt caches hit. Pure.

A window that slides loses its oldest line with each new one, and no cache helps. This one grows until it is full, then
drops three quarters of itself at once. Where it begins depends on the messages alone: it is the same after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.adapters import Speaker
from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.compress import MOST_CHARS_A_TOKEN, Limits
from backscroll_sidecar.context.opening import StoredSummary
from backscroll_sidecar.domain import AuthorKind, Role, SpeakerStyle, TimeStyle, TokenizerName
from backscroll_sidecar.lines.line_format import MS_PER_DAY, LineStyle, Said, line_prefix
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
    tokens += _speaker_tokens(view, rows, style)
    times_ms = view.columns.time_ms[rows]
    if dates.time is None:
        tokens[dates.asked_at_ms - times_ms > MS_PER_DAY] += DATE_TOKENS
    elif dates.time is not TimeStyle.NONE:
        tokens += DATE_TOKENS
    return tokens


def _speaker_tokens(
    view: ChannelView, rows: NDArray[np.int32], style: RenderStyle
) -> NDArray[np.float64]:
    """float64[k]: tokens of who says a row, in its text or beside it; the bot itself and the platform are nobody."""
    authors, roles, people = view.columns.author[rows], view.role[rows], view.people
    is_speaking = np.zeros(len(people.ids), np.bool_)
    is_speaking[authors] = True
    is_bot, tokens = np.zeros(len(people.ids), np.bool_), np.zeros(len(people.ids))
    for author in is_speaking.nonzero()[0].tolist():
        author_id, name = people.ids[author], people.names[author]
        is_bot[author] = style.is_own(Role.ASSISTANT, author_id)
        if style.speaker is SpeakerStyle.TAGGED:
            tokens[author] = _prefix_tokens(author_id, name, style.tokenizer)
        if style.with_names:
            named = style.adapter.name_alone(Speaker(author_id, name or author_id))
            tokens[author] += name_tokens(named, style.adapter, style.tokenizer)
    is_nobody = (roles == Role.SYSTEM) | ((roles == Role.ASSISTANT) & is_bot[authors])
    return np.where(is_nobody, 0.0, tokens[authors])


@lru_cache(maxsize=65_536)
def _prefix_tokens(author_id: str, name: str, tokenizer: TokenizerName) -> int:
    """Tokens of a speaker before a text."""
    said = Said("", Role.USER, False, author_id, name, AuthorKind.HUMAN, "", 0)
    return repeated_tokens(line_prefix(said, SpeakerStyle.TAGGED), tokenizer)


def first_shown(
    tokens: NDArray[np.float64], numbers: NDArray[np.int64], room: float, most: int
) -> int:
    """The index of the line that the window begins with; of no lines 0.

    A line takes its share of the room in tokens, or one of the `most` messages, whichever is more; none takes more than
    all of it. `numbers` are those that steps are counted by.
    """
    if not len(tokens):
        return 0
    costs = np.minimum(np.maximum(tokens, room / most), room)
    before = np.append(0.0, costs.cumsum())
    blocks = numbers // BLOCK_MESSAGES
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
    # As many as the summary tells of are passed over: one that came late, among older ones, opens none of them again.
    rows = rows[int((view.seq[rows] <= after_seq).sum()) :]
    if not len(rows):
        return Window(0, is_whole=True)
    tokens = line_tokens(view, rows, style, dates, limits.max_chars_per_message)
    numbers = view.seq[rows] if not query.is_narrow else _numbers_in_thread(query, len(rows))
    first = first_shown(tokens, numbers, room_tokens(frame, beside_tokens), most)
    return Window(len(rows) - first, is_whole=not first)


def _numbers_in_thread(query: StrategyQuery, count: int) -> NDArray[np.int64]:
    """int64[count]: of the newest messages of a thread, from its first: in the channel their numbers lie far apart."""
    every = np.count_nonzero(query.eligible)
    return np.arange(every - count, every)


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
    """int32[k]: a row of each who spoke lately before `end`, in each of their roles, whoever is in the window."""
    first = max(0, end - SPEAKERS_LOOKED_AT)
    rows = np.arange(first, end, dtype=np.int32)
    who = view.columns.author[first:end].astype(np.int64) * len(Role) + view.role[first:end]
    row_of = np.full(len(Role) * (len(view.people.ids) + 1) + 1, -1, np.int32)
    row_of[who[::-1]] = rows[::-1]  # of several the first stays
    return row_of[row_of >= 0]


def end_of_day_ms(at_ms: int, zone: tzinfo) -> int:
    """The end of a moment's day: what is dated by it is dated the same all day long."""
    try:
        day = datetime.fromtimestamp(at_ms / 1000, zone).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        return int((day + timedelta(days=1)).timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return at_ms
