"""The load: callers that wait for an answer before they ask again. Bounded by a count, a concurrency and a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import grpc

from backscroll_bench.speed.stats import Wrong, percentile

CALL_TIMEOUT_S = 30.0
LONGEST_S = 60.0
"""No load goes on longer, whatever its count."""
MOST_CONCURRENT = 256
OPTIONS = (
    ("grpc.max_receive_message_length", 16 * 2**20),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)

Call: TypeAlias = Callable[[bytes], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Load:
    """What one side did in one round: the latencies in seconds, and how long all of it took."""

    latencies_s: tuple[float, ...]
    elapsed_s: float

    @property
    def p50_s(self) -> float:
        """Half of the calls were not slower."""
        return percentile(self.latencies_s, 0.5)

    @property
    def p99_s(self) -> float:
        """99 of 100 calls were not slower."""
        return percentile(self.latencies_s, 0.99)

    @property
    def per_second(self) -> float:
        """Calls a second."""
        return len(self.latencies_s) / self.elapsed_s


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions to one channel, who answers them, and how many bytes each one's answer has."""

    call: Call
    requests: list[bytes]
    replies: list[int]

    def add(self, request: bytes, answer: bytes) -> None:
        """One more."""
        self.requests.append(request)
        self.replies.append(len(answer))

    @property
    def reply_bytes(self) -> int:
        """Of the answer in the middle."""
        return sorted(self.replies)[len(self.replies) // 2]


def open_channel(address: str) -> grpc.aio.Channel:
    """A connection of its own to a server on this machine."""
    return grpc.aio.insecure_channel(address, options=OPTIONS)


def unary(channel: grpc.aio.Channel, method: str) -> Call:
    """A method over bytes: nothing is parsed or serialised, on either side of a comparison."""
    ask: Any = channel.unary_unary(method)

    async def call(request: bytes) -> bytes:
        try:
            answer: bytes = await ask(request, timeout=CALL_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise failed(method, error) from None
        return answer

    return call


def failed(method: str, error: grpc.aio.AioRpcError) -> Wrong:
    """What to say of a call that was refused."""
    return Wrong(f"{method.rpartition('/')[2]} failed: {error.code().name} {error.details()}")


async def closed_loop(
    call: Call,
    requests: Sequence[bytes],
    count: int,
    *,
    concurrency: int = 1,
    longest_s: float = LONGEST_S,
) -> Load:
    """Send `count` requests, taken in turn, by `concurrency` callers; after `longest_s` none is begun any more.

    Raises
    ------
    ValueError
        More than `MOST_CONCURRENT` callers.
    Wrong
        A call failed; among several callers in an `ExceptionGroup`.
    """
    if not 1 <= concurrency <= MOST_CONCURRENT:
        raise ValueError(f"1 to {MOST_CONCURRENT} callers, not {concurrency}")
    taken: list[float] = []
    began = time.perf_counter()
    waiting = _until(began + longest_s, requests, count)
    if concurrency == 1:
        await _caller(call, waiting, taken)
    else:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, count)):
                group.create_task(_caller(call, waiting, taken))
    return Load(tuple(taken), time.perf_counter() - began)


def _until(end_s: float, requests: Sequence[bytes], count: int) -> Iterator[bytes]:
    clock, size = time.perf_counter, len(requests)
    for n in range(count):
        if clock() >= end_s:
            return
        yield requests[n % size]


async def _caller(call: Call, waiting: Iterator[bytes], taken: list[float]) -> None:
    clock, note = time.perf_counter, taken.append
    for request in waiting:
        began = clock()
        await call(request)
        note(clock() - began)
