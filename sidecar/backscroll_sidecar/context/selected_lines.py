"""The selected messages on their way into a payload: columns of numbers, texts where they are looked at."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import add_up
from backscroll_scoring.layout import (
    COLUMNS,
    CONTENT,
    FIRST_NUMBER,
    GROUP_SUMS,
    IS_REFERENCE,
    LAST_LINE,
    LINE,
    LINE_COST,
    LINES_COST,
    MISSING_SLOT,
    OWN_SLOT,
    PLACE,
    RANK,
    ROLE,
    SLOT,
    TURN_COST,
    TURNS_COST,
)
from backscroll_sidecar.adapters import Adapter, Speaker
from backscroll_sidecar.channels import shown_id
from backscroll_sidecar.domain import Category, NeutralMessage, Role
from backscroll_sidecar.lines.line_format import Said
from backscroll_sidecar.lines.line_source import LineSource
from backscroll_sidecar.lines.rendering import (
    NOBODY,
    AnswerCodec,
    RenderedLine,
)

_CATEGORIES = Category.RECENT, Category.SEMANTIC
_ROLES = {int(one): one for one in Role}


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
    """

    written: RenderedLine
    rank: int
    place: int = 0
    category: Category = Category.RECENT
    is_turn: bool = True
    exchange: int | None = None
    is_answered: bool = False

    @property
    def said(self) -> Said:
        """What it tells."""
        return self.written.said

    @property
    def cost(self) -> int:
        """The most tokens it adds to a payload."""
        return self.written.turn_cost if self.is_turn else self.written.line_cost

    def with_text(self, text: str) -> Line:
        """The same line with less of its text."""
        less = msgspec.structs.replace(self.said, text=text, truncated=True)
        return self._replace(written=self.written.telling(less))


