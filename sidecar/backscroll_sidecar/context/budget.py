"""Fit the parts into the token budget: by bounds line by line, then recounted as final text (law 3). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from backscroll_sidecar.adapters import safe_name
from backscroll_sidecar.analyze import TokenCounter, token_counter
from backscroll_sidecar.context.compress import (
    Compressor,
    Limits,
    LineCost,
    block_of,
    whole_blocks,
)
from backscroll_sidecar.context.layouts import Assembled, Assembler, Parts
from backscroll_sidecar.context.lines import Line, LineStyle, outside, speaker, time_mark
from backscroll_sidecar.context.model import TokenCounts
from backscroll_sidecar.domain import Category, Fate, Layout, NeutralMessage, TokenizerName
from backscroll_sidecar.errors import BudgetTooSmall

MESSAGE_TOKENS = 4
"""Framing of one chat message: three marks and the role (OpenAI's published count for o200k models)."""
NAME_TOKENS = 1
PRIMING_TOKENS = 3
"""What the API adds once, to begin the reply."""
TITLE_TOKENS = 12
"""Upper bound for one section's title with its separators."""
SHORT_CHARS = 1_024
"""Counts of longer texts are remembered for the last few only: a system text or tools may take 256 KiB."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a payload carries besides the lines, and how it is counted."""

    budget: int
    reserve: int
    tools_json: str
    layout: Layout
    include_system: bool
    with_names: bool
    tokenizer: TokenizerName


@dataclass(frozen=True, slots=True)
class Fitted:
    """A context inside its budget.

    `dropped` says what became of lines that had to go, `line_tokens` what the others cost at most, both by place.
    """

    assembled: Assembled
    lines: tuple[Line, ...]
    tokens: TokenCounts
    original_count: int
    was_cut: bool
    dropped: Mapping[int, Fate]
    line_tokens: Mapping[int, int]
    preferences_dropped: bool = False


class StageFailed(Exception):
    """A compressor or an assembler raised; `stage` says which."""

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


def fit(
    parts: Parts, limits: Limits, frame: Frame, compressor: Compressor, assembler: Assembler
) -> Fitted:
    """Cut `parts.lines` until the rendered payload fits.

    Raises
    ------
    BudgetTooSmall
        When the question and the fixed parts alone do not fit; it names the least that would do.
    StageFailed
        When the compressor or the assembler raised.
    """
    counter = _Remembering(token_counter(frame.tokenizer))

    def assemble(lines: Sequence[Line], preferences: Sequence[str]) -> tuple[Assembled, int]:
        shown = replace(parts, lines=lines, preferences=preferences)
        try:
            made = assembler.assemble(shown, frame.layout, include_system=frame.include_system)
        except Exception as error:
            raise StageFailed("assemble") from error
        return made, payload_tokens(made.payload_messages, frame, counter)

    bare, least = assemble((), ())
    if least > frame.budget:
        raise BudgetTooSmall(frame.budget, least)
    preferences = parts.preferences
    made, total = assemble((), preferences) if preferences else (bare, least)
    preferences_dropped = total > frame.budget
    if preferences_dropped:
        preferences, made, total = (), bare, least
    room = frame.budget - total - _titles_cost(parts.lines, frame.layout)
    cost = line_cost(parts.style, frame, counter)
    try:
        compressed = compressor.compress(parts.lines, replace(limits, max_tokens=room), cost)
    except Exception as error:
        raise StageFailed("compress") from error
    lines = whole_blocks(compressed.lines, parts.lines)
    if lines:
        made, total = assemble(lines, preferences)
    while lines and total > frame.budget:
        worst = block_of(max(lines, key=lambda line: line.rank))
        lines = [line for line in lines if block_of(line) != worst]
        made, total = assemble(lines, preferences)
    kept = {line.place for line in lines}
    dropped = {
        line.place: _fate(line, compressed.dropped, parts.lines)
        for line in parts.lines
        if line.place not in kept
    }
    tokens = _by_part(
        made, total, replace(parts, lines=lines, preferences=preferences), frame, counter
    )
    cut = compressed.was_cut or len(lines) < compressed.original_count
    return Fitted(
        made,
        tuple(lines),
        tokens,
        compressed.original_count,
        cut,
        dropped,
        {line.place: cost(line) for line in lines},
        preferences_dropped,
    )


def _fate(line: Line, dropped: Mapping[int, Fate], lines: Sequence[Line]) -> Fate:
    """What became of a line that is not shown: the compressor's word on it, or on another of its tool round."""
    if line.place in dropped:
        return dropped[line.place]
    if line.round is None:
        return Fate.BUDGET
    fates = (dropped[x.place] for x in lines if x.round == line.round and x.place in dropped)
    return next(fates, Fate.BUDGET)


class _Remembering:
    """A counter for one fit: bare, recounted and by part, the same texts come again."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        tokens = self._known.get(text)
        if tokens is None:
            tokens = self._known[text] = self._counter.count(text)
        return tokens


def payload_tokens(messages: Sequence[NeutralMessage], frame: Frame, counter: TokenCounter) -> int:
    """Tokens of the whole payload as rendered, tools and reserve included."""
    tokens = PRIMING_TOKENS + frame.reserve + _static_tokens(frame.tools_json, frame.tokenizer)
    for message in messages:
        tokens += message_tokens(message, frame, counter)
    return tokens


def message_tokens(message: NeutralMessage, frame: Frame, counter: TokenCounter) -> int:
    """Tokens of one message with its framing."""
    tokens = MESSAGE_TOKENS + counter.count(message.content)
    name = safe_name(message.name) if frame.with_names else ""
    return tokens + NAME_TOKENS + counter.count(name) if name else tokens


def _titles_cost(lines: Sequence[Line], layout: Layout) -> int:
    """An upper bound for the titles of the lines' sections and the message they may need."""
    titled = {line.category for line in lines}
    if layout is Layout.TURNS:
        titled.discard(Category.RECENT)
    return MESSAGE_TOKENS + TITLE_TOKENS * len(titled) if titled else 0


def line_cost(style: LineStyle, frame: Frame, counter: TokenCounter) -> LineCost:
    """An upper bound for what a line adds: its stored count, its speaker and time where they are shown, its framing.

    BPE counts of pieces add up to at least the count of the whole for such joins; the recount in `fit` has the last
    word anyway.
    """
    exact = frame.tokenizer is TokenizerName.O200K

    def cost(line: Line) -> int:
        stored = exact and not line.truncated and line.token_count > 0
        tokens = line.token_count if stored else counter.count(line.written + "\n")
        is_turn = frame.layout is Layout.TURNS and line.category is Category.RECENT
        prefix = time_mark(line.sent_at_ms, style)
        if not (is_turn and outside(line, style)):
            prefix += f"{speaker(line, style)}: "
            tokens += line.written.count("\n")
        tokens += MESSAGE_TOKENS if is_turn else 0
        tokens += NAME_TOKENS + len(safe_name(line.author_name)) if frame.with_names else 0
        return tokens + _static_tokens(prefix, frame.tokenizer)

    return cost


def _by_part(
    made: Assembled, total: int, parts: Parts, frame: Frame, counter: TokenCounter
) -> TokenCounts:
    """Where the tokens went. Framing is what no part accounts for, so the sum is exact."""
    apart = {"recent"} if frame.layout is Layout.TURNS else set()
    count = {s.part: counter.count(s.text) for s in made.sections if s.part not in apart}
    if apart:
        recent = {line.message_id for line in parts.lines if line.category is Category.RECENT}
        count["recent"] = sum(
            message_tokens(message, frame, counter)
            for message in made.payload_messages
            if len(message.message_ids) == 1 and message.message_ids[0] in recent
        )
    last = made.payload_messages[-1].content
    labelled = (
        last
        if frame.layout in (Layout.TURNS, Layout.CONTEXT_AND_QUESTION)
        else (parts.question_label + parts.question)
    )
    system = _static_tokens(parts.system, frame.tokenizer)
    out = TokenCounts(
        tokenizer=frame.tokenizer,
        budget=frame.budget,
        system=system + MESSAGE_TOKENS if parts.system else 0,
        tools=_static_tokens(frame.tools_json, frame.tokenizer),
        preferences=count.get("preferences", 0),
        recent=count.get("recent", 0),
        semantic=count.get("semantic", 0),
        question=counter.count(labelled) + MESSAGE_TOKENS,
        reserve=frame.reserve,
    )
    framing = total - out.total
    if framing >= 0:
        return replace(out, framing=framing)
    # Pieces can count more than their join: the largest piece gives the difference back.
    name = max(
        ("recent", "semantic", "preferences", "question"), key=lambda part: getattr(out, part)
    )
    return replace(out, **{name: getattr(out, name) + framing})


def _static_tokens(text: str, tokenizer: TokenizerName) -> int:
    """Tokens of a text that comes again and again: system texts, tools, speakers."""
    if len(text) <= SHORT_CHARS:
        return _short_tokens(text, tokenizer)
    return _long_tokens(text, tokenizer)


@lru_cache(maxsize=4_096)
def _short_tokens(text: str, tokenizer: TokenizerName) -> int:
    return token_counter(tokenizer).count(text)


@lru_cache(maxsize=64)
def _long_tokens(text: str, tokenizer: TokenizerName) -> int:
    return token_counter(tokenizer).count(text)
