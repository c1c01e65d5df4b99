"""BuildContextRequest to domain: every field, with its bounds. What is wrong is named in dotted form."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import orjson

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.adapters.pictures import MOST_PICTURES, picture_of
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.context.model import BuildRequest, CatchUp, SystemPrompt
from backscroll_sidecar.domain import (
    ChannelKey,
    MediaPart,
    Mention,
    Overrides,
    ResponsePart,
    ScoreWeights,
)
from backscroll_sidecar.edge import limits
from backscroll_sidecar.edge.convert.fields import (
    AUTHOR_VISIBILITY_WORDS,
    LAYOUT_WORDS,
    PAYLOAD_FORMAT_WORDS,
    RESPONSE_PART_WORDS,
    SEARCH_SCOPE_WORDS,
    SPEAKER_STYLE_WORDS,
    STORED_SYSTEM_ROWS_WORDS,
    TIME_STYLE_WORDS,
    TOKENIZER_WORDS,
    TOOL_OUTPUTS_WORDS,
    check_count,
    check_id,
    check_range,
    check_text,
    check_time,
    enum_value,
    invalid,
    missing,
    required_id,
    text_size,
    too_large,
)
from backscroll_sidecar.edge.convert.messages import (
    checked_author,
    checked_embedding,
    checked_mentions,
    checked_reply,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.learning.plackett_luce import MOST_SLOTS
from backscroll_sidecar.scripts import shows_nothing
from backscroll_sidecar.texts import Language, LanguageTag
from backscroll_sidecar.time_zones import zone_named

_OptionalOfOne = Literal[
    "asker", "trigger_message_id", "asked_at_ms", "reply", "query_embedding", "catch_up"
]
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
"""What vendors take as the name of a function."""
_LANGUAGES = tuple(Language)
_REGION = re.compile(r"[A-Za-z]{2}|[0-9]{3}")


def build_request(
    request: pb.BuildContextRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None = None,
) -> BuildRequest:
    """Translate the question of one build: what was sent, field by field; the rest has the domain's defaults.

    What a bot sends with each question alike is read once: `request` is left without the fields that are not.

    Raises
    ------
    InvalidRequest
        QUESTION_MISSING, TOO_LARGE, MISSING_FIELD or INVALID_FIELD, with the field.
    """
    asked: dict[str, Any] = {}
    if question := request.question:
        asked["question"] = _READERS["question"](question, "question")
        if shows_nothing(question):
            question = asked["question"] = ""
        request.ClearField("question")
    for name in _OPTIONAL_OF_ONE:
        if request.HasField(name):
            asked[name] = _READERS[name](getattr(request, name), name)
            request.ClearField(name)
    if mentions := request.mentions:
        asked["mentions"] = _mentions(mentions, "mentions")
        request.ClearField("mentions")
    rest = request.SerializeToString()
    key, frame = (_kept_frame if len(rest) <= KEPT_FRAME_BYTES else _frame)(tenant, rest)
    if "catch_up" in asked and not key.channel:
        raise missing("channel")
    if not asked.get("trigger_message_id") and not question and "catch_up" not in asked:
        raise InvalidRequest(
            "question is blank and there is no trigger_message_id",
            field="question",
            reason=Reason.QUESTION_MISSING,
        )
    return BuildRequest(key, time_left_s=time_left_s, allowed=allowed, **asked, **frame)


KEPT_FRAMES, KEPT_FRAME_BYTES = 1_024, 4_096
"""Requests without what belongs to one question that are kept as they were read, and how large one may be: a bot has
one or two a channel."""
_OPTIONAL_OF_ONE: tuple[_OptionalOfOne, ...] = (
    "asker", "trigger_message_id", "asked_at_ms", "reply", "query_embedding", "catch_up",
)  # fmt: skip


def _frame(tenant: str, rest: bytes) -> tuple[ChannelKey, Mapping[str, Any]]:
    """The channel, and what else a request without its question says, by field."""
    given: dict[str, Any] = {}
    for field, value in pb.BuildContextRequest.FromString(rest).ListFields():
        name = field.name
        given[name] = _READERS[name](value, name)
    if "layout" in given:
        given["names_layout"] = True
    return ChannelKey(tenant, given.pop("channel", "")), given


_kept_frame = lru_cache(maxsize=KEPT_FRAMES)(_frame)


# --- texts -----------------------------------------------------------------------------------------


def _system(system: pb.SystemPrompt, _: str) -> SystemPrompt:
    check_text(system.text, "system.text", limits.MAX_TEXT_BYTES)
    check_count(len(system.parameters), "system.parameters", limits.MAX_PARAMETERS)
    parameters = dict(system.parameters)
    for name, value in parameters.items():
        required_id(name, "system.parameters")
        check_text(value, "system.parameters", limits.MAX_TEXT_BYTES)
    _check_total(parameters.values(), "system.parameters")
    return SystemPrompt(system.text, system.is_template, parameters)


def _preferences(lines: Iterable[str], _: str) -> tuple[str, ...]:
    preferences = tuple(lines)
    check_count(len(preferences), "preferences", limits.MAX_PREFERENCES)
    for i, line in enumerate(preferences):
        check_text(line, f"preferences[{i}]", limits.MAX_TEXT_BYTES)
    _check_total(preferences, "preferences")
    return preferences


def _check_total(texts: Iterable[str], field: str) -> None:
    if sum(map(text_size, texts)) > limits.MAX_TOTAL_TEXT_BYTES:
        raise too_large(field, limits.MAX_TOTAL_TEXT_BYTES)


def _tools(tools_json: str, _: str) -> str:
    check_text(tools_json, "tools_json", limits.MAX_TOOLS_BYTES)
    try:
        tools = orjson.loads(tools_json)
    except ValueError:
        raise invalid("tools_json", "is no JSON") from None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise invalid("tools_json", "is no array of objects")
    for place, tool in enumerate(tools):
        function = tool.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str) and not _TOOL_NAME.fullmatch(name):
            words = f"has a name in function {place} that is not 1 to 64 letters, digits, _ or -"
            raise invalid("tools_json", words)
    return tools_json if tools else ""  # vendors refuse an empty list


# --- small things ----------------------------------------------------------------------------------


def _ids(ids: Iterable[str], field: str, most: int = limits.MAX_SELF_IDS) -> tuple[str, ...]:
    found = tuple(ids)
    check_count(len(found), field, most)
    for i, one in enumerate(found):
        required_id(one, f"{field}[{i}]")
    return found


def _catch_up(given: pb.CatchUp, field: str) -> CatchUp:
    since = given.WhichOneof("since")
    if since is None:
        raise missing(f"{field}.since_message_id")
    if since == "since_ms":
        return CatchUp(since_ms=check_time(given.since_ms, f"{field}.since_ms"))
    return CatchUp(required_id(given.since_message_id, f"{field}.since_message_id"))


def _pictures(given: Collection[message_pb2.MediaPart], field: str) -> tuple[MediaPart, ...]:
    check_count(len(given), field, MOST_PICTURES)
    if sum(len(one.uri) for one in given) > limits.MAX_PICTURES_BYTES:
        raise too_large(field, limits.MAX_PICTURES_BYTES)
    found = []
    for i, one in enumerate(given):
        text = check_text(one.alt_text, f"{field}[{i}].alt_text", limits.MAX_LABEL_BYTES)
        picture = MediaPart("image", one.uri, text, one.mime)
        if picture_of(picture) is None:
            words = (
                "is neither an https:// link nor a data: URL of a JPEG, PNG, GIF or WebP picture"
            )
            raise invalid(f"{field}[{i}].uri", words)
        found.append(picture)
    return tuple(found)


def overrides_from_proto(overrides: pb.Overrides, where: str) -> Overrides:
    """Overrides of a request or a channel, checked; `where`: the field they stand in."""
    given: dict[str, Any] = {}
    for field, value in overrides.ListFields():
        name = field.name
        given[name] = _OVERRIDE_READERS[name](value, f"{where}.{name}")
    return Overrides(**given)


def _weights(weights: pb.ScoreWeights, where: str) -> ScoreWeights:
    named = {field.name: value for field, value in weights.ListFields()}
    return ScoreWeights(
        **{name: _real(0, 1)(value, f"{where}.{name}") for name, value in named.items()}
    )


def _budget(token_budget: int, _: str) -> int:
    if not token_budget:
        raise invalid("token_budget", "is zero; leave it unset for the profile's")
    return token_budget


def _formats(formats: Iterable[int], _: str) -> tuple[str, ...]:
    """``NONE`` alone: no payload; a format named twice is made once."""
    numbers = tuple(formats)
    check_count(len(numbers), "payload_formats", limits.MAX_PAYLOAD_FORMATS)
    if pb.PAYLOAD_FORMAT_NONE in numbers:
        if set(numbers) != {pb.PAYLOAD_FORMAT_NONE}:
            raise invalid("payload_formats", "asks for no payload and for one")
        return ()
    words = (
        enum_value(PAYLOAD_FORMAT_WORDS, number, f"payload_formats[{i}]")
        for i, number in enumerate(numbers)
    )
    return tuple(dict.fromkeys(words))


def _omit(numbers: Collection[int], field: str) -> frozenset[ResponsePart]:
    check_count(len(numbers), field, limits.MAX_OMITTED)
    parts = (
        enum_value(RESPONSE_PART_WORDS, number, f"{field}[{i}]") for i, number in enumerate(numbers)
    )
    return frozenset(part for part in parts if part is not None)


def read_language(tag: str, field: str) -> LanguageTag:
    """The language and the region that a tag names."""
    parts = check_text(tag, field, limits.MAX_LANGUAGE_BYTES).replace("_", "-").split("-")
    if parts[0].lower() not in _LANGUAGES:
        raise invalid(field, f"must be one of {', '.join(_LANGUAGES)}")
    region = next((part.upper() for part in parts[1:] if _REGION.fullmatch(part)), "")
    return LanguageTag(Language(parts[0].lower()), region)


def _time_zone(name: str, _: str) -> str:
    check_text(name, "time_zone", limits.MAX_TIME_ZONE_BYTES)
    if zone_named(name) is None:
        raise invalid("time_zone", f'"{name}" is no IANA time zone; one is "Asia/Shanghai"')
    return name


# --- which reader for which field ------------------------------------------------------------------


def _as_sent(value: Any, _: str) -> Any:  # noqa: ANN401 - a number or a switch
    return value


def _text(most_bytes: int) -> Callable[[str, str], str]:
    return lambda text, field: check_text(text, field, most_bytes)


def _number(low: int, high: int) -> Callable[[int, str], int]:
    return lambda value, field: check_range(value, field, low, high)


def _real(low: float, high: float) -> Callable[[float, str], float]:
    def read(value: float, field: str) -> float:
        if not low <= value <= high:  # as little is NaN
            raise invalid(field, f"is not between {low:,} and {high:,}")
        return value

    return read


def _word(table: Mapping[int, Any]) -> Callable[[int, str], Any]:
    return lambda number, field: enum_value(table, number, field)


def _mentions(mentions: Collection[message_pb2.Mention], field: str) -> tuple[Mention, ...]:
    check_count(len(mentions), field, limits.MAX_MENTIONS)
    return checked_mentions(mentions)


_OVERRIDE_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "use_intelligent_context": _as_sent,
    "max_context": _number(1, 500),
    "time_window_hours": _number(1, 87_600),
    "relevance_threshold": _real(0, 1),
    "sources": lambda names, field: _ids(names, field, limits.MAX_SOURCES),
    "max_chars_per_message": _number(16, 65_536),
    "recent_limit": _number(0, 500),
    "recent_floor": _number(0, 100),
    "decay_per_hour": _real(0, 100),
    "recency_half_life_minutes": _real(0.1, 525_600),
    "weights": _weights,
    "exploration_slots": _number(0, MOST_SLOTS),
    "exploration_temperature": _real(0.001, 10),
}
_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "channel": check_id,
    "asker": checked_author,
    "question": _text(limits.MAX_TEXT_BYTES),
    "trigger_message_id": check_id,
    "asked_at_ms": check_time,
    "reply": lambda reply, _: checked_reply(reply),
    "mentions": _mentions,
    "thread_id": check_id,
    "session_id": check_id,
    "self_ids": _ids,
    "profile": check_id,
    "overrides": overrides_from_proto,
    "layout": _word(LAYOUT_WORDS),
    "speaker_style": _word(SPEAKER_STYLE_WORDS),
    "time_style": _word(TIME_STYLE_WORDS),
    "time_zone": _time_zone,
    "system": _system,
    "include_system": _as_sent,
    "tools_json": _tools,
    "reserve_tokens": _as_sent,
    "preferences": _preferences,
    "query_embedding": checked_embedding,
    "token_budget": _budget,
    "tokenizer": _word(TOKENIZER_WORDS),
    "payload_formats": _formats,
    "model": check_id,
    "explain": _as_sent,
    "question_label": _text(limits.MAX_LABEL_BYTES),
    "visible_since_membership": _as_sent,
    "include_names": _as_sent,
    "stored_system_rows": _word(STORED_SYSTEM_ROWS_WORDS),
    "semantic_scope": _word(SEARCH_SCOPE_WORDS),
    "omit": _omit,
    "language": read_language,
    "provider": check_id,
    "without_summary": _as_sent,
    "tool_outputs": _word(TOOL_OUTPUTS_WORDS),
    "tool_output_chars": _number(16, 65_536),
    "exploration_seed": _number(0, 2**63 - 1),
    "cache_marks": _as_sent,
    "pictures": _pictures,
    "catch_up": _catch_up,
    "include_pictures": _as_sent,
    "viewer_id": check_id,
    "author_visibility": _word(AUTHOR_VISIBILITY_WORDS),
    "allowed_author_ids": lambda ids, field: _ids(ids, field, limits.MAX_ALLOWED_AUTHORS),
}
"""By field of the contract, after which the domain's is named: its value and its name to the domain's value."""
