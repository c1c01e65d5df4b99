"""A built context as the bytes of BuildContextResponse.

Stored fragments are joined, not encoded again: an answer is a concatenation of fields (`wire`). Items and
messages are put together by hand from the contract's field numbers, the rest by protobuf.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from operator import add
from typing import Any

import numpy as np

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.adapters import encoded
from backscroll_sidecar.context.model import (
    BuiltContext,
    CandidateExplanation,
    Diagnostics,
    Explanation,
    Items,
    TokenCounts,
)
from backscroll_sidecar.context.writing import Written
from backscroll_sidecar.domain import Category, Event, NeutralMessage
from backscroll_sidecar.rpc.enums import (
    CATEGORY_NUMBERS,
    FATE_NUMBERS,
    LAYOUT_NUMBERS,
    MESSAGE_TYPE_NUMBERS,
    PAYLOAD_FORMAT_NUMBERS,
    ROLE_NUMBERS,
    RUNG_NUMBERS,
    SOURCE_NUMBERS,
    SPEAKER_STYLE_NUMBERS,
    TOKENIZER_NUMBERS,
)
from backscroll_sidecar.rpc.wire import FIXED64, LENGTH, VARINT, lengthed, numbers, tag, varint

_TRIGGER = tag(pb.BuildContextResponse, "trigger", LENGTH)
_ITEMS = tag(pb.BuildContextResponse, "items", LENGTH)
_MESSAGE = tag(pb.Item, "message", LENGTH)
_ROLE = {
    role: tag(pb.Item, "role", VARINT) + varint(number) for role, number in ROLE_NUMBERS.items()
}
_RANK = tag(pb.Item, "rank", VARINT)
_SCORE = tag(pb.Item, "score", FIXED64)
_CATEGORY = {
    category: tag(pb.Item, "category", VARINT) + varint(number)
    for category, number in CATEGORY_NUMBERS.items()
}
_TOKEN_COUNT = tag(pb.Item, "token_count", VARINT)
_TRUNCATED = tag(pb.Item, "truncated", VARINT) + varint(1)
_PAYLOADS = tag(pb.BuildContextResponse, "payloads", LENGTH)
_FORMAT = {
    name: tag(pb.Payload, "format", VARINT) + varint(number)
    for name, number in PAYLOAD_FORMAT_NUMBERS.items()
}
_BODY = tag(pb.Payload, "body", LENGTH)
_TEXT = tag(pb.BuildContextResponse, "text", LENGTH)
_DIAGNOSTICS = tag(pb.BuildContextResponse, "diagnostics", LENGTH)
_MESSAGES = tag(pb.BuildContextResponse, "messages", LENGTH)
_RENDERED_ROLE = {
    role: tag(pb.RenderedMessage, "role", VARINT) + varint(number)
    for role, number in ROLE_NUMBERS.items()
}
_CONTENT = tag(pb.RenderedMessage, "content", LENGTH)
_MESSAGE_ID = tag(pb.RenderedMessage, "message_ids", LENGTH)
_FLOAT64, _EIGHT_BYTES = np.dtype("<f8"), np.dtype("V8")
_ranked = numbers(_RANK, _SCORE)
_item_of = numbers(_ITEMS)


def encode_built(built: BuiltContext, server_version: str, parse_us: int = 0) -> bytes:
    """Serialise the answer to one build.

    Its diagnostics tell how long the request took to be parsed, `parse_us`, and how long this takes, up to themselves.
    """
    began_ns = time.perf_counter_ns()
    pieces = [
        lengthed(_PAYLOADS, _FORMAT[one.format] + lengthed(_BODY, one.body))
        for one in built.payloads
    ]
    if built.text:
        pieces.append(lengthed(_TEXT, built.text.encode()))
    if built.trigger_fragment is not None:
        pieces.append(lengthed(_TRIGGER, built.trigger_fragment))
    pieces.append(encode_items(built.items))
    pieces += encoded(built.messages, "rendered message", encode_message)
    rest = _rest(built)
    encode_us = (time.perf_counter_ns() - began_ns) // 1_000
    stage_us = {"parse": parse_us, **built.diagnostics.stage_us, "encode": encode_us}
    pieces += (rest, _diagnostics(built.diagnostics, stage_us, server_version))
    return b"".join(pieces)


def encode_items(items: Items) -> bytes:
    """Serialise the items as fields of the answer.

    An item is its size, what is the same whatever was asked (kept with the message), then rank, score and sources.
    """
    saids = _said(items)
    why_of = {bits: _sources(names) for bits, names in items.names.items()}
    rest_of = {bits: _FLOAT64.itemsize + len(why) for bits, why in why_of.items()}
    ranks = list(map(_ranked, items.ranks))
    sizes = map(add, map(len, saids), map(len, ranks))
    heads = map(_item_of, map(add, sizes, map(rest_of.__getitem__, items.sources)))
    scores = items.scores.astype(_FLOAT64, copy=False).view(_EIGHT_BYTES).tolist()
    whys = map(why_of.__getitem__, items.sources)
    return b"".join(chain.from_iterable(zip(heads, saids, ranks, scores, whys, strict=True)))


def _said(items: Items) -> list[bytes]:
    """What each item says whatever was asked: all but rank, score and sources."""
    form, encode = ("item turn", _encode_turn) if items.has_turns else ("item line", _encode_line)
    if Category.SEMANTIC not in items.categories:
        return items.shown.forms(form, encode)
    recent, other = Category.RECENT, "item reference"
    pairs = zip(items.shown.written, items.categories, strict=True)
    return [
        one.forms.get(form) or one.form(form, encode)
        if category is recent
        else one.forms.get(other) or one.form(other, _encode_reference)
        for one, category in pairs
    ]


def _encode_turn(written: Written) -> bytes:
    return _encode_said(written, Category.RECENT, written.turn_cost)


def _encode_line(written: Written) -> bytes:
    return _encode_said(written, Category.RECENT, written.line_cost)


def _encode_reference(written: Written) -> bytes:
    return _encode_said(written, Category.SEMANTIC, written.line_cost)


def _encode_said(written: Written, category: Category, token_count: int) -> bytes:
    return b"".join(
        (
            lengthed(_MESSAGE, written.fragment),
            _ROLE[written.turn.role],
            _CATEGORY[category],
            _TOKEN_COUNT,
            varint(token_count),
            _TRUNCATED if written.said.truncated else b"",
        )
    )


def encode_message(message: NeutralMessage) -> bytes:
    """Serialise one message of the neutral list as a field of the answer."""
    content = lengthed(_CONTENT, message.content.encode())
    ids = b"".join(map(_message_id, message.message_ids))
    return lengthed(_MESSAGES, _RENDERED_ROLE[message.role] + content + ids)


@lru_cache(maxsize=4_096)
def _message_id(one: str) -> bytes:
    """One id among those of a message that shows several."""
    return lengthed(_MESSAGE_ID, one.encode())


@lru_cache(maxsize=1_024)
def _sources(names: tuple[str, ...]) -> bytes:
    """The fields that tell the sources; few combinations occur."""
    known, own = _split_sources(names)
    return pb.Item(sources=known, own_sources=own).SerializeToString()


def _split_sources(names: Iterable[str]) -> tuple[list[pb.Source], list[str]]:
    """Tell the sources the contract names from an operator's own, which share one number."""
    listed = list(names)
    own = [name for name in listed if name not in SOURCE_NUMBERS]
    numbers = (SOURCE_NUMBERS.get(name, pb.SOURCE_OWN) for name in listed)
    return list(dict.fromkeys(numbers)), own


