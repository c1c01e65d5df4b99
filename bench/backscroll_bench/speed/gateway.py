"""The part about HTTP: how much later the first delta is through Chat Completions than through StreamChat.

Both are asked of one server by turns, with the bench's model behind (`upstream`), each over a connection that stays.
"""

from __future__ import annotations

import asyncio
import socket
import time
from statistics import median
from typing import Any

import grpc
import orjson

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, upstream
from backscroll_bench.speed.children import child
from backscroll_bench.speed.fixture import STREAM, Bench
from backscroll_bench.speed.load import CALL_TIMEOUT_S, failed
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Wrong, percentile

HISTORY = 1_000
PAIRS, QUICK_PAIRS, WARM_PAIRS = 100, 5, 20


async def first_delta(bench: Bench) -> Readings:
    """Reading: later (ms), the median of the pairs."""
    base_url = f"http://{bench.stack.enter_context(child(upstream.MODULE))}/v1"
    port = _free_port()
    settings = f'model_base_url = "{base_url}"\nhttp_listen = ["127.0.0.1:{port}"]\n'
    running = bench.stack.enter_context(bench.start(bench.flags("gateway.db", settings=settings)))
    connection = await bench.connect(running.address)
    append: Any = connection.unary_unary("/backscroll.v1.HistoryService/AppendMessages")
    channel = bench.new_name("gateway")
    for request in chats.append_requests(channel, chats.messages(HISTORY), 500):
        await append(request, timeout=CALL_TIMEOUT_S)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    asked = [one.line.content for one in chats.said(PAIRS + WARM_PAIRS, skip=HISTORY)]

    async def streamed(place: int) -> float:
        return await _by_stream_chat(connection, channel, asked[place], f"s{place}")

    async def relayed(place: int) -> float:
        return await _by_http(reader, writer, channel, asked[place], f"h{place}")

    pairs = []
    for place in range(WARM_PAIRS + (QUICK_PAIRS if bench.sizes.quick else PAIRS)):
        if place % 2:
            late = await relayed(place)
            pairs.append((await streamed(place), late))
        else:
            soon = await streamed(place)
            pairs.append((soon, await relayed(place)))
    writer.close()
    kept = pairs[WARM_PAIRS:]
    later = median(b - a for a, b in kept) * 1e3
    told = {
        "stream_chat_ms": median(a for a, _ in kept) * 1e3,
        "gateway_ms": median(b for _, b in kept) * 1e3,
        "later_p99_ms": percentile([(b - a) * 1e3 for a, b in kept], 0.99),
    }
    return {"later": Reading(later, told)}


async def _by_stream_chat(
    connection: grpc.aio.Channel, channel: str, question: str, name: str
) -> float:
    """Seconds to the first delta."""
    request = context_pb2.StreamChatRequest(question_message_id=name)
    request.context.channel, request.context.question = channel, question
    request.context.asker.id, request.context.model = "asker", upstream.model_id(1, 0)
    ask: Any = connection.unary_stream(STREAM)
    began, first = time.perf_counter(), 0.0
    try:
        async for raw in ask(request.SerializeToString(), timeout=CALL_TIMEOUT_S):
            event = context_pb2.StreamChatResponse.FromString(raw)
            if not first and event.WhichOneof("event") == "delta":
                first = time.perf_counter() - began
    except grpc.aio.AioRpcError as error:
        raise failed(STREAM, error) from None
    if not first:
        raise Wrong("a stream ended without a delta")
    return first


async def _by_http(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    channel: str,
    question: str,
    name: str,
) -> float:
    """The same."""
    said = [{"role": "user", "content": question}]
    body = orjson.dumps({"model": upstream.model_id(1, 0), "messages": said, "stream": True})
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"x-backscroll-channel: {channel}\r\nx-backscroll-asker: asker\r\nx-backscroll-message-id: {name}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    began, first = time.perf_counter(), 0.0
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in answer or b"rung=ranked" not in answer:
        raise Wrong(f"the gateway answered {answer[:200]!r}")
    while size := int(await reader.readline(), 16):
        piece = await reader.readexactly(size + 2)
        if not first and b'"content":"' in piece:
            first = time.perf_counter() - began
    await reader.readline()
    if not first:
        raise Wrong("an answer ended without a delta")
    return first


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
