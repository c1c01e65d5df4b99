"""Three servers behind HAProxy on one PostgreSQL, while servers are killed and stopped and PostgreSQL starts anew."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

from backscroll import AsyncClient, BackscrollError, Message
from backscroll.errors import error_from
from backscroll.results import text_of
from backscroll.v1 import context_pb2, context_pb2_grpc, message_pb2, session_pb2_grpc
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import ANN, CATS
from tests.integration.rooms.test_guards import TOOLS, answer_of
from tests.kit.haproxy import PROGRAM, HAProxy, free_ports
from tests.kit.model_process import Exchange, ModelProcess, script
from tests.kit.model_process import text_of as model_text
from tests.kit.postgres import PostgresServer
from tests.kit.server_process import ServerProcess

EVERY_S = 20.0
"""From one kill to the next, or as long as the server takes to serve again."""
STEPS = (
    ("one", "fast"),
    ("two", ""),
    ("three", "stop"),
    ("one", ""),
    ("two", "immediate"),
    ("three", ""),
)
"""Who is killed, and what comes once it serves again: a restart of PostgreSQL, or that `one` is stopped."""
STOPPED_S = 15.0
RESTARTS = sum(then in ("fast", "immediate") for _, then in STEPS)
LASTS_S = 800.0
ERRORS_END_S = 5.0
IN_HAND_S = 1.0
"""An answer whose last word came so shortly before its server was gone may be in no store: nobody can help that."""
APPENDERS, CHATTERS, ROUNDS = 4, 4, 2
ROLES = json.dumps({"role_map": {"coder": "black", "reviewer": "white", "tester": "grey"}})


@dataclass
class Seen:
    """What callers saw: acknowledged messages by channel, answers by question, errors by when and where."""

    acknowledged: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    rounds: dict[str, list[str]] = field(default_factory=dict)
    errors: list[tuple[float, str, str]] = field(default_factory=list)
    builds: int = 0
    stale: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    interrupts: int = 0
    ends: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def failed(self, what: str, error: BackscrollError) -> None:
        word = f"{error.code.name if error.code else ''} {error.reason}".strip()
        self.errors.append((time.monotonic(), what, word))


@dataclass
class Caller:
    """Whoever works against the servers until told to stop; what it has begun it brings to its end."""

    client: AsyncClient
    channel: grpc.aio.Channel
    seen: Seen
    rng: random.Random
    is_over: asyncio.Event

    def __post_init__(self) -> None:
        self.chat = context_pb2_grpc.ContextServiceStub(self.channel)
        self.sessions = session_pb2_grpc.SessionServiceStub(self.channel)

    async def until_done(self, what: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What comes of work that is tried again after each error."""
        while True:
            try:
                return await work()
            except grpc.aio.AioRpcError as error:
                self.seen.failed(what, error_from(error))
            except BackscrollError as error:
                self.seen.failed(what, error)
            await asyncio.sleep(0.1)

    async def append(self, name: str) -> None:
        """Append, and look for what was acknowledged through whichever server comes next."""
        number = 0
        while not self.is_over.is_set():
            ids = [f"{name}-{number + i}" for i in range(self.rng.randint(1, 3))]
            number += len(ids)
            batch = [
                Message(one, name, f"this is {one}", 1_700_000_000_000 + number) for one in ids
            ]
            await self.until_done("append", lambda batch=batch: self.client.append(name, batch))  # type: ignore[misc]
            self.seen.acknowledged[name] += ids
            await self.look_for(name, ids[-1])
            await asyncio.sleep(self.rng.uniform(0, 0.1))

    async def look_for(self, channel: str, message_id: str) -> None:
        request = context_pb2.BuildContextRequest(  # without metadata: any server may get it
            channel=channel, question=f"what is {message_id}?", asker=message_pb2.Author(id="asker")
        )
        built = await self.until_done("build", lambda: self.chat.BuildContext(request, timeout=10))
        self.seen.builds += 1
        if message_id not in {item.message.id for item in built.items}:
            self.seen.stale.append(message_id)

    async def ask(self, name: str) -> None:
        """Ask a question until it is answered whole, then the next one."""
        for number in range(10**6):
            if self.is_over.is_set():
                return
            question = f"{name}-{number}"
            gap, count = self.rng.choice([(0.02, 50), (0.05, 60), (0.1, 80)])
            request = context_pb2.StreamChatRequest(
                context=context_pb2.BuildContextRequest(
                    channel=name, question=f"question {question}?", self_ids=["bot"],
                    asker=message_pb2.Author(id="u1", name="Ann"),
                    model=script(question, first=0.1, gap=gap, count=count),
                ),
                question_message_id=question,
            )  # fmt: skip
            text, message_id = await self.until_done("chat", lambda r=request: self.answer(r))  # type: ignore[misc]
            if text != model_text(count):
                self.seen.wrong.append(f"{question}: {text[:60]!r}")
            self.seen.answers[question] = name, text, message_id
            await self.look_for(name, message_id)

    async def answer(self, request: context_pb2.StreamChatRequest) -> tuple[str, str]:
        text = ""
        async for event in self.chat.StreamChat(request, timeout=90):
            kind = event.WhichOneof("event")
            if kind == "delta":
                text += event.delta
            elif kind == "error":
                self.seen.errors.append((time.monotonic(), "chat", f"event {event.error.reason}"))
            elif kind == "end":
                if (
                    event.end.reason != context_pb2.END_REASON_COMPLETE
                    or not event.end.reply_message_id
                ):
                    break
                return text, event.end.reply_message_id
        raise BackscrollError("it did not end well", reason="NOT_ENDED")

    async def talk(self, name: str) -> None:
        """Rounds of a workflow, each in a session of its own, whose personas all wait for a tool."""
        for number in range(10**6):
            if self.is_over.is_set():
                return
            id_ = f"{name}-{number}"
            session = pb.Session(
                session_id=id_, mode="workflow", participants=CATS, role_config_json=ROLES
            )
            await self.until_done(
                "session",
                lambda s=session: self.sessions.CreateSession(  # type: ignore[misc]
                    pb.CreateSessionRequest(session=s), timeout=30
                ),
            )
            self.seen.rounds[id_] = []
            ended = await self.until_done("round", lambda one=id_: self.round(one))  # type: ignore[misc]
            self.seen.rounds[id_] = ["".join(p.text.text for p in one.parts) for one in ended]

    async def round(self, id_: str) -> Any:
        ref = pb.SessionRef(session_id=id_)
        start = pb.StartRoundRequest(
            request_id="r1",
            session=ref,
            message=message_pb2.Message(author=ANN, parts=[{"text": {"text": "写一个函数"}}]),
            context=context_pb2.BuildContextRequest(
                tools_json=TOOLS, model=script(id_, first=0.1, gap=0.05, count=20, call=True)
            ),
            model_call=context_pb2.ModelCall(enable_tools=True),
        )
        call = self.sessions.StartRound(start, timeout=90)
        while True:
            heard = [one.event async for one in call]
            for one in heard:
                if one.HasField("target_ended"):
                    reason = pb.TargetEndReason.Name(one.target_ended.reason)
                    self.seen.ends[id_].append(reason.removeprefix("TARGET_END_REASON_"))
            waiting = [one.interrupt for one in heard if one.HasField("interrupt")]
            end = heard[-1].round_ended if heard else pb.RoundEnded()
            if end.reason == pb.ROUND_END_REASON_COMPLETE:
                return list(end.responses)
            if end.reason != pb.ROUND_END_REASON_INTERRUPTED:
                raise BackscrollError(
                    "it ended otherwise", reason=pb.RoundEndReason.Name(end.reason)
                )
            self.seen.interrupts += len(waiting)
            answers = [answer_of(one) for one in waiting]
            call = self.sessions.ResumeRound(
                pb.ResumeRoundRequest(session=ref, request_id="r1", answers=answers), timeout=90
            )


