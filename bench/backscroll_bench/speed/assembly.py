"""The part about writing an answer: 20 messages as items and as OpenAI's JSON, in this process, no gRPC.

Measured is what a build and the servicer run for these bytes once it is decided which messages are shown: the written
messages are looked up in the channel (`draft`), joined to a request body for OpenAI (`OpenAIChat`) and to the items of
the answer (`encode_items`). Beside it the same bytes are made as one would by hand: message objects of the generated
code from plain values, serialised, and `json.dumps`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll.v1 import context_pb2, message_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring import warm
from backscroll_sidecar.adapters import ADAPTERS
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.layouts import Messages
from backscroll_sidecar.context.model import BuildRequest, BuiltContext, Items, Overrides
from backscroll_sidecar.context.rendering import draft
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.convert.built import encode_items
from backscroll_sidecar.edge.convert.messages import message_from_proto
from backscroll_sidecar.lines.line_format import LineStyle
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import open_app

MESSAGES, HISTORY = 20, 1_000
KEY = ChannelKey("default", "assembly")
FORMAT = "openai_chat"


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
        ours = OurOwn(await app.builder.build(request), app.channels.hot_view(KEY))
        by_hand = ByHand(*ours.write())
        calls = bench.sizes.calls

        async def measured() -> float:
            return median([_seconds(ours.write) for _ in range(calls)])

        async def base() -> float:
            return median([_seconds(by_hand.write) for _ in range(calls)])

        await measured(), await base()
        pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(1 / a for a, _ in pairs), tuple(1 / b for _, b in pairs))
    details = {
        "assembly_us": median(a for a, _ in pairs) * 1e6,
        "by_hand_us": median(b for _, b in pairs) * 1e6,
        "reply_bytes": float(sum(map(len, by_hand.write()))),
    }
    return {"speedup": Reading(rounds.ratio, details, rounds)}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class OurOwn:
    """Writes the messages of one build again and again, as the server does."""

    def __init__(self, built: BuiltContext, view: ChannelView | None) -> None:
        if view is None:
            raise Wrong("the channel is not in memory")
        self._view = view
        self._built = built
        self._rows = _rows(built.items, view)
        self._style = LineStyle(built.speaker_style, asked_at_ms=built.asked_at_ms)
        # The question, and what else is no message of the channel.
        self._others = tuple(built.payload_messages[len(built.items) :])

    def write(self) -> tuple[bytes, bytes]:
        """The items as fields of an answer, and the payload."""
        built, items = self._built, self._built.items
        shown = draft(self._view, self._rows, self._style, items.shown.written[0].pen).finish()
        messages = Messages((), shown, self._others)
        body = ADAPTERS[FORMAT].payload(messages, model=built.model)
        columns = (items.ranks, items.scores, items.sources, items.names, items.categories)
        return encode_items(Items(shown, *columns)), body


def _rows(items: Items, view: ChannelView) -> NDArray[np.int32]:
    """int32[n]: where the messages of an answer stand in their channel."""
    return np.array([view.row_of(item.message_id) for item in items], np.int32)


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
