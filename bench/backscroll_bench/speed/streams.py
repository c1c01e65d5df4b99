"""The part about StreamChat: how long until the first piece of the answer, with a model that does not think."""

from __future__ import annotations

import time
from typing import Any

import grpc

from backscroll.v1 import context_pb2
from backscroll_bench.speed.fixture import STREAM, Bench
from backscroll_bench.speed.load import CALL_TIMEOUT_S, failed
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Wrong, percentile

HISTORY = 1_000
LEAST, QUICK_LEAST = 100, 5


async def first_delta(bench: Bench) -> Readings:
    """From the call to the first delta of the server's echo, question stored, nothing embedded. Reading: p50 (ms)."""
    asked = await bench.questions("plain", "balanced", HISTORY)
    served = await bench.served("plain")
    ask: Any = served.channel.unary_stream(STREAM)
    # A channel of its own: a chat writes into its channel, and other parts ask about the lines as they were.
    channel = bench.new_name("chat")
    await bench.fill(served, channel, HISTORY)
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
