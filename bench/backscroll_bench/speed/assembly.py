"""The part about writing an answer: 20 messages as items and as OpenAI's JSON, in this process, no gRPC.

Measured is all of a build but the stages that decide what is shown (`DECIDING`), and the answer's encoding, to its last
byte: lines, payload, items, messages and the rest. Beside it the same answer is made as one would by hand: message
objects of the generated code from plain values, serialised, and `json.dumps`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

from backscroll.v1 import context_pb2, message_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring import warm
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest, BuiltContext, Overrides
from backscroll_sidecar.domain import Author, ChannelKey, Mention, Message, TextPart
from backscroll_sidecar.rpc.translate_built import encode_built
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import open_app

MESSAGES, HISTORY = 20, 1_000
KEY = ChannelKey("default", "assembly")
VERSION = "bench"
DECIDING = ("route", "open", "question", "pick", "fit")
"""Stages of a build that are not the writing of its answer."""


async def assembly(bench: Bench) -> Readings:
    """How many times cheaper an answer is than one of message objects and dumped JSON. Reading: speedup."""
    warm()
    logs.configure("error")
    async with AsyncExitStack() as stack:
        settings = Settings(database=Path(":memory:"), embedder="none")
        app = await stack.enter_async_context(open_app(settings))
        *history, asked = chats.said(HISTORY + 1)
        for start in range(0, HISTORY, 500):
            await app.history.append(KEY, [_message(one) for one in history[start : start + 500]])
        request = BuildRequest(
            KEY,
            asked.line.content,
            Author(asked.line.user_id, asked.line.name),
            asked_at_ms=asked.sent_at_ms,
            overrides=Overrides(max_context=MESSAGES),
        )
        by_hand = ByHand(encode_built(await app.builder.build(request), VERSION))
        calls = bench.sizes.calls

        async def measured() -> float:
            return median([await _assembly_s(app.builder, request) for _ in range(calls)])

        async def base() -> float:
            return median([_seconds(by_hand.encode) for _ in range(calls)])

        await measured(), await base()
        pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(1 / a for a, _ in pairs), tuple(1 / b for _, b in pairs))
    details = {
        "assembly_us": median(a for a, _ in pairs) * 1e6,
        "by_hand_us": median(b for _, b in pairs) * 1e6,
        "reply_bytes": float(len(by_hand.encode())),
    }
    return {"speedup": Reading(rounds.ratio, details, rounds)}


async def _assembly_s(builder: ContextBuilder, request: BuildRequest) -> float:
    """Seconds of one build without the stages that decide."""
    began = time.perf_counter()
    built = await builder.build(request)
    encode_built(built, VERSION)
    return time.perf_counter() - began - _deciding_s(built)


def _deciding_s(built: BuiltContext) -> float:
    """What those stages took, as the build itself says."""
    laps = built.diagnostics.stage_us
    if missing := [name for name in DECIDING if name not in laps]:
        raise Wrong(f"a build tells of no stage {missing[0]!r}, only of {list(laps)}")
    return sum(laps[name] for name in DECIDING) / 1e6


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class ByHand:
    """Writes one answer again and again, from plain values.

    Raises
    ------
    Wrong
        It has another number of messages than the part is about, or what is written is not that answer.
    """

    def __init__(self, answer: bytes) -> None:
        built = context_pb2.BuildContextResponse.FromString(answer)
        if len(built.items) != MESSAGES:
            raise Wrong(f"{len(built.items)} messages in an answer that should have {MESSAGES}")
        self._items = [(_values(one.message), _values(one, "message")) for one in built.items]
        self._messages = [_values(one) for one in built.messages]
        self._payload = json.loads(built.payloads[0].body)
        self._parts: list[tuple[str, type[Any], dict[str, Any]]] = [
            ("tokens", context_pb2.TokenCounts, _values(built.tokens)),
            ("diagnostics", context_pb2.Diagnostics, _values(built.diagnostics)),
        ]
        parts = (name for name, _, _ in self._parts)
        self._rest = _values(built, "items", "messages", "payloads", *parts)
        made = context_pb2.BuildContextResponse.FromString(self.encode())
        for one in (made, built):
            one.payloads[0].body = json.dumps(json.loads(one.payloads[0].body)).encode()
        if made != built:
            raise Wrong("both sides of a comparison must write the same answer")

    def encode(self) -> bytes:
        """Make message objects and JSON, and serialise them."""
        body = json.dumps(self._payload, ensure_ascii=False).encode()
        return context_pb2.BuildContextResponse(
            items=[
                context_pb2.Item(message=_stored(message), **item) for message, item in self._items
            ],
            messages=[context_pb2.RenderedMessage(**one) for one in self._messages],
            payloads=[
                context_pb2.Payload(format=context_pb2.PAYLOAD_FORMAT_OPENAI_CHAT, body=body)
            ],
            **{name: make(**values) for name, make, values in self._parts},
            **self._rest,
        ).SerializeToString()


def _stored(values: dict[str, Any]) -> message_pb2.Message:
    given = dict(values)
    author = message_pb2.Author(**given.pop("author"))
    parts = [
        message_pb2.Part(text=message_pb2.TextPart(**one["text"])) for one in given.pop("parts")
    ]
    mentions = [message_pb2.Mention(**one) for one in given.pop("mentions", ())]
    return message_pb2.Message(author=author, parts=parts, mentions=mentions, **given)


def _values(message: Any, *without: str) -> dict[str, Any]:  # noqa: ANN401
    """The fields of a message as plain values: what a program has that writes answers by hand."""
    return {
        field.name: _plain(value)
        for field, value in message.ListFields()
        if field.name not in without
    }


def _plain(value: Any) -> Any:  # noqa: ANN401
    if hasattr(value, "ListFields"):
        return _values(value)
    if hasattr(value, "items"):
        return dict(value)
    if isinstance(value, str | bytes | int | float):
        return value
    return [_plain(one) for one in value]


def _message(said: chats.Said) -> Message:
    line = said.line
    return Message(
        said.id,
        KEY.channel,
        Author(line.user_id, line.name),
        (TextPart(line.content),),
        said.sent_at_ms,
        mentions=tuple(Mention(user_id, name) for user_id, name in line.mentions),
    )
