"""Connections of callers who send slowly, or take nothing: none is held for ever."""

import asyncio

import pytest

from backscroll_sidecar.edge.http import bodies, server
from tests.kit.fake_model import FakeModel, Wait
from tests.kit.over_http import OverHttp, over_http

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def opened(served: OverHttp) -> Ends:
    host, _, port = served.url.removeprefix("http://").rpartition(":")
    return await asyncio.open_connection(host, int(port))


def head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {length}\r\n\r\n"
    ).encode()


async def is_ended(ends: Ends, *, trickle: bytes = b"") -> bool:
    """Whether the server ends the connection while this comes byte by byte."""
    reader, writer = ends
    ending = asyncio.ensure_future(reader.read())
    for at in range(3_000):
        done, _ = await asyncio.wait([ending], timeout=0.01)
        if done:
            break
        writer.write(trickle[at : at + 1])
    writer.close()
    if not ending.done():
        ending.cancel()
        return False
    ending.exception()
    return True


@pytest.mark.parametrize("sent", [b"", b"POST /v1/context HTTP/1.1\r\nx: "])
async def test_a_head_that_never_ends(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.1)
    async with over_http() as served:
        ends = await opened(served)
        ends[1].write(sent)
        assert await is_ended(ends, trickle=b"x" * 3_000 if sent else b"")


async def test_a_second_head_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with over_http() as served:
        ends = await opened(served)
        ends[1].write(head("/v1/context", 2) + b"{}")
        await ends[0].readuntil(b"}")
        monkeypatch.setattr(server, "HEAD_S", 0.1)
        assert await is_ended(ends, trickle=b"GET /" + b"x" * 3_000)


async def test_a_body_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SLOW_S", 0.1)
    monkeypatch.setattr(server, "HEAD_S", 0.1)
    async with over_http() as served:
        for path in ("/v1/context", "/v1/chat/completions", "/api/chat"):
            ends = await opened(served)
            ends[1].write(head(path, 100_000) + b"{")
            assert b" 504 " in await ends[0].readline()
            assert await is_ended(ends, trickle=b" " * 3_000)


async def test_a_body_of_whom_nobody_knows_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.1)
    async with over_http(tokens={"t": "one"}) as served:
        ends = await opened(served)
        ends[1].write(head("/v1/chat/completions", 100_000) + b"{")
        assert b"401" in await ends[0].readline()
        assert await is_ended(ends, trickle=b" " * 3_000)


async def test_a_stream_that_nobody_reads_ends_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "UNREAD_S", 0.2)
    model = FakeModel([*(["x" * 60_000] * 400), Wait()])
    async with over_http(model=model) as served:
        body = b'{"context": {"question": "hi"}}'
        _, writer = await opened(served)
        writer.transport.pause_reading()
        writer.write(head("/backscroll.v1.ContextService/StreamChat", len(body)) + body)
        async with asyncio.timeout(30):
            while not model.calls or model.open_calls:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.01)
        writer.transport.abort()
