"""Asks recorded builds again, with something else, on the channel as it was then.

A replay has a builder of its own: it is recorded nowhere and counted in no metric.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as replace_fields

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.context.asked_with import asked_again, changed
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.opening import Opening, StoredSessions, Views
from backscroll_sidecar.context.past_channel import PastChannel
from backscroll_sidecar.context.profiles import ContextSettings, find_profile
from backscroll_sidecar.context.replayed import Place, Replayed, ReplaySummary, difference
from backscroll_sidecar.domain import ChannelKey, Event, Layout, Overrides, Rung
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.learning.usage import Usage, UsageReads, unknown_context
from backscroll_sidecar.lines.rendering import AnswerCodec
from backscroll_sidecar.ports import (
    AskedWith,
    Clock,
    FragmentCodec,
    HistoryReader,
    TurnMark,
    UsageQuery,
    UsageRecord,
    unpack_candidates,
)
from backscroll_sidecar.strategies import Strategy

PAGE = 50
NO_OVERRIDES = Overrides()
NOT_STORED, NOT_KEPT, DEGRADED = "question_not_stored", "not_kept", "degraded"
CATCH_UP = "catch_up"


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Which builds are asked again, and with what else. Empty or None: as they were asked.

    Of other channels than the `allowed` there is nothing; None: all are.
    """

    key: ChannelKey
    context_id: str = ""
    since_ms: int | None = None
    until_ms: int | None = None
    profile: str = ""
    overrides: Overrides = NO_OVERRIDES
    layout: Layout | None = None
    token_budget: int | None = None
    allowed: AllowedChannels | None = None


class ReplayParts(NamedTuple):
    """What builders of replays are made of: as that of the server, without what records, counts and adds."""

    views: Views
    reader: HistoryReader
    analyzer: Analyzer
    settings: ContextSettings
    clock: Clock
    sessions: StoredSessions
    strategies: Mapping[str, Strategy]
    fragments: FragmentCodec
    answers: AnswerCodec


class Replays:
    """Replays builds. Safe for any number of replays at once on one event loop."""

    def __init__(self, parts: ReplayParts, usage: UsageReads) -> None:
        self._parts = parts
        self._usage = usage

    async def replay(
        self, request: ReplayRequest, summary: ReplaySummary
    ) -> AsyncGenerator[tuple[Replayed, Mapping[Place, str]]]:
        """The builds of a request in the order of recording, with the ids of their lines; `summary` is counted up.

        Each takes as long a rest as it took, so that replays leave the server to those who ask.

        Raises
        ------
        NotFound
            No build of its context id is recorded in the channel.
        InvalidRequest
            There is no such profile.
        StoreUnavailable
            The store cannot be read.
        """
        if request.profile:
            find_profile(self._parts.settings.profiles, request.profile)
        run = _Run(self._parts, request)
        async for usage in self._recorded(request):
            began_s = self._parts.clock.monotonic_s()
            one = await run.replayed(usage.record)
            summary.add(one)
            yield one, await run.ids_of(one)
            await asyncio.sleep(self._parts.clock.monotonic_s() - began_s)

    async def _recorded(self, request: ReplayRequest) -> AsyncGenerator[Usage]:
        query = UsageQuery(
            request.key.channel,
            context_id=request.context_id,
            since_ms=request.since_ms,
            until_ms=request.until_ms,
            limit=PAGE,
        )
        if request.context_id:
            found = await self._usage.list(request.key.tenant, query, allowed=request.allowed)
            if not found:
                raise unknown_context("context_id")
            yield found[0]
            return
        after, newest = None, await self._usage.newest(request.key.tenant)
        while page := await self._usage.list(
            request.key.tenant,
            replace(query, after=after, before=newest + 1),
            allowed=request.allowed,
        ):
            for usage in page:
                yield usage
            after = page[-1].number


