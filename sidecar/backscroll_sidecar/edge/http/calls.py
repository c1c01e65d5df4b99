"""The contract's calls from inside the process: what any room over HTTP is made of.

They go through the call pipeline as those over gRPC do: the same keys, rights, room, deadlines and log lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from google.protobuf import message_factory
from google.protobuf.message import Message

from backscroll_sidecar.edge.call_pipeline import Caller, Endpoint
from backscroll_sidecar.edge.http.bodies import Bodies
from backscroll_sidecar.edge.services import Servicer
from backscroll_sidecar.edge.status import Code, Refused, refusal_for
from backscroll_sidecar.edge.tenants import Metadata, Tenants
from backscroll_sidecar.errors import InvalidRequest, Unauthenticated

TIMEOUT = "connect-timeout-ms"
"""The header with a caller's time, in milliseconds from now."""
MAX_TIMEOUT_DIGITS = 10


class HttpCaller(NamedTuple):
    """Who calls, by an HTTP request: its headers, by lower-case names, are the call's metadata."""

    metadata: Metadata
    time_left_s: float | None = None

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]]) -> HttpCaller:
        """Raises `Refused` where the header with the caller's time is none."""
        metadata = [(name.decode("latin-1"), _text(value)) for name, value in headers]
        told = [value for name, value in metadata if name == TIMEOUT]
        if not told:
            return cls(metadata)
        if not (told[0].isascii() and told[0].isdigit() and len(told[0]) <= MAX_TIMEOUT_DIGITS):
            raise refusal_for(InvalidRequest("is no number of milliseconds", field=TIMEOUT))
        return cls(metadata, int(told[0]) / 1_000)


class Kind(NamedTuple):
    """One method: where it answers, and what it takes and gives."""

    endpoint: Endpoint
    request: type[Message]
    response: type[Message]


class Calls:
    """Calls endpoints by the contract's names, ``backscroll.v1.HistoryService/ListChannels``.

    Parameters
    ----------
    endpoints : those of the servicers.
    tenants : tells whether a credential is known before a body is read for it.
    """

    def __init__(
        self, endpoints: Iterable[Endpoint], servicers: Iterable[Servicer], tenants: Tenants
    ) -> None:
        by_path = {one.path.removeprefix("/"): one for one in endpoints}
        self.kinds: Mapping[str, Kind] = {
            name: Kind(by_path[name], *map(message_factory.GetMessageClass, taken_and_given))
            for servicer in servicers
            for method in servicer.SERVICE.methods
            for name in (f"{servicer.SERVICE.full_name}/{method.name}",)
            for taken_and_given in ((method.input_type, method.output_type),)
        }
        self._tenants = tenants
        self.bodies = Bodies()
        """Reads those of requests."""

    async def call(
        self, name: str, request: Message | AsyncIterator[Message], caller: Caller
    ) -> Any:  # noqa: ANN401 - the method's response
        """Make a call that is answered once; a method that takes a stream is given an iterator.

        Raises
        ------
        Refused
            The call ends with an error.
        """
        kind = self.kinds[name]
        answer = await self.answer(kind.endpoint, _outgoing(request), caller)
        return kind.response.FromString(answer)

    async def stream(self, name: str, request: Message, caller: Caller) -> AsyncGenerator[Any]:
        """Make a call that is answered by a stream. Leaving early ends it. Raises `Refused`, also midway."""
        kind = self.kinds[name]
        async with aclosing(self.answers(kind.endpoint, _outgoing(request), caller)) as answers:
            async for one in answers:
                yield kind.response.FromString(one)

    async def answer(
        self, endpoint: Endpoint, request: bytes | AsyncIterator[bytes], caller: Caller
    ) -> bytes:
        """The same of bytes."""
        try:
            async with asyncio.timeout(caller.time_left_s):
                body: bytes = await endpoint.answer(request, caller)
        except TimeoutError:
            raise out_of_time() from None
        return body

    async def answers(
        self, endpoint: Endpoint, request: bytes | AsyncIterator[bytes], caller: Caller
    ) -> AsyncGenerator[bytes]:
        """The same of bytes."""
        loop, left_s = asyncio.get_running_loop(), caller.time_left_s
        end_s = None if left_s is None else loop.time() + left_s
        async with aclosing(endpoint.answer(request, caller)) as found:
            while True:
                try:
                    async with asyncio.timeout_at(end_s):
                        one: bytes | None = await anext(found, None)
                except TimeoutError:
                    raise out_of_time() from None
                if one is None:
                    return
                yield one

    def knows(self, caller: Caller) -> bool:
        """Whether the credential is one: of who has none no body is read."""
        try:
            self._tenants.resolve(caller.metadata)
        except Unauthenticated:
            return False
        return True


def out_of_time() -> Refused:
    """What a caller is told whose time is up."""
    return Refused(Code.DEADLINE_EXCEEDED, "the caller's time is up", "DEADLINE")


def _outgoing(request: Message | AsyncIterator[Message]) -> Any:  # noqa: ANN401 - bytes, or an iterator of them
    if isinstance(request, Message):
        return request.SerializeToString()

    async def each() -> AsyncIterator[bytes]:
        async for one in request:
            yield one.SerializeToString()

    return each()


def _text(value: bytes) -> str:
    """A header's value: of UTF-8, as most clients write it, else of Latin-1, as the standard has it."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