class Lines(Sequence[Line]):
    """Selected messages in time order, by column.

    Attributes
    ----------
    columns : int64[COLUMNS, k]
        As `layout` has them.
    own : rendered lines by place
        Of those that are not to be found in the table.
    exchanges : exchange by place
        Of those that belong to one.
    has_turns : bool
        The talk's stand alone.
    answered : int
        The place of the one that the question replies to; -1 none of them.
    source : where they come from; None where all are `own`.
    asked_by : the asker's name beside theirs, once it is known.
    """

    __slots__ = (
        "_places", "_ranks", "_sums", "answered", "asked_by", "columns", "exchanges", "has_turns", "own", "source",
    )  # fmt: skip

    def __init__(
        self,
        columns: NDArray[np.int64],
        own: Mapping[int, RenderedLine],
        exchanges: Mapping[int, int],
        *,
        has_turns: bool = True,
        answered: int = -1,
        source: LineSource | None = None,
        sums: list[int] | None = None,
    ) -> None:
        self.columns, self.own, self.exchanges = columns, own, exchanges
        self.has_turns, self.answered, self.source = has_turns, answered, source
        self._sums = sums
        self.asked_by: str | None = None
        self._places: list[int] | None = None
        self._ranks: list[int] | None = None

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Lines:
        """Lines as columns; what is that already stays as it is."""
        if isinstance(lines, Lines):
            return lines
        given = list(lines)
        columns = np.zeros((COLUMNS, len(given)), np.int64)
        for i, line in enumerate(given):
            columns[PLACE, i], columns[RANK, i], columns[SLOT, i] = line.place, line.rank, OWN_SLOT
            columns[IS_REFERENCE, i] = line.category is Category.SEMANTIC
            columns[FIRST_NUMBER:, i] = line.written.numbers
        return cls(
            columns,
            {line.place: line.written for line in given},
            {line.place: line.exchange for line in given if line.exchange is not None},
            has_turns=any(line.is_turn for line in given),
            answered=next((line.place for line in given if line.is_answered), -1),
        )

    @property
    def places(self) -> list[int]:
        """Which candidate each is."""
        if self._places is None:
            self._places = self.columns[PLACE].tolist()
        return self._places

    @property
    def ranks(self) -> list[int]:
        """The order of selection, 1 is the best."""
        if self._ranks is None:
            self._ranks = self.columns[RANK].tolist()
        return self._ranks

    @property
    def talk_cost(self) -> int:
        """The column with what a line of the talk costs."""
        return TURN_COST if self.has_turns else LINE_COST

    @property
    def costs(self) -> NDArray[np.int64]:
        """int64[k]: the most tokens that each adds to a payload."""
        costs: NDArray[np.int64] = self.columns[LINE_COST]
        if self.has_turns:
            costs = np.where(self.columns[IS_REFERENCE], costs, self.columns[TURN_COST])
        return costs

    @property
    def sums(self) -> list[int]:
        """As `layout` has them."""
        return self._sums or self.add_up()

    def add_up(self) -> list[int]:
        """The sums of the columns as they are now."""
        self._sums = add_up(self.columns)
        return self._sums

    @property
    def missing(self) -> list[int]:
        """The places of those that the table does not have."""
        found: list[int] = self.columns[PLACE][self.columns[SLOT] == MISSING_SLOT].tolist()
        return found

    @property
    def newest(self) -> int:
        """The index of the newest line of the talk, which is no reference; -1 none."""
        return self.sums[LAST_LINE]

    @property
    def cost(self) -> int:
        """The most tokens that all of them add to a payload."""
        sums = self.sums
        talk = sums[TURNS_COST] if self.has_turns else sums[LINES_COST]
        return talk + sums[LINES_COST + GROUP_SUMS]

    @property
    def has_parts(self) -> bool:
        """Whether one is told as a message of parts."""
        return self.source is not None and not self.source.in_parts.isdisjoint(self.places)

    @property
    def is_shortened(self) -> bool:
        """Whether the text of one was cut."""
        own = map(self.own.get, self.places) if self.own else ()
        return any(one is not None and one.said.truncated for one in own)

    def rendered(self, index: int) -> RenderedLine:
        """A line with its texts."""
        place = self.places[index]
        found = self.own.get(place)
        if found is None:
            assert self.source is not None
            found = self.source.render(place)
        return found

    def line(self, index: int) -> str:
        """The text of a line."""
        slot = self.columns.item(SLOT, index)
        if slot >= 0 and self.source is not None:
            return self.source.table.text(slot, LINE)
        return self.rendered(index).line

    def said(self, index: int) -> Hashable:
        """What a message of its own says: its role and its text, or its parts."""
        slot = self.columns.item(SLOT, index)
        if slot < 0 or self.source is None or self.places[index] in self.source.in_parts:
            turn = self.rendered(index).turn
            return turn.role, turn.content, turn.parts
        return self.columns.item(ROLE, index), self.source.table.text(slot, CONTENT), ()

    def turn(self, index: int) -> NeutralMessage:
        """A line as a message of its own."""
        slot = self.columns.item(SLOT, index)
        if slot < 0 or self.source is None or self.places[index] in self.source.in_parts:
            return self.rendered(index).turn
        role = _ROLES[self.columns.item(ROLE, index)]
        place = self.places[index]
        is_somebody = role is Role.USER and not self.source.is_own(place)
        speaker = self.source.speaker(self.source.author(place)) if is_somebody else NOBODY
        content, shown = self.source.table.text(slot, CONTENT), (self.message_id(index),)
        return NeutralMessage(role, content, speaker.name, shown, author_id=speaker.author_id)

    def message_id(self, index: int) -> str:
        """The id of the message, as it may be shown."""
        place = self.places[index]
        if place in self.own or self.source is None:
            return self.own[place].said.message_id
        return shown_id(self.source.view.message_ids[self.source.rows.item(place)])

    def entered(self, codec: AnswerCodec) -> Lines:
        """The same with slots for all of them, which are theirs until the next line is entered in the table."""
        if not self.own or self.source is None:
            return self
        missing = (self.columns[SLOT] < 0).nonzero()[0].tolist()
        if missing:
            lines = [self.own[self.places[i]] for i in missing]
            columns = self.columns.copy()
            columns[SLOT, missing] = self.source.table.lend(
                [one.forms(codec) for one in lines], [one.numbers for one in lines]
            )
            return self._with(columns, self.own)
        return self

    def ranked_anew(self) -> Lines:
        """The same with ranks from 1 on, in the order of those they have."""
        columns = self.columns.copy()
        columns[RANK, columns[RANK].argsort()] = np.arange(1, len(self) + 1)
        return self._with(columns, self.own)

    def __len__(self) -> int:
        return len(self.columns[0])

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        place, is_reference = self.places[index], self.columns.item(IS_REFERENCE, index)
        return Line(
            self.rendered(index),
            self.ranks[index],
            place,
            _CATEGORIES[is_reference],
            self.has_turns and not is_reference,
            self.exchanges.get(place),
            place == self.answered,
        )

    def __iter__(self) -> Iterator[Line]:
        return map(self.__getitem__, range(len(self)))

    def take(
        self,
        indices: Sequence[int] | NDArray[np.intp],
        changed: Mapping[int, RenderedLine] | None = None,
    ) -> Lines:
        """The lines at these indices, ascending; some of them, by index, `changed`."""
        columns, own = self.columns.take(indices, axis=1), self.own
        if changed:
            own = dict(own)
            for at, index in enumerate(map(int, indices)):
                if index in changed:
                    columns[SLOT, at], columns[FIRST_NUMBER:, at] = OWN_SLOT, changed[index].numbers
                    own[self.places[index]] = changed[index]
        return self._with(columns, own)

    def _with(self, columns: NDArray[np.int64], own: Mapping[int, RenderedLine]) -> Lines:
        return Lines(
            columns, own, self.exchanges, has_turns=self.has_turns, answered=self.answered, source=self.source
        )  # fmt: skip

    @property
    def answered_at(self) -> int:
        """The index of the one that the question replies to; -1 none of them."""
        return self.places.index(self.answered) if self.answered in self.places else -1

    @property
    def blocks(self) -> NDArray[np.int64]:
        """int64[k]: what is taken or left together with each: its place, or that of the first of its tool exchange."""
        blocks: NDArray[np.int64] = self.columns[PLACE]
        if self.exchanges:
            blocks = np.array(list(map(self.block_of, self.places)), np.int64)
        return blocks

    def block_of(self, place: int) -> int:
        """The same of one place."""
        return self.exchanges.get(place, place)

    def speakers(self) -> dict[int, Speaker]:
        """Who says messages of the talk that are neither the bot's nor a platform's, by author number; or who of all
        that lately spoke (`LineSource.speaking`).
        """
        if self.source is None or not self.has_turns:
            return {}
        if self.source.speaking is not None:
            return self.source.speakers(self.source.speaking)
        talk = self.columns[PLACE][self.columns[IS_REFERENCE] == 0]
        return self.source.speakers(self.source.rows[talk])

    def shared_names(self) -> dict[str, str]:
        """The names, by author id, that those have in a payload whose own somebody else has, too."""
        source = self.source
        if source is None or not source.shared:
            return {}
        people = map(source.speaker, source.shared)
        adapter = source.wanted.style.adapter
        return {one.author_id: adapter.name_alone(one, is_shared=True) for one in people}

    def named_apart(self, asker: Speaker, adapter: Adapter) -> tuple[Lines, str]:
        """The same with the names that these people, the asker among them, are given together; and the asker's."""
        source = self.source
        if self.asked_by is not None:
            return self, self.asked_by
        if source is None:
            return self, adapter.name_alone(asker)
        shared, asked_by = source.shared_names(self.speakers(), asker)
        if shared == source.shared:
            self.asked_by = asked_by
            return self, asked_by
        changed, source = shared ^ source.shared, replace(source, shared=shared)
        anew = {
            i: source.render(place, self.own.get(place))
            for i, place in enumerate(self.places)
            if source.author(place) in changed
        }
        lines = self.take(range(len(self)), anew)
        lines.source, lines.asked_by = source, asked_by
        return lines, asked_by