def _rest(built: BuiltContext) -> bytes:
    """Everything but diagnostics and the longer parts: items, messages, trigger, payloads, text."""
    question_type = built.question_type
    settled = _settled(
        built.channel,
        built.channel_known,
        built.profile,
        RUNG_NUMBERS[built.rung],
        built.addressed,
        None if question_type is None else MESSAGE_TYPE_NUMBERS[question_type],
        SPEAKER_STYLE_NUMBERS[built.speaker_style],
        LAYOUT_NUMBERS[built.layout],
    )
    answer = _seldom(built)
    answer.context_id = built.context_id
    answer.asked_at_ms = built.asked_at_ms
    answer.stable_prefix_tokens = built.stable_prefix_tokens
    _count(built.tokens, answer.tokens)
    return settled + answer.SerializeToString()


@lru_cache(maxsize=1_024)
def _settled(
    channel: str,
    channel_known: bool,
    profile: str,
    rung: Any,  # noqa: ANN401 - a number; to the stubs a type of its own, and so the others
    addressed: bool,
    question_type: Any,  # noqa: ANN401
    speaker_style: Any,  # noqa: ANN401
    layout: Any,  # noqa: ANN401
) -> bytes:
    """What most answers of a channel have in common."""
    return pb.BuildContextResponse(
        channel=channel,
        channel_known=channel_known,
        profile=profile,
        rung=rung,
        addressed=addressed,
        question_type=question_type,
        speaker_style=speaker_style,
        layout=layout,
    ).SerializeToString()


