"""A built context as the bytes of BuildContextResponse.

An answer is a concatenation of fields (`wire`). Payloads, text, items and messages are put together by
`context.assembly` of what `AnswerFields` says of the contract, the explanation here by hand, the rest by protobuf.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from backscroll.v1 import context_pb2 as pb
from backscroll_scoring import Pieces
from backscroll_sidecar.context.model import (
    BuiltContext,
    Diagnostics,
    Draw,
    Explanation,
    OfOtherChannel,
)
from backscroll_sidecar.context.visibility import RULE_SHIFT, VisibilityRule
from backscroll_sidecar.domain import Category, Degradation, Event, Fate, NeutralMessage, Role
from backscroll_sidecar.edge.convert.fields import (
    CATEGORY_NUMBERS,
    FATE_NUMBERS,
    LAYOUT_NUMBERS,
    MESSAGE_TYPE_NUMBERS,
    PAYLOAD_FORMAT_NUMBERS,
    PREFIX_CHANGE_NUMBERS,
    ROLE_NUMBERS,
    RUNG_NUMBERS,
    SOURCE_NUMBERS,
    SPEAKER_STYLE_NUMBERS,
    TOKENIZER_NUMBERS,
    VISIBILITY_RULE_NUMBERS,
)
from backscroll_sidecar.edge.convert.wire import (
    FIXED64,
    LENGTH,
    VARINT,
    lengthed,
    tag,
    varint,
    without,
)
from backscroll_sidecar.lines.rendering import RenderedLine
from backscroll_sidecar.ports import Exploration

_TRIGGER = tag(pb.BuildContextResponse, "trigger", LENGTH)
_ITEMS = tag(pb.BuildContextResponse, "items", LENGTH)
_MESSAGE = tag(pb.Item, "message", LENGTH)
_ROLE = {
    role: tag(pb.Item, "role", VARINT) + varint(number) for role, number in ROLE_NUMBERS.items()
}
_RANK = tag(pb.Item, "rank", VARINT)
_SCORE = tag(pb.Item, "score", FIXED64)
_CATEGORY = tag(pb.Item, "category", VARINT)
_TOKEN_COUNT = tag(pb.Item, "token_count", VARINT)
_TRUNCATED = tag(pb.Item, "truncated", VARINT) + varint(1)
_CHANNEL = tag(pb.Item, "channel", LENGTH)
_PAYLOADS = tag(pb.BuildContextResponse, "payloads", LENGTH)
_FORMAT = {
    name: tag(pb.Payload, "format", VARINT) + varint(number)
    for name, number in PAYLOAD_FORMAT_NUMBERS.items()
}
_BODY = tag(pb.Payload, "body", LENGTH)
_TEXT = tag(pb.BuildContextResponse, "text", LENGTH)
_MESSAGES = tag(pb.BuildContextResponse, "messages", LENGTH)
_RENDERED_ROLE = tag(pb.RenderedMessage, "role", VARINT)
_ROLE_FIELDS = {role: _RENDERED_ROLE + varint(number) for role, number in ROLE_NUMBERS.items()}
_CONTENT = tag(pb.RenderedMessage, "content", LENGTH)
_MESSAGE_ID = tag(pb.RenderedMessage, "message_ids", LENGTH)
_EXPLANATION = tag(pb.BuildContextResponse, "explanation", LENGTH)
_CANDIDATES = tag(pb.Explanation, "candidates", LENGTH)
_CANDIDATE_ID = tag(pb.CandidateExplanation, "message_id", LENGTH)
_SHARES = tag(pb.CandidateExplanation, "shares", LENGTH)
_LINEAR = tag(pb.CandidateExplanation, "linear", FIXED64)
_CANDIDATE_SCORE = tag(pb.CandidateExplanation, "score", FIXED64)
_CANDIDATE_RANK = tag(pb.CandidateExplanation, "rank", VARINT)


def encode_built(built: BuiltContext, server_version: str, parse_us: int = 0) -> bytes:
    """Serialise the answer to one build.

    Its diagnostics tell how long the request took to be parsed, `parse_us`, and how long this takes, up to themselves.
    """
    began_ns = time.perf_counter_ns()
    pieces: list[bytes | memoryview] = [built.content.data]
    if built.omit:
        pieces = [without(built.content.tobytes(), built.omit)]
    if built.explanation is not None:
        pieces.append(_explanation(built.explanation))
    if built.trigger_fragment is not None:
        pieces.append(lengthed(_TRIGGER, built.trigger_fragment))
    rest = _seldom(built)
    _tell_rest(built, rest)
    _tell_diagnostics(built.diagnostics, rest.diagnostics)
    rest.diagnostics.server_version = server_version
    stage_us = rest.diagnostics.stage_microseconds
    stage_us["parse"] = parse_us
    stage_us["encode"] = (time.perf_counter_ns() - began_ns) // 1_000
    pieces += (_settled_of(built), rest.SerializeToString())
    return b"".join(pieces)


class AnswerFields:
    """What of the contract is needed to put an answer together: `lines.rendering.AnswerCodec`."""

    keys = bytes((
        *_ITEMS, *_CATEGORY, *_TOKEN_COUNT, *_RANK, *_SCORE, *_MESSAGES, *_RENDERED_ROLE, *_CONTENT,
        CATEGORY_NUMBERS[Category.RECENT], CATEGORY_NUMBERS[Category.SEMANTIC],
        0, *(ROLE_NUMBERS[role] for role in sorted(Role)),
    ))  # fmt: skip
    payload, formats, body, text, messages, content = (
        _PAYLOADS, _FORMAT, _BODY, _TEXT, _MESSAGES, _CONTENT,
    )  # fmt: skip
    roles = _ROLE_FIELDS

    def item(self, line: RenderedLine) -> bytes:
        """The message, its role, whether it is all there, and where it was said."""
        fields = (
            lengthed(_MESSAGE, line.fragment),
            _ROLE[line.said.rendered_role],
            _TRUNCATED if line.said.truncated else b"",
            lengthed(_CHANNEL, line.channel.encode()) if line.channel else b"",
        )
        return b"".join(fields)

    def id_field(self, message_id: str) -> bytes:
        """One id among those of a message that shows several."""
        return _message_id(message_id)

    def message(self, message: NeutralMessage) -> bytes:
        """One message of the neutral list."""
        content = lengthed(_CONTENT, message.content.encode())
        ids = b"".join(map(_message_id, message.message_ids))
        return lengthed(_MESSAGES, self.roles[message.role] + content + ids)

    def payload_field(self, name: str, body: bytes) -> bytes:
        """One vendor's request body."""
        return lengthed(_PAYLOADS, _FORMAT[name] + lengthed(_BODY, body))

    def sources(self, sources: tuple[str, ...], kinds: tuple[int, ...]) -> Pieces:
        """What proposed the lines of each kind, and why they may be shown."""
        return _sources_of(sources, kinds)


