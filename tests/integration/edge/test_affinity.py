"""The client tells proxies which channel a call is about, in metadata."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from backscroll import AsyncClient, BackscrollError, Client, Message

LINE = Message("m1", "u1", "hello", 1_795_176_000_000)


class Recording(grpc.GenericRpcHandler):
    """A server that does nothing but note what calls say of their channel."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> None:
        name = handler_call_details.method.rpartition("/")[2]
        metadata = dict(handler_call_details.invocation_metadata or ())
        self.told.append((name, str(metadata.get("x-backscroll-channel"))))


@pytest.fixture
def recording() -> Iterator[tuple[str, Recording]]:
    told = Recording()
    server = grpc.server(ThreadPoolExecutor(2), handlers=(told,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}", told
    server.stop(0)


@pytest.mark.parametrize("is_async", [False, True])
def test_calls_name_their_channel(recording: tuple[str, Recording], *, is_async: bool) -> None:
    address, told = recording

    def sync() -> None:
        with Client(address) as client:
            for call in (
                lambda: client.append("room", [LINE]),
                lambda: client.build_context("猫/1", "and now?", asker="u1"),
                lambda: list(client.stream_chat("room", "and now?", asker="u1")),
                lambda: list(client.list_channels()),
            ):
                with pytest.raises(BackscrollError):
                    call()

    async def asynchronous() -> None:
        async with AsyncClient(address) as client:
            with pytest.raises(BackscrollError):
                await client.append("room", [LINE])
            with pytest.raises(BackscrollError):
                await client.build_context("猫/1", "and now?", asker="u1")
            with pytest.raises(BackscrollError):
                [event async for event in client.stream_chat("room", "and now?", asker="u1")]
            with pytest.raises(BackscrollError):
                [one async for one in client.list_channels()]

    if is_async:
        asyncio.run(asynchronous())
    else:
        sync()
    assert told.told == [
        ("AppendMessages", "room"),
        ("BuildContext", "%E7%8C%AB/1"),
        ("StreamChat", "room"),
        ("ListChannels", "None"),
    ]