@dataclass
class Fault:
    """What was done to whom, from when until when (`time.monotonic`), and when a killed server served again."""

    what: str
    began_s: float
    ended_s: float = 0.0
    back_s: float = 0.0


@dataclass
class Machines:
    """The servers by name, the database, and what was done to them."""

    servers: dict[str, ServerProcess]
    postgres: PostgresServer
    faults: list[Fault] = field(default_factory=list)

    async def kill(self, name: str) -> None:
        fault = Fault(f"kill {name}", time.monotonic())
        self.servers[name].kill()
        fault.ended_s = time.monotonic()
        self.faults.append(fault)
        await asyncio.to_thread(self.servers[name].start)
        fault.back_s = time.monotonic()

    async def stop(self, name: str) -> None:
        pid = self.servers[name].pid
        for what in "stop", "go on":
            now_s = time.monotonic()
            self.faults.append(Fault(f"{what} {name}", now_s, now_s))
            os.kill(pid, signal.SIGSTOP if what == "stop" else signal.SIGCONT)
            if what == "stop":
                await asyncio.sleep(STOPPED_S)

    async def restart(self, how: str) -> None:
        fault = Fault(f"postgres {how}", time.monotonic())
        await asyncio.to_thread(self.postgres.restart, how)  # type: ignore[arg-type]
        fault.ended_s = time.monotonic()
        self.faults.append(fault)

    async def suffer(self, rng: random.Random) -> None:
        """All faults, one after the other, under load."""
        await asyncio.sleep(5)
        for name, then in STEPS:
            next_s = time.monotonic() + EVERY_S
            await asyncio.sleep(rng.uniform(0, 2))  # at any point of what callers do
            await self.kill(name)
            if then == "stop":
                await self.stop("one")
            elif then:
                await self.restart(then)
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))


