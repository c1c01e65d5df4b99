"""Two servers that fail on purpose, in this process: one before a real server, and one that never answers."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

MAX_FAULTS = 2
"""So often a call fails before it succeeds; below the attempts of the clients' retry policy."""


@dataclass(frozen=True, slots=True)
class FaultyServers:
    """Their addresses."""

    retry: str
    silent: str


@contextmanager
def faulty_servers(upstream: str) -> Iterator[FaultyServers]:
    """Serve until the block ends, on a thread with a loop of its own.

    The first answers each new request UNAVAILABLE, then hands it to `upstream` and loses the answer, then hands it
    on as it should.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="faulty servers", daemon=True)
    thread.start()

    def wait_for(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()

    channel, servers, addresses = wait_for(_start(upstream))
    try:
        yield FaultyServers(*addresses)
    finally:
        wait_for(_stop(channel, servers))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(upstream: str) -> tuple[grpc.aio.Channel, list[grpc.aio.Server], list[str]]:
    channel = grpc.aio.insecure_channel(upstream)
    servers, addresses = [], []
    for handler in (_LosesAnswers(channel), _NeverAnswers()):
        server = grpc.aio.server(handlers=[handler])
        addresses.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        await server.start()
        servers.append(server)
    return channel, servers, addresses


async def _stop(channel: grpc.aio.Channel, servers: list[grpc.aio.Server]) -> None:
    for server in servers:
        await server.stop(None)
    await channel.close()


class _LosesAnswers(grpc.GenericRpcHandler):
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._seen: Counter[tuple[str, bytes]] = Counter()

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def answer(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            key = call.method, request
            faults = self._seen[key]
            self._seen[key] += 1
            answered = b"" if faults == 0 else await self._channel.unary_unary(call.method)(request)
            if faults < MAX_FAULTS:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "lost on purpose")
            return bytes(answered)

        return grpc.unary_unary_rpc_method_handler(answer)


class _NeverAnswers(grpc.GenericRpcHandler):
    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def answer(*_: object) -> bytes:
            await asyncio.Event().wait()
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)
