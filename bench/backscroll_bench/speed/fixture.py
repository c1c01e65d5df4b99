"""What the parts share: servers of the bench's own, channels filled with real chats, and rounds beside R0."""

from __future__ import annotations

import gc
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeVar

import grpc

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll_bench.awake import Awake
from backscroll_bench.speed import chats, everything
from backscroll_bench.speed.echo import echo_server
from backscroll_bench.speed.echo import method as echo_method
from backscroll_bench.speed.load import Call, Load, Questions, closed_loop, open_channel, unary
from backscroll_bench.speed.loops import core_setting
from backscroll_bench.speed.postgres import Postgres, postgres
from backscroll_bench.speed.sizes import Sizes
from backscroll_bench.speed.stats import Wrong

T = TypeVar("T")
U = TypeVar("U")

BUILD = "/backscroll.v1.ContextService/BuildContext"
COMPACT = "/backscroll.v1.ContextService/Compact"
STREAM = "/backscroll.v1.ContextService/StreamChat"
APPEND = "/backscroll.v1.HistoryService/AppendMessages"
FILL_BATCH = 500
WARM_CALLS = 50
COLD = "preload_seconds = 0\n"
"""A line of settings: a server that is started over a history has none of it in memory until somebody asks."""
SERVERS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "normal": {"durability": "normal"},
    "full_classic": {"settings": f'strategies = ["{everything.PATH}"]\n'},
    "semantic": {"embedder": "local"},
    "moved": {"is_kept": False},
    "grpc": {"settings": 'edge = "grpc"\n'},
    "postgres": {},
}
"""How the servers that live as long as the bench are called: what of `Bench.flags` is not as by default."""
ON_POSTGRES = frozenset({"postgres"})
"""Those of them that do not keep their history in a file."""


class Running(Protocol):
    """A server that serves on this machine."""

    @property
    def address(self) -> str:
        """host:port."""

    @property
    def pid(self) -> int:
        """Of its process."""


Serve = Callable[[Sequence[str], Path], AbstractContextManager[Running]]
"""Starts `backscroll serve` with these flags and nothing of the user's settings, ends it with the block."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server process and a connection to it."""

    running: Running
    channel: grpc.aio.Channel

    def call(self, method: str) -> Call:
        """One of its methods, over bytes."""
        return unary(self.channel, method)