@lru_cache(maxsize=1_024)
def _sources_of(sources: tuple[str, ...], kinds: tuple[int, ...]) -> Pieces:
    names = [tuple(name for i, name in enumerate(sources) if kind >> i & 1) for kind in kinds]
    rules = [VISIBILITY_RULE_NUMBERS[VisibilityRule(kind >> RULE_SHIFT)] for kind in kinds]
    return Pieces.of(list(map(_sources, names, rules)))


@lru_cache(maxsize=4_096)
def _message_id(one: str) -> bytes:
    return lengthed(_MESSAGE_ID, one.encode())


@lru_cache(maxsize=1_024)
def _sources(names: tuple[str, ...], rule: Any) -> bytes:  # noqa: ANN401 - a number
    """The fields that tell the sources and the rule; few combinations occur."""
    known, own = _split_sources(names)
    return pb.Item(sources=known, own_sources=own, visible_by=rule).SerializeToString()


def _split_sources(names: Iterable[str]) -> tuple[list[pb.Source], list[str]]:
    """Tell the sources the contract names from an operator's own, which share one number."""
    listed = list(names)
    own = [name for name in listed if name not in SOURCE_NUMBERS]
    numbers = (SOURCE_NUMBERS.get(name, pb.SOURCE_OWN) for name in listed)
    return list(dict.fromkeys(numbers)), own


def _settled_of(built: BuiltContext) -> bytes:
    question_type = built.question_type
    return _settled(
        built.channel,
        built.channel_known,
        built.profile,
        RUNG_NUMBERS[built.rung],
        built.addressed,
        None if question_type is None else MESSAGE_TYPE_NUMBERS[question_type],
        SPEAKER_STYLE_NUMBERS[built.speaker_style],
        LAYOUT_NUMBERS[built.layout],
    )


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
    is_told = built.degradations or built.events or built.summary is not None
    if not (is_told or built.draw is not None or built.experiment_id):
        return pb.BuildContextResponse()
    used = pb.ExperimentUse(experiment_id=built.experiment_id, arm=built.arm)
    return pb.BuildContextResponse(
        experiment=used if built.experiment_id else None,
        degradations=map(_degradation, built.degradations),
        summary=built.summary,
        events=map(recorded_event, built.events),
        exploration=None if built.draw is None else exploration_to_proto(built.draw),
    )


