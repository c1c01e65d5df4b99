"""The parts about the kernel of the five factors, in this process: no server, no gRPC.

The columns are made up (a line every 5 s by 200 people, 6 words of 5,000 each, three of ten lines replies), and the
question answers a line and mentions somebody. What is timed is what a build of `classic` runs: every row that reaches
its threshold, with its exact score; the other side scores every row. Readings "every" are of our kernel scoring every
row, too.
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
from backscroll_bench.speed.python_factors import score_with_python
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring import ChannelColumns, QueryFeatures, score_only, score_reaching, warm
from backscroll_sidecar.context.profiles import PROFILES, find_profile
from backscroll_sidecar.context.ranking import THRESHOLD_TOLERANCE

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
    """Bytes a second that are read over `MANY` rows, against a plain sum in one thread. Readings: bandwidth, every.

    Counted is what is read of every row: its number, time and parent. What is read of the few rows in blocks that these
    do not rule out is not; where every row is scored, all columns are counted.
    """
    warm()
    columns, query = busy_channel(MANY // 20 if bench.sizes.quick else MANY)
    rows = np.arange(len(columns), dtype=np.int32)
    read = sum(one.nbytes for one in (rows, columns.time_ms, columns.parent))
    others = (
        columns.author, columns.keyword_offsets, columns.keyword_ids, columns.mention_offsets,
    )  # fmt: skip
    read_by_every = read + sum(one.nbytes for one in others)
    block = np.ones(READ_BYTES // 8)
    some, every, base = _rounds(
        bench,
        lambda: score_reaching(columns, query, rows, at_least=AT_LEAST),
        lambda: score_only(columns, query, rows),
        lambda: np.dot(block, block),
    )
    bases = tuple(block.nbytes / s for s in base)

    def share(seconds: list[float], nbytes: int) -> Reading:
        rounds = Rounds(tuple(nbytes / s for s in seconds), bases)
        details = {
            "p50_ms": median(seconds) * 1e3,
            "gb_per_second": rounds.value / 1e9,
            "base_gb_per_second": rounds.base / 1e9,
            "bytes_per_row": nbytes / len(rows),
        }
        return Reading(rounds.ratio, details, rounds)

    return {"bandwidth": share(some, read), "every": share(every, read_by_every)}


async def against_python(bench: Bench) -> Readings:
    """The kernel over `FEW` rows against the same formula pair by pair in Python. Readings: speedup, every."""
    columns, query, rows = _few()
    slow = partial(score_with_python, columns, query)
    return _speedup(bench, columns, query, rows, slow)


async def against_numpy(bench: Bench) -> Readings:
    """The same against whole-array NumPy. Readings: speedup, every."""
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
    some, every, base = _rounds(bench, fast, lambda: score_only(columns, query, rows), slow)

    def speedup(seconds: list[float]) -> Reading:
        rounds = Rounds(tuple(1 / s for s in seconds), tuple(1 / s for s in base))
        details = {"kernel_us": median(seconds) * 1e6, "other_us": median(base) * 1e6}
        return Reading(rounds.ratio, details, rounds)

    return {"speedup": speedup(some), "every": speedup(every)}


def _rounds(bench: Bench, *sides: Callable[[], object]) -> tuple[list[float], ...]:
    """Seconds of each side, one value a round: the best of a few passes, as hot loops are compared."""
    found: tuple[list[float], ...] = tuple([] for _ in sides)
    for side in sides[:-1]:
        side()
    gc.collect()
    for _ in range(bench.sizes.rounds):
        for seconds, side in zip(found, sides, strict=True):
            seconds.append(min(_seconds(side) for _ in range(PASSES)))
    return found


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