@dataclass
class Bench:
    """Servers are started when a part first needs them and live as long as the bench. `peers` is the peers' venv."""

    serve: Serve
    directory: Path
    state_dir: Path
    echo: str
    sizes: Sizes
    stack: ExitStack
    connections: AsyncExitStack
    peers: Path | None = None
    _made: dict[Hashable, Any] = field(default_factory=dict)
    _names: int = 0

    # --- servers ---------------------------------------------------------------------------------

    def flags(
        self,
        database: str,
        *,
        durability: str = "full",
        embedder: str = "none",
        settings: str = "",
        is_kept: bool = True,
    ) -> list[str]:
        """How a server of the bench is called: its own database and settings, the user's compiled kernels.

        `database`: the name of a file, or an address in PostgreSQL. `settings` are further lines of the server's file;
        `is_kept`: its event loop keeps to one core.
        """
        config = self.directory / f"{self.new_name('settings')}.toml"
        kept = core_setting() if is_kept else ""
        config.write_text(f'embedder = "{embedder}"\n{kept}{settings}', "utf-8")
        return [
            "--config", str(config), "--state-dir", str(self.state_dir),
            "--database", database if "://" in database else str(self.directory / database),
            "--durability", durability,
            "--log-level", "error",
        ]  # fmt: skip

    def start(self, flags: Sequence[str]) -> AbstractContextManager[Running]:
        """One more server, ended with the block."""
        return self.serve(flags, self.directory)

    async def served(self, kind: str = "plain") -> Served:
        """The server of that kind, one of `SERVERS`."""

        async def started() -> Served:
            is_there = kind in ON_POSTGRES
            database = await self.new_postgres_database() if is_there else f"{kind}.db"
            flags = self.flags(database, **SERVERS[kind])
            running = self.stack.enter_context(self.start(flags))
            return Served(running, await self.connect(running.address))

        return await self.once(("served", kind), started)

    async def postgres(self) -> Postgres:
        """The PostgreSQL of the run. Raises `Absent` where it is not installed."""

        async def started() -> Postgres:
            return self.stack.enter_context(postgres())

        return await self.once("postgres", started)

    async def new_postgres_database(self) -> str:
        """The address of an empty database there."""
        return (await self.postgres()).new_database()

    async def connect(self, address: str) -> grpc.aio.Channel:
        """A connection that lasts as long as the bench."""
        return await self.connections.enter_async_context(open_channel(address))

    async def r0(self, reply_bytes: int) -> Call:
        """The bare echo that answers with so many bytes."""
        echo = await self.once("echo", lambda: self.connect(self.echo))
        return unary(echo, echo_method(reply_bytes))

    async def r0_to(self, asked: Questions) -> Call:
        """The bare echo that answers each of these requests with as many bytes as the server does."""
        echoes = {
            request: await self.r0(size)
            for request, size in zip(asked.requests, asked.replies, strict=True)
        }

        def call(request: bytes) -> Awaitable[bytes]:
            return echoes[request](request)

        return call

    async def once(self, key: Hashable, make: Callable[[], Awaitable[T]]) -> T:
        """What `make` gives, made once a run: several parts may need it."""
        if key not in self._made:
            self._made[key] = await make()
        found: T = self._made[key]
        return found

    def new_name(self, prefix: str) -> str:
        """A name for a channel or a database that was not used yet."""
        self._names += 1
        return f"{prefix}-{self._names}"

    # --- histories -------------------------------------------------------------------------------

    async def fill(
        self, served: Served, channel: str, messages: Iterable[message_pb2.Message]
    ) -> None:
        """Append messages to a channel; all of them must be stored."""
        await fill(served.call(APPEND), channel, messages)

    async def filled(self, kind: str, count: int) -> tuple[Served, str]:
        """The server of that kind, and its channel that holds the first `count` messages of the stream."""
        served, channel = await self.served(kind), channel_of(count)
        await self.once(
            ("filled", kind, count), lambda: self.fill(served, channel, chats.messages(count))
        )
        return served, channel

    # --- rounds ----------------------------------------------------------------------------------

    async def beside_r0(
        self, asked: Questions, *, calls: int, concurrency: int = 1
    ) -> list[tuple[Load, Load]]:
        """Rounds of (measured, R0): the same requests, answers of the same size, the one that is first by turns."""
        r0 = await self.r0_to(asked)

        async def load(one: Call) -> Load:
            return await closed_loop(
                one,
                asked.requests,
                calls,
                concurrency=concurrency,
                longest_s=self.sizes.seconds,
            )

        warm = max(WARM_CALLS, 2 * concurrency) if not self.sizes.quick else concurrency
        for one in (asked.call, r0):
            await closed_loop(one, asked.requests, warm, concurrency=concurrency)
        return await self.interleaved(lambda: load(asked.call), lambda: load(r0))

    async def interleaved(
        self, measured: Callable[[], Awaitable[T]], base: Callable[[], Awaitable[U]]
    ) -> list[tuple[T, U]]:
        """As many rounds as the run has, each of both sides, the garbage collector kept out."""
        rounds = []
        for number in range(self.sizes.rounds):
            gc.collect()
            gc.disable()
            try:
                if number % 2:
                    second = await base()
                    rounds.append((await measured(), second))
                else:
                    first = await measured()
                    rounds.append((first, await base()))
            finally:
                gc.enable()
        return rounds


@asynccontextmanager
async def opened(
    serve: Serve, directory: Path, state_dir: Path, sizes: Sizes, peers: Path | None = None
) -> AsyncIterator[Bench]:
    """A bench with its R0, on cores that stay awake; its servers end with the block."""
    with ExitStack() as stack:
        async with AsyncExitStack() as connections:
            stack.enter_context(Awake())
            echo = stack.enter_context(echo_server())
            yield Bench(serve, directory, state_dir, echo, sizes, stack, connections, peers)


async def fill(append: Call, channel: str, messages: Iterable[message_pb2.Message]) -> None:
    """Append messages to a channel; all of them must be stored."""
    for request in chats.append_requests(channel, messages, FILL_BATCH):
        answer = history_pb2.AppendMessagesResponse.FromString(await append(request))
        stored = sum(one.outcome == history_pb2.APPEND_OUTCOME_STORED for one in answer.results)
        if stored != len(answer.results):
            raise Wrong(f"{len(answer.results) - stored} messages of {channel} were not stored")


def channel_of(count: int) -> str:
    """The name of the channel that holds the first `count` messages."""
    return f"room-{count}"


async def stage_microseconds(asked: Questions, count: int) -> dict[str, float]:
    """What the server says its stages took, by name and together ("all"): medians of `count` builds in a row."""
    found: dict[str, list[int]] = {}
    for n in range(count):
        answer = await asked.call(asked.requests[n % len(asked.requests)])
        for name, us in stages_of(answer).items():
            found.setdefault(name, []).append(us)
    return {name: median(all_us) for name, all_us in found.items()}


def stages_of(answer: bytes) -> dict[str, int]:
    """Microseconds by stage of one build, as its answer tells; "all" is their sum."""
    stages = context_pb2.BuildContextResponse.FromString(answer).diagnostics.stage_microseconds
    return {**stages, "all": sum(stages.values())}
