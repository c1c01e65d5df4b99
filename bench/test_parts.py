"""The parts of one message's and one answer's way that are not kernels: analysis, the fit, encoding, the embedder.

`make bench-parts` times them, on the chats that come with the quality samples; each one's result is looked at first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, vectors
from backscroll_sidecar.analyze import Analyzer, StaticRoster, token_counter
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import App, open_app

KEY = ChannelKey("default", "parts")
HISTORY = 1_000
SAID = chats.said(HISTORY + 1)
ENGLISH = next(one for one in SAID if len(one.line.content) > 80)
CHINESE = next(one for one in chats.said(1_700, skip=1_100) if len(one.line.content) > 20)


def message(said: chats.Said) -> Message:
    """As a servicer hands it on."""
    line = said.line
    author = Author(line.user_id, line.name)
    return Message(said.id, KEY.channel, author, (TextPart(line.content),), said.sent_at_ms)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One event loop for the module: the channel stays in memory."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def app(loop: asyncio.AbstractEventLoop) -> Iterator[App]:
    """A server without gRPC, over a channel of real messages."""
    logs.configure("error")
    context = open_app(Settings(database=Path(":memory:"), embedder="none"))
    app = loop.run_until_complete(context.__aenter__())
    for start in range(0, HISTORY, 500):
        some = [message(one) for one in SAID[start : start + 500]]
        loop.run_until_complete(app.history.append(KEY, some))
    yield app
    loop.run_until_complete(context.__aexit__(None, None, None))


def build(loop: asyncio.AbstractEventLoop, builder: ContextBuilder) -> BuiltContext:
    """The context of the next message."""
    asked = SAID[HISTORY]
    author = Author(asked.line.user_id, asked.line.name)
    request = BuildRequest(KEY, asked.line.content, author, asked_at_ms=asked.sent_at_ms)
    return loop.run_until_complete(builder.build(request))


@pytest.mark.benchmark(group="one message analysed at append")
@pytest.mark.parametrize("said", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_analyse(benchmark: BenchmarkFixture, said: chats.Said) -> None:
    """Keywords, mentions, type, tokens."""
    roster, one = StaticRoster(), message(said)
    analysis = benchmark(Analyzer().analyze, one, roster)
    assert analysis.keywords
    assert analysis.token_count > 1


@pytest.mark.benchmark(group="one message analysed at append")
def test_count_tokens(benchmark: BenchmarkFixture) -> None:
    """Its tokens alone."""
    assert benchmark(token_counter().count, ENGLISH.line.content) > 10


@pytest.mark.benchmark(group="one message as the bytes answers carry")
def test_encode_message(
    benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, app: App
) -> None:
    """Made once, at append."""
    (stored,) = loop.run_until_complete(app.store.get_messages(KEY, [SAID[0].id])).values()
    fragment = benchmark(WireCodec().encode, stored)
    assert SAID[0].line.content.encode() in fragment


@pytest.mark.benchmark(group="an answer's bytes")
def test_encode_answer(
    benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, app: App
) -> None:
    """Items, messages, payload and the rest."""
    built = build(loop, app.builder)
    raw = benchmark(encode_built, built, "bench")
    assert len(context_pb2.BuildContextResponse.FromString(raw).items) == len(built.items) > 0


@pytest.mark.benchmark(group="a build without gRPC, its stages in extra_info")
def test_stages(benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, app: App) -> None:
    """All of it is timed; `extra_info` has the median microseconds of each stage, the fit among them."""
    laps: dict[str, list[int]] = {}

    def once() -> None:
        for name, us in build(loop, app.builder).diagnostics.stage_us.items():
            laps.setdefault(name, []).append(us)

    benchmark(once)
    benchmark.extra_info |= {f"{name}_us": median(all_us) for name, all_us in laps.items()}
    assert {"question", "pick", "fit", "adapt"} <= laps.keys()


@pytest.mark.benchmark(group="one question embedded")
def test_embed(benchmark: BenchmarkFixture) -> None:
    """The embedder that comes with the server, alone."""
    assert benchmark(vectors.bare_model().encode, [ENGLISH.line.content]).shape == (1, 512)
