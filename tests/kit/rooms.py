"""A ContextBuilder over one channel in memory: the path of BuildContext without server, store or network."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.adapters import ADAPTERS
from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.channels import Channels
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.fallback_ladder import Picker, Ranker
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.context.opening import Opening
from backscroll_sidecar.context.own_stages import CheckedAssembler, CheckedCompressor
from backscroll_sidecar.context.profiles import ContextSettings
from backscroll_sidecar.domain import (
    Author,
    Category,
    ChannelKey,
    Event,
    Member,
    Message,
    NeutralMessage,
    Overrides,
    Role,
    StoredMessage,
)
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.edge.convert.fields import (
    CATEGORY_NUMBERS,
    PAYLOAD_FORMAT_NUMBERS,
    ROLE_NUMBERS,
    SOURCE_NUMBERS,
)
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import ChannelRows
from backscroll_sidecar.strategies import BUILTIN, Messages, Strategy, StrategyQuery
from backscroll_sidecar.texts import Language, Wording, wordings_of
from tests.kit.chats import ANN, KEY, NOON_MS, StillClock, stored_in_order

PATIENCE_S = 300.0
"""A build's time limit where a test is not about time: a busy machine drops no stage."""
DESIGNED = ContextSettings(
    timeout_s=PATIENCE_S, wordings=wordings_of(Wording.DESIGNS, Language.AUTO)
)
"""The exact words of the design documents."""


class ShelfReader:
    """The reading half of a store, as far as builds use it. `delay_s` and `error` make it a bad one."""

    def __init__(
        self, stored: Sequence[StoredMessage] = (), members: Sequence[Member] = ()
    ) -> None:
        self.stored, self.members = list(stored), list(members)
        self.delay_s = 0.0
        self.error: Exception | None = None
        self.loads = 0

    async def load_channel(self, key: ChannelKey, segment_format: str = "") -> ChannelRows:
        await self._trouble()
        self.loads += 1
        rows = [s for s in self.stored if s.message.channel == key.channel]
        return ChannelRows([rows], self.members) if rows else ChannelRows([], [])

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        await self._trouble()
        rows = [s for s in self.stored if s.message.author.id == user_id]
        return sorted(rows, key=lambda s: (s.rank_time_ms, s.seq))[-limit:]

    async def _trouble(self) -> None:
        await asyncio.sleep(self.delay_s)
        if self.error is not None:
            raise self.error


def broken_store() -> StoreUnavailable:
    return StoreUnavailable("the store is down")


