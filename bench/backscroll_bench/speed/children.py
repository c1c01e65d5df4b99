"""Servers of the bench's own that Backscroll is compared with: modules that run in processes of their own.

Such a module prints its port when it serves and ends when its standard input does, so that it never outlives the bench.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from backscroll_bench.speed.loops import keep_loop

STOP_S = 5.0


async def until_input_ends(port: int) -> None:
    """Say where this process serves, and wait until its parent lets it go."""
    gc.collect()
    gc.freeze()
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=watch, daemon=True).start()
    print(port, flush=True)
    await ended.wait()


async def serve(handler: grpc.GenericRpcHandler) -> None:
    """Serve its methods over `grpc.aio` on a port of this machine until the parent lets this process go."""
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    keep_loop()
    await until_input_ends(port)
    await server.stop(0)


@contextmanager
def child(module: str, arguments: Sequence[str] = ()) -> Iterator[str]:
    """The address of such a module's server, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError(f"{module} did not start; exit code {process.wait()}")
        yield f"127.0.0.1:{port}"
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
