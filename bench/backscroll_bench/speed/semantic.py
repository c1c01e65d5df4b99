"""The parts about search by meaning: the top 20 of one channel, against hnswlib as it is, in this process.

Both sides search the same real vectors (`vectors`), one question at a time in one thread, and both must find .98 of
what a look at every float32 vector finds: hnswlib gets the smallest `ef` with which it does. What is searched is what a
server would search at that size.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_bench.speed import vectors
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Absent, Rounds, Wrong
from backscroll_scoring import warm
from backscroll_scoring.index import VectorIndex, normalised
from backscroll_sidecar.ports import StoredVector
from backscroll_sidecar.vectors.block import VectorBlock
from backscroll_sidecar.vectors.service import GRAPH_ROWS, SIGN_ROWS

LIMIT = 20
LEAST_RECALL = 0.98
QUESTIONS, QUICK_QUESTIONS = 200, 40
MESSAGES = 5_000
"""The first texts are messages as they were written: questions are some of these."""
VECTORS_FILE = "BACKSCROLL_VECTORS"
"""Names a file of vectors of one's own instead, float32[n, d] as ``.npy``: rows, and behind them the questions."""
QUICK_SHARE = 10
"""A quick run has this part of the rows."""
EFS = (
    20,
    25,
    30,
    40,
    50,
    65,
    80,
    100,
    125,
    160,
    200,
    250,
    320,
    400,
    500,
    650,
    800,
    1_000,
    1_500,
    2_000,
)
LINKS, EF_CONSTRUCTION = 16, 200
"""hnswlib's own defaults."""
ALLOWED_SHARE = 0.1
"""Of the rows that a filter lets through."""

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Task:
    """Rows, questions that are not among them, and what each of them should find: float32[n, d], float32[q, d]."""

    rows: Floats
    questions: Floats
    allowed: Bools
    truth: list[set[int]]

    @staticmethod
    def of(rows: Floats, questions: Floats, allowed: Bools) -> Task:
        """With the truth worked out: a look at every allowed row."""
        similar = np.where(allowed, questions @ rows.T, -np.inf)
        nearest = np.argpartition(-similar, LIMIT, axis=1)[:, :LIMIT]
        return Task(rows, questions, allowed, [set(one.tolist()) for one in nearest])

    def recall(self, search: Callable[[Floats], NDArray[np.integer[Any]]]) -> float:
        """Share of the true rows that a search finds."""
        found = [
            len(set(search(one).tolist()) & truth)
            for one, truth in zip(self.questions, self.truth, strict=True)
        ]
        return sum(found) / sum(map(len, self.truth))


async def search(bench: Bench, count: int) -> Readings:
    """The top 20 of `count` messages against hnswlib, time a search. Reading: ratio."""
    task = _task(bench, count)
    rounds, details, fails = await _measured(bench, task, is_filtered=False)
    return {"ratio": Reading(rounds.ratio, details, rounds, fails=fails)}


async def filtered(bench: Bench, count: int) -> Readings:
    """The same among a tenth of the rows, against hnswlib's filter callback, searches a second. Reading: speedup."""
    task = _task(bench, count, ALLOWED_SHARE)
    taken, details, fails = await _measured(bench, task, is_filtered=True)
    rounds = Rounds(tuple(1 / s for s in taken.values), tuple(1 / s for s in taken.bases))
    return {"speedup": Reading(rounds.ratio, details, rounds, fails=fails)}


async def _measured(
    bench: Bench, task: Task, *, is_filtered: bool
) -> tuple[Rounds, dict[str, float], str]:
    """Seconds a search of both sides, what they are made of, and why they mean nothing."""
    warm()
    index = server_index(task.rows)
    raw = Raw(task, is_filtered=is_filtered)

    allowed = np.flatnonzero(task.allowed)
    seqs = allowed + 1

    def ours(question: Floats) -> NDArray[np.int64]:
        return allowed[index.search(question, LIMIT, seqs)[0]]

    async def measured() -> float:
        return _median_s(ours, task.questions)

    async def base() -> float:
        return _median_s(raw.search, task.questions)

    recall = task.recall(ours)
    await measured(), await base()
    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    details = {
        "rows": float(len(task.rows)),
        "search_us": rounds.value * 1e6,
        "hnswlib_us": rounds.base * 1e6,
        "recall": recall,
        "hnswlib_recall": raw.recall,
        "hnswlib_ef": float(raw.ef),
    }
    fails = f"finds only {recall:.3f} of the true rows" if recall < LEAST_RECALL else ""
    return rounds, details, fails


class Raw:
    """hnswlib with its own defaults, and the smallest `ef` that finds enough.

    Raises
    ------
    Absent
        It is not installed.
    Wrong
        No `ef` does.
    """

    def __init__(self, task: Task, *, is_filtered: bool) -> None:
        if not _has_hnswlib():
            raise Absent("hnswlib is not installed")
        import hnswlib

        n, dims = task.rows.shape
        self._index: Any = hnswlib.Index(space="ip", dim=dims)
        self._index.init_index(max_elements=n, M=LINKS, ef_construction=EF_CONSTRUCTION)
        self._index.add_items(task.rows, np.arange(n))
        self._filter = task.allowed.tolist().__getitem__ if is_filtered else None
        for ef in EFS:
            self._index.set_ef(ef)
            self.ef, self.recall = ef, task.recall(self.search)
            if self.recall >= LEAST_RECALL:
                return
        raise Wrong(f"hnswlib finds only {self.recall:.3f} of the true rows with ef = {self.ef}")

    def search(self, question: Floats) -> NDArray[np.uint64]:
        """Its labels."""
        found, _ = self._index.knn_query(question, k=LIMIT, num_threads=1, filter=self._filter)
        labels: NDArray[np.uint64] = found[0]
        return labels


def server_index(rows: Floats) -> VectorIndex:
    """What a server with default settings would search a channel of these vectors with."""
    block = VectorBlock(rows.shape[1])
    block.add([StoredVector(n, "", one.tobytes()) for n, one in enumerate(rows, 1)])
    by_signs = len(rows) >= SIGN_ROWS
    if by_signs:
        block.take_signs(block.signs_work()())
    while len(rows) >= GRAPH_ROWS and block.tail_rows:
        block.take_graph(*block.graph_work(())())
    return block.index(by_signs=by_signs)


def _has_hnswlib() -> bool:
    """It comes as source only, and is nothing the server needs."""
    return find_spec("hnswlib") is not None


def _task(bench: Bench, count: int, share: float = 1.0) -> Task:
    quick = bench.sizes.quick
    count, asked = (count // QUICK_SHARE, QUICK_QUESTIONS) if quick else (count, QUESTIONS)
    rng = np.random.default_rng(1)
    if path := os.environ.get(VECTORS_FILE):
        given = np.load(path)
        if len(given) < count + asked:
            raise Wrong(f"{path} has {len(given)} vectors, {count + asked} are needed")
        made = normalised(given[: count + asked].astype(np.float32))
        rows, questions = made[:count], made[count:]
    else:
        messages = list(islice(vectors.texts(), MESSAGES))
        drawn = [messages[n] for n in rng.choice(MESSAGES, asked, replace=False)]
        texts = list(islice(vectors.texts(without=set(drawn)), count))
        rows = normalised(vectors.vectors_of(texts))
        questions = normalised(vectors.vectors_of(drawn))
    return Task.of(rows, questions, rng.random(len(rows)) < share)


def _median_s(search: Callable[[Floats], object], questions: Floats) -> float:
    taken = []
    for question in questions:
        began = time.perf_counter()
        search(question)
        taken.append(time.perf_counter() - began)
    return median(taken)
