"""Fit the parts into the token budget: by bounds line by line, then recounted as final text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from backscroll_sidecar.analyze import TokenCounter, count_lines, repeated_tokens, token_counter
from backscroll_sidecar.concurrency.deadline import OWN_FAULTS
from backscroll_sidecar.context.compress import (
    CUT_PROBES,
    LEAST_TOKENS,
    Compressed,
    Compressor,
    Limits,
    whole_blocks,
)
from backscroll_sidecar.context.layouts import (
    NO_LINES,
    QUESTION_APART,
    Assembled,
    Assembler,
    Messages,
    Parts,
    Section,
    begins_with_system,
)
from backscroll_sidecar.context.model import TokenCounts
from backscroll_sidecar.context.rendering import (
    MESSAGE_TOKENS,
    WRITE_US,
    WRITE_US_PER_CHAR,
    Written,
    names_tokens,
    shared_names_tokens,
)
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.domain import Category, Fate, Layout, NeutralMessage, TokenizerName
from backscroll_sidecar.errors import BudgetTooSmall

PRIMING_TOKENS = 3
"""What the API adds once, to begin the reply."""
RECENT = "recent"
TITLE_TOKENS = 12
"""Upper bound for one section's title with its separators."""
FIT_US = 1.0
"""Rough microseconds a line takes."""

_O200K, _TURNS, _RECENT_LINES = TokenizerName.O200K, Layout.TURNS, Category.RECENT


class Frame(msgspec.Struct, frozen=True):
    """What a payload carries besides the lines, and how it is counted."""

    budget: int
    reserve: int
    tools_json: str
    layout: Layout
    include_system: bool
    with_names: bool
    tokenizer: TokenizerName


class Fitted(msgspec.Struct, frozen=True):
    """A context inside its budget.

    `dropped` says what became of lines that had to go, by place.
    """

    assembled: Assembled
    lines: Lines
    tokens: TokenCounts
    original_count: int
    was_cut: bool
    dropped: Mapping[int, Fate]
    preferences_dropped: bool = False
    answered_dropped: bool = False


def fit_us(parts: Parts, limits: Limits, frame: Frame) -> float:
    """Microseconds that `fit` takes, predicted: every line is put in its place, long ones are cut and written anew.

    Over budget only the newest line and what the question replies to are cut, several times to find out how much fits.
    """
    most, lines = limits.max_chars_per_message, parts.lines
    written = lines.shown.written
    cut = 0 if most is None else sum([len(one.said.text) > most for one in written])
    us = FIT_US * len(written) + cut * (WRITE_US + WRITE_US_PER_CHAR * (most or 0))
    if sum(lines.costs) > frame.budget:
        may_be_cut = {lines.newest, _needed(lines)} - {-1}
        long = [i for i in may_be_cut if lines.costs[i] > LEAST_TOKENS]
        longest = max([len(written[i].said.text) for i in long], default=0)
        us += 2 * CUT_PROBES * WRITE_US_PER_CHAR * min(longest, 4 * frame.budget)
    return us


class StageFailed(Exception):
    """A compressor or an assembler raised; `stage` says which."""

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


