"""What the parts share: servers of the bench's own, channels filled with real chats, and rounds beside R0."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Protocol, TypeVar

import grpc

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll_bench.speed import chats, cores, everything
from backscroll_bench.speed.echo import method as echo_method
from backscroll_bench.speed.load import Call, Load, closed_loop, open_channel, unary
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.sizes import Sizes
from backscroll_bench.speed.stats import Wrong

T = TypeVar("T")
U = TypeVar("U")

BUILD = "/backscroll.v1.ContextService/BuildContext"
STREAM = "/backscroll.v1.ContextService/StreamChat"
APPEND = "/backscroll.v1.HistoryService/AppendMessages"
FILL_BATCH = 500
LOOK_AHEAD = 200
"""Messages behind the history that may be questions; the first `QUESTIONS` about the last lines are."""
QUESTIONS = 8
WARM_CALLS = 50
LOAD_S, LOAD_LOOK_S = 300.0, 0.5
"""A million rows that no segment holds yet take over a minute to load."""
COLD = "preload_seconds = 0\n"
"""A line of settings: a server that is started over a history has none of it in memory until somebody asks."""


class NoQuestion(Wrong):
    """A channel ends where a profile has nothing to say: `classic` in the Chinese chats."""


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


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions to one channel, serialised, each once, and how many bytes each one's answer has."""

    requests: list[bytes]
    replies: list[int]

    @property
    def reply_bytes(self) -> int:
        """Of the answer in the middle."""
        return sorted(self.replies)[len(self.replies) // 2]


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
    _served: dict[str, Served] = field(default_factory=dict)
    _filled: set[tuple[str, int]] = field(default_factory=set)
    _questions: dict[tuple[str, str, int], Questions] = field(default_factory=dict)
    _made: dict[Hashable, Any] = field(default_factory=dict)
    _echo_channel: grpc.aio.Channel | None = None
    _names: int = 0

    # --- servers ---------------------------------------------------------------------------------

    def flags(
        self,
        database: str,
        *,
        durability: str = "full",
        full_classic: bool = False,
        embedder: str = "none",
        settings: str = "",
        is_kept: bool = True,
    ) -> list[str]:
        """How a server of the bench is called: its own database and settings, the user's compiled kernels.

        `settings` are further lines of its file; `is_kept`: its event loop keeps to one core.
        """
        config = self.directory / f"{self.new_name('settings')}.toml"
        strategies = f'strategies = ["{everything.PATH}"]\n' if full_classic else ""
        kept = cores.setting() if is_kept else ""
        config.write_text(f'embedder = "{embedder}"\n{strategies}{kept}{settings}', "utf-8")
        return [
            "--config", str(config), "--state-dir", str(self.state_dir),
            "--database", str(self.directory / database), "--durability", durability,
            "--log-level", "error",
        ]  # fmt: skip

    def start(self, flags: Sequence[str]) -> AbstractContextManager[Running]:
        """One more server, ended with the block."""
        return self.serve(flags, self.directory)

    async def served(self, kind: str = "plain") -> Served:
        """The server of that kind: plain, normal (durability), full_classic, meaning (bundled embedder), moved, grpc.

        An event loop that is `moved` keeps to no core, as by default; `grpc` is served by gRPC's own server.
        """
        if kind not in self._served:
            durability = "normal" if kind == "normal" else "full"
            flags = self.flags(
                f"{kind}.db",
                durability=durability,
                full_classic=kind == "full_classic",
                embedder="local" if kind == "meaning" else "none",
                settings='edge = "grpc"\n' if kind == "grpc" else "",
                is_kept=kind != "moved",
            )
            running = self.stack.enter_context(self.start(flags))
            self._served[kind] = Served(running, await self.connect(running.address))
        return self._served[kind]

    async def connect(self, address: str) -> grpc.aio.Channel:
        """A connection that lasts as long as the bench."""
        return await self.connections.enter_async_context(open_channel(address))

    async def r0(self, reply_bytes: int) -> Call:
        """The bare echo that answers with so many bytes."""
        if self._echo_channel is None:
            self._echo_channel = await self.connect(self.echo)
        return unary(self._echo_channel, echo_method(reply_bytes))

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
        call = served.call(APPEND)
        for request in chats.append_requests(channel, messages, FILL_BATCH):
            answer = history_pb2.AppendMessagesResponse.FromString(await call(request))
            stored = sum(one.outcome == history_pb2.APPEND_OUTCOME_STORED for one in answer.results)
            if stored != len(answer.results):
                raise Wrong(f"{len(answer.results) - stored} messages of {channel} were not stored")

    async def filled(self, kind: str, count: int) -> tuple[Served, str]:
        """The server of that kind, and its channel that holds the first `count` messages of the stream."""
        served, channel = await self.served(kind), channel_of(count)
        if (kind, count) not in self._filled:
            await self.fill(served, channel, chats.messages(count))
            self._filled.add((kind, count))
        return served, channel

    async def questions(self, kind: str, profile: str, count: int) -> Questions:
        """Questions about the last lines of a channel of `count` messages; each was asked once and answered whole."""
        found = self._questions.get((kind, profile, count))
        if found is None:
            served, channel = await self.filled(kind, count)
            found = await near_questions(served.call(BUILD), channel, profile, count)
            await settled(served.running.pid)
            self._questions[kind, profile, count] = found
        return found

    # --- rounds ----------------------------------------------------------------------------------

    async def beside_r0(
        self, call: Call, asked: Questions, *, calls: int, concurrency: int = 1
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
        for one in (call, r0):
            await closed_loop(one, asked.requests, warm, concurrency=concurrency)
        return await self.interleaved(lambda: load(call), lambda: load(r0))

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


def channel_of(count: int) -> str:
    """The name of the channel that holds the first `count` messages."""
    return f"room-{count}"


async def near_questions(call: Call, channel: str, profile: str, count: int) -> Questions:
    """The first messages behind the history that are about its last lines, as questions.

    Raises
    ------
    NoQuestion
        None is about the last lines, or nothing was taken for any.
    Wrong
        A build degraded.
    """
    requests, lengths = [], []
    said = chats.said(count) if profile == "classic_full" else []
    scored = sum(bool(one.line.content.strip()) for one in said)  # blank ones are no candidates
    for asked in chats.said(LOOK_AHEAD, skip=count):
        request = chats.build_request(channel, asked, profile).SerializeToString()
        answer = await once_loaded(call, request)
        built = context_pb2.BuildContextResponse.FromString(answer)
        if not chats.is_near(built) or _wants_meaning(built):
            continue
        if built.degradations or built.rung != context_pb2.RUNG_RANKED:
            lost = [f"{one.stage} {one.source} {one.reason}" for one in built.degradations]
            raise Wrong(f"{profile} degraded: {lost or context_pb2.Rung.Name(built.rung)}")
        if said and built.diagnostics.candidate_count < scored - 1:
            raise Wrong(
                f"only {built.diagnostics.candidate_count} of {scored} messages were scored"
            )
        if built.items:
            requests.append(request)
            lengths.append(len(answer))
        if len(requests) == QUESTIONS:
            break
    if not requests:
        raise NoQuestion(f"no question about the last lines of {count} messages for {profile}")
    return Questions(requests, lengths)


def elsewhere(asked: Questions, channels: Sequence[str]) -> Questions:
    """The questions by turns, each to the next channel; all channels hold the same."""
    made = Questions([], [])
    for n, channel in enumerate(channels):
        at = n % len(asked.requests)
        request = context_pb2.BuildContextRequest.FromString(asked.requests[at])
        request.channel = channel
        made.requests.append(request.SerializeToString())
        made.replies.append(asked.replies[at])
    return made


async def once_loaded(call: Call, request: bytes, look_s: float = LOAD_LOOK_S) -> bytes:
    """The answer once the channel is in memory: a cold one may take longer than a build waits, or leave it no time.

    `look_s` lie between two looks.
    """
    end_s = time.monotonic() + LOAD_S
    while True:
        answer = await call(request)
        built = context_pb2.BuildContextResponse.FromString(answer)
        is_late = any(
            one.source == "history" or one.reason == "DEADLINE" for one in built.degradations
        )
        if not is_late or time.monotonic() > end_s:
            return answer
        await asyncio.sleep(look_s)


def _wants_meaning(built: context_pb2.BuildContextResponse) -> bool:
    """Whether the history was looked through for it: the bench's servers have no embedder, and the answer says so."""
    return any(one.source == "semantic" for one in built.degradations)


async def stage_microseconds(call: Call, asked: Questions, count: int) -> dict[str, float]:
    """What the server says its stages took, by name and together ("all"): medians of `count` builds in a row."""
    found: dict[str, list[int]] = {}
    for n in range(count):
        answer = await call(asked.requests[n % len(asked.requests)])
        for name, us in stages_of(answer).items():
            found.setdefault(name, []).append(us)
    return {name: median(all_us) for name, all_us in found.items()}


def stages_of(answer: bytes) -> dict[str, int]:
    """Microseconds by stage of one build, as its answer tells; "all" is their sum."""
    stages = context_pb2.BuildContextResponse.FromString(answer).diagnostics.stage_microseconds
    return {**stages, "all": sum(stages.values())}
