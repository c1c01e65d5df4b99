"""A vendor of OpenAI's Chat Completions on a port of its own: what it says is scripted, what it is sent is kept."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

HEAD = {"id": "chatcmpl-1", "created": 1, "model": "vendor-model-2026"}
DONE = b"data: [DONE]\n\n"

Step = bytes | float | asyncio.Event
"""A piece of the body; or a silence of so many seconds, or until the event is set."""


@dataclass
class Said:
    """One answer: status, headers, and its body step by step. `breaks`: the socket ends before the body does."""

    steps: Sequence[Step]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    breaks: bool = False


@dataclass
class Sent:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    raw: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the caller has left before the end."""

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def texts(self) -> list[str]:
        """All messages as one line each."""
        return [f"{one['role']}: {one.get('content')}" for one in self.body["messages"]]


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    said = {**HEAD, "object": "chat.completion.chunk", "choices": [choice], **more}
    return b"data: " + json.dumps(said).encode() + b"\n\n"


def streamed(*pieces: str, finish: str = "stop") -> Said:
    """A streamed answer."""
    first = chunk({"role": "assistant", "content": ""})
    said = [chunk({"content": one}) for one in pieces]
    return Said([first, *said, chunk({}, finish), DONE])


def whole(message: dict[str, Any], finish: str = "stop", **more: Any) -> Said:
    """An answer that is not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    said = {**HEAD, "object": "chat.completion", "choices": [choice], "usage": usage}
    return of_json({**said, **more})


def of_json(value: Any, status: int = 200, **headers: str) -> Said:
    named = {name.replace("_", "-"): one for name, one in headers.items()}
    return Said([json.dumps(value).encode()], status, {"content-type": "application/json", **named})


class FakeVendor:
    """Answers by a function of the request; `url` is its base URL."""

    def __init__(self, answer: Callable[[Sent], Said]) -> None:
        self.answer = answer
        self.sent: list[Sent] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip()
                    for name, _, value in (one.partition(":") for one in head[1:] if one)
                }
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                sent = Sent(head[0].split()[1], headers, raw)
                self.sent.append(sent)
                if not await self._say(self.answer(sent), sent, reader, writer):
                    break
        writer.close()

    async def _say(
        self, said: Said, sent: Sent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        told = "".join(f"{name}: {value}\r\n" for name, value in said.headers.items())
        writer.write(
            f"HTTP/1.1 {said.status} X\r\n{told}transfer-encoding: chunked\r\n\r\n".encode()
        )
        leaving = asyncio.ensure_future(reader.read(1))
        for step in said.steps:
            if isinstance(step, bytes):
                writer.write(b"%x\r\n%b\r\n" % (len(step), step))
                await writer.drain()
                continue
            waiting = asyncio.ensure_future(
                asyncio.sleep(step) if isinstance(step, float) else step.wait()
            )
            await asyncio.wait((leaving, waiting), return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                waiting.cancel()
                sent.gone.set()
                return False
        if said.breaks:
            writer.transport.abort()
            return False
        writer.write(b"0\r\n\r\n")
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        return True


@asynccontextmanager
async def fake_vendor(
    *answers: Said, answer: Callable[[Sent], Said] | None = None
) -> AsyncIterator[FakeVendor]:
    """A vendor that gives these answers in order, or those of a function."""
    left = list(answers)
    vendor = FakeVendor(answer or (lambda _: left.pop(0)))
    server = await asyncio.start_server(vendor.serve, "127.0.0.1", 0)
    vendor.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield vendor
    finally:
        server.close()
