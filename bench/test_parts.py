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
from backscroll_sidecar.domain import ChannelKey, Message
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.edge.convert.messages import message_from_proto
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import App, open_app

KEY = ChannelKey("default", "parts")
HISTORY = 1_000
SAID = [message_from_proto(one, KEY.channel) for one in chats.messages(2_800)]
ENGLISH = next(one for one in SAID if len(one.text) > 80)
CHINESE = next(one for one in SAID[1_100:] if len(one.text) > 20)


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
    loop.run_until_complete(app.history.append(KEY, SAID[:HISTORY]))
    yield app
    loop.run_until_complete(context.__aexit__(None, None, None))


def build(loop: asyncio.AbstractEventLoop, builder: ContextBuilder) -> BuiltContext:
    """The context of the next message."""
    asked = SAID[HISTORY]
    request = BuildRequest(KEY, asked.text, asked.author, asked_at_ms=asked.sent_at_ms)
    return loop.run_until_complete(builder.build(request))


@pytest.mark.benchmark(group="one message analysed at append")
@pytest.mark.parametrize("said", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_analyse(benchmark: BenchmarkFixture, said: Message) -> None:
    """Keywords, mentions, type, tokens."""
    analysis = benchmark(Analyzer().analyze, said, StaticRoster())
    assert analysis.keywords
    assert analysis.token_count > 1


@pytest.mark.benchmark(group="one message analysed at append")
def test_count_tokens(benchmark: BenchmarkFixture) -> None:
    """Its tokens alone."""
    assert benchmark(token_counter().count, ENGLISH.text) > 10


@pytest.mark.benchmark(group="one message as the bytes answers carry")
def test_encode_message(
    benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, app: App
) -> None:
    """Made once, at append."""
    (stored,) = loop.run_until_complete(app.store.get_messages(KEY, [SAID[0].id])).values()
    fragment = benchmark(WireCodec().encode, stored)
    assert SAID[0].text.encode() in fragment


@pytest.mark.benchmark(group="an answer's bytes")
def test_encode_answer(
    benchmark: BenchmarkFixture, loop: asyncio.AbstractEventLoop, app: App
) -> None:
    """Items, messages, payload and the rest."""
    built = build(loop, app.builder)
    raw = benchmark(encode_built, built, "bench")
    assert len(context_pb2.BuildContextResponse.FromString(raw).items) == built.item_count > 0


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
    assert benchmark(vectors.bare_model().encode, [ENGLISH.text]).shape == (1, 512)
