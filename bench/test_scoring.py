"""Do the kernels pay, and what does a build cost? `make bench-parts` answers, one figure beside the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from backscroll_bench.speed.python_factors import score_with_python
from backscroll_scoring import ChannelColumns, QueryFeatures, score_only, warm
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Author, ChannelKey, Message, Rung, TextPart
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import open_app

ROWS = 10_000
WORDS = [
    "kernel",
    "driver",
    "mount",
    "partition",
    "wifi",
    "grub",
    "install",
    "update",
    "screen",
    "sound",
    "apt",
]
KEY = ChannelKey("default", "bench")
START_MS = 1_700_000_000_000


def busy_channel(seed: int = 1) -> tuple[ChannelColumns, QueryFeatures]:
    """A channel of `ROWS` messages by 200 people, a line every 5 s, a third of them replies."""
    rng = np.random.default_rng(seed)
    words = [np.unique(rng.integers(0, 5_000, 6)).astype(np.int32) for _ in range(ROWS)]
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int64)
    parent = np.where(rng.random(ROWS) < 0.3, np.arange(ROWS) - rng.integers(1, 20, ROWS), -1)
    columns = ChannelColumns(
        time_ms=np.arange(ROWS, dtype=np.int64) * 5_000,
        author=rng.integers(0, 200, ROWS).astype(np.int32),
        parent=np.maximum(parent, -1).astype(np.int32),
        keyword_offsets=offsets,
        keyword_ids=np.concatenate(words),
        mention_offsets=np.zeros(ROWS + 1, np.int64),
        mention_ids=np.zeros(0, np.int32),
    )
    query = QueryFeatures(ROWS * 5_000, 3, ROWS - 5, words[17], np.zeros(0, np.int32))
    return columns, query


@pytest.mark.benchmark(group="classic factors of 10,000 rows: compiled against plain Python")
@pytest.mark.parametrize("is_compiled", [True, False])
def test_scoring(benchmark: BenchmarkFixture, *, is_compiled: bool) -> None:
    """The same scores, then the time."""
    warm()
    columns, query = busy_channel()
    compiled = partial(score_only, rows=np.arange(ROWS, dtype=np.int32))
    scores = benchmark(compiled if is_compiled else score_with_python, columns, query)
    np.testing.assert_allclose(scores, score_with_python(columns, query), atol=1e-9)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One event loop for the module: the channel stays in memory."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def builder(loop: asyncio.AbstractEventLoop) -> Iterator[ContextBuilder]:
    """A builder over a channel of 10,000 messages, in memory."""
    logs.configure("warning")
    context = open_app(Settings(database=":memory:"))
    app = loop.run_until_complete(context.__aenter__())
    lines = [
        Message(
            f"m{n}", KEY.channel, Author(f"u{n % 200}"),
            (TextPart(f"{WORDS[n % 11]} {WORDS[n * 7 % 11]} does not {WORDS[n * 3 % 11]}"),),
            START_MS + n * 5_000,
        )
        for n in range(ROWS)
    ]  # fmt: skip
    for first in range(0, ROWS, 1_000):
        loop.run_until_complete(app.history.append(KEY, lines[first : first + 1_000]))
    yield app.builder
    loop.run_until_complete(context.__aexit__(None, None, None))


@pytest.mark.benchmark(group="one build over 10,000 messages, in process")
@pytest.mark.parametrize("profile", ["balanced", "classic", "room"])
def test_build(
    benchmark: BenchmarkFixture,
    loop: asyncio.AbstractEventLoop,
    builder: ContextBuilder,
    profile: str,
) -> None:
    """What BuildContext costs without gRPC."""
    request = BuildRequest(
        KEY, "does the wifi driver install?", Author("u3"),
        asked_at_ms=START_MS + ROWS * 5_000, profile=profile,
    )  # fmt: skip
    built = benchmark(lambda: loop.run_until_complete(builder.build(request)))
    assert built.rung is Rung.RANKED
