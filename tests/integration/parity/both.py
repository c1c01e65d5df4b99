"""Two servers, one on SQLite and one on PostgreSQL: both answer each call, and the answers are compared."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    experiment_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    preference_pb2,
    session_pb2,
)
from tests.integration.rooms.room import CatModel
from tests.kit.chats import StillClock
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import running

FILES = (
    admin_pb2, context_pb2, experiment_pb2, feedback_pb2, history_pb2, learning_pb2, preference_pb2, session_pb2,
)  # fmt: skip
METHODS = {
    method.input_type.full_name: (
        f"/{service.full_name}/{method.name}",
        method.client_streaming,
        method.server_streaming,
        GetMessageClass(method.output_type),
    )
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
"""By what is asked: path, whether either side is a stream, and what is answered."""

BLANKED = frozenset(
    f"backscroll.v1.{name}"
    for name in (
        "BuildContextResponse.context_id", "UsageRecord.context_id", "RecordedEvent.context_id",
        "RecordFeedbackResponse.context_id", "Event.id", "Event.parent_id", "Event.at_ms",
        "Diagnostics.stage_microseconds", "UsageRecord.build_microseconds",
        "EraseResponse.files", "EraseResponse.files_clean_by_ms",
    )
)  # fmt: skip
"""Ids that each server draws, timings, and what is said of SQLite's own files. Everything else is compared."""
CACHE = "segments"
"""What an erasure counts of a cache that is written in the background."""
SHOWN, AROUND_CHARS = 3, 200
SETTINGS = {
    "search_scopes": {"default": "tenant"},
    "memory": {"context_build_timeout_seconds": 120},
    "preload_seconds": 60,
}

Said = tuple[bytes, ...]
"""The answers of a call, blanked; of one that failed its code and what it said."""


@dataclass
class Both:
    """The two servers as one. `calls` are counted by method; `differences` tell the first ones, for people."""

    sqlite: grpc.aio.Channel
    postgres: grpc.aio.Channel
    clock: StillClock
    calls: Counter[str] = field(default_factory=Counter)
    differing: int = 0
    differences: list[str] = field(default_factory=list)

    async def ask(
        self, request: Message, *more: Message, there: Message | None = None
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """What both answer; nothing where one fails. `more`: of a stream of requests; `there`: asked of PostgreSQL."""
        path, streams, streamed, answer_type = METHODS[request.DESCRIPTOR.full_name]
        self.clock.at_ms += 1
        here, other = [
            await _asked(
                channel,
                path,
                [one.SerializeToString() for one in (first, *more)],
                streams,
                streamed,
                answer_type,
            )
            for channel, first in ((self.sqlite, request), (self.postgres, there or request))
        ]
        self.calls[path.rpartition("/")[2]] += 1
        if here[0] != other[0]:
            self.differing += 1
            if len(self.differences) < SHOWN:
                self.differences.append(_difference(request, path, here, other))
        return here[1], other[1]

    async def pages(self, request: Any) -> None:
        """All pages of a list: where a page ends each server says in its own words, with numbers of its store."""
        there = type(request)()
        there.CopyFrom(request)
        while True:
            here, other = await self.ask(request, there=there)
            if not here or not other or not here[0].next_page_token:
                return
            request.page_token = here[0].next_page_token
            there.page_token = other[0].next_page_token

    def check(self) -> None:
        """Fail where an answer differed."""
        assert not self.differing, (
            f"{self.differing} of {self.calls.total()} calls differ, such as\n"
            + "\n".join(self.differences)
        )


@asynccontextmanager
async def both(sqlite: Path, postgres: str, clock: StillClock) -> AsyncIterator[Both]:
    """Servers over these databases, alike but for them."""
    async with AsyncExitStack() as stack:
        channels = []
        for database in (sqlite, postgres):
            server, _ = await stack.enter_async_context(
                running(
                    database, clock=clock, embedder=FakeEmbedder(), model=CatModel(), **SETTINGS
                )
            )
            channels.append(
                await stack.enter_async_context(grpc.aio.insecure_channel(server.addresses[0]))
            )
        yield Both(*channels, clock)


async def _asked(
    channel: grpc.aio.Channel,
    path: str,
    asked: Sequence[bytes],
    streams: bool,
    streamed: bool,
    answer_type: Any,
) -> tuple[Said, Sequence[Any]]:
    try:
        if streams:
            raw = [await channel.stream_unary(path)(iter(asked))]
        elif streamed:
            raw = [one async for one in channel.unary_stream(path)(asked[0])]
        else:
            raw = [await channel.unary_unary(path)(asked[0])]
    except grpc.aio.AioRpcError as error:
        return (f"{error.code().name}: {error.details()}".encode(),), ()
    answers = [answer_type.FromString(one) for one in raw]
    for one in answers:
        blank(one)
        if isinstance(one, history_pb2.EraseResponse):
            del one.erased_count_by_store[CACHE]
    return tuple(map(_compared, answers)), answers


def _compared(answer: Any) -> bytes:
    """An answer as bytes; of the token of the next page whether there is one."""
    if not getattr(answer, "next_page_token", ""):
        return bytes(answer.SerializeToString(deterministic=True))
    same = type(answer)()
    same.CopyFrom(answer)
    same.next_page_token = "more"
    return bytes(same.SerializeToString(deterministic=True))


def blank(message: Message) -> None:
    """Clear what `BLANKED` names, however deep."""
    for name, value in message.ListFields():
        if name.full_name in BLANKED:
            message.ClearField(name.name)
        elif name.message_type is None or name.message_type.GetOptions().map_entry:
            continue
        elif name.is_repeated:
            for one in value:
                blank(one)
        else:
            blank(value)


def _difference(
    request: Message, path: str, here: tuple[Said, Any], there: tuple[Said, Any]
) -> str:
    now, then = ["\n".join(map(_text, answers)) or repr(said) for said, answers in (here, there)]
    pairs = enumerate(zip(now, then, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(now), len(then)))
    shown = slice(max(0, same - AROUND_CHARS), same + AROUND_CHARS)
    return f"{path} {_text(request)[:600]}\n  SQLite:     {now[shown]}\n  PostgreSQL: {then[shown]}"


def _text(message: Message) -> str:
    return MessageToJson(
        message, indent=None, ensure_ascii=False, sort_keys=True, preserving_proto_field_name=True
    )
