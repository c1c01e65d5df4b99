"""How a connection begins."""

import asyncio
import http.client

import pytest

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.connection import CONNECTION_WINDOW_BYTES, GREETING_S
from backscroll_sidecar.edge.http2.frames import (
    DEFAULT_WINDOW_BYTES,
    PING,
    PREFACE,
    SETTINGS,
    ErrorCode,
    frame,
)
from backscroll_sidecar.edge.http2.messages import MAX_METADATA_BYTES
from backscroll_sidecar.edge.http2.stream import STREAM_WINDOW_BYTES
from tests.integration.edge.http2.peer import HELLO, Peer
from tests.integration.edge.http2.serving import Served


async def test_the_server_says_first_what_it_takes(peer: Peer) -> None:
    await peer.ping()
    assert peer.frames[0].kind == SETTINGS
    assert peer.settings[frames.INITIAL_WINDOW_SIZE] == STREAM_WINDOW_BYTES
    assert peer.settings[frames.MAX_HEADER_LIST_SIZE] == MAX_METADATA_BYTES
    assert peer.allowed[0] == CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES


async def test_a_preface_may_come_in_pieces(served: Served) -> None:
    for cut in (1, 5, 23, 24, 25, 32):
        async with served.peer(hello=b"") as peer:
            peer._unacknowledged.append({})
            peer.send(HELLO[:cut])
            await asyncio.sleep(0.005)
            peer.send(HELLO[cut:])
            assert await peer.is_well(1)


@pytest.mark.parametrize(
    "hello",
    [b"x", b"get / HTTP/1.1\r\n\r\n", PREFACE[:-1] + b"x", b"PRI * HTTP/1", b"\x16\x03\x01\x02\0"],
)  # fmt: skip
async def test_a_wrong_preface_ends_the_connection_at_its_first_wrong_byte(
    served: Served, hello: bytes
) -> None:
    async with served.peer(hello=hello) as peer:
        assert await peer.fault() is ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "OPTIONS"])
async def test_a_request_of_http_1_is_told_in_its_own_words(served: Served, method: str) -> None:
    """RFC 9110, section 15.5.22."""

    def ask() -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        try:
            connection.request(method, "/backscroll.v1/x")
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()

    answer, text = await asyncio.to_thread(ask)
    assert answer.status == 426
    assert answer.headers["upgrade"] == "h2c"
    assert "gRPC" in text
    assert "backscroll call" in text


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_a_request_of_http_1_in_pieces_is_told_too(
    served: Served, method: str, size: int
) -> None:
    """The network cuts where it likes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    begun = f"{method} /x".encode()
    for start in range(0, len(begun), size):
        writer.write(begun[start : start + size])
        await writer.drain()
        await asyncio.sleep(0.005)
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 426 ")


@pytest.mark.parametrize("hello", [b"PA", b"PU", b"OPTION"])
async def test_who_says_no_more_is_cut_off(served: Served, hello: bytes) -> None:
    """Half a method waits for the rest, not for ever; at the end of what is sent it is nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(hello)
    writer.write_eof()
    async with asyncio.timeout(60):
        await reader.read()
    writer.close()


class Ahead:
    """Makes the loop's clock run ahead of time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._ahead_s, time = 0.0, loop.time
        monkeypatch.setattr(loop, "time", lambda: time() + self._ahead_s)

    def by(self, seconds: float) -> None:
        self._ahead_s += seconds


@pytest.mark.parametrize(
    "hello", [b"", PREFACE[:5], PREFACE, PREFACE + frame(SETTINGS, 0, 0)[:-1], b"OPTION"]
)
async def test_who_does_not_greet_in_time_is_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch, hello: bytes
) -> None:
    ahead = Ahead(monkeypatch)
    async with served.peer(hello=hello) as silent, served.peer() as other:
        await other.ping()
        ahead.by(GREETING_S + 1)
        assert await silent.fault() is None
        assert silent.is_closed
        assert await other.is_well(1)  # who has greeted may be silent for as long as it likes


@pytest.mark.parametrize("cut", [0, 5, len(PREFACE), len(HELLO) - 1])
async def test_who_greets_late_but_in_time_is_served(
    served: Served, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    ahead = Ahead(monkeypatch)
    async with served.peer(hello=HELLO[:cut]) as slow, served.peer() as other:
        slow._unacknowledged.append({})
        await other.ping()
        ahead.by(GREETING_S / 2)
        slow.send(HELLO[cut:])
        assert await slow.is_well(1)
        ahead.by(2 * GREETING_S)
        assert await other.is_well(1)
        assert await slow.is_well(3)


async def test_a_preface_without_settings_is_none(served: Served) -> None:
    """RFC 9113, section 3.4: the first frame is SETTINGS."""
    async with served.peer(hello=PREFACE + frame(PING, 0, 0, bytes(8))) as peer:
        assert await peer.fault() is ErrorCode.PROTOCOL_ERROR
