"""Single fields: the enums of the contract beside their words in the domain, and checks.

``X_NUMBERS`` maps words to the wire, ``X_WORDS`` back; a name that one side lacks fails at import. What is unspecified
has the default the contract names. A check raises `InvalidRequest` naming the field, and never repeats what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll_sidecar.context.model import PrefixChange
from backscroll_sidecar.context.visibility import VisibilityRule
from backscroll_sidecar.domain import (
    AppendOutcome,
    AuthorKind,
    Category,
    Fate,
    Layout,
    MessageType,
    RefusalCode,
    ReplyKind,
    ResponsePart,
    Role,
    Rung,
    SearchScope,
    SpeakerStyle,
    StoredSystemRows,
    TimeStyle,
    TokenizerName,
    WarningCode,
)
from backscroll_sidecar.edge.limits import MAX_ID_BYTES, MAX_TIME_MS
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.sessions.session import AuthorVisibility
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds
from backscroll_sidecar.tool_outputs import OutputPolicy

T = TypeVar("T")
W = TypeVar("W", bound=Enum)
K = TypeVar("K")
D = TypeVar("D")
N = TypeVar("N", int, float)


# `Any`: the stubs give each enum of the wire a type of its own, at run time all are numbers.
def numbers_of(words: type[W], enum: EnumTypeWrapper, prefix: str) -> dict[W, Any]:
    """By word: the number of the contract's enum."""
    return {word: enum.Value(f"{prefix}_{word.name}") for word in words}


def words_of(numbers: Mapping[K, Any], unspecified: D) -> dict[int, K | D]:
    """By number: the word; `unspecified` for 0."""
    return {0: unspecified, **{number: word for word, number in numbers.items()}}


# --- messages --------------------------------------------------------------------------------------

AUTHOR_KIND_NUMBERS = numbers_of(AuthorKind, message_pb2.AuthorKind, "AUTHOR_KIND")
AUTHOR_KIND_WORDS = words_of(AUTHOR_KIND_NUMBERS, AuthorKind.HUMAN)
ROLE_NUMBERS = numbers_of(Role, message_pb2.Role, "ROLE")
ROLE_WORDS = words_of(ROLE_NUMBERS, Role.USER)
REPLY_KIND_NUMBERS = numbers_of(ReplyKind, message_pb2.ReplyKind, "REPLY_KIND")
REPLY_KIND_WORDS = words_of(REPLY_KIND_NUMBERS, ReplyKind.QUOTE)
MESSAGE_TYPE_NUMBERS = numbers_of(MessageType, message_pb2.MessageType, "MESSAGE_TYPE")

# --- history ---------------------------------------------------------------------------------------

OUTCOME_NUMBERS = numbers_of(AppendOutcome, history_pb2.AppendOutcome, "APPEND_OUTCOME")
WARNING_NUMBERS = numbers_of(WarningCode, history_pb2.AppendWarning, "APPEND_WARNING")
REFUSAL_NUMBERS = numbers_of(RefusalCode, history_pb2.AppendRefusal, "APPEND_REFUSAL")

# --- context: requests -----------------------------------------------------------------------------

LAYOUT_NUMBERS = numbers_of(Layout, context_pb2.Layout, "LAYOUT")
LAYOUT_WORDS = words_of(LAYOUT_NUMBERS, Layout.TURNS)
SPEAKER_STYLE_NUMBERS = numbers_of(SpeakerStyle, context_pb2.SpeakerStyle, "SPEAKER_STYLE")
SPEAKER_STYLE_WORDS = words_of(SPEAKER_STYLE_NUMBERS, None)
TIME_STYLE_WORDS = words_of(numbers_of(TimeStyle, context_pb2.TimeStyle, "TIME_STYLE"), None)
STORED_SYSTEM_ROWS_WORDS = words_of(
    numbers_of(StoredSystemRows, context_pb2.StoredSystemRows, "STORED_SYSTEM_ROWS"), None
)
TOOL_OUTPUTS_WORDS = words_of(
    numbers_of(OutputPolicy, context_pb2.ToolOutputs, "TOOL_OUTPUTS"), None
)
TOKENIZER_NUMBERS: Mapping[TokenizerName, Any] = {
    TokenizerName.O200K: context_pb2.TOKENIZER_O200K_BASE,
    TokenizerName.CHARS_4: context_pb2.TOKENIZER_CHARS_4,
    TokenizerName.BYTES_4: context_pb2.TOKENIZER_BYTES_4,
}
TOKENIZER_WORDS = words_of(TOKENIZER_NUMBERS, TokenizerName.O200K)
PAYLOAD_FORMAT_NUMBERS: Mapping[str, Any] = {
    name: context_pb2.PayloadFormat.Value(f"PAYLOAD_FORMAT_{name.upper()}")
    for name in ("openai_chat", "openai_responses", "anthropic_messages", "gemini_contents")
}
PAYLOAD_FORMAT_WORDS = words_of(PAYLOAD_FORMAT_NUMBERS, "openai_chat")

