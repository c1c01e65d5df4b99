"""Fewer or shorter messages: the last so many, each cut to a length, all together inside a token budget. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
import regex

from backscroll_scoring import take_fitting
from backscroll_scoring.layout import (
    CHARS,
    IS_REFERENCE,
    KEPT,
    LEFT,
    PASSED_OVER,
    PLACE,
    TAKEN,
)
from backscroll_sidecar.context.selected_lines import Line, Lines
from backscroll_sidecar.domain import CUT_MARK, Fate
from backscroll_sidecar.lines.rendering import RenderedLine

LEAST_TOKENS = 64
"""Of a budget that does not hold all lines, kept for the newest one."""
CUT_PROBES = 8
"""So often a text is measured at most until its line fits; each time is closer."""
LEAST_CHARS = 2
"""Of a text that is cut, its mark included."""
MOST_CHARS_A_TOKEN = 16
"""Of a text that is cut to a number of tokens no more is looked at."""
_GRAPHEME = regex.compile(r"\X")
_PLAIN = re.compile(r"[ -~\u00c0-\u024f\u0400-\u0481\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2}")
"""Two characters of which each is a grapheme of its own: the usual text."""


class Limits(msgspec.Struct, frozen=True):
    """What must be kept to, in this order. None: no limit.

    `max_messages` keeps the newest and what the question replies to; `max_chars_per_message` counts Unicode code
    points, the mark included; `max_tokens` keeps the best ranked lines whose costs fit, and of what the question
    replies to and of the newest line as much as fits. Where that leaves out lines of the talk, the rest begins with a
    message whose number is a multiple of `step_messages`, so that it does not begin elsewhere each time.
    """

    max_messages: int | None = None
    max_chars_per_message: int | None = None
    max_tokens: int | None = None
    step_messages: int | None = None


class Compressed(msgspec.Struct, frozen=True):
    """Lines in time order, and what became of those left out, by place."""

    lines: Sequence[Line]
    original_count: int
    dropped: Mapping[int, Fate] = msgspec.field(default_factory=dict)

    @property
    def was_cut(self) -> bool:
        """Whether anything was left out or shortened: only then is there an event."""
        return len(self.lines) < self.original_count or Lines.of(self.lines).is_shortened


class Compressor(Protocol):
    """Reduces what goes to the model. Must be a pure function of its arguments."""

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """Keep to `limits`; lines come and go in time order."""


class SimpleCompressor:
    """The plain compressor."""

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """Newest messages, then shorter ones, then the best ranked that fit. O(n log n)."""
        dropped: dict[int, Fate] = {}
        kept = lines
        if limits.max_messages is not None and len(kept) > limits.max_messages:
            kept = _newest(kept, limits.max_messages)
            dropped.update(_left_out(lines, kept, Fate.LIMIT))
        if limits.max_chars_per_message is not None:
            kept = _shortened(kept, limits.max_chars_per_message)
        if limits.max_tokens is not None and kept.cost > limits.max_tokens:
            fitting = _fitting(kept, limits.max_tokens)
            if limits.step_messages is not None:
                fitting = _from_a_step(fitting, kept, limits.step_messages)
            dropped.update(_left_out(kept, fitting, Fate.BUDGET))
            kept = fitting
        return Compressed(kept, len(lines), dropped)


def _left_out(lines: Lines, kept: Lines, fate: Fate) -> dict[int, Fate]:
    """The fate of the lines that are not kept, by place."""
    return dict.fromkeys(set(lines.places).difference(kept.places), fate)


def _newest(lines: Lines, most: int) -> Lines:
    """The newest lines and, as one of them, what the question replies to; a tool exchange that does not fit whole is
    passed over.
    """
    blocks: dict[int, list[int]] = {}
    if lines.answered_at >= 0:
        blocks[lines.block_of(lines.answered)] = []
    for i in range(len(lines) - 1, -1, -1):
        blocks.setdefault(lines.block_of(lines.places[i]), []).append(i)
    taken: list[int] = []
    for block in blocks.values():
        if len(taken) + len(block) <= most:
            taken += block
    return lines.take(sorted(taken))


def _fitting(lines: Lines, max_tokens: int) -> Lines:
    """Walk from the best rank down; what does not fit is left out and the walk goes on with the next.

    What the question replies to comes first; it and the newest line are cut to what fits. The lines of a tool exchange
    fit together or not at all: of one that must be cut, the longest is.
    """
    blocks, needed = lines.blocks, (lines.newest, lines.answered_at)
    changed: dict[int, RenderedLine] = {}
    state, fates = np.array((0, max_tokens, 0)), np.zeros(len(lines), np.uint8)
    walk = lines.columns, lines.talk_cost, blocks, needed, LEAST_TOKENS, state, fates
    while (stopped := take_fitting(*walk)) >= 0:
        left, kept = state.item(LEFT), state.item(KEPT)
        block = (blocks == blocks[stopped]).nonzero()[0].tolist()
        index, cut = _cut(lines, block, [left - kept, left] if kept else [left])
        fates[block] = PASSED_OVER
        if cut is not None:
            changed[index], fates[block] = cut.written, TAKEN
            state[LEFT] -= cut.cost + lines.costs[block].sum() - lines.costs[index]
    return lines.take((fates == TAKEN).nonzero()[0], changed)


def _from_a_step(fitting: Lines, lines: Lines, step: int) -> Lines:
    """Where lines of the talk do not fit: the rest from the first whose number is a multiple of `step` on, if any is.

    What the question replies to stays.
    """
    talk = (fitting.columns[IS_REFERENCE] == 0).nonzero()[0]
    is_all = len(talk) == int((lines.columns[IS_REFERENCE] == 0).sum())
    if is_all or not len(talk) or lines.source is None:
        return fitting
    numbers = lines.source.view.seq[lines.source.rows[fitting.columns[PLACE][talk]]]
    begins = (numbers[1:] // step > numbers[:-1] // step).nonzero()[0]
    if not len(begins):
        return fitting
    first = talk[begins[0] + 1]
    keep = np.ones(len(fitting), np.bool_)
    keep[talk[talk < first]] = False
    if fitting.answered_at >= 0:
        keep[fitting.answered_at] = True
    return whole_blocks(fitting.take(keep.nonzero()[0]), lines)


def _cut(lines: Lines, block: Sequence[int], rooms: Sequence[int]) -> tuple[int, Line | None]:
    """The longest line of a block, cut so that the block fits the first of the rooms that holds something of it; None
    where none does.
    """
    costs = lines.costs
    longest = max(block, key=costs.__getitem__)
    others = int(costs[block].sum() - costs[longest])
    for room in rooms:
        line = lines[longest]
        cut = line if line.cost <= room - others else cut_line(line, room - others)
        if cut is not None:
            return longest, cut
    return longest, None


def cut_line(line: Line, most: int) -> Line | None:
    """The line with as much of its text as makes it cost about `most` tokens, never more; None where nothing fits."""
    text = line.said.text
    low, high = LEAST_CHARS, min(len(text), MOST_CHARS_A_TOKEN * max(0, most))
    fits = shorten(line, low)
    if fits.cost > most:
        return None
    fixed, chars, cost = fits.cost, len(text), line.cost
    for _ in range(CUT_PROBES):
        chars = min(max(low + 1, chars * (most - fixed) // max(1, cost - fixed)), high)
        if chars <= low:
            break
        shown = shorten(line, chars)
        cost = shown.cost
        if cost > most:
            high = chars - 1
            continue
        fits, low = shown, chars
        if most - cost <= most // 32:
            break
    return fits


def whole_blocks(kept: Lines, lines: Lines) -> Lines:
    """The lines kept, but for those of a tool exchange of which another line of `lines` was not kept."""
    if not lines.exchanges:
        return kept
    there = set(kept.places)
    broken = {lines.block_of(place) for place in lines.places if place not in there}
    return kept.take(
        [i for i, place in enumerate(kept.places) if lines.exchanges.get(place) not in broken]
    )


def _shortened(lines: Lines, max_chars: int) -> Lines:
    """The lines cut to `max_chars`; they themselves where none is longer."""
    long = (lines.columns[CHARS] > max_chars).nonzero()[0].tolist()
    if not long:
        return lines
    changed = {i: shorten(lines[i], max_chars).written for i in long}
    return lines.take(range(len(lines)), changed)


def shorten(line: Line, max_chars: int) -> Line:
    """The line cut to `max_chars` code points, mark included, never inside a grapheme."""
    text = line.said.text
    return line if len(text) <= max_chars else line.with_text(cut_text(text, max_chars))


def cut_text(text: str, max_chars: int) -> str:
    """At most `max_chars` code points of `text`, its mark included."""
    room = max_chars - len(CUT_MARK)
    # A grapheme that crosses the limit is left out whole. Graphemes are looked for from a place before the limit where
    # one certainly begins.
    end = room
    while end > 0 and not _PLAIN.match(text, end - 1):
        end -= 1
    for match in _GRAPHEME.finditer(text, end, min(len(text), room + 64)):
        if match.end() > room:
            break
        end = match.end()
    return text[:end] + CUT_MARK