@asynccontextmanager
async def machines(tmp_path: Path, model: ModelProcess) -> AsyncIterator[tuple[Machines, str]]:
    """Three servers and HAProxy's address."""
    names = ("one", "two", "three")
    ports = free_ports(6)
    places = dict(zip(names, zip(ports[:3], ports[3:], strict=True), strict=True))
    with ExitStack() as stack:
        postgres = PostgresServer()
        stack.callback(postgres.stop)
        url = postgres.new_database()
        servers = {
            name: ServerProcess(
                url, state_dir=tmp_path / name, listen=f"127.0.0.1:{calls}",
                settings={
                    "BACKSCROLL_HTTP_LISTEN": f"127.0.0.1:{health}",
                    "BACKSCROLL_MODEL_BASE_URL": model.url,
                    "BACKSCROLL_MODEL_API_KEY": name,
                    "BACKSCROLL_EMBEDDER": "none",
                    "BACKSCROLL_LOG_LEVEL": "error",
                },
            )
            for name, (calls, health) in places.items()
        }  # fmt: skip
        for one in servers.values():
            stack.callback(one.stop)
        await asyncio.gather(*(asyncio.to_thread(one.start) for one in servers.values()))
        proxy = stack.enter_context(HAProxy(tmp_path, list(places.values())))
        yield Machines(servers, postgres), proxy.address


async def worked(there: Machines, address: str, seen: Seen) -> None:
    """All callers, until all faults are over and everything they began has come to its end."""
    rng, is_over = random.Random(20_261_129), asyncio.Event()
    async with (
        AsyncClient(address, timeout_s=10.0) as client,
        grpc.aio.insecure_channel(address) as channel,
    ):
        callers = [
            work(f"{kind}{n}")
            for kind, count in (("append", APPENDERS), ("ask", CHATTERS), ("talk", ROUNDS))
            for n in range(count)
            for work in [
                getattr(Caller(client, channel, seen, random.Random(rng.random()), is_over), kind)
            ]
        ]
        async with asyncio.timeout(LASTS_S), asyncio.TaskGroup() as together:
            for one in callers:
                together.create_task(one)
            await there.suffer(rng)
            is_over.set()
        await stored_once(client, seen)