def _seldom(built: BuiltContext) -> pb.BuildContextResponse:
    """What most answers have not."""
    if not (built.degradations or built.events or built.explanation or built.summary is not None):
        return pb.BuildContextResponse()
    return pb.BuildContextResponse(
        degradations=[
            pb.Degradation(stage=one.stage, source=one.source, reason=one.reason)
            for one in built.degradations
        ],
        summary=built.summary,
        events=map(_event, built.events),
        explanation=None if built.explanation is None else _explanation(built.explanation),
    )


def _count(tokens: TokenCounts, out: pb.TokenCounts) -> None:
    """Field by field: half the price of a constructor with names."""
    out.system, out.tools, out.preferences = tokens.system, tokens.tools, tokens.preferences
    out.recent, out.semantic, out.question = tokens.recent, tokens.semantic, tokens.question
    out.framing, out.reserve, out.total = tokens.framing, tokens.reserve, tokens.total
    out.budget, out.tokenizer = tokens.budget, TOKENIZER_NUMBERS[tokens.tokenizer]


def _diagnostics(
    diagnostics: Diagnostics, stage_us: Mapping[str, int], server_version: str
) -> bytes:
    out = pb.Diagnostics()
    out.stage_microseconds.update(stage_us)
    out.cache_hit, out.exhaustive_search = diagnostics.cache_hit, diagnostics.exhaustive_search
    out.channel_generation = diagnostics.channel_generation
    out.candidate_count = diagnostics.candidate_count
    out.server_version = server_version
    return lengthed(_DIAGNOSTICS, out.SerializeToString())


def _event(event: Event) -> pb.Event:
    return pb.Event(
        id=event.id,
        type=event.type,
        level=event.level,
        parent_id=event.parent_id,
        at_ms=event.at_ms,
        payload=_as_text(event.payload),
    )


def _as_text(payload: Mapping[str, int | float | str | bool]) -> dict[str, str]:
    """Numbers as JSON writes them, so that every language reads them back."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in payload.items()
    }


def _explanation(explanation: Explanation) -> pb.Explanation:
    return pb.Explanation(
        profile=explanation.profile,
        factors=explanation.factors,
        weights=explanation.weights,
        threshold=explanation.threshold,
        link=explanation.link,
        candidates=map(_candidate, explanation.candidates),
    )


def _candidate(candidate: CandidateExplanation) -> pb.CandidateExplanation:
    known, own = _split_sources(candidate.sources)
    return pb.CandidateExplanation(
        message_id=candidate.message_id,
        sources=known,
        own_sources=own,
        shares=candidate.shares,
        linear=candidate.linear,
        score=candidate.score,
        decided_by=candidate.decided_by,
        fate=FATE_NUMBERS[candidate.fate],
        rank=candidate.rank,
        scored_by=candidate.scored_by,
    )
