"""A model in a process of its own: OpenAI's streamed answers over loopback, at a set pace.

What it answers stands in the request's model id (`model_id`). Every delta is the clock at which it was written
(`time.monotonic_ns`, which all processes of a machine share), `STAMP` bytes wide.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from backscroll_bench.speed.children import until_input_ends
from backscroll_bench.speed.loops import run

MODULE = "backscroll_bench.speed.upstream"
STAMP = 20
"""Characters of a delta: a number with spaces before it."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
LAST = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"bench",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


def model_id(count: int, gap_us: int) -> str:
    """Ask for so many deltas, so far apart; without a gap they come as fast as they are read."""
    return f"bench-{count}-{gap_us}"


def stamps(text: str) -> list[int]:
    """The clocks in a piece of an answer: pieces may come joined."""
    return [int(text[at : at + STAMP]) for at in range(0, len(text), STAMP)]


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = dict(
                line.lower().split(b": ", 1) for line in head.splitlines()[1:] if b": " in line
            )
            body = json.loads(await reader.readexactly(int(fields[b"content-length"])))
            _, count, gap_us = body["model"].split("-")
            writer.write(HEAD)
            await _stream(writer, int(count), int(gap_us) / 1e6)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client went away
    finally:
        writer.close()


async def _stream(writer: asyncio.StreamWriter, count: int, gap_s: float) -> None:
    due = time.monotonic()
    for _ in range(count):
        if gap_s:
            due += gap_s
            await asyncio.sleep(due - time.monotonic())
        writer.write(_chunk(_delta()))
        await writer.drain()
    writer.write(_chunk(LAST) + b"0\r\n\r\n")
    await writer.drain()


def _delta() -> bytes:
    return (
        b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"bench",'
        b'"choices":[{"index":0,"delta":{"content":"%*d"},"finish_reason":null}]}\n\n'
        % (STAMP, time.monotonic_ns())
    )


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    await until_input_ends(server.sockets[0].getsockname()[1])
    server.close()


if __name__ == "__main__":
    sys.exit(run(_serve()))