def exploration_to_proto(one: Draw | Exploration) -> pb.Exploration:
    """How places were drawn, as callers read it."""
    return pb.Exploration(
        slots=one.slots,
        temperature=one.temperature,
        seed=one.seed,
        probability=one.probability,
        seed_given=one.seed_given,
    )


def _degradation(one: Degradation) -> pb.Degradation:
    return pb.Degradation(stage=one.stage, source=one.source, reason=one.reason)


def _tell_rest(built: BuiltContext, out: pb.BuildContextResponse) -> None:
    """What every answer has of its own. Field by field: half the price of a constructor with names."""
    out.context_id = built.context_id
    out.asked_at_ms = built.asked_at_ms
    out.stable_prefix_tokens = built.stable_prefix_tokens
    if built.stable_prefix_messages:
        out.stable_prefix_messages = built.stable_prefix_messages
    tokens, count = built.tokens, out.tokens
    count.system, count.tools, count.preferences = tokens.system, tokens.tools, tokens.preferences
    count.recent, count.semantic, count.question = tokens.recent, tokens.semantic, tokens.question
    count.framing, count.reserve, count.total = tokens.framing, tokens.reserve, tokens.total
    if tokens.summary:
        count.summary = tokens.summary
    if tokens.calibration != 1.0:
        count.calibration = tokens.calibration
    count.budget, count.tokenizer = tokens.budget, TOKENIZER_NUMBERS[tokens.tokenizer]


def _tell_diagnostics(diagnostics: Diagnostics, out: pb.Diagnostics) -> None:
    stage_us = out.stage_microseconds
    for stage, us in diagnostics.stage_us.items():  # `update` takes twice as long
        stage_us[stage] = us
    out.cache_hit, out.exhaustive_search = diagnostics.cache_hit, diagnostics.exhaustive_search
    out.channel_generation = diagnostics.channel_generation
    out.candidate_count = diagnostics.candidate_count
    if diagnostics.prefix_change is not None:
        out.prefix_change = PREFIX_CHANGE_NUMBERS[diagnostics.prefix_change]


def recorded_event(event: Event) -> pb.Event:
    """Translate an event."""
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


def _explanation(explanation: Explanation) -> bytes:
    """The field of the answer that accounts for the candidates, put together of their columns."""
    head = pb.Explanation(
        profile=explanation.profile,
        factors=explanation.factors,
        weights=explanation.weights,
        threshold=explanation.threshold,
        link=explanation.link,
    ).SerializeToString()
    shares, size = explanation.shares.tobytes(), 8 * explanation.shares.shape[1]
    linear, scores = explanation.linear.tobytes(), explanation.scores.tobytes()
    keyed_size, pieces = _SHARES + varint(size), [head]
    others = [b""] * (len(explanation.message_ids) - len(explanation.elsewhere))
    others += map(_of_other, explanation.elsewhere)
    for at, (message_id, rank, other, *told) in enumerate(
        zip(
            explanation.message_ids,
            explanation.ranks,
            others,
            explanation.sources,
            explanation.fates,
            explanation.decided_by,
            explanation.scored_by,
            strict=True,
        )
    ):
        said, number = message_id.encode(), slice(8 * at, 8 * at + 8)
        fields = (
            _CANDIDATE_ID, varint(len(said)), said, keyed_size, shares[size * at : size * at + size], _LINEAR,
            linear[number], _CANDIDATE_SCORE, scores[number], _CANDIDATE_RANK, varint(rank), other,
            _verdict(*told),
        )  # fmt: skip
        pieces.append(lengthed(_CANDIDATES, b"".join(fields)))
    return lengthed(_EXPLANATION, b"".join(pieces))


def _of_other(one: OfOtherChannel) -> bytes:
    """Where it is from, and why it may be shown."""
    return pb.CandidateExplanation(
        channel=one.channel, visible_by=VISIBILITY_RULE_NUMBERS[one.rule], sharing_group=one.group
    ).SerializeToString()


@lru_cache(maxsize=4_096)
def _verdict(sources: tuple[str, ...], fate: Fate, decided_by: str, scored_by: str) -> bytes:
    """What is said of many candidates alike."""
    known, own = _split_sources(sources)
    return pb.CandidateExplanation(
        sources=known,
        own_sources=own,
        fate=FATE_NUMBERS[fate],
        decided_by=decided_by,
        scored_by=scored_by,
    ).SerializeToString()
