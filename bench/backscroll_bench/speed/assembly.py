"""The part about writing an answer: 20 messages as items and as OpenAI's JSON, in this process, no gRPC.

Measured is what a build runs once the messages are picked, the fit and its counting aside: their lines are looked up
(`lines_of`) and copied into an answer (`assemble`), which has its text and the neutral messages besides. Beside it
items and payload are made as one would by hand: message objects of the generated code from plain values, serialised,
and `json.dumps`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from backscroll.v1 import context_pb2, message_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring import warm
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context import builder
from backscroll_sidecar.context.assembly import assemble
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.rendered_lines import lines_of
from backscroll_sidecar.domain import ChannelKey, Overrides
from backscroll_sidecar.edge.convert.messages import message_from_proto
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import App, open_app

MESSAGES, HISTORY = 20, 1_000
KEY = ChannelKey("default", "assembly")


async def assembly(bench: Bench) -> Readings:
    """How many times cheaper an answer is than one of message objects and dumped JSON. Reading: speedup."""
    warm()
    logs.configure("error")
    async with AsyncExitStack() as stack:
        settings = Settings(database=Path(":memory:"), embedder="none")
        app = await stack.enter_async_context(open_app(settings))
        *history, asked = (
            message_from_proto(one, KEY.channel) for one in chats.messages(HISTORY + 1)
        )
        await app.history.append(KEY, history)
        request = BuildRequest(
            KEY,
            asked.text,
            asked.author,
            asked_at_ms=asked.sent_at_ms,
            overrides=Overrides(max_context=MESSAGES),
        )
        write = await _writing(app, request)
        by_hand = ByHand(*_items_and_payload(await write()))
        calls = bench.sizes.calls

        async def measured() -> float:
            return median([await _seconds(write()) for _ in range(calls)])

        async def base() -> float:
            return median([await _seconds(by_hand.write_once()) for _ in range(calls)])

        await measured(), await base()
        pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(1 / a for a, _ in pairs), tuple(1 / b for _, b in pairs))
    details = {
        "assembly_us": median(a for a, _ in pairs) * 1e6,
        "by_hand_us": median(b for _, b in pairs) * 1e6,
        "reply_bytes": float(sum(map(len, by_hand.write()))),
    }
    return {"speedup": Reading(rounds.ratio, details, rounds)}


async def _seconds(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


async def _writing(app: App, request: BuildRequest) -> Callable[[], Awaitable[bytes]]:
    """Writes the answer to a request again and again, as the builder did."""
    with (
        patch.object(builder, "lines_of", wraps=lines_of) as looked_up,
        patch.object(builder, "assemble", wraps=assemble) as assembled,
    ):
        await app.builder.build(request)
    selected, options = looked_up.call_args
    fitted, *more = assembled.call_args.args
    parts = fitted.parts

    async def write() -> bytes:
        lines, _ = await lines_of(*selected, **options)
        shown = parts.showing(lines, parts.preferences)
        return assemble(replace(fitted, parts=shown), *more).tobytes()

    return write


def _items_and_payload(answer: bytes) -> tuple[bytes, bytes]:
    """The items of an answer as the only fields of one, and its payload."""
    whole = context_pb2.BuildContextResponse.FromString(answer)
    items = context_pb2.BuildContextResponse(items=whole.items)
    return items.SerializeToString(), whole.payloads[0].body


class ByHand:
    """Writes the same again and again from plain values.

    Raises
    ------
    Wrong
        There is another number of messages than the part is about, or what is written is not the same.
    """

    def __init__(self, items: bytes, body: bytes) -> None:
        answer = context_pb2.BuildContextResponse.FromString(items)
        if len(answer.items) != MESSAGES:
            raise Wrong(f"{len(answer.items)} messages in an answer that should have {MESSAGES}")
        self._items = [(_values(one.message), _values(one, "message")) for one in answer.items]
        self._payload = json.loads(body)
        if len(self._payload["messages"]) <= MESSAGES:
            raise Wrong("the payload has not all messages")
        made, made_body = self.write()
        if context_pb2.BuildContextResponse.FromString(made) != answer:
            raise Wrong("both sides of a comparison must write the same items")
        if json.loads(made_body) != self._payload:
            raise Wrong("both sides of a comparison must write the same payload")

    async def write_once(self) -> None:
        """Do `write`, and be waited for as the other side is."""
        self.write()

    def write(self) -> tuple[bytes, bytes]:
        """Make message objects and JSON, and serialise them."""
        items = [
            context_pb2.Item(message=_stored(message), **item) for message, item in self._items
        ]
        answer = context_pb2.BuildContextResponse(items=items).SerializeToString()
        return answer, json.dumps(self._payload, ensure_ascii=False).encode()


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
