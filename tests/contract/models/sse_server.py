"""An HTTP server whose every byte, pause and cut is set by the test, and which sees when the client hangs up."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

CUT = "cut"
"""Reset the connection."""
HANG = "hang"
"""Say nothing more until the client hangs up."""
DONE = b"data: [DONE]\n\n"

Step = bytes | float | str


@dataclass(frozen=True)
class Reply:
    """A status, headers, and a body of steps: bytes are one chunk each, a number is a pause in seconds."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    chunked: bool = True
    before_head: Sequence[Step] = ()


@dataclass
class Exchange:
    """One request as it came, and when its client went away."""

    line: str
    headers: dict[str, str]
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    gone_at_s: float = 0.0

    def leave(self) -> None:
        if not self.gone.is_set():
            self.gone_at_s = asyncio.get_running_loop().time()
            self.gone.set()

    @property
    def json(self) -> dict:
        return json.loads(self.body)


class SseServer:
    """Plays its replies in order, the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.choose: Callable[[Exchange, int], Reply] = lambda _, at: self.replies[
            min(at, len(self.replies) - 1)
        ]
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    @property
    def open_connections(self) -> int:
        return len(self._tasks)

    async def stop(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = b""
        while True:
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = {k.lower(): v for k, v in (one.split(": ", 1) for one in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            exchange = Exchange(line, headers, body)
            reply = self.choose(exchange, len(self.exchanges))
            self.exchanges.append(exchange)
            self.asked.set()
            watch = asyncio.create_task(self._watch(reader, exchange))
            try:
                await self._play(reply, exchange, writer)
                if not reply.chunked:
                    return
                first = await watch
                if not first:
                    return
            except ConnectionError:
                exchange.leave()
                raise
            finally:
                watch.cancel()

    async def _watch(self, reader: asyncio.StreamReader, exchange: Exchange) -> bytes:
        try:
            byte = await reader.read(1)
        except ConnectionError:
            byte = b""
        if not byte:
            exchange.leave()
        return byte

    async def _play(self, reply: Reply, exchange: Exchange, writer: asyncio.StreamWriter) -> None:
        for step in reply.before_head:
            await self._step(step, exchange, writer, chunked=False)
        framing = "transfer-encoding: chunked" if reply.chunked else "connection: close"
        headers = {"content-type": "text/event-stream", **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} Whatever", framing, *map(": ".join, headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        for step in reply.steps:
            await self._step(step, exchange, writer, chunked=reply.chunked)
        if reply.chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        if not reply.chunked:
            writer.close()

    async def _step(
        self, step: Step, exchange: Exchange, writer: asyncio.StreamWriter, *, chunked: bool
    ) -> None:
        if isinstance(step, bytes):
            writer.write(b"%x\r\n%b\r\n" % (len(step), step) if chunked else step)
            await writer.drain()
        elif isinstance(step, float):
            await asyncio.sleep(step)
        elif step == HANG:
            await exchange.gone.wait()
            raise ConnectionResetError
        else:
            # Not a reset, which would also take back what the client has not read yet.
            writer.close()
            raise ConnectionResetError


@asynccontextmanager
async def sse_server() -> AsyncIterator[SseServer]:
    server = SseServer()
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, backlog=2_048)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        await server.stop()


# --- what OpenAI writes ---------------------------------------------------------------------------------------------


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict | None = None, finish: str | None = None, **fields) -> dict:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **fields}


def said(text: str) -> bytes:
    return data(chunk({"content": text}))


def stopped(reason: str = "stop") -> bytes:
    return data(chunk(finish=reason))


def used(prompt: int, completion: int) -> bytes:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return data({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage})


def whole(message: dict, finish: str | None = "stop", **fields) -> bytes:
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": finish,
    }
    return json.dumps(
        {"id": "c1", "object": "chat.completion", "choices": [choice], **fields}
    ).encode()


def error_body(code: str, message: str = "no") -> bytes:
    return json.dumps(
        {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    ).encode()
