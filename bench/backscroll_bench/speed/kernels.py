"""The parts about the kernel of the five factors, in this process: no server, no gRPC.

The columns are made up (a line every 5 s by 200 people, 6 words of 5,000 each, three of ten lines replies), and the
question answers a line and mentions somebody. What is timed is what a build of `classic` runs: every row that reaches
its threshold, with its exact score; the other side scores every row. What every score costs stands in the details.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.numpy_factors import score_with_numpy
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring import ChannelColumns, QueryFeatures, score_only, score_reaching, warm
from backscroll_sidecar.context.profiles import PROFILES, find_profile
from backscroll_sidecar.context.rank import THRESHOLD_TOLERANCE

MANY, FEW = 1_000_000, 10_000
PASSES = 3
READ_BYTES = 256 * 2**20
"""Far beyond any cache."""
TOLERANCE = 1e-9
AT_LEAST = find_profile(PROFILES, "classic").threshold - THRESHOLD_TOLERANCE


def busy_channel(rows: int, seed: int = 1) -> tuple[ChannelColumns, QueryFeatures]:
    """Columns of `rows` messages, and a question 5 s after the last that mentions one who wrote."""
    rng = np.random.default_rng(seed)
    words = np.sort(rng.integers(0, 5_000, (rows, 6)), axis=1)
    unique = np.ones(words.shape, np.bool_)
    unique[:, 1:] = words[:, 1:] != words[:, :-1]
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(unique.sum(axis=1), out=offsets[1:])
    answered = np.arange(rows) - rng.integers(1, 20, rows)
    columns = ChannelColumns(
        time_ms=np.arange(rows, dtype=np.int64) * 5_000,
        author=rng.integers(0, 200, rows).astype(np.int32),
        parent=np.where(rng.random(rows) < 0.3, np.maximum(answered, -1), -1).astype(np.int32),
        keyword_offsets=offsets,
        keyword_ids=words[unique].astype(np.int32),
        mention_offsets=np.zeros(rows + 1, np.int64),
        mention_ids=np.zeros(0, np.int32),
    )
    asked = columns.keyword_ids[offsets[17] : offsets[18]]
    return columns, QueryFeatures(rows * 5_000, 3, rows - 5, asked, np.array([7], np.int32))


async def bandwidth(bench: Bench) -> Readings:
    """Bytes a second that are read over `MANY` rows, against a plain sum in one thread. Reading: bandwidth.

    Counted is what is read of every row: its number, time, author and parent. Words and mentions of the few whose
    score is worked out are not.
    """
    warm()
    columns, query = busy_channel(MANY // 20 if bench.sizes.quick else MANY)
    rows = np.arange(len(columns), dtype=np.int32)
    read = sum(one.nbytes for one in (rows, columns.time_ms, columns.author, columns.parent))
    block = np.ones(READ_BYTES // 8)
    values, bases = _rounds(
        bench,
        lambda: score_reaching(columns, query, rows, at_least=AT_LEAST),
        lambda: np.dot(block, block),
    )
    rounds = Rounds(tuple(read / s for s in values), tuple(block.nbytes / s for s in bases))
    details = {
        "p50_ms": median(values) * 1e3,
        "gb_per_second": rounds.value / 1e9,
        "base_gb_per_second": rounds.base / 1e9,
        "bytes_per_row": read / len(rows),
        "every_score_ms": _seconds(lambda: score_only(columns, query, rows)) * 1e3,
    }
    return {"bandwidth": Reading(rounds.ratio, details, rounds)}


async def against_python(bench: Bench) -> Readings:
    """The kernel over `FEW` rows against the same formula pair by pair in Python. Reading: speedup."""
    columns, query, rows = _few()
    slow = partial(score_only, columns, query, rows, engine="reference")
    return _speedup(bench, columns, query, rows, slow)


async def against_numpy(bench: Bench) -> Readings:
    """The same against whole-array NumPy. Reading: speedup."""
    columns, query, rows = _few()
    slow = partial(score_with_numpy, columns, query)
    return _speedup(bench, columns, query, rows, slow)


def _few() -> tuple[ChannelColumns, QueryFeatures, NDArray[np.int32]]:
    warm()
    return *busy_channel(FEW), np.arange(FEW, dtype=np.int32)


def _speedup(
    bench: Bench,
    columns: ChannelColumns,
    query: QueryFeatures,
    rows: NDArray[np.int32],
    slow: Callable[[], NDArray[np.float64]],
) -> Readings:
    fast = partial(score_reaching, columns, query, rows, at_least=AT_LEAST)
    scores = slow()
    places, reached = fast()
    same = np.array_equal(places, np.flatnonzero(scores >= AT_LEAST))
    if not (len(places) and same and np.allclose(reached, scores[places], rtol=0, atol=TOLERANCE)):
        raise Wrong("both sides of a comparison must give the same scores")
    values, bases = _rounds(bench, fast, slow)
    rounds = Rounds(tuple(1 / s for s in values), tuple(1 / s for s in bases))
    details = {
        "kernel_us": median(values) * 1e6,
        "other_us": median(bases) * 1e6,
        "every_score_us": _seconds(lambda: score_only(columns, query, rows)) * 1e6,
    }
    return {"speedup": Reading(rounds.ratio, details, rounds)}


def _rounds(
    bench: Bench, fast: Callable[[], object], base: Callable[[], object]
) -> tuple[list[float], list[float]]:
    """Seconds of either side, one value a round: the best of a few passes, as hot loops are compared."""
    values, bases = [], []
    fast()
    gc.collect()
    for _ in range(bench.sizes.rounds):
        values.append(min(_seconds(fast) for _ in range(PASSES)))
        bases.append(min(_seconds(base) for _ in range(PASSES)))
    return values, bases


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
