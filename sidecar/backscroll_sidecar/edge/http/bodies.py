"""Bodies of requests: each of bounded size, in bounded time, and all that are being read within a common bound."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from backscroll_sidecar.edge.http.requests import CallerLeft
from backscroll_sidecar.edge.limits import KIB, MAX_RECEIVE_BYTES, MIB
from backscroll_sidecar.edge.status import Code, Refused, refusal_for
from backscroll_sidecar.errors import InvalidRequest, Overloaded, Reason

LEAST_BYTES_A_SECOND = 32 * KIB
"""What a body must bring on average, once `SLOW_S` are over."""
SLOW_S = 30.0
MOST_AT_ONCE_BYTES = 256 * MIB
"""Of all bodies that are being read. Those that are whole count where their calls are let in."""
FREE_BYTES = 64 * KIB
"""Of each body, which count for nothing: a connection holds as much anyhow, and short requests shall always come in."""


class Bodies:
    """Reads bodies. Belongs to one event loop."""

    def __init__(self) -> None:
        self.bytes_held = 0
        """What counts of bodies that are not whole yet."""

    async def read(self, request: Request, most: int = MAX_RECEIVE_BYTES) -> bytes:
        """The body.

        Raises
        ------
        Refused
            It is longer than `most` bytes, compressed, takes too long to come, or too many come at once.
        CallerLeft
            The caller went before it was whole.
        """
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Refused(Code.UNIMPLEMENTED, "content-encoding: bodies are taken as they are")
        told = request.headers.get("content-length", "0")
        _check_size(int(told) if told.isdigit() else 0, most)
        self._check_room(_counted(int(told) if told.isdigit() else 0))
        pieces: list[bytes] = []
        size = held = 0
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            async with asyncio.timeout(SLOW_S) as limit:
                async for piece in request.stream():
                    size += len(piece)
                    _check_size(size, most)
                    more = _counted(size) - held
                    self._check_room(more)
                    self.bytes_held += more
                    held += more
                    pieces.append(piece)
                    limit.reschedule(began_s + SLOW_S + size / LEAST_BYTES_A_SECOND)
            return b"".join(pieces)
        except ClientDisconnect:
            raise CallerLeft from None
        except TimeoutError:
            raise Refused(Code.DEADLINE_EXCEEDED, "the body comes too slowly", "DEADLINE") from None
        finally:
            self.bytes_held -= held

    def _check_room(self, more: int) -> None:
        if more and self.bytes_held + more > MOST_AT_ONCE_BYTES:
            raise refusal_for(Overloaded("too many long requests come at once"))


def _counted(size: int) -> int:
    return max(size - FREE_BYTES, 0)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise refusal_for(
            InvalidRequest(f"the body is longer than {most:,} bytes", reason=Reason.TOO_LARGE)
        )