async def stored_once(client: AsyncClient, seen: Seen) -> None:
    """What was acknowledged is there, once; each question has one answer, the one its caller heard."""
    for channel, ids in seen.acknowledged.items():
        stored = [row.message.id async for row in client.list_messages(channel)]
        assert stored == ids
    for channel in sorted({channel for channel, *_ in seen.answers.values()}):
        rows = [row.message async for row in client.list_messages(channel)]
        whole = {row.id: row for row in rows if row.author.id == "bot" and not row.partial}
        asked = {id_: one for id_, one in seen.answers.items() if one[0] == channel}
        assert [row.id for row in rows if row.author.id == "u1"] == list(asked)
        assert sorted(whole) == sorted(one[2] for one in asked.values())
        for _, text, message_id in asked.values():
            assert text_of(whole[message_id]) == text


def paid_twice(exchanges: list[Exchange], faults: list[Fault]) -> tuple[list[str], list[str]]:
    """Questions with several whole answers: at a server that lived, and those that died with them in hand."""
    answers: dict[tuple[str, str, bool], list[Exchange]] = defaultdict(list)
    for one in exchanges:
        if one.is_whole:
            answers[one.tag, one.whom, one.is_behind_tools].append(one)
    twice, in_hand = [], []
    for asked, some in answers.items():
        for first in sorted(some, key=lambda one: one.whole_s or 0.0)[:-1]:
            said = f"{asked[0]} by {first.key} at {first.whole_s}: {[one.key for one in some]}"
            died = any(
                one.what == f"kill {first.key}"
                and one.began_s - IN_HAND_S < (first.whole_s or 0.0) <= one.ended_s
                for one in faults
            )
            (in_hand if died else twice).append(said)
    return twice, in_hand


def late_errors(seen: Seen, faults: list[Fault]) -> list[str]:
    """Errors of appends and builds that no fault explains."""
    late = []
    for at_s, what, word in seen.errors:
        if what in ("append", "build") and not any(
            one.began_s <= at_s <= one.ended_s + ERRORS_END_S for one in faults
        ):
            near = min(faults, key=lambda one: abs(at_s - one.ended_s))
            late.append(f"{what} {word} {at_s - near.ended_s:+.1f} s from {near.what}")
    return late


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.row("P-22")
@pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
async def test_three_servers_under_kills(tmp_path: Path) -> None:
    """Six kills, one server stopped for 15 s, two restarts of PostgreSQL: nothing lost, stored or paid twice."""
    seen, exchanges = Seen(), list[Exchange]()
    with ModelProcess() as model:
        async with machines(tmp_path, model) as (there, address):
            await worked(there, address, seen)
        exchanges = model.journal()
    twice, in_hand = paid_twice(exchanges, there.faults)
    late = late_errors(seen, there.faults)
    asked = Counter(what for _, what, _ in seen.errors)
    print(
        f"{sum(map(len, seen.acknowledged.values()))} acknowledged, {seen.builds} builds, {len(seen.stale)} stale, "
        f"{len(seen.answers)} answers, {len(seen.rounds)} rounds with {seen.interrupts} interrupts; "
        f"errors {dict(asked)}; model asked {len(exchanges)} times, {sum(one.is_whole for one in exchanges)} whole, "
        f"{len(twice)} paid twice, {len(in_hand)} died in a server's hands"
    )
    for fault in there.faults:
        lasted_s = max(fault.ended_s, fault.back_s) - fault.began_s
        print(f"{fault.began_s:.1f} {fault.what}, {lasted_s:.1f} s")
    print(Counter((what, word) for _, what, word in seen.errors))
    print(*twice, *in_hand, *late, *seen.stale, *seen.wrong, sep="\n")
    assert not seen.stale
    assert not seen.wrong
    assert not twice
    assert not late
    # A persona whose context could not be built while PostgreSQL was away says nothing; the round goes on.
    silent = [id_ for id_, replies in seen.rounds.items() if len(replies) < len(CATS)]
    print({id_: seen.ends[id_] for id_ in silent})
    assert len(silent) <= RESTARTS * ROUNDS
    assert seen.interrupts >= sum(map(len, seen.rounds.values())) > 0  # each reply waited once
    assert len(in_hand) <= len(STEPS)
