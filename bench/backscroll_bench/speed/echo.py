"""R0: a bare `grpc.aio` unary echo in a process of its own, what every call is compared with.

`children.child` starts it. The method ``/r0.Echo/N`` takes any bytes and answers with N bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

import grpc

from backscroll_bench.speed.children import child, serve
from backscroll_bench.speed.loops import run

LARGEST_REPLY = 8 * 2**20
MODULE = "backscroll_bench.speed.echo"


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


def echo_server() -> AbstractContextManager[str]:
    """The address of an echo server of our own, ended with the block."""
    return child(MODULE)


if __name__ == "__main__":
    run(serve(_Echo()))