def fit(
    parts: Parts, limits: Limits, frame: Frame, compressor: Compressor, assembler: Assembler
) -> Fitted:
    """Cut `parts.lines` until the rendered payload fits.

    What the question replies to is in it while one line fits, if need be alone and without preferences; where it
    replies to nothing, the newest line is.

    Raises
    ------
    BudgetTooSmall
        When the question and the fixed parts alone do not fit; it names the least that would do.
    StageFailed
        When the compressor or the assembler raised.
    """
    tokens = Tokens(token_counter(frame.tokenizer))
    tokens[parts.system] = tokens.again(parts.system)
    if frame.with_names and parts.lines:
        parts = _with_name_costs(parts, frame.tokenizer)
    stages = _Stages(parts, limits, frame, compressor, assembler, tokens)
    given, preferences = parts.lines, parts.preferences
    fixed = stages.assemble(NO_LINES, preferences)[1]
    if fixed > frame.budget:
        fixed, preferences = stages.assemble(NO_LINES, ())[1], ()
        if fixed > frame.budget:
            raise BudgetTooSmall(frame.budget, fixed)
    first = compressed = stages.compress(given, fixed)
    needed = _needed(given)
    if needed >= 0 and first.dropped.get(given.places[needed]) is Fate.BUDGET:
        for some, others in _attempts(given, preferences, needed):
            made_of = stages.compress(some, stages.assemble(NO_LINES, others)[1])
            if given.places[needed] not in made_of.dropped:
                compressed, preferences = made_of, others
                break
    lines = whole_blocks(Lines.of(compressed.lines), given)
    made, total = stages.assemble(lines, preferences)
    while lines and total > frame.budget:
        places, ranks, blocks = lines.places, lines.ranks, map(lines.block_of, range(len(lines)))
        worst = max(range(len(lines)), key=lambda i: (places[i] != given.answered, ranks[i]))
        gone = lines.block_of(worst)
        lines = lines.take([i for i, block in enumerate(blocks) if block != gone])
        made, total = stages.assemble(lines, preferences)
    cut = len(lines) < first.original_count or (
        compressed.lines is not given and compressed.was_cut
    )
    dropped = _dropped(lines, {**first.dropped, **compressed.dropped}, given)
    return Fitted(
        made,
        lines,
        _by_part(made, total, parts, frame, tokens),
        first.original_count,
        cut,
        dropped,
        preferences_dropped=preferences is not parts.preferences,
        answered_dropped=dropped.get(given.answered) is Fate.BUDGET,
    )


@dataclass(slots=True)
class _Stages:
    """Compressor and assembler for one fit; what raises is named."""

    parts: Parts
    limits: Limits
    frame: Frame
    compressor: Compressor
    assembler: Assembler
    tokens: Tokens

    def assemble(self, lines: Lines, preferences: Sequence[str]) -> tuple[Assembled, int]:
        """The context of these lines, and the tokens of its payload."""
        parts, frame = self.parts, self.frame
        is_all = lines is parts.lines and preferences is parts.preferences
        shown = parts if is_all else parts.showing(lines, preferences)
        try:
            made = self.assembler.assemble(shown, frame.layout, include_system=frame.include_system)
        except OWN_FAULTS as error:
            raise StageFailed("assemble") from error
        if lines.has_references or not lines.has_turns:
            self.tokens.know(made.sections, lines)
        return made, payload_tokens(made.payload_messages, frame, self.tokens)

    def compress(self, lines: Lines, fixed: int) -> Compressed:
        """The lines beside `fixed` tokens of other things."""
        room = self.frame.budget - fixed - _titles_cost(lines, self.frame.layout)
        if self.frame.with_names:
            named = (*lines.turns, self.parts.asked_by)
            room -= shared_names_tokens(named, self.frame.tokenizer)[-1]
        most = self.limits
        try:
            return self.compressor.compress(
                lines, Limits(most.max_messages, most.max_chars_per_message, room)
            )
        except OWN_FAULTS as error:
            raise StageFailed("compress") from error


def _with_name_costs(parts: Parts, tokenizer: TokenizerName) -> Parts:
    """The same where a line costs what its name adds because it is the asker's or somebody else's, too."""
    lines = parts.lines
    costs = shared_names_tokens((*lines.turns, parts.asked_by), tokenizer)
    return parts.showing(lines.priced(costs), parts.preferences)


def _needed(lines: Lines) -> int:
    """The index of the line that may not be left out while some of it fits; -1 none."""
    return lines.newest if lines.answered < 0 else lines.places.index(lines.answered)


def _attempts(
    given: Lines, preferences: Sequence[str], needed: int
) -> Iterator[tuple[Lines, Sequence[str]]]:
    """What may make room for a line: preferences give way to what the question replies to, then all other lines do."""
    if given.answered >= 0 and preferences:
        preferences = ()
        yield given, preferences
    together = given.block_of(needed)
    yield given.take([i for i in range(len(given)) if given.block_of(i) == together]), preferences


