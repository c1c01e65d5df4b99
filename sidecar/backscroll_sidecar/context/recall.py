"""What of the whole history may answer a question: the list for long memory, asked for when the gate says so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import top_order
from backscroll_sidecar.analyze.ends import QUESTION_CHARS, ends_of
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.deadline import Deadline
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.domain import Degradation
from backscroll_sidecar.ports import Similarities
from backscroll_sidecar.strategies import SourceFailed, StrategyQuery
from backscroll_sidecar.strategies.long_ago import LongAgo, long_ago
from backscroll_sidecar.strategies.memory import (
    Memory,
    MemoryQuestion,
    Sought,
    rank_memory,
    seek,
)

MEANING_SHARE = 0.5
"""Of the time left, what meaning may take; without it the words decide."""


INLINE_ROWS = 4_000
"""Longer histories are ranked in a thread: 10,000 rows take .3 to .9 ms (law 9)."""


@runtime_checkable
class Meaning(Protocol):
    """The part of the semantic source that says how similar every row is to a question."""

    async def similarities(self, query: StrategyQuery) -> Similarities | None:
        """Of the first `end` rows; None without a vector of the question. Raises `SourceFailed`."""


@dataclass(frozen=True, slots=True, eq=False)
class Recalled:
    """The best rows of the whole history.

    Attributes
    ----------
    memory : Memory
    by_words, by_meaning : int32[]
        Those of its rows that share words with the question, and those that mean something similar; ascending.
    """

    memory: Memory
    by_words: NDArray[np.int32]
    by_meaning: NDArray[np.int32]
    degradations: tuple[Degradation, ...] = ()
    exhaustive: bool = True


def _best(query: StrategyQuery, sought: Sought, dense: NDArray[np.float32] | None) -> Memory:
    return rank_memory(query.view, sought, dense, limit=query.recall_limit).positive()


def look_up(query: StrategyQuery, question: Question) -> tuple[Sought, LongAgo]:
    """The question's words in the history, and how much it sounds as if it were about long ago."""
    sought = seek(query.view, _asked(question), query.eligible)
    return sought, long_ago(query.view, sought)


def rank_rows_by_memory(view: ChannelView, question: Question, rows: NDArray[np.int32]) -> Memory:
    """The candidates' scores, in their order. All rows before the question count for what is rare and what is best."""
    eligible = question.eligible(view, None)
    return rank_memory(view, seek(view, _asked(question), eligible), rows=rows)


def _asked(question: Question) -> MemoryQuestion:
    asker = question.asker
    return MemoryQuestion(
        ends_of(question.text, QUESTION_CHARS),
        question.asked_at_ms,
        asker.id if asker else "",
        asker.name if asker else "",
    )


async def recall(
    query: StrategyQuery, sought: Sought, meaning: Meaning | None, deadline: Deadline
) -> Recalled:
    """Rank the whole history for the question; a source of similarities that fails is left out, named."""
    lost: tuple[Degradation, ...] = ()
    similar: Similarities | None = None
    if meaning is not None:
        asked = replace(query, question=sought.named.rest.strip() or query.question)
        try:
            similar = await deadline.bound(meaning.similarities(asked), MEANING_SHARE)
        except SourceFailed as failed:
            lost = (Degradation("gather", failed.reason, "semantic"),)
        except TimeoutError:
            lost = (Degradation("gather", "TIMEOUT", "semantic"),)
    dense = None
    if similar is not None and similar.known.any():
        dense = np.where(similar.known, similar.values, np.float32(np.nan))
    if query.end > INLINE_ROWS:
        memory = await asyncio.to_thread(_best, query, sought, dense)
    else:
        memory = _best(query, sought, dense)
    rows = np.sort(memory.rows)
    by_words = rows[sought.matches.scores[rows] > 0]
    by_meaning = np.empty(0, np.int32)
    if dense is not None:
        known = np.flatnonzero(~np.isnan(dense)).astype(np.int32)
        nearest = known[top_order(dense[known].astype(np.float64), known, limit=query.recall_limit)]
        by_meaning = np.intersect1d(rows, nearest).astype(np.int32)
    exhaustive = similar is None or similar.exhaustive
    return Recalled(memory, by_words, by_meaning, lost, exhaustive)