class _Run:
    """The builds of one channel, asked again one after the other."""

    def __init__(self, parts: ReplayParts, request: ReplayRequest) -> None:
        self._request = request
        self._key = request.key
        self._reader = parts.reader
        self._past = PastChannel(parts.reader, parts.fragments, request.key, parts.views)
        self._sink = _Kept()
        opening = Opening(
            self._past, parts.reader, parts.analyzer, parts.settings, parts.clock, None, None,
            parts.sessions,
        )  # fmt: skip
        self._builder = ContextBuilder(
            opening, parts.strategies, parts.settings, parts.clock, _NoEvents(), parts.answers,
            usage=self._sink,
        )  # fmt: skip

    async def replayed(self, before: UsageRecord) -> Replayed:
        """One build, asked again."""
        asked, trigger = before.asked_with, before.trigger_message_id
        if asked is None:
            return Replayed(before, left_out=NOT_KEPT)
        if CATCH_UP in asked.lost:
            return Replayed(before, left_out=CATCH_UP)
        if not trigger:
            return Replayed(before, left_out=NOT_STORED)
        if before.rung is not Rung.RANKED:
            return Replayed(before, left_out=DEGRADED)
        found = await self._reader.get_messages(self._key, [trigger])
        if trigger not in found:
            return Replayed(before, left_out=NOT_STORED)
        upto_seq = max(asked.upto_seq, found[trigger].seq)
        await self._past.grow(upto_seq)
        try:
            after = await self._asked(await self._again(before, asked, upto_seq))
        except BackscrollError as error:
            return Replayed(before, left_out=error.reason.value.lower())
        seqs = [one.seq for one in unpack_candidates(before.candidates)]
        return difference(before, after, self._past.changes_among(np.array(seqs, np.int64)))

    async def ids_of(self, one: Replayed) -> Mapping[Place, str]:
        """The ids of its lines that are still there."""
        wanted: dict[str, list[int]] = {}
        for line in (*one.came, *one.went):
            wanted.setdefault(line.place[0], []).append(line.place[1])
        ids: dict[Place, str] = {}
        for channel, seqs in wanted.items():
            key = ChannelKey(self._key.tenant, channel or self._key.channel)
            found = await self._reader.ids_by_seq(key, seqs)
            ids |= {(channel, seq): id_ for seq, id_ in found.items()}
        return ids

    async def _again(self, before: UsageRecord, asked: AskedWith, upto_seq: int) -> BuildRequest:
        people = self._past.now().people
        number = people.index.get(before.user_id)
        name = "" if number is None else people.names[number]
        ids: Mapping[int, str] = {}
        if asked.answered_seq:
            ids = await self._reader.ids_by_seq(self._key, [asked.answered_seq])
        request = asked_again(self._key, before, asked, name, ids.get(asked.answered_seq, ""))
        if self._past.upto_seq > upto_seq:  # builds may be recorded in another order than they read
            request = replace_fields(request, seen_until_seq=upto_seq)
        other = self._request
        request = replace_fields(request, allowed=other.allowed)
        return changed(request, other.profile, other.overrides, other.layout, other.token_budget)

    async def _asked(self, request: BuildRequest) -> UsageRecord:
        await self._builder.build(request)
        return self._sink.taken()


class _Kept:
    """A `UsageSink` that hands its one record to whoever replays."""

    erasures_seen = 0

    def __init__(self) -> None:
        self._records: list[UsageRecord] = []

    def note(
        self,
        key: ChannelKey,  # noqa: ARG002
        context_id: str,  # noqa: ARG002
        make: Callable[[], UsageRecord],
        since: int,  # noqa: ARG002
    ) -> None:
        self._records.append(make())

    async def push(self, context_id: str) -> None:
        """Nothing waits."""

    def taken(self) -> UsageRecord:
        """The record of the build that was just made."""
        return self._records.pop()


class _NoEvents:
    """An `EventSink` that keeps nothing."""

    def emit(
        self,
        key: ChannelKey,
        context_id: str,
        events: Sequence[Event],
        turn: TurnMark | None = None,
    ) -> None:
        pass
