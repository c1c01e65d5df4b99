"""Sources that search the whole history: by words, and by all factors of the history search."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.domain import Category
from backscroll_sidecar.strategies.base import NOTHING, Messages, StrategyQuery, StrategyResult
from backscroll_sidecar.strategies.memory import (
    MemoryQuestion,
    Sought,
    best_by_words,
    rank_memory,
    seek,
)

RANK_US_PER_ROW = 0.075
"""Ranking the whole history: 10,000 rows take .3 to .9 ms."""


class Lexical:
    """Messages of any age that share words with the question, best BM25 first."""

    name = "lexical"

    def gather(self, query: StrategyQuery) -> StrategyResult | Awaitable[StrategyResult]:
        """At most `recall_limit` eligible rows; nothing for a question without words the channel has."""
        return run(RANK_US_PER_ROW * query.end, partial(_by_words, query))


class Recall:
    """The best messages by the score of the history search, whether they share words or not."""

    name = "recall"

    def gather(self, query: StrategyQuery) -> StrategyResult | Awaitable[StrategyResult]:
        """At most `recall_limit` eligible rows; nothing for a blank question."""
        if not query.question:
            return NOTHING
        return run(RANK_US_PER_ROW * query.end, partial(_by_memory, query))


def _by_words(query: StrategyQuery) -> StrategyResult:
    sought = seek(query.view, memory_question(query), query.eligible)
    rows, scores = best_by_words(sought, query.recall_limit)
    return _messages(sought, rows, scores)


def _by_memory(query: StrategyQuery) -> StrategyResult:
    sought = seek(query.view, memory_question(query), query.eligible)
    memory = rank_memory(query.view, sought, limit=query.recall_limit)
    return _messages(sought, memory.rows, memory.scores)


def _messages(
    sought: Sought, rows: NDArray[np.int32], scores: NDArray[np.float64]
) -> StrategyResult:
    if not len(rows):
        return NOTHING
    return Messages(Category.RECENT, rows, scores=scores, exhaustive=not sought.is_long)


def memory_question(query: StrategyQuery) -> MemoryQuestion:
    """What is asked, as the channel of the query knows its asker."""
    people = query.view.people
    index = people.index.get(query.user_id)
    name = people.names[index] if index is not None else ""
    return MemoryQuestion(query.question, query.asked_at_ms, query.user_id, name, dates=query.dates)
