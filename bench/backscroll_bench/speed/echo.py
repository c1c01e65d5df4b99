"""R0: a bare `grpc.aio` unary echo in a process of its own, what every call is compared with.

`python -m backscroll_bench.speed.echo` prints its port and serves until its standard input ends, so that it never
outlives the bench. The method ``/r0.Echo/N`` takes any bytes and answers with N bytes.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from backscroll_bench.speed.loops import run

LARGEST_REPLY = 8 * 2**20
STOP_S = 5.0


def method(reply_bytes: int) -> str:
    """The full name of the method that answers with so many bytes."""
    return f"/r0.Echo/{reply_bytes}"


class _Echo(grpc.GenericRpcHandler):
    """Handlers by size, each made once: a call costs a look-up, as with generated code."""

    def __init__(self) -> None:
        self._made: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {}

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """The handler of a method that was asked for."""
        name = handler_call_details.method
        if name not in self._made:
            size = name.rpartition("/")[2]
            if not size.isdecimal() or int(size) > LARGEST_REPLY:
                return None
            self._made[name] = grpc.unary_unary_rpc_method_handler(_answer(bytes(int(size))))
        return self._made[name]


def _answer(reply: bytes) -> Callable[[bytes, Any], Awaitable[bytes]]:
    async def answer(_request: bytes, _context: Any) -> bytes:  # noqa: ANN401
        return reply

    return answer


async def _serve() -> None:
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((_Echo(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    gc.collect()
    gc.freeze()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=watch, daemon=True).start()
    print(port, flush=True)
    await ended.wait()
    await server.stop(0)


@contextmanager
def echo_server() -> Iterator[str]:
    """The address of an echo server of our own, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "backscroll_bench.speed.echo"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"the echo server did not start; exit code {process.wait()}")
        yield f"127.0.0.1:{port}"
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


if __name__ == "__main__":
    run(_serve())
