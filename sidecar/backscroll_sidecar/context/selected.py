"""The selected messages on their way into a payload: each a line, all of them by column. Pure.

Nearly every context fits and is assembled as it was selected, so the columns are what is passed on and worked with; a
line of its own is made only where somebody looks at it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple, overload

from msgspec.structs import replace

from backscroll_sidecar.context.rendering import NOTHING_SHOWN, Shown, Written
from backscroll_sidecar.domain import Category, NeutralMessage
from backscroll_sidecar.lines.line_format import Said

_TRUNCATED: Callable[[Written], bool] = attrgetter("said.truncated")
_RECENT = Category.RECENT


class Line(NamedTuple):
    """One selected message.

    Attributes
    ----------
    rank, place : int
        The order of selection, 1 is the best; which candidate it is.
    is_turn : bool
        It will stand alone, as a message of its own.
    exchange : int or None
        The same number on the lines of one tool exchange, None on others.
    is_answered : bool
        The question replies to it.
    name_cost : int
        Tokens that its name in the payload adds, beyond what it would alone.
    """

    written: Written
    rank: int
    place: int = 0
    category: Category = Category.RECENT
    is_turn: bool = True
    exchange: int | None = None
    is_answered: bool = False
    name_cost: int = 0

    @property
    def said(self) -> Said:
        """What it tells."""
        return self.written.said

    @property
    def cost(self) -> int:
        """The most tokens it adds to a payload."""
        return self.written.turn_cost + self.name_cost if self.is_turn else self.written.line_cost

    def with_text(self, text: str) -> Line:
        """The same line with less of its text."""
        return self._replace(
            written=self.written.telling(replace(self.said, text=text, truncated=True))
        )


@dataclass(frozen=True, slots=True)
class Lines(Sequence[Line]):
    """Selected messages in time order.

    Attributes
    ----------
    shown : Shown
        The messages as they are written.
    ranks, places, categories, costs : lists
        As in `Line`, one entry each.
    exchanges : exchange by place
        Of those that belong to one.
    has_turns, has_references : bool
        Recent ones stand alone; some are no recent ones.
    answered : int
        The place of the one that the question replies to; -1 none of them.
    name_costs : name cost by place
        Of those that have one.
    """

    shown: Shown
    ranks: list[int]
    places: list[int]
    categories: list[Category]
    costs: list[int]
    exchanges: Mapping[int, int]
    has_turns: bool = True
    has_references: bool = False
    answered: int = -1
    name_costs: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Lines:
        """Lines as columns; what is that already stays as it is."""
        if isinstance(lines, Lines):
            return lines
        given = list(lines)
        return cls(
            Shown([line.written for line in given]),
            [line.rank for line in given],
            [line.place for line in given],
            [line.category for line in given],
            [line.cost for line in given],
            {line.place: line.exchange for line in given if line.exchange is not None},
            any(line.is_turn for line in given),
            any(line.category is Category.SEMANTIC for line in given),
            next((line.place for line in given if line.is_answered), -1),
            {line.place: line.name_cost for line in given if line.name_cost},
        )

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        place, category = self.places[index], self.categories[index]
        is_turn = self.has_turns and category is Category.RECENT
        written, rank = self.shown.written[index], self.ranks[index]
        is_answered = place == self.answered
        return Line(
            written, rank, place, category, is_turn, self.exchanges.get(place), is_answered,
            self.name_costs.get(place, 0),
        )  # fmt: skip

    def __iter__(self) -> Iterator[Line]:
        return map(self.__getitem__, range(len(self)))

    @property
    def turns(self) -> list[NeutralMessage]:
        """Those that stand alone, as messages."""
        return [self.shown.written[i].turn for i in self._alone()]

    def priced(self, name_costs: Sequence[int]) -> Lines:
        """The same where the name of each that stands alone costs so much more."""
        costs, by_place = self.costs.copy(), dict[int, int]()
        for i, cost in zip(self._alone(), name_costs, strict=False):
            if cost:
                costs[i] += cost
                by_place[self.places[i]] = cost
        return dataclasses.replace(self, costs=costs, name_costs=by_place)

    def _alone(self) -> list[int]:
        return [i for i, one in enumerate(self.categories) if self.has_turns and one is _RECENT]

    def take(self, indices: Sequence[int], changed: Mapping[int, Line] | None = None) -> Lines:
        """The lines at these indices, ascending; some of them, by index, `changed`."""
        at = changed or {}
        written = [self.shown.written[i] if i not in at else at[i].written for i in indices]
        categories = [self.categories[i] for i in indices]
        return Lines(
            Shown(written),
            [self.ranks[i] for i in indices],
            [self.places[i] for i in indices],
            categories,
            [self.costs[i] if i not in at else at[i].cost for i in indices],
            self.exchanges,
            self.has_turns,
            self.has_references and Category.SEMANTIC in categories,
            self.answered,
            self.name_costs,
        )

    def blocks(self, order: Iterable[int]) -> list[list[int]]:
        """The indices by what is taken or left together: what the question replies to first, then in this order."""
        if self.exchanges:
            by_exchange: dict[int, list[int]] = {}
            for i in order:
                by_exchange.setdefault(self.block_of(i), []).append(i)
            blocks = list(by_exchange.values())
        else:
            blocks = [[i] for i in order]
        if self.answered in self.places:
            answered = self.places.index(self.answered)
            blocks.sort(key=lambda block: answered not in block)
        return blocks

    def block_of(self, index: int) -> int:
        """What a line is taken or left together with: itself, or the first line of its tool exchange; as a place."""
        place = self.places[index]
        return self.exchanges.get(place, place)

    @property
    def newest(self) -> int:
        """The index of the newest line of the talk, which is no reference; -1 none."""
        last = len(self.places) - 1
        if not self.has_references:
            return last
        return next((i for i in range(last, -1, -1) if self.categories[i] is _RECENT), -1)

    @property
    def any_truncated(self) -> bool:
        """Whether the text of one was cut."""
        return True in map(_TRUNCATED, self.shown.written)

    def of_category(self, category: Category) -> Shown:
        """Those shown in one section."""
        if not self.has_references:
            return self.shown if category is _RECENT else NOTHING_SHOWN
        return self.shown.where([one is category for one in self.categories])
