"""Every enum of the contract beside its word in the domain; a name that one side lacks fails at import.

``X_NUMBERS`` maps words to the wire, ``X_WORDS`` back. What is unspecified has the default the contract names.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from backscroll.v1 import context_pb2, history_pb2, message_pb2
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

W = TypeVar("W", bound=Enum)
K = TypeVar("K")
D = TypeVar("D")


# `Any`: the stubs give each enum of the wire a type of its own, at run time all are numbers.
def _numbers(words: type[W], enum: EnumTypeWrapper, prefix: str) -> dict[W, Any]:
    return {word: enum.Value(f"{prefix}_{word.name}") for word in words}


def _words(numbers: Mapping[K, Any], unspecified: D) -> dict[int, K | D]:
    return {0: unspecified, **{number: word for word, number in numbers.items()}}


# --- messages --------------------------------------------------------------------------------------

AUTHOR_KIND_NUMBERS = _numbers(AuthorKind, message_pb2.AuthorKind, "AUTHOR_KIND")
AUTHOR_KIND_WORDS = _words(AUTHOR_KIND_NUMBERS, AuthorKind.HUMAN)
ROLE_NUMBERS = _numbers(Role, message_pb2.Role, "ROLE")
ROLE_WORDS = _words(ROLE_NUMBERS, Role.USER)
REPLY_KIND_NUMBERS = _numbers(ReplyKind, message_pb2.ReplyKind, "REPLY_KIND")
REPLY_KIND_WORDS = _words(REPLY_KIND_NUMBERS, ReplyKind.QUOTE)
MESSAGE_TYPE_NUMBERS = _numbers(MessageType, message_pb2.MessageType, "MESSAGE_TYPE")

# --- history ---------------------------------------------------------------------------------------

OUTCOME_NUMBERS = _numbers(AppendOutcome, history_pb2.AppendOutcome, "APPEND_OUTCOME")
WARNING_NUMBERS = _numbers(WarningCode, history_pb2.AppendWarning, "APPEND_WARNING")
REFUSAL_NUMBERS = _numbers(RefusalCode, history_pb2.AppendRefusal, "APPEND_REFUSAL")

# --- context: requests -----------------------------------------------------------------------------

LAYOUT_NUMBERS = _numbers(Layout, context_pb2.Layout, "LAYOUT")
LAYOUT_WORDS = _words(LAYOUT_NUMBERS, Layout.TURNS)
SPEAKER_STYLE_NUMBERS = _numbers(SpeakerStyle, context_pb2.SpeakerStyle, "SPEAKER_STYLE")
SPEAKER_STYLE_WORDS = _words(SPEAKER_STYLE_NUMBERS, None)
TIME_STYLE_WORDS = _words(_numbers(TimeStyle, context_pb2.TimeStyle, "TIME_STYLE"), None)
STORED_SYSTEM_ROWS_WORDS = _words(
    _numbers(StoredSystemRows, context_pb2.StoredSystemRows, "STORED_SYSTEM_ROWS"), None
)
TOKENIZER_NUMBERS: Mapping[TokenizerName, Any] = {
    TokenizerName.O200K: context_pb2.TOKENIZER_O200K_BASE,
    TokenizerName.CHARS_4: context_pb2.TOKENIZER_CHARS_4,
    TokenizerName.BYTES_4: context_pb2.TOKENIZER_BYTES_4,
}
TOKENIZER_WORDS = _words(TOKENIZER_NUMBERS, TokenizerName.O200K)
PAYLOAD_FORMAT_NUMBERS: Mapping[str, Any] = {"openai_chat": context_pb2.PAYLOAD_FORMAT_OPENAI_CHAT}
PAYLOAD_FORMAT_WORDS = _words(PAYLOAD_FORMAT_NUMBERS, "openai_chat")

RESPONSE_PART_WORDS = _words(
    _numbers(ResponsePart, context_pb2.ResponsePart, "RESPONSE_PART"), None
)

# --- context: answers ------------------------------------------------------------------------------

SOURCE_NUMBERS: Mapping[str, Any] = {
    name: context_pb2.Source.Value(f"SOURCE_{name.upper()}")
    for name in (
        "recent", "window", "chain", "thread", "graph", "mention", "lexical", "semantic", "asker", "pinned",
        "recall",
    )
}  # fmt: skip
"""By name of the strategy; every other name is an operator's own."""
CATEGORY_NUMBERS = _numbers(Category, context_pb2.Category, "CATEGORY")
FATE_NUMBERS = _numbers(Fate, context_pb2.Fate, "FATE")
RUNG_NUMBERS = _numbers(Rung, context_pb2.Rung, "RUNG")
SEARCH_SCOPE_WORDS = _words(
    _numbers(SearchScope, history_pb2.SearchScope, "SEARCH_SCOPE"), SearchScope.CHANNEL
)
