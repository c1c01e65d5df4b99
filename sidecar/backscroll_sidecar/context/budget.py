"""Fit the parts into the token budget: by bounds line by line, then counted as final text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple, Protocol

import msgspec

from backscroll_scoring.layout import (
    CHARS,
    COUNT,
    GROUP_SUMS,
    IS_REFERENCE,
)
from backscroll_sidecar.adapters import OPENAI_CHAT, Adapter, speaker_of
from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.context.compress import (
    CUT_PROBES,
    Compressed,
    Limits,
    whole_blocks,
)
from backscroll_sidecar.context.layouts import (
    NO_LINES,
    Assembled,
    Parts,
)
from backscroll_sidecar.context.model import BuildRequest, TokenCounts
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.selected_lines import Lines
from backscroll_sidecar.domain import Fate, Layout, TokenizerName
from backscroll_sidecar.errors import BudgetTooSmall
from backscroll_sidecar.lines.rendering import RENDER_US, RENDER_US_PER_CHAR, name_tokens

TITLE_TOKENS = 12
"""Upper bound for one section's title with its separators."""
NEWEST_KEPT = 20
"""So many lines of the talk come before a summary."""
FIT_US = 1.0
"""Rough microseconds a line takes."""

_TURNS = Layout.TURNS


class Frame(msgspec.Struct, frozen=True):
    """What a payload carries besides the lines, and how it is counted. `budget` is in our tokens (`TokenCounts`)."""

    budget: int
    reserve: int
    tools_json: str
    layout: Layout
    include_system: bool
    with_names: bool
    tokenizer: TokenizerName
    adapter: Adapter = OPENAI_CHAT
    calibration: float = 1.0

    @property
    def has_names(self) -> bool:
        """Whether messages stand there with a name: only in that layout they are somebody's."""
        return self.with_names and self.layout is _TURNS

    @property
    def tools_tokens(self) -> int:
        """Of the tools."""
        return repeated_tokens(self.tools_json, self.tokenizer) if self.tools_json else 0

    @property
    def fixed_tokens(self) -> int:
        """Of all that is no message."""
        return self.adapter.framing.priming_tokens + self.reserve + self.tools_tokens

    def name_tokens(self, name: str) -> int:
        """Of a name beside a message."""
        return name_tokens(name, self.adapter, self.tokenizer)


def frame_of(request: BuildRequest, profile: Profile, adapter: Adapter) -> Frame:
    """What a request's payload carries."""
    budget = profile.token_budget if request.token_budget is None else request.token_budget
    if request.calibration != 1.0:
        budget = int(budget / request.calibration)
    return Frame(
        budget,
        request.reserve_tokens,
        request.tools_json,
        request.layout,
        request.include_system,
        request.include_names,
        request.tokenizer,
        adapter,
        request.calibration,
    )


class Fitted(msgspec.Struct, frozen=True):
    """A context inside its budget.

    `dropped` says what became of lines that had to go, by place. `asked_by`: the name the asker has in the payload.
    `assembled`: what an assembler of the operator's own made of it.
    """

    parts: Parts
    tokens: TokenCounts
    original_count: int
    was_cut: bool
    dropped: Mapping[int, Fate]
    preferences_dropped: bool = False
    summary_dropped: bool = False
    pictures_dropped: bool = False
    answered_dropped: bool = False
    asked_by: str = ""
    assembled: Assembled | None = None


class Counted(NamedTuple):
    """Tokens of a context: of its payload, of what that is without lines, and of its parts by name.

    `assembled`: what somebody's own assembler made of it; then both are those of what it was given.
    """

    total: int
    bare: int
    by_part: dict[str, int]
    assembled: Assembled | None = None


class Stages(Protocol):
    """What makes a context fewer and shorter, and what it then costs.

    `has_assembler`: somebody's own assembler says that. It is asked for nothing that will not be shown.
    """

    @property
    def has_assembler(self) -> bool: ...

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """Keep to `limits`."""

    def count(self, parts: Parts, asked_by: str) -> Counted:
        """Its tokens where the asker has this name in the payload."""


def fit_us(parts: Parts, limits: Limits, frame: Frame) -> float:
    """Microseconds that `fit` takes, predicted: every line is put in its place, long ones are cut and rendered anew.

    Over budget only the newest line and what the question replies to are cut, several times to find out how much fits.
    """
    most, lines = limits.max_chars_per_message, parts.lines
    cut = 0 if most is None else int((lines.columns[CHARS] > most).sum())
    us = FIT_US * len(lines) + cut * (RENDER_US + RENDER_US_PER_CHAR * (most or 0))
    if lines.cost > frame.budget:
        longest = max(lines.columns.item(CHARS, i) for i in (lines.newest, _needed(lines)))
        us += 2 * CUT_PROBES * RENDER_US_PER_CHAR * min(longest, 4 * frame.budget)
    return us