class EventList:
    """An `EventSink` that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(
        self, key: ChannelKey, context_id: str, events: Sequence[Event], turn: object = None
    ) -> None:
        self.events.extend(events)


class Fixed:
    """A strategy that proposes what it was made with."""

    def __init__(self, name: str, result: Any) -> None:
        self.name, self.result = name, result
        self.queries: list[StrategyQuery] = []

    def gather(self, query: StrategyQuery) -> Any:
        self.queries.append(query)
        return self.result


class Failing:
    """A strategy that raises."""

    def __init__(self, name: str, error: BaseException | None = None) -> None:
        self.name, self.error = name, error or RuntimeError("boom")

    def gather(self, query: StrategyQuery) -> Messages:
        raise self.error


class Slow:
    """A strategy that takes its time."""

    def __init__(self, name: str, delay_s: float) -> None:
        self.name, self.delay_s = name, delay_s

    async def gather(self, query: StrategyQuery) -> Messages:
        await asyncio.sleep(self.delay_s)
        raise AssertionError("it should have been given up")


class Item(NamedTuple):
    """An item of an answer."""

    message_id: str
    message: bytes
    role: Role
    rank: int
    score: float
    sources: tuple[str, ...]
    category: Category
    token_count: int
    truncated: bool
    channel: str


class Payload(NamedTuple):
    """A payload of an answer."""

    format: str
    body: bytes


class Built:
    """A `BuiltContext` with what its content holds, read back as values."""

    def __init__(self, context: BuiltContext) -> None:
        self.context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self.context, name)

    @cached_property
    def answer(self) -> pb.BuildContextResponse:
        """What of the answer is content."""
        return pb.BuildContextResponse.FromString(self.context.content.tobytes())

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(map(_item, self.answer.items))

    @cached_property
    def messages(self) -> tuple[NeutralMessage, ...]:
        return tuple(
            NeutralMessage(_ROLES[one.role], one.content, "", tuple(one.message_ids))
            for one in self.answer.messages
        )

    @cached_property
    def payloads(self) -> tuple[Payload, ...]:
        return tuple(Payload(_FORMATS[one.format], one.body) for one in self.answer.payloads)

    @property
    def text(self) -> str:
        return self.answer.text


_ROLES = {number: role for role, number in ROLE_NUMBERS.items()}
_CATEGORIES = {number: category for category, number in CATEGORY_NUMBERS.items()}
_FORMATS = {number: name for name, number in PAYLOAD_FORMAT_NUMBERS.items()}
_SOURCES = {number: name for name, number in SOURCE_NUMBERS.items()}


def _item(one: pb.Item) -> Item:
    known = tuple(_SOURCES[number] for number in one.sources if number in _SOURCES)
    return Item(
        one.message.id,
        one.message.SerializeToString(),
        _ROLES[one.role],
        one.rank,
        one.score,
        known + tuple(one.own_sources),
        _CATEGORIES[one.category],
        one.token_count,
        one.truncated,
        one.channel,
    )


class Room:
    """One channel with a builder.

    Parameters
    ----------
    messages : in order of arrival; `StoredMessage`s are taken as they are.
    hot : whether the channel is in memory from the start.
    own : strategies beside, or instead of, the built-in ones, by name.
    """

    def __init__(
        self,
        messages: Iterable[Message] | Iterable[StoredMessage] = (),
        *,
        members: Sequence[Member] = (),
        settings: ContextSettings | None = None,
        own: Iterable[Strategy] = (),
        hot: bool = True,
        codec: Any = None,
        clock: Any = None,
        ranker: Ranker | None = None,
        adapters: Mapping[str, Any] = ADAPTERS,
        **parts: Any,
    ) -> None:
        given = list(messages)
        is_stored = bool(given) and isinstance(given[0], StoredMessage)
        stored = given if is_stored else stored_in_order(given)
        self.reader = ShelfReader(stored, members)
        self.clock = clock or StillClock()
        self.sink = EventList()
        self.settings = settings or ContextSettings(timeout_s=PATIENCE_S)
        self.channels = Channels(self.reader, codec or WireCodec())
        self._warm = hot and bool(stored)
        strategies = {**BUILTIN, **{s.name: s for s in own}}
        if ranker is not None:
            parts["picker"] = Picker(
                strategies,
                ranker=ranker,
                fallback_on_error=self.settings.fallback_on_error,
                now_us=lambda: self.clock.monotonic_s() * 1e6,
            )
        compressor, assembler = parts.pop("compressor", None), parts.pop("assembler", None)
        stages = {
            "compressor": compressor and CheckedCompressor(compressor),
            "assembler": assembler and CheckedAssembler(assembler),
        }
        if any(stages.values()):
            for name in self.settings.profiles:
                self.settings = with_profile(self.settings, name, **stages)
        opening = Opening(
            parts.pop("views", self.channels),
            self.reader,
            Analyzer(),
            self.settings,
            self.clock,
            parts.pop("preferences", None),
        )
        self.builder = ContextBuilder(
            opening,
            strategies,
            self.settings,
            self.clock,
            self.sink,
            AnswerFields(),
            adapters=adapters,
            **parts,
        )

    async def build(
        self, question: str = "what now?", asker: Author | None = ANN, **request: Any
    ) -> Built:
        """Build at noon. `overrides` may be a dict."""
        overrides = request.pop("overrides", Overrides())
        if isinstance(overrides, dict):
            overrides = Overrides(**overrides)
        request.setdefault("key", KEY)
        if "trigger_message_id" not in request:
            request.setdefault("asked_at_ms", NOON_MS)
        if self._warm:
            self._warm = False
            await self.channels.view(KEY)
        asked = BuildRequest(question=question, asker=asker, overrides=overrides, **request)
        return Built(await self.builder.build(asked, as_values=True))

    def build_now(self, *args: Any, **request: Any) -> Built:
        """The same for tests that are not coroutines."""
        return asyncio.run(self.build(*args, **request))


def with_profile(settings: ContextSettings, name: str, **changes: Any) -> ContextSettings:
    """The settings with one profile changed."""
    profiles = {**settings.profiles, name: replace(settings.profiles[name], **changes)}
    return replace(settings, profiles=profiles)


def ids(built: Built) -> list[str]:
    """The items' ids, in time order."""
    return [item.message_id for item in built.items]


def ids_by_rank(built: Built) -> list[str]:
    """The items' ids, best first."""
    return [item.message_id for item in sorted(built.items, key=lambda item: item.rank)]


def payload(built: Built) -> dict[str, Any]:
    """The first payload's JSON."""
    return json.loads(built.payloads[0].body)


def fates(built: Built) -> dict[str, str]:
    """Fate by message id."""
    assert built.explanation is not None
    return {c.message_id: c.fate.value for c in built.explanation.candidates}


def shares(built: Built, message_id: str) -> dict[str, float]:
    """The weighted factors of one candidate by name."""
    assert built.explanation is not None
    (one,) = [c for c in built.explanation.candidates if c.message_id == message_id]
    return dict(zip(built.explanation.factors, one.shares, strict=True))
