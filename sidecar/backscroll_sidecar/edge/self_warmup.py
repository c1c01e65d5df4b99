"""Calls that the server makes of itself before anybody may call it, so that the first caller finds nothing cold.

The first answer of a process waits for gRPC's code to be read and bound, and runs Python's before it is specialised (a
function after eight calls, PEP 659): it took 2.7 ms, behind these 1.9 (decision 0014). Nothing else depends on
it, so it raises nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

import grpc

from backscroll.v1 import (
    context_pb2,
    context_pb2_grpc,
    history_pb2,
    history_pb2_grpc,
    message_pb2,
    preference_pb2,
    preference_pb2_grpc,
)
from backscroll_sidecar.edge.bind_policy import parse_address
from backscroll_sidecar.edge.call_pipeline import CallPipeline, CallRecord
from backscroll_sidecar.edge.listeners import EdgeName, Listeners
from backscroll_sidecar.edge.services import Servicer, methods_of
from backscroll_sidecar.edge.services.context import (
    Builder,
    Chat,
    ContextServicer,
    Periods,
    Summaries,
)
from backscroll_sidecar.edge.services.history import HistoryServicer
from backscroll_sidecar.edge.services.preference import PreferenceServicer
from backscroll_sidecar.edge.tenants import OneTenant
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.preferences.service import PreferenceService

log = logging.getLogger(__name__)

ADDRESS, CHANNEL = "127.0.0.1:0", "warm-up"
MESSAGES = 200
"""More than a question's window, so that there are older ones."""
QUESTIONS = ("and now?", "who was it that said something of line 1 long ago?")
"""About the last lines, and about the history."""
TIMES = 16
"""How often each is asked: twice what Python wants to see before it specialises a function."""
PATIENCE_S = 5.0
"""What all of it may take; it takes some 70 ms."""
OPTIONS = (("grpc.enable_http_proxy", 0),)

_is_warm = False
"""What is made warm are the process's libraries and code: another server in it finds them so."""


async def warm_up(
    history: HistoryService,
    preferences: PreferenceService,
    builder: Builder,
    chat: Chat,
    summaries: Summaries,
    periods: Periods,
    profiles: Iterable[str],
    edge: EdgeName = "auto",
) -> None:
    """Serve these on a port of this machine's own, and append, build and chat there; once a process. Raises nothing.

    Parameters
    ----------
    history, preferences, builder, chat, summaries
        Of an app of its own, whose history is kept in memory and whose model needs no network.
    profiles
        Each is asked for twice, with an account of what was chosen and without; the default more often.
    edge
        What will answer.
    """
    global _is_warm  # noqa: PLW0603 - of the process, as what it does
    if _is_warm:
        return
    _is_warm = True
    started = time.perf_counter()
    try:
        async with (
            asyncio.timeout(PATIENCE_S),
            _served(
                edge,
                ContextServicer(builder, chat, summaries, periods, ""),
                HistoryServicer(history),
                PreferenceServicer(preferences),
            ) as channel,
        ):
            await _call(channel, profiles)
        log.info("warmed up by own calls in %.2f s", time.perf_counter() - started)
    except Exception as error:  # noqa: BLE001 - nothing depends on it
        log.warning("not warmed up by own calls, so the first calls take longer: %r", error)


@asynccontextmanager
async def _served(edge: EdgeName, *servicers: Servicer) -> AsyncIterator[grpc.aio.Channel]:
    pipeline = CallPipeline(OneTenant(), _tell_nobody)
    pipeline.ready = True
    methods = (method for servicer in servicers for method in methods_of(servicer))
    listeners = Listeners(list(map(pipeline.endpoint, methods)), edge=edge)
    try:
        target = listeners.bind(parse_address(ADDRESS))
        await listeners.start()
        async with grpc.aio.insecure_channel(target, OPTIONS) as channel:
            yield channel
    finally:
        await listeners.stop(0)


async def _call(channel: grpc.aio.Channel, profiles: Iterable[str]) -> None:
    context = context_pb2_grpc.ContextServiceStub(channel)
    await history_pb2_grpc.HistoryServiceStub(channel).AppendMessages(
        history_pb2.AppendMessagesRequest(channel=CHANNEL, messages=_messages())
    )
    for profile in profiles:
        for explain in (True, False):
            await context.BuildContext(_question(QUESTIONS[0], profile, explain=explain))
    for _ in range(TIMES):
        for question in QUESTIONS:
            await context.BuildContext(_question(question))
    await preference_pb2_grpc.PreferenceServiceStub(channel).ListPreferences(
        preference_pb2.ListPreferencesRequest(user_id="u0")
    )
    turn = context_pb2.StreamChatRequest(context=_question(QUESTIONS[0]))
    async for _ in context.StreamChat(turn):
        pass


def _question(
    text: str, profile: str | None = None, *, explain: bool = False
) -> context_pb2.BuildContextRequest:
    return context_pb2.BuildContextRequest(
        channel=CHANNEL,
        question=text,
        profile=profile,
        asker=message_pb2.Author(id="u0"),
        explain=explain,
    )


def _messages() -> Iterator[message_pb2.Message]:
    for n in range(MESSAGES):
        yield message_pb2.Message(
            id=f"m{n}",
            author=message_pb2.Author(id=f"u{n % 2}", name=("Ann", "Ben")[n % 2]),
            parts=[message_pb2.Part(text=message_pb2.TextPart(text=f"line {n}, @Ann 预热"))],
        )


def _tell_nobody(record: CallRecord) -> None:
    """These are nobody's calls."""
