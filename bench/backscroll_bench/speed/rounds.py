"""The part about rounds: what a round costs beside its builds, its model calls and its commits; what routing costs.

In this process over a SQLite file, no gRPC, with a model that answers at once.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from typing import Any
from unittest.mock import patch

from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_scoring import warm
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.ports import Finished, FinishReason, ModelEvent, ModelRequest, TextDelta
from backscroll_sidecar.rooms.drafts import SessionDraft, SessionRef
from backscroll_sidecar.rooms.round_events import RoundRequest
from backscroll_sidecar.sessions.participants import Participant, ParticipantKind
from backscroll_sidecar.sessions.routing import Lookup, Rules, Said, route
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import App, open_app

PARTICIPANTS = 20
TIMES = 5
NAMES = ("小黑", "小白", "小灰", "Opus", "Sonnet", "Haiku", "Blacky", "老王", "阿福", "Muse")
ASKED = (
    "@小黑2 and @Opus3, could you look at the failing test? 昨天的改动之后它就不过了，@老王7 也看看吧。"
    * 2
)
TENANT = "default"


class AtOnce:
    """A model whose answer is there at once."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:  # noqa: ARG002
        yield self._events()

    async def _events(self) -> AsyncIterator[ModelEvent]:
        yield TextDelta("I will look at it.")
        yield Finished(FinishReason.STOP)

    async def close(self) -> None:
        """Nothing is open."""


def cast() -> tuple[Participant, ...]:
    """Twenty personas with three names each."""
    return tuple(
        Participant(
            f"p{number}",
            f"{NAMES[number % len(NAMES)]}{number}",
            ParticipantKind.PERSONA,
            f"nick{number}",
            (f"别名{number}",),
            "Somebody who reviews code.",
        )
        for number in range(PARTICIPANTS)
    )


async def rounds(bench: Bench) -> Readings:
    """Readings: `own`, milliseconds of a round with one persona; `route`, microseconds of routing among 20."""
    warm()
    logs.configure("error")
    async with AsyncExitStack() as stack:
        settings = Settings(database=bench.directory / "rounds.db", embedder="none")
        app = await stack.enter_async_context(open_app(settings, model=AtOnce()))
        draft = SessionDraft("bench", participants=cast())
        await app.rooms.sessions.create(TENANT, draft)
        spent = Spent(app)
        stack.enter_context(patch.object(type(app.builder), "build", spent.build))
        stack.enter_context(patch.object(type(app.writer), "submit", spent.submit))
        own = [await spent.own_s(number) for number in range(TIMES * bench.sizes.calls)]
    lookup, rules = Lookup(cast()), Rules()
    routed = [_route_s(lookup, rules) for _ in range(TIMES * bench.sizes.calls)]
    return {
        "own": Reading(median(own) * 1e3, {"participants": float(PARTICIPANTS)}),
        "route": Reading(median(routed) * 1e6, {"characters": float(len(ASKED))}),
    }


def _route_s(lookup: Lookup, rules: Rules) -> float:
    began = time.perf_counter()
    route(Said(ASKED, "ann"), lookup, rules)
    return time.perf_counter() - began


class Spent:
    """Counts what a round spends on builds and commits."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._build, self._submit = type(app.builder).build, type(app.writer).submit
        self._others_s = 0.0
        spent = self

        async def build(builder: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401
            began = time.perf_counter()
            try:
                return await spent._build(builder, *given, **options)
            finally:
                spent._others_s += time.perf_counter() - began

        async def submit(writer: Any, *given: Any, **options: Any) -> Any:  # noqa: ANN401
            began = time.perf_counter()
            try:
                return await spent._submit(writer, *given, **options)
            finally:
                spent._others_s += time.perf_counter() - began

        self.build, self.submit = build, submit

    async def own_s(self, number: int) -> float:
        """Seconds of one round that are its own."""
        message = Message("", "", Author("ann", "Ann"), (TextPart(f"{number} {ASKED}"),), 0)
        request = RoundRequest(
            TENANT,
            SessionRef("bench"),
            BuildRequest(ChannelKey(TENANT, ""), "?"),
            ChatRequest(TENANT),
            message=message,
            targets=("p0",),
        )
        self._others_s = 0.0
        began = time.perf_counter()
        async for _ in self._app.rooms.rounds.start(request):
            pass
        return time.perf_counter() - began - self._others_s
