"""Where lines come from: the rows that are shown, and how they are wanted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import LineTable, key_of
from backscroll_sidecar.adapters import Speaker
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import Role, SpeakerStyle, TimeStyle
from backscroll_sidecar.lines.line_format import MS_PER_DAY, LineStyle, channel_mark, time_mark
from backscroll_sidecar.lines.rendering import (
    RENDER_US,
    RENDER_US_PER_CHAR,
    RenderedLine,
    RenderStyle,
    in_parts,
    said_of,
)
from backscroll_sidecar.texts import ENGLISH, Texts

_ISO_DATE, _RELATIVE = TimeStyle.ISO_DATE, TimeStyle.RELATIVE
_TAGGED = SpeakerStyle.TAGGED
_NEVER_MS, _ALWAYS_MS = -(2**62), 2**62
_ROLES = {int(one): one for one in Role}
_NO_ONE: frozenset[int] = frozenset()


class Elsewhere(NamedTuple):
    """k lines of other channels, in time order.

    Attributes
    ----------
    view : the lines as rows; edges are left out.
    channels : of each row.
    scores : float64[k], not below 0.
    rules : uint32[k]
        By which rule (`VisibilityRule`) each may be shown.
    groups : those that let channels share their lines; empty: not by a group.
    are_named : whether each line begins with its channel.
    """

    view: ChannelView
    channels: tuple[str, ...]
    scores: NDArray[np.float64]
    rules: NDArray[np.uint32]
    groups: tuple[str, ...]
    are_named: tuple[bool, ...]


class Wanted(NamedTuple):
    """How a question wants lines rendered: all that their forms depend on but the time it is asked at."""

    style: RenderStyle
    zone: tzinfo
    time_style: TimeStyle | None

    @property
    def table_style(self) -> Hashable:
        """What the lines of a table have in common: dated and undated ones have keys of their own in it."""
        return self.style, self.zone

    def line_style(self, asked_at_ms: int, texts: Texts = ENGLISH) -> LineStyle:
        """How lines are written for a question asked then, in the words of its language."""
        return LineStyle(self.style.speaker, self.time_style, asked_at_ms, self.zone, texts)

    def dated_before_ms(self, asked_at_ms: int) -> int:
        """What was said before is written with its date (`line_format.time_mark`)."""
        if self.time_style is None:
            return asked_at_ms - MS_PER_DAY
        return _ALWAYS_MS if self.time_style is _ISO_DATE else _NEVER_MS


USUAL = Wanted(RenderStyle(_TAGGED), ZoneInfo("UTC"), None)
"""What a bot in a group wants that leaves all to us."""


@dataclass(slots=True, eq=False)
class LineSource:
    """Where lines come from: rows of a view, and of `elsewhere` behind them, by the places of candidates.

    Attributes
    ----------
    rows : int32[m]
        The row of each candidate.
    speaking : int32[k] or None
        Rows whose speakers are to be told apart by their names, whoever is shown; None: those who are.
    shared : numbers of authors
        Whose names somebody else among these has, too.
    additions : texts by place
        What is written behind a line for this question alone.
    in_parts : places
        What is told as a message of parts, for this question alone.
    """

    view: ChannelView
    rows: NDArray[np.int32]
    elsewhere: Elsewhere | None
    wanted: Wanted
    line_style: LineStyle
    table: LineTable
    speaking: NDArray[np.int32] | None = None
    shared: frozenset[int] = _NO_ONE
    additions: Mapping[int, str] = field(default_factory=dict)
    in_parts: frozenset[int] = _NO_ONE

    def author(self, place: int) -> int:
        """The number of who speaks at a place; -1 elsewhere."""
        row = self.rows.item(place)
        return self.view.columns.author.item(row) if row < self.view.count else -1

    def is_own(self, place: int) -> bool:
        """Whether the bot itself says the line at a place."""
        view, row, _ = self._where(place)
        return self.wanted.style.is_own(_ROLES[view.role.item(row)], view.author_id(row))

    def speaker(self, author: int) -> Speaker:
        """Somebody by their number."""
        people = self.view.people
        return Speaker(people.ids[author], people.names[author] or people.ids[author])

    def speakers(self, rows: NDArray[np.int32]) -> dict[int, Speaker]:
        """Who says rows of the view, but for the bot itself and for platforms."""
        style, ids = self.wanted.style, self.view.people.ids
        pairs = zip(
            self.view.columns.author[rows].tolist(), self.view.role[rows].tolist(), strict=True
        )
        return {
            author: self.speaker(author)
            for author, role in set(pairs)
            if not style.is_own(_ROLES[role], ids[author]) and not style.is_platform(_ROLES[role])
        }

    def shared_names(
        self, speakers: Mapping[int, Speaker], asker: Speaker
    ) -> tuple[frozenset[int], str]:
        """Who of these, by author number, is not given the name they would be alone; and the asker's name."""
        adapter = self.wanted.style.adapter
        *names, asked_by = adapter.names([*speakers.values(), asker])
        pairs = zip(speakers.items(), names, strict=True)
        return frozenset(
            author for (author, one), name in pairs if name != adapter.name_alone(one)
        ), asked_by

    def render(self, place: int, known: RenderedLine | None = None) -> RenderedLine:
        """The line at a place; `known`: it, perhaps cut, with another name."""
        is_shared = self.author(place) in self.shared
        if known is not None:
            return known.telling(known.said, is_shared=is_shared)
        view, row, channel = self._where(place)
        said = said_of(view, row, self.wanted.style)
        if place in self.additions:
            said = msgspec.structs.replace(said, addition=self.additions[place], token_count=0)
        if place in self.in_parts:
            said = in_parts(said, view.parts(row), self.wanted.style)
        mark = time_mark(said.sent_at_ms, self.line_style)
        if channel and self.elsewhere is not None and self.elsewhere.are_named[row]:
            mark += channel_mark(channel)
        return self.wanted.style.render(
            said,
            mark,
            view.fragments[row],
            is_shared=is_shared,
            channel=channel,
        )

    def key(self, place: int) -> int:
        """Under which key the table has the line at a place; -1: nobody else can use it."""
        view, row = self.view, self.rows.item(place)
        if row >= view.count or place in self.additions or place in self.in_parts:
            return -1
        mark = time_mark(view.columns.time_ms.item(row), self.line_style)
        number = int(bool(mark))
        if mark and self.wanted.time_style is _RELATIVE:
            number = view.lines.mark_number(mark)
        return key_of(view.seq.item(row), number, self.author(place) in self.shared)

    def render_us(self, place: int) -> float:
        """Microseconds that rendering the line at a place takes, predicted."""
        view, row, _ = self._where(place)
        return RENDER_US + RENDER_US_PER_CHAR * len(view.texts[row])

    def _where(self, place: int) -> tuple[ChannelView, int, str]:
        """The view and the row of a place, and the channel, if that is another one."""
        row = self.rows.item(place) - self.view.count
        if row < 0:
            return self.view, row + self.view.count, ""
        assert self.elsewhere is not None
        return self.elsewhere.view, row, self.elsewhere.channels[row]
