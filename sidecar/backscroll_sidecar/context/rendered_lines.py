"""Lines looked up in the channel's table, and rendered where they are not there yet: for a question, or ahead of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.layout import (
    FIRST_NUMBER,
    IS_REFERENCE,
    MISSING,
    OWN_SLOT,
    PLACE,
    SLOT,
)
from backscroll_scoring.link_columns import WINDOW
from backscroll_scoring.links import NO_ROWS
from backscroll_sidecar.adapters import Speaker
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.selected_lines import Lines
from backscroll_sidecar.context.tool_exchanges import synthetic_results
from backscroll_sidecar.context.visibility import RULE_SHIFT, VisibilityRule
from backscroll_sidecar.domain import ProviderStatePart, Role, SpeakerStyle, TimeStyle
from backscroll_sidecar.lines.line_format import LineStyle
from backscroll_sidecar.lines.line_source import LineSource, Wanted
from backscroll_sidecar.lines.rendering import (
    AnswerCodec,
    RenderedLine,
)

MOST_KEPT_CHARS = 8_192
"""A longer line is rendered anew for each question that shows it: in all forms it would fill the table."""
AHEAD_BYTES, AHEAD_LINE_CHARS = 32_768, 1_024
"""Of the newest lines so much text, UTF-8, is rendered ahead; longer lines are left to who asks."""
_RELATIVE = TimeStyle.RELATIVE
_TAGGED, _ROLE = SpeakerStyle.TAGGED, SpeakerStyle.ROLE
_USER = np.uint8(Role.USER)


async def lines_of(
    view: ChannelView,
    picked: Picked,
    wanted: Wanted,
    line_style: LineStyle,
    codec: AnswerCodec,
    *,
    has_turns: bool,
    has_tools: bool,
    answered_row: int,
    asker: Speaker,
    speaking: NDArray[np.int32] | None,
    rules: NDArray[np.uint32] | VisibilityRule,
) -> tuple[Lines, list[int]]:
    """The selected candidates as lines, and their kinds; those that nobody rendered before are, in a thread if that
    takes long.
    """
    view.lines.wanted = wanted
    laid_out = partial(
        _laid_out, view, picked, wanted, line_style,
        has_turns=has_turns, has_tools=has_tools, answered_row=answered_row, asker=asker,
        speaking=speaking, rules=rules,
    )  # fmt: skip
    lines, source, kinds = laid_out()
    if lines.sums[MISSING]:
        cost_us = sum(map(source.render_us, lines.missing))
        found = await run(cost_us, partial(_rendered, source, _keys(source, lines.missing), codec))
        if view.lines.table(wanted.table_style) is not source.table:
            # The table began anew meanwhile. Somebody was renamed, perhaps: nobody has two names in one answer.
            lines, source, kinds = laid_out()
            found = _rendered(source, _keys(source, lines.missing), codec)
        _enter(lines, source, found)
    return lines, kinds


def _laid_out(
    view: ChannelView,
    picked: Picked,
    wanted: Wanted,
    line_style: LineStyle,
    *,
    has_turns: bool,
    has_tools: bool,
    answered_row: int,
    asker: Speaker,
    speaking: NDArray[np.int32] | None,
    rules: NDArray[np.uint32] | VisibilityRule,
) -> tuple[Lines, LineSource, list[int]]:
    """The selected candidates as the table has them; and their kinds: which sources proposed them, by which rule they
    are shown (`rules`, of each candidate or of all).
    """
    gathered, there, times_ms = picked.gathered, picked.elsewhere, view.columns.time_ms
    table = view.lines.table(wanted.table_style)
    bits = gathered.source_bits
    if not isinstance(rules, VisibilityRule):
        bits = bits | (rules << np.uint32(RULE_SHIFT))
    columns, sums, kinds = table.lay_out(
        picked.selection.chosen, gathered.rows, gathered.semantic, bits, view.seq, times_ms,
        wanted.dated_before_ms(line_style.asked_at_ms),
    )  # fmt: skip
    if isinstance(rules, VisibilityRule):
        kinds = [kind | rules << RULE_SHIFT for kind in kinds]
    if there is not None:
        times_ms = np.concatenate((times_ms, there.view.columns.time_ms))
        columns = columns.take(
            times_ms[gathered.rows[columns[PLACE]]].argsort(kind="stable"), axis=1
        )
    source = LineSource(view, gathered.rows, there, wanted, line_style, table, speaking)
    answered = -1
    if answered_row >= 0:
        among = columns[PLACE][gathered.rows[columns[PLACE]] == answered_row].tolist()
        answered = among[0] if among else -1
    lines = Lines(
        columns, {}, gathered.exchanges.members, has_turns=has_turns, answered=answered, source=source,
        sums=sums if there is None else None,
    )  # fmt: skip
    if gathered.exchanges.unanswered:
        source.additions = {
            place: synthetic_results(tools)
            for place, tools in gathered.exchanges.unanswered.items()
            if place in lines.places
        }
    if wanted.style.with_names:
        source.shared, lines.asked_by = source.shared_names(lines.speakers(), asker)
    if has_turns:
        source.in_parts = _in_parts(view, gathered, lines, source, has_tools=has_tools)
    anew = source.shared or source.additions or source.in_parts
    if anew or wanted.time_style is _RELATIVE:
        table.look_up(np.array(list(map(source.key, lines.places)), np.int64), columns)
        lines.add_up()
    return lines, source, kinds


def _in_parts(
    view: ChannelView, gathered: Gathered, lines: Lines, source: LineSource, *, has_tools: bool
) -> frozenset[int]:
    """The places whose messages are told as what they consist of.

    These are the bot's own calls with their results, where it has tools, and lines with what only a provider can read.
    """
    talk = lines.columns[PLACE][lines.columns[IS_REFERENCE] == 0]
    rows, bodies = gathered.rows[talk], view.texts.bodies
    here = rows < view.count
    talk, rows = talk[here], rows[here]
    of_parts = bodies.text_at[rows] >= bodies.size[rows]
    if not of_parts.any():
        return frozenset()
    style, found, exchanges = source.wanted.style, set[int](), dict[int, list[tuple[int, bool]]]()
    for place, row in zip(talk[of_parts].tolist(), rows[of_parts].tolist(), strict=True):
        is_own = style.is_own(Role(view.role.item(row)), view.author_id(row))
        ids = view.tool_exchanges.ids(view.message_ids[row])
        if ids is not None:
            exchange = gathered.exchanges.members.get(place, place)
            exchanges.setdefault(exchange, []).append((place, is_own or not ids.calls))
        elif is_own and any(isinstance(one, ProviderStatePart) for one in view.parts(row)):
            found.add(place)
    for exchange, members in exchanges.items() if has_tools else ():
        shown = sum(lines.block_of(place) == exchange for place in lines.places)
        if shown == len(members) and all(is_own for _, is_own in members):
            found.update(place for place, _ in members)
    return frozenset(found)


class _Rendered(NamedTuple):
    """A line that was rendered, and its forms where it is to be kept under a key, else -1."""

    line: RenderedLine
    key: int
    forms: Sequence[bytes]


def _keys(source: LineSource, places: Iterable[int]) -> dict[int, int]:
    """Their keys by place. On the event loop, which owns the cache: marks may be new to it."""
    return {place: source.key(place) for place in places}


def _rendered(
    source: LineSource, keys: Mapping[int, int], codec: AnswerCodec
) -> Mapping[int, _Rendered]:
    """The lines at these places, which have these keys. In any thread."""
    found = {}
    for place, key in keys.items():
        line = source.render(place)
        kept_as = key if len(line.said.text) <= MOST_KEPT_CHARS else -1
        found[place] = _Rendered(line, kept_as, line.forms(codec) if kept_as >= 0 else ())
    return found


def _enter(lines: Lines, source: LineSource, found: Mapping[int, _Rendered]) -> None:
    """Complete the lines, and keep for the next question what can be kept."""
    slots, columns = _keep(source, found), lines.columns
    for i, place in enumerate(lines.places):
        if place in found:
            columns[FIRST_NUMBER:, i] = found[place].line.numbers
            columns[SLOT, i] = slots.get(place, OWN_SLOT)
    lines.own = {place: one.line for place, one in found.items() if place not in slots}
    lines.add_up()


def _keep(source: LineSource, found: Mapping[int, _Rendered]) -> dict[int, int]:
    """Enter in the table what can be kept, unless it began anew with a mark too many; its slots by place."""
    cache, style = source.view.lines, source.wanted.table_style
    kept = {place: one for place, one in found.items() if one.key >= 0}
    if not kept or cache.table(style) is not source.table:
        return {}
    slots = cache.keep(
        style,
        [one.key for one in kept.values()],
        [one.forms for one in kept.values()],
        [one.line.numbers for one in kept.values()],
    )
    return dict(zip(kept, slots, strict=True))


def first_wanted(view: ChannelView, elsewhere: Wanted) -> Wanted:
    """How the first question about a channel will most likely want its lines: as one about another channel did, with
    speakers where two people or more speak.
    """
    newest = slice(max(0, view.count - WINDOW), view.count)
    people = np.unique(view.columns.author[newest][view.role[newest] == _USER])
    speaker = _TAGGED if len(people) > 1 else _ROLE
    return elsewhere._replace(style=elsewhere.style._replace(speaker=speaker))


def missing_lately(
    view: ChannelView, wanted: Wanted, asked_at_ms: int, older: NDArray[np.int32] = NO_ROWS
) -> NDArray[np.int32]:
    """int32[k]: of the newest live rows, `WINDOW` at most, and of `older` ones, ascending, what can be rendered ahead,
    the newest first.
    """
    newest = np.arange(max(0, view.count - WINDOW), view.count, dtype=np.int32)
    rows = np.concatenate((older, newest[view.state[newest] == LIVE]))
    none = np.zeros(len(rows), np.uint32)
    columns, *_ = view.lines.table(wanted.table_style).lay_out(
        np.arange(len(rows)), rows, none.astype(np.bool_), none, view.seq, view.columns.time_ms,
        wanted.dated_before_ms(asked_at_ms),
    )  # fmt: skip
    out: list[int] = []
    left = AHEAD_BYTES
    for row in rows[columns[SLOT] < 0][::-1].tolist():
        text = view.texts[row]
        if len(text) <= AHEAD_LINE_CHARS:
            left -= len(text.encode())
            if left < 0:
                break
            out.append(row)
    return np.array(out, np.int32)


def render_ahead(
    view: ChannelView,
    rows: NDArray[np.int32],
    wanted: Wanted,
    asked_at_ms: int,
    codec: AnswerCodec,
    within_us: float,
) -> int:
    """Render rows for a later question, as many as is done in that time, at least one. Returns how many."""
    table = view.lines.table(wanted.table_style)
    source = LineSource(view, rows, None, wanted, wanted.line_style(asked_at_ms), table)
    costs = accumulate(map(source.render_us, range(len(rows))))
    count = max(1, sum(so_far <= within_us for so_far in costs))
    _keep(source, _rendered(source, _keys(source, range(count)), codec))
    return count