def fit(parts: Parts, limits: Limits, frame: Frame, stages: Stages) -> Fitted:
    """Cut `parts.lines` until the payload fits.

    What the question replies to is in it while one line fits, if need be alone and without preferences; where it
    replies to nothing, the newest line is.

    Raises
    ------
    BudgetTooSmall
        When the question and the fixed parts alone do not fit; it names the least that would do.
    """
    given = parts.lines
    lines = NO_LINES if stages.has_assembler else given
    whole = parts
    parts, preferences, (counted, shown, asked_by) = _with_room(parts, lines, limits, frame, stages)
    first = made_of = _compressed(given, counted.bare, parts, limits, frame, stages)
    needed = _needed(given)
    if needed >= 0 and first.dropped.get(given.places[needed]) is Fate.BUDGET:
        for some, others in _attempts(given, preferences, needed):
            bare = _count(parts, NO_LINES, others, frame, stages)[0].total
            tried = _compressed(some, bare, parts, limits, frame, stages)
            if given.places[needed] not in tried.dropped:
                made_of, preferences = tried, others
                break
    if made_of.lines is not lines or preferences is not shown.preferences:
        lines = whole_blocks(Lines.of(made_of.lines), given)
        counted, shown, asked_by = _count(parts, lines, preferences, frame, stages)
    while lines and counted.total > frame.budget:
        lines = _without_worst(lines)
        counted, shown, asked_by = _count(parts, lines, preferences, frame, stages)
    was_cut = len(lines) < first.original_count or (made_of.lines is not given and made_of.was_cut)
    dropped = _dropped(lines, {**first.dropped, **made_of.dropped}, given)
    return Fitted(
        shown,
        _token_counts(counted, frame),
        first.original_count,
        was_cut,
        dropped,
        preferences_dropped=len(preferences) < len(parts.preferences),
        summary_dropped=bool(whole.summary) and not parts.summary,
        pictures_dropped=bool(whole.pictures) and not parts.pictures,
        answered_dropped=dropped.get(given.answered) is Fate.BUDGET,
        asked_by=asked_by,
        assembled=counted.assembled,
    )


def _count(
    parts: Parts, lines: Lines, preferences: Sequence[str], frame: Frame, stages: Stages
) -> tuple[Counted, Parts, str]:
    """What a context with these lines and preferences costs, it itself, and the asker's name in it."""
    shown, asked_by = parts, ""
    if lines is not parts.lines or preferences is not parts.preferences:
        shown = parts.showing(lines, preferences)
    if frame.has_names:
        shown, asked_by = _named_apart(shown, frame)
    return stages.count(shown, asked_by), shown, asked_by


def _with_room(
    parts: Parts, lines: Lines, limits: Limits, frame: Frame, stages: Stages
) -> tuple[Parts, Sequence[str], tuple[Counted, Parts, str]]:
    """The parts without what has to give way before any line does, their preferences, and `_count` of them.

    Raises `BudgetTooSmall`.
    """
    preferences = parts.preferences
    counted = _count(parts, lines, preferences, frame, stages)
    is_full = stages.has_assembler or counted[0].total > frame.budget
    if parts.summary and is_full and not _has_room_for_summary(parts, limits, frame, stages):
        parts = msgspec.structs.replace(parts, summary="")
        counted = _count(parts, lines, preferences, frame, stages)
    if counted[0].bare > frame.budget:
        preferences = ()
        counted = _count(parts, lines, preferences, frame, stages)
    if counted[0].bare > frame.budget and parts.pictures:
        parts = msgspec.structs.replace(parts, pictures=())
        counted = _count(parts, lines, preferences, frame, stages)
    if counted[0].bare > frame.budget:
        asked, least = frame.budget, counted[0].bare
        if frame.calibration != 1.0:
            asked, least = (ceil(one * frame.calibration) for one in (asked, least))
        raise BudgetTooSmall(asked, least)
    return parts, preferences, counted