RESPONSE_PART_WORDS = words_of(
    numbers_of(ResponsePart, context_pb2.ResponsePart, "RESPONSE_PART"), None
)

# --- context: answers ------------------------------------------------------------------------------

SOURCE_NUMBERS: Mapping[str, Any] = {
    name: context_pb2.Source.Value(f"SOURCE_{name.upper()}")
    for name in (
        "recent", "window", "chain", "thread", "graph", "mention", "lexical", "semantic", "asker", "pinned",
        "recall", "sharing", "since",
    )
}  # fmt: skip
"""By name of the strategy; every other name is an operator's own."""
CATEGORY_NUMBERS = numbers_of(Category, context_pb2.Category, "CATEGORY")
FATE_NUMBERS = numbers_of(Fate, context_pb2.Fate, "FATE")
RUNG_NUMBERS = numbers_of(Rung, context_pb2.Rung, "RUNG")
PREFIX_CHANGE_NUMBERS = numbers_of(PrefixChange, context_pb2.PrefixChange, "PREFIX_CHANGE")
VISIBILITY_RULE_NUMBERS = numbers_of(VisibilityRule, context_pb2.VisibilityRule, "VISIBILITY_RULE")
AUTHOR_VISIBILITY_NUMBERS = numbers_of(
    AuthorVisibility, context_pb2.AuthorVisibility, "AUTHOR_VISIBILITY"
)
AUTHOR_VISIBILITY_WORDS = words_of(AUTHOR_VISIBILITY_NUMBERS, None)
SEARCH_SCOPE_WORDS = words_of(
    numbers_of(SearchScope, history_pb2.SearchScope, "SEARCH_SCOPE"), SearchScope.CHANNEL
)

# --- checks ----------------------------------------------------------------------------------------


def invalid(field: str, why: str) -> InvalidRequest:
    """The value of `field` can never be right."""
    return InvalidRequest(f"{field} {why}", field=field)


def missing(field: str) -> InvalidRequest:
    """A required field is unset."""
    return InvalidRequest(f"{field} is required", field=field, reason=Reason.MISSING_FIELD)


def too_large(field: str, limit_bytes: int) -> InvalidRequest:
    """`field` exceeds `limit_bytes`."""
    return InvalidRequest(
        f"{field} exceeds {limit_bytes} bytes",
        field=field,
        reason=Reason.TOO_LARGE,
        metadata={"limit_bytes": str(limit_bytes)},
    )


def batch_too_large(field: str, limit: int, unit: str) -> InvalidRequest:
    """The batch as a whole exceeds `limit`; nothing of it is taken."""
    return InvalidRequest(
        f"{field} holds more than {limit} {unit}",
        field=field,
        reason=Reason.BATCH_TOO_LARGE,
        metadata={f"limit_{unit}": str(limit)},
    )


def text_size(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check_text(text: str, field: str, limit_bytes: int) -> str:
    """Return `text` if it fits and holds no NUL."""
    # A code point takes at most 4 bytes: most texts need no second look.
    if len(text) * 4 > limit_bytes and text_size(text) > limit_bytes:
        raise too_large(field, limit_bytes)
    if "\0" in text:
        raise invalid(field, "holds U+0000")
    return text


def check_id(value: str, field: str) -> str:
    """Return an id that may be empty."""
    return check_text(value, field, MAX_ID_BYTES) if value else value


def required_id(value: str, field: str) -> str:
    """Return an id that must be set."""
    if not value:
        raise missing(field)
    return check_text(value, field, MAX_ID_BYTES)


def check_count(count: int, field: str, limit: int) -> None:
    """Refuse a repeated field with more than `limit` entries."""
    if count > limit:
        raise invalid(field, f"holds more than {limit} entries")


def check_range(value: N, field: str, low: N, high: N) -> N:
    """Return `value` if it lies between `low` and `high`, both included."""
    if not low <= value <= high:
        raise invalid(field, f"is not between {low} and {high}")
    return value


def check_unit(value: int, field: str) -> int:
    """Return a time that can be milliseconds: in another unit it would be thousands of years off, and nobody told."""
    if looks_like_seconds(value):
        raise invalid(field, "looks like seconds; it is milliseconds since the epoch")
    if looks_like_microseconds(value):
        raise invalid(field, "looks like microseconds; it is milliseconds since the epoch")
    return value


def check_time(value: int, field: str) -> int:
    """Return a time in milliseconds that a calendar can show: from 1970 to the year 9999."""
    check_unit(value, field)
    if not 0 <= value <= MAX_TIME_MS:
        raise invalid(field, "is no time between 1970 and the year 9999")
    return value


def enum_value(table: Mapping[int, T], number: int, field: str) -> T:
    """Return what `number` stands for."""
    if number not in table:
        raise invalid(field, "is no value of its enum")
    return table[number]
