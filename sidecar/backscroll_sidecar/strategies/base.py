"""What a strategy gets and what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.analyze import PLAIN_DATES, DateStyle
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import Category, ChannelKey, Embedding
from backscroll_sidecar.ports import HistoryReader


class StrategyQuery(msgspec.Struct, frozen=True, eq=False):
    """The question as a strategy sees it.

    Attributes
    ----------
    store : HistoryReader
        For strategies that read more than the channel in memory; each await counts against the deadline.
    view : ChannelView
        The channel in memory; a strategy may propose rows below `end` only.
    end : int
        Rows before it were there when the question was asked; the trigger itself is not among them.
    excluded : tuple of int, or None
        The rows before `end` that may not be proposed, ascending, where they are known to be few; None: see `eligible`.
    make_eligible : makes `eligible` when a strategy first asks for it.
    question : str
        Trimmed text of the question.
    parent_row : int
        Row the question replies to, -1 none; by any edge when `follow_inferred`, else by the platform's.
    trigger_row : int
        Row that holds the question itself, -1 when it is not stored.
    self_ids : tuple of str
        The bot's own user ids, as far as the request names them.
    thread_id : str
        The platform's thread it stands in, empty outside of threads.
    lost_parent : int
        The number (`ChannelView.ids`) of the id that the question replies to where no such message is stored, -1 none.
    mentioned : tuple of str
        The user ids of those whom the question names.
    dates : DateStyle
        How the dates in the question are read: time zone, order of day and month.
    query_embedding : Embedding or None
        A vector of the question that came with the request.
    notes : dict
        Shared by the stages of one build, for values such as the question's vector.
    """

    store: HistoryReader
    key: ChannelKey
    view: ChannelView
    end: int
    excluded: tuple[int, ...] | None
    make_eligible: Callable[[], NDArray[np.bool_]]
    user_id: str
    question: str
    asked_at_ms: int
    parent_row: int
    preferences: tuple[str, ...]
    recent_limit: int
    window_limit: int
    window_hours: int
    thread_limit: int
    semantic_limit: int
    recall_limit: int
    follow_inferred: bool
    query_embedding: Embedding | None = None
    trigger_row: int = -1
    self_ids: tuple[str, ...] = ()
    thread_id: str = ""
    is_narrow: bool = False
    lost_parent: int = -1
    mentioned: tuple[str, ...] = ()
    dates: DateStyle = PLAIN_DATES
    notes: dict[str, Any] = msgspec.field(default_factory=dict)
    _eligible: list[NDArray[np.bool_]] = msgspec.field(default_factory=list)

    @property
    def eligible(self) -> NDArray[np.bool_]:
        """bool[end]: rows that may be proposed at all: of the wanted thread, not the trigger, no partial reply outside
        the chain. O(channel), made on first access.
        """
        if not self._eligible:
            self._eligible.append(self.make_eligible())
        return self._eligible[0]

    def may_be(self, row: int) -> bool:
        """Whether a row before `end` may be proposed."""
        return bool(self.eligible[row]) if self.excluded is None else row not in self.excluded

    @property
    def parents(self) -> NDArray[np.int32]:
        """int32[n]: the reply edges this build follows."""
        columns = self.view.columns if self.follow_inferred else self.view.explicit_columns
        return columns.parent


@dataclass(frozen=True, slots=True)
class Empty:
    """Nothing to add."""


NOTHING = Empty()


class Messages(msgspec.Struct, frozen=True, eq=False):
    """Messages of the channel, as rows of the view or as ids; unknown ids are left out.

    Attributes
    ----------
    rows : ascending ones are cheapest, as a `range` most of all; what may not be proposed is left out of them.
    scores : float64[k], optional
        How good each proposal is, the highest the best, finite, in any unit: one for each of `rows`, then one for each
        of `message_ids`. Profiles that fuse read them. Left out: the newest is the best.
    exhaustive : bool
        False when an approximate search found them.
    """

    category: Category
    rows: NDArray[np.int32] | Sequence[int] = ()
    message_ids: Sequence[str] = ()
    exhaustive: bool = True
    scores: NDArray[np.float64] | Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """Lines about the asker."""

    lines: tuple[str, ...]


StrategyResult = Empty | Messages | Preferences


class SourceFailed(Exception):
    """A strategy cannot do its work. `reason` is a short, stable word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class Strategy(Protocol):
    """A source of candidates. `gather` may be a coroutine; more than a millisecond of CPU belongs in a thread."""

    @property
    def name(self) -> str:
        """The name profiles and overrides call it by."""

    def gather(self, query: StrategyQuery) -> StrategyResult | Awaitable[StrategyResult]:
        """Propose candidates. An exception costs this source only, and the response names it."""