def _has_room_for_summary(parts: Parts, limits: Limits, frame: Frame, stages: Stages) -> bool:
    """Whether the newest lines of the talk fit beside the summary: it never costs one of them."""
    lines = parts.lines
    talk = (lines.columns[IS_REFERENCE] == 0).nonzero()[0][-NEWEST_KEPT:]
    shown = stages.compress(
        lines.take(talk), Limits(max_chars_per_message=limits.max_chars_per_message)
    )
    bare = stages.count(parts.showing(NO_LINES, parts.preferences), "").bare
    newest = Lines.of(shown.lines).cost + _titles_cost(lines, frame)
    return bare + newest + _askers_cost(parts, lines, frame) <= frame.budget


def _compressed(
    lines: Lines, bare: int, parts: Parts, limits: Limits, frame: Frame, stages: Stages
) -> Compressed:
    """The lines beside so many tokens of other things."""
    room = frame.budget - bare - _titles_cost(lines, frame) - _askers_cost(parts, lines, frame)
    return stages.compress(lines, msgspec.structs.replace(limits, max_tokens=room))


def _without_worst(lines: Lines) -> Lines:
    """The lines but for the worst ranked one, and what is left together with it."""
    worst = max(range(len(lines)), key=lambda i: (i != lines.answered_at, lines.ranks[i]))
    return lines.take((lines.blocks != lines.blocks[worst]).nonzero()[0])


def _named_apart(parts: Parts, frame: Frame) -> tuple[Parts, str]:
    """The same with names that tell who speaks apart; and the asker's."""
    lines, asked_by = parts.lines.named_apart(speaker_of(parts.asked_by), frame.adapter)
    return (parts if lines is parts.lines else parts.showing(lines, parts.preferences)), asked_by


def _needed(lines: Lines) -> int:
    """The index of the line that may not be left out while some of it fits; -1 none."""
    return lines.newest if lines.answered < 0 else lines.answered_at


def _attempts(
    given: Lines, preferences: Sequence[str], needed: int
) -> Iterator[tuple[Lines, Sequence[str]]]:
    """What may make room for a line: preferences give way to what the question replies to, then all other lines do."""
    if given.answered >= 0 and preferences:
        preferences = ()
        yield given, preferences
    yield given.take((given.blocks == given.blocks[needed]).nonzero()[0]), preferences


def _dropped(kept: Lines, dropped: Mapping[int, Fate], lines: Lines) -> dict[int, Fate]:
    """What became of the lines that are not kept: the compressor's word on each, or on another of its tool exchange."""
    if len(kept) == len(lines):
        return {}
    gone = set(lines.places).difference(kept.places)
    by_exchange: dict[int, Fate] = {}
    if lines.exchanges:
        told = [place for place in reversed(lines.places) if place in dropped]
        by_exchange = {lines.block_of(place): dropped[place] for place in told}
    return {
        place: dropped.get(place) or by_exchange.get(lines.block_of(place), Fate.BUDGET)
        for place in sorted(gone)
    }


def _titles_cost(lines: Lines, frame: Frame) -> int:
    """An upper bound for the titles of the lines' sections and the message they may need."""
    sums = lines.sums
    titled = int(sums[COUNT + GROUP_SUMS] > 0)
    if frame.layout is not _TURNS:
        titled += sums[COUNT] > 0
    return frame.adapter.framing.message_tokens + TITLE_TOKENS * titled if titled else 0


def _askers_cost(parts: Parts, lines: Lines, frame: Frame) -> int:
    """What the asker's name adds where somebody else shown has it, too."""
    if not frame.has_names:
        return 0
    asked_by = _named_apart(parts.showing(lines, ()), frame)[1]
    alone = frame.adapter.name_alone(speaker_of(parts.asked_by))
    return max(0, frame.name_tokens(asked_by) - frame.name_tokens(alone))


def _token_counts(counted: Counted, frame: Frame) -> TokenCounts:
    """Where the tokens went. Framing is what no part accounts for, so the sum is exact."""
    by_part = counted.by_part
    system, tools = by_part.pop("system", 0), frame.tools_tokens
    framing = counted.total - system - tools - frame.reserve - sum(by_part.values())
    # Pieces can count more than their join, and an own assembler may leave some out: the largest give it back.
    for part in sorted(by_part, key=lambda part: -by_part[part]) if framing < 0 else ():
        back = min(-framing, by_part[part])
        by_part[part] -= back
        framing += back
    share = by_part.get
    return TokenCounts(
        frame.tokenizer, frame.budget, system, tools, share("preferences", 0), share("recent", 0),
        share("semantic", 0), share("question", 0), framing, frame.reserve, share("summary", 0), frame.calibration,
    )  # fmt: skip
