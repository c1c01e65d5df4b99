"""Fewer or shorter messages: the last so many, each cut to a length, all together inside a token budget. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
import regex

from backscroll_sidecar.context.selected import Line, Lines
from backscroll_sidecar.domain import Category, Fate

CUT_MARK = "…"
LEAST_TOKENS = 64
"""Of a budget that does not hold all lines, kept for the newest one."""
CUT_PROBES = 8
"""So often a text is measured at most until its line fits; each time is closer."""
LEAST_CHARS = 2
"""Of a text that is cut, its mark included."""
MOST_CHARS_A_TOKEN = 16
"""Of a text that is cut to a number of tokens no more is looked at."""
_RECENT = Category.RECENT
_GRAPHEME = regex.compile(r"\X")
_PLAIN = re.compile(r"[ -~\u00c0-\u024f\u0400-\u0481\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2}")
"""Two characters of which each is a grapheme of its own: the usual text."""


class Limits(msgspec.Struct, frozen=True):
    """What must be kept to, in this order. None: no limit.

    `max_messages` keeps the newest and what the question replies to; `max_chars_per_message` counts Unicode code
    points, the mark included; `max_tokens` keeps the best ranked lines whose costs fit, and of what the question
    replies to and of the newest line as much as fits.
    """

    max_messages: int | None = None
    max_chars_per_message: int | None = None
    max_tokens: int | None = None


class Compressed(msgspec.Struct, frozen=True):
    """Lines in time order, and what became of those left out, by place."""

    lines: Sequence[Line]
    original_count: int
    dropped: Mapping[int, Fate] = msgspec.field(default_factory=dict)

    @property
    def was_cut(self) -> bool:
        """Whether anything was left out or shortened: only then is there an event (S3-11, S3-16)."""
        return len(self.lines) < self.original_count or Lines.of(self.lines).any_truncated


class Compressor(Protocol):
    """Reduces what goes to the model. Must be a pure function of its arguments (S3-05)."""

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """Keep to `limits`; lines come and go in time order."""


class SimpleCompressor:
    """Design S3's compressor, with a token budget."""

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """Newest messages, then shorter ones, then the best ranked that fit. O(n log n)."""
        dropped: dict[int, Fate] = {}
        kept: Sequence[Line] = lines
        if limits.max_messages is not None and len(kept) > limits.max_messages:
            kept, over = _newest(kept, limits.max_messages)
            dropped.update((line.place, Fate.LIMIT) for line in over)
        if limits.max_chars_per_message is not None:
            kept = _shortened(kept, limits.max_chars_per_message)
        if limits.max_tokens is not None and sum(Lines.of(kept).costs) > limits.max_tokens:
            kept, over = _fitting(kept, limits.max_tokens)
            dropped.update((line.place, Fate.BUDGET) for line in over)
        return Compressed(kept, len(lines), dropped)


def _newest(lines: Sequence[Line], most: int) -> tuple[list[Line], list[Line]]:
    """The newest lines and, as one of them, what the question replies to; a tool round that does not fit whole is
    passed over.
    """
    taken: set[int] = set()
    for block in _answered_first(_blocks(reversed(lines))):
        if len(taken) + len(block) <= most:
            taken.update(line.place for line in block)
    return [x for x in lines if x.place in taken], [x for x in lines if x.place not in taken]


def _blocks(lines: Iterable[Line]) -> Iterable[list[Line]]:
    """The lines by what is taken or left together, in the order of the first of each."""
    blocks: dict[tuple[bool, int], list[Line]] = {}
    for line in lines:
        blocks.setdefault(block_of(line), []).append(line)
    return blocks.values()


def _answered_first(blocks: Iterable[list[Line]]) -> list[list[Line]]:
    """The block of what the question replies to, then the others as they were."""
    return sorted(blocks, key=lambda block: not any(line.is_answered for line in block))


def newest_of(lines: Sequence[Line]) -> Line | None:
    """The newest line of the talk: no reference."""
    return next((line for line in reversed(lines) if line.category is _RECENT), None)


def _fitting(lines: Sequence[Line], max_tokens: int) -> tuple[list[Line], list[Line]]:
    """Walk from the best rank down; what does not fit is left out and the walk goes on with the next.

    What the question replies to comes first; it and the newest line are cut to what fits. The lines of a tool round
    fit together or not at all: of one that must be cut, the longest is.
    """
    newest = newest_of(lines)
    last = None if newest is None else block_of(newest)
    left, taken = max_tokens, dict[int, Line]()
    blocks = _answered_first(_blocks(sorted(lines, key=lambda line: line.rank)))
    kept = sum(min(_cost(block), LEAST_TOKENS) for block in blocks if block_of(block[0]) == last)
    for block in blocks:
        shown: list[Line] | None = block
        if block_of(block[0]) == last:
            kept = 0
            shown = _cut(block, left)
        elif any(line.is_answered for line in block):
            shown = _cut(block, left - kept) or _cut(block, left)
        elif _cost(block) > left - kept:
            shown = None
        if shown:
            left -= _cost(shown)
            taken.update((line.place, line) for line in shown)
    return [taken[x.place] for x in lines if x.place in taken], [
        x for x in lines if x.place not in taken
    ]


def _cost(block: Iterable[Line]) -> int:
    """The most tokens that these lines add to a payload."""
    return sum(line.cost for line in block)


def _cut(block: list[Line], most: int) -> list[Line] | None:
    """The block in `most` tokens, its longest line cut; itself where it fits, None where nothing of that line does."""
    over = _cost(block) - most
    if over <= 0:
        return block
    longest = max(block, key=lambda line: line.cost)
    cut = cut_line(longest, longest.cost - over)
    return cut and [cut if line is longest else line for line in block]


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


def block_of(line: Line) -> tuple[bool, int]:
    """What the line is taken or left together with: itself, or its tool round."""
    return (False, line.place) if line.round is None else (True, line.round)


def whole_blocks(kept: Lines, lines: Lines) -> Lines:
    """The lines kept, but for those of a tool round of which another line of `lines` was not kept (P-10)."""
    if not lines.rounds:
        return kept
    places = set(kept.places)
    broken = {lines.rounds.get(place) for place in lines.places if place not in places} - {None}
    whole = [line for line in kept if line.round not in broken]
    return Lines.of(whole) if broken else kept


def _shortened(lines: Sequence[Line], max_chars: int) -> Sequence[Line]:
    """The lines cut to `max_chars`; they themselves where none is longer."""
    if all(len(one.said.text) <= max_chars for one in Lines.of(lines).shown.written):
        return lines
    return [shorten(line, max_chars) for line in lines]


def shorten(line: Line, max_chars: int) -> Line:
    """The line cut to `max_chars` code points, mark included, never inside a grapheme (S3-10)."""
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