def _dropped(kept: Lines, dropped: Mapping[int, Fate], lines: Lines) -> dict[int, Fate]:
    """What became of the lines that are not kept: the compressor's word on each, or on another of its tool exchange."""
    if len(kept) == len(lines):
        return {}
    there, exchanges = set(kept.places), lines.exchanges
    told = [place for place in reversed(lines.places) if place in exchanges and place in dropped]
    by_exchange = {exchanges[place]: dropped[place] for place in told}
    return {
        place: dropped.get(place) or by_exchange.get(exchanges.get(place, -1), Fate.BUDGET)
        for place in lines.places
        if place not in there
    }


class Tokens(dict[str, int]):
    """Tokens by text, for one fit: what is not known yet is counted when it is looked up."""

    def __init__(self, counter: TokenCounter) -> None:
        self.name = counter.name
        self._counter = counter
        self._is_exact = counter.name is _O200K
        self._shown: Sequence[Written] = ()

    def know(self, sections: Sequence[Section], lines: Lines) -> None:
        """Learn from what lines were counted as when they were written what sections of them come to."""
        self._shown = lines.shown.written
        for one in sections:
            written = one.shown.written
            # No line begins with white space, so that two count as much as they do apart (`count_lines`), but for those
            # that begin with a slash.
            if written and not one.is_turns and self._is_exact and "\n/" not in one.text:
                title = self.again(one.text.partition("\n")[0] + "\n")
                rest = sum([line.line_tokens for line in written[:-1]])
                self[one.text] = title + rest + self._counter.count(written[-1].line)

    def __missing__(self, text: str) -> int:
        if "\n" in text and self._shown:
            known = {one.line: one.line_tokens for one in self._shown}
            counted = count_lines(self._counter, text, known)
        else:
            counted = self._counter.count(text)
        self[text] = counted
        return counted

    def again(self, text: str) -> int:
        """Tokens of what comes again and again."""
        return repeated_tokens(text, self.name) if text else 0


def payload_tokens(messages: Sequence[NeutralMessage], frame: Frame, tokens: Tokens) -> int:
    """Tokens of the whole payload as rendered, tools and reserve included."""
    fixed = PRIMING_TOKENS + frame.reserve + tokens.again(frame.tools_json)
    return fixed + messages_tokens(messages, frame, tokens)


def messages_tokens(messages: Sequence[NeutralMessage], frame: Frame, tokens: Tokens) -> int:
    """Tokens of messages as rendered, their framing included."""
    count = names_tokens(messages, frame.tokenizer) if frame.with_names else 0
    if isinstance(messages, Messages):
        count += messages.turns.tokens
        messages = messages.before + messages.after
    for one in messages:
        count += tokens[one.content] + MESSAGE_TOKENS
    return count


def _titles_cost(lines: Lines, layout: Layout) -> int:
    """An upper bound for the titles of the lines' sections and the message they may need."""
    titled = int(lines.has_references)
    if layout is not _TURNS:
        titled += _RECENT_LINES in lines.categories
    return MESSAGE_TOKENS + TITLE_TOKENS * titled if titled else 0


def _by_part(
    made: Assembled, total: int, parts: Parts, frame: Frame, tokens: Tokens
) -> TokenCounts:
    """Where the tokens went. Framing is what no part accounts for, so the sum is exact."""
    by_part = {
        one.part: one.shown.tokens if one.is_turns else tokens[one.text] for one in made.sections
    }
    has_system = parts.system and begins_with_system(made.payload_messages[0].content, parts.system)
    system = tokens[parts.system] + MESSAGE_TOKENS if has_system else 0
    tools = tokens.again(frame.tools_json)
    last = made.payload_messages[-1].content
    has_own = frame.layout in QUESTION_APART
    labelled = last if has_own else parts.question_label + parts.question
    by_part["question"] = tokens[labelled] + MESSAGE_TOKENS
    framing = total - system - tools - frame.reserve - sum(by_part.values())
    # Pieces can count more than their join, and an own assembler may leave some out: the largest give it back.
    for part in sorted(by_part, key=lambda part: -by_part[part]) if framing < 0 else ():
        back = min(-framing, by_part[part])
        by_part[part] -= back
        framing += back
    share = by_part.get
    return TokenCounts(
        frame.tokenizer, frame.budget, system, tools, share("preferences", 0), share(RECENT, 0),
        share("semantic", 0), share("question", 0), framing, frame.reserve,
    )  # fmt: skip
