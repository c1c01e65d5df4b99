"""The parts about StreamChat: its first delta, and what each delta costs beside a server that only relays.

The model is one of the bench's (`upstream`): it does not think, and each delta is the clock at which it was written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import grpc

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, relay, upstream
from backscroll_bench.speed.children import child
from backscroll_bench.speed.fixture import STREAM, Bench, Served
from backscroll_bench.speed.load import CALL_TIMEOUT_S, failed
from backscroll_bench.speed.questions import near
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong, percentile

HISTORY = 1_000
LEAST, QUICK_LEAST = 100, 5
PACED, PACE_US = 200, 2_000
BURST, BURSTS = 500, 4
QUICK_SHARE = 5
"""A quick run has this part of the deltas."""


async def first_delta(bench: Bench) -> Readings:
    """From the call to the first delta of the server's echo, question stored, nothing embedded. Reading: p50 (ms)."""
    asked = await near(bench, "balanced", HISTORY)
    served = await bench.served("plain")
    ask: Any = served.channel.unary_stream(STREAM)
    # A channel of its own: a chat writes into its channel, and other parts ask about the lines as they were.
    channel = bench.new_name("chat")
    await bench.fill(served, channel, chats.messages(HISTORY))
    taken_ms = []
    for n in range(QUICK_LEAST if bench.sizes.quick else LEAST):
        request = context_pb2.StreamChatRequest()
        request.context.ParseFromString(asked.requests[n % len(asked.requests)])
        request.context.channel = channel
        request.question_message_id = f"bench-{n}"
        taken_ms.append(await _until_delta(ask, request.SerializeToString()) * 1e3)
    value = percentile(taken_ms, 0.5)
    return {"p50": Reading(value, {"p50_ms": value, "p99_ms": percentile(taken_ms, 0.99)})}


async def _until_delta(ask: Any, request: bytes) -> float:  # noqa: ANN401
    """Seconds to the first delta; the rest of the stream is read all the same."""
    began, first = time.perf_counter(), 0.0
    try:
        async for raw in ask(request, timeout=CALL_TIMEOUT_S):
            if first:
                continue
            if context_pb2.StreamChatResponse.FromString(raw).WhichOneof("event") == "delta":
                first = time.perf_counter() - began
    except grpc.aio.AioRpcError as error:
        raise failed(STREAM, error) from None
    if not first:
        raise Wrong("a stream ended without a delta")
    return first


@dataclass(frozen=True, slots=True)
class Heard:
    """One answer: when each of its deltas was written and when it was there, seconds on the same clock."""

    written_s: Sequence[float]
    heard_s: Sequence[float]

    @property
    def delay_s(self) -> float:
        """From the model's socket to the caller, the median of the deltas."""
        return median(b - a for a, b in zip(self.written_s, self.heard_s, strict=True))

    @property
    def each_s(self) -> float:
        """A delta's share of the time from the first one to the last."""
        return (self.heard_s[-1] - self.heard_s[0]) / (len(self.heard_s) - 1)


async def delay(bench: Bench) -> Readings:
    """A model that says something every 2 ms: how long each delta is under way, against the relay. Reading: ratio."""
    count = PACED // QUICK_SHARE if bench.sizes.quick else PACED
    return await _beside_relay(bench, count, PACE_US, 1, lambda one: one.delay_s)


async def burst(bench: Bench) -> Readings:
    """A model as fast as it is read: time a delta, against the relay. Reading: ratio."""
    count = BURST // QUICK_SHARE if bench.sizes.quick else BURST
    return await _beside_relay(bench, count, 0, BURSTS, lambda one: one.each_s)


async def _beside_relay(
    bench: Bench, count: int, gap_us: int, times: int, figure: Callable[[Heard], float]
) -> Readings:
    """A figure of answers of `count` deltas, `times` a round, of both sides."""
    served, bare = await bench.once("streams", lambda: _both(bench))
    request = context_pb2.StreamChatRequest()
    request.context.channel = bench.new_name("deltas")
    request.context.question = "Say something, please."
    request.context.asker.id = "asker"
    request.context.model = upstream.model_id(count, gap_us)
    raw = request.SerializeToString()

    async def side(channel: grpc.aio.Channel, method: str) -> float:
        return median([figure(await hear(channel, method, raw, count)) for _ in range(times)])

    async def measured() -> float:
        return await side(served.channel, STREAM)

    async def base() -> float:
        return await side(bare, relay.METHOD)

    await measured(), await base()
    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(a for a, _ in pairs), tuple(b for _, b in pairs))
    details = {"delta_us": rounds.value * 1e6, "relay_delta_us": rounds.base * 1e6}
    return {"ratio": Reading(rounds.ratio, details, rounds)}


async def _both(bench: Bench) -> tuple[Served, grpc.aio.Channel]:
    """A server with the bench's model, and the relay of the same model."""
    base_url = f"http://{bench.stack.enter_context(child(upstream.MODULE))}/v1"
    flags = bench.flags("streams.db", settings=f'model_base_url = "{base_url}"\n')
    running = bench.stack.enter_context(bench.start(flags))
    address = bench.stack.enter_context(child(relay.MODULE, [base_url]))
    served = Served(running, await bench.connect(running.address))
    return served, await bench.connect(address)


async def hear(channel: grpc.aio.Channel, method: str, request: bytes, count: int) -> Heard:
    """One answer to its end; what came is looked at when all of it is there."""
    ask: Any = channel.unary_stream(method)
    answer = ask(request, timeout=CALL_TIMEOUT_S)
    try:
        came = [(time.monotonic(), raw) async for raw in answer]
    except grpc.aio.AioRpcError as error:
        raise failed(method, error) from None
    written, heard = [], []
    for at_s, raw in came:
        for stamp in upstream.stamps(context_pb2.StreamChatResponse.FromString(raw).delta):
            written.append(stamp / 1e9)
            heard.append(at_s)
    if len(written) != count:
        raise Wrong(f"{len(written)} of {count} deltas came")
    return Heard(written, heard)
