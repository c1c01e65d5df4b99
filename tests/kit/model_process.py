"""A model in a process of its own: OpenAI's streamed answers over loopback, at a set pace, to thousands at once.

``python -m tests.kit.model_process`` prints its base URL. What it answers stands in the request's model id, written
as a query: ``tag=a&first=0.02&gap=0.02&count=500&call=1`` (seconds; `call` ends in a tool call). It keeps a
journal of its exchanges, on the clock of `time.monotonic`, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any, Self, cast
from urllib.parse import parse_qsl

TICK_S = 0.002
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
BACKLOG = 4_096


def piece(n: int) -> str:
    """Delta `n` of every answer."""
    return f"{n}猫 "


def text_of(count: int) -> str:
    """The whole answer of `count` deltas."""
    return "".join(map(piece, range(count)))


def script(
    tag: str = "", *, first: float = 0.0, gap: float = 0.02, count: int = 50, call: bool = False
) -> str:
    """The model id that asks for this answer; with gap 0 it comes as fast as it is read."""
    return f"tag={tag}&first={first}&gap={gap}&count={count}&call={int(call)}"


@dataclass
class Exchange:
    """One request: when it came, what was written of its answer, when its client hung up before the end.

    Attributes
    ----------
    key : of the API, which tells who asked.
    whom : how the system text begins.
    is_behind_tools : it ends in results of tools.
    """

    tag: str
    asked_s: float
    key: str = ""
    whom: str = ""
    is_behind_tools: bool = False
    sent: int = 0
    is_whole: bool = False
    whole_s: float | None = None
    gone_s: float | None = None


class _Wheel:
    """Runs what is due every tick; one timer for all streams."""

    def __init__(self) -> None:
        self._due: dict[int, list[_Connection]] = defaultdict(list)
        self._at = int(time.monotonic() / TICK_S)

    def add(self, connection: _Connection, at_s: float) -> None:
        self._due[max(int(at_s / TICK_S), self._at + 1)].append(connection)

    async def run(self) -> None:
        while True:
            now = int(time.monotonic() / TICK_S)
            for tick in range(self._at + 1, now + 1):
                self._at = tick
                for connection in self._due.pop(tick, ()):
                    connection.say_next()
            await asyncio.sleep(TICK_S)


class _Connection(asyncio.Protocol):
    def __init__(self, wheel: _Wheel, journal: list[Exchange]) -> None:
        self._wheel, self._journal = wheel, journal
        self._buffer = b""
        self._exchange: Exchange | None = None
        self._script: dict[str, str] = {}
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._exchange is not None:
            self._exchange.gone_s = time.monotonic()
            self._exchange = None

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(headers.get(b"content-length", 0))
        if not end or len(body) < length:
            return
        self._buffer = body[length:]
        if head.startswith(b"GET"):
            self._tell_journal()
        else:
            key = headers.get(b"authorization", b"").decode().removeprefix("bearer ")
            self._answer(json.loads(body[:length]), key)

    def _tell_journal(self) -> None:
        told = json.dumps([asdict(one) for one in self._journal]).encode()
        self._journal[:] = [one for one in self._journal if not one.is_whole and one.gone_s is None]
        self._transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(told), told)
        )

    def _answer(self, body: dict[str, Any], key: str) -> None:
        self._script = dict(parse_qsl(body["model"]))
        # Behind the results of a call the model answers, whatever its script says of calls.
        is_behind_tools = body["messages"][-1]["role"] == "tool"
        if is_behind_tools:
            self._script["call"] = "0"
        now_s = time.monotonic()
        whom = body["messages"][0]["content"].split("\n", 1)[0]
        self._exchange = Exchange(self._script.get("tag", ""), now_s, key, whom, is_behind_tools)
        self._journal.append(self._exchange)
        self._transport.write(HEAD)
        self._wheel.add(self, now_s + float(self._script.get("first", 0)))

    def say_next(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        gap_s, count = float(self._script["gap"]), int(self._script["count"])
        while exchange.sent < count and not self._is_paused:
            self._write(piece(exchange.sent).encode().join(_SAID))
            exchange.sent += 1
            if gap_s and exchange.sent < count:
                break
        if exchange.sent < count:
            self._wheel.add(self, time.monotonic() + gap_s)
            return
        if self._script["call"] == "1":
            function = {"name": "weather", "arguments": "{}"}
            call = {"index": 0, "id": "call_1", "function": function}
            self._write(_chunk({"tool_calls": [call]}))
        self._write(_chunk({}, "tool_calls" if self._script["call"] == "1" else "stop"))
        self._transport.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        exchange.is_whole, exchange.whole_s = True, time.monotonic()
        self._exchange = None

    def _write(self, event: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(event), event))


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-9f1c7d0a2b3e4f5061728394", "object": "chat.completion.chunk",
        "created": 1_795_176_000, "model": "fake", "system_fingerprint": "fp_44709d6fcb",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }  # fmt: skip
    return b"data: %b\n\n" % json.dumps(chunk, ensure_ascii=False).encode()


_SAID = _chunk({"content": "\0"}).split(b"\\u0000")
"""What stands before and behind a delta's text."""


class ModelProcess:
    """The process, started and stopped by its own id."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.model_process"], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "the model did not start"
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def journal(self) -> list[Exchange]:
        """All exchanges that were not told as over before."""
        with urllib.request.urlopen(self.url, timeout=120) as answer:
            return [Exchange(**one) for one in json.load(answer)]


async def _serve() -> None:
    wheel, journal = _Wheel(), []
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(wheel, journal), "127.0.0.1", 0, backlog=BACKLOG
    )
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await wheel.run()


if __name__ == "__main__":
    try:
        from uvloop import run
    except ModuleNotFoundError:
        from asyncio import run
    run(_serve())
