"""Messages between protobuf and domain, both ways.

What a batch may hold is judged by `history/`, item by item; here only what the domain has no value for is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.domain import (
    MAX_AUDIENCE,
    Author,
    Embedding,
    MediaPart,
    Mention,
    Message,
    Part,
    ProviderStatePart,
    Reply,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.edge.convert.fields import (
    AUTHOR_KIND_NUMBERS,
    AUTHOR_KIND_WORDS,
    REPLY_KIND_NUMBERS,
    REPLY_KIND_WORDS,
    ROLE_NUMBERS,
    ROLE_WORDS,
    check_id,
    check_text,
    enum_value,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.edge.limits import (
    MAX_DIMENSIONS,
    MAX_EMBEDDINGS,
    MAX_MENTIONS,
    MAX_NAME_BYTES,
    MAX_PARTS,
)
from backscroll_sidecar.errors import InvalidRequest, Reason

KNOWN_PEOPLE, KNOWN_CHARS = 4_096, 256
"""Authors that are kept, and the longest id and name together: the same people write again and again."""

# --- from the wire ---------------------------------------------------------------------------------


def message_from_proto(message: pb.Message, channel: str) -> Message:
    """Translate a message of a batch; `channel` is the one it belongs to unless it names one.

    Raises
    ------
    InvalidRequest
        For an enum that holds an unknown number; with TOO_LARGE for more parts, mentions or vectors than have a
        meaning: going through them would hold everybody else up. For nothing else.
    """
    parts, mentions, embeddings = message.parts, message.mentions, message.embeddings
    if (
        len(parts) > MAX_PARTS
        or len(mentions) > MAX_MENTIONS
        or len(embeddings) > MAX_EMBEDDINGS
        or len(message.audience) > MAX_AUDIENCE
    ):
        raise _crowded(message)
    number = message.role
    role = Role.USER if not number else enum_value(ROLE_WORDS, number, "role")
    content: tuple[Part, ...]
    # Asking for a text that is not set costs less than asking which part is set.
    if len(parts) == 1 and (text := parts[0].text.text):
        content = (TextPart(text),)
    else:
        content = parts_from_proto(parts)
        if not number and ToolResultPart in map(type, content):
            role = Role.TOOL
    return Message(
        message.id,
        message.channel or channel,
        author_from_proto(message.author),
        content,
        message.sent_at_ms,
        role,
        message.thread_id,
        message.session_id,
        reply_from_proto(message.reply) if message.HasField("reply") else None,
        mentions_from_proto(mentions) if mentions else (),
        tuple(map(_lenient_embedding, embeddings)) if embeddings else (),
        message.dedupe_key,
        message.partial,
        tuple(message.audience) if message.audience else (),
    )


def _crowded(message: pb.Message) -> InvalidRequest:
    bounds = {
        "parts": MAX_PARTS,
        "mentions": MAX_MENTIONS,
        "embeddings": MAX_EMBEDDINGS,
        "audience": MAX_AUDIENCE,
    }
    field = next(name for name, most in bounds.items() if len(getattr(message, name)) > most)
    return InvalidRequest(
        f"{field} holds more than {bounds[field]} entries", field=field, reason=Reason.TOO_LARGE
    )


def author_from_proto(author: pb.Author) -> Author:
    """Translate an author, unchecked but for its kind."""
    user_id, name = author.id, author.name
    if len(user_id) + len(name) <= KNOWN_CHARS:
        return _known_author(user_id, name, author.kind)
    return _known_author.__wrapped__(user_id, name, author.kind)


@lru_cache(maxsize=KNOWN_PEOPLE)
def _known_author(user_id: str, name: str, kind: int) -> Author:
    return Author(user_id, name, enum_value(AUTHOR_KIND_WORDS, kind, "author.kind"))


def reply_from_proto(reply: pb.Reply) -> Reply:
    """Translate an edge, unchecked but for its kind."""
    kind = enum_value(REPLY_KIND_WORDS, reply.kind, "reply.kind")
    return Reply(reply.message_id, kind, reply.inferred, reply.user_id)


def mentions_from_proto(mentions: Iterable[pb.Mention]) -> tuple[Mention, ...]:
    """Translate mentions, unchecked."""
    return tuple([Mention(m.user_id, m.name, m.start, m.end) for m in mentions])


def parts_from_proto(parts: Sequence[pb.Part]) -> tuple[Part, ...]:
    """Translate parts, unchecked; a part with no content is left out."""
    # By index: protobuf ends an iteration with an IndexError, which costs more than a part.
    found = [_part(parts[i]) for i in range(len(parts))]
    return tuple([part for part in found if part is not None])


def _part(part: pb.Part) -> Part | None:
    match part.WhichOneof("content"):
        case "text":
            return TextPart(part.text.text)
        case "media":
            media = part.media
            return MediaPart(media.kind or "media", media.uri, media.alt_text, media.mime)
        case "tool_call":
            call = part.tool_call
            return ToolCallPart(call.id, call.name, call.arguments_json or "{}")
        case "tool_result":
            result = part.tool_result
            return ToolResultPart(result.call_id, result.name, result.text, result.is_error)
        case "provider_state":
            state = part.provider_state
            return ProviderStatePart(state.provider, state.api, state.model, state.kind, state.data)
    return None


def _lenient_embedding(embedding: pb.Embedding) -> Embedding:
    """Translate a vector of a batch; one of odd length has no floats and is refused as empty."""
    size = len(embedding.values)
    if size % 4 or size > 4 * MAX_DIMENSIONS:
        return Embedding(embedding.embedder_id, ())
    return Embedding(embedding.embedder_id, struct.unpack(f"<{size // 4}f", embedding.values))


# --- from the wire, checked: what a build or an edit says --------------------------------------------


def checked_author(author: pb.Author, field: str) -> Author:
    """Translate an author whose id must be set."""
    user_id, name, kind = author.id, author.name, author.kind
    make = _known_checked if len(user_id) + len(name) <= KNOWN_CHARS else _known_checked.__wrapped__
    return make(user_id, name, kind, field)


@lru_cache(maxsize=KNOWN_PEOPLE)
def _known_checked(user_id: str, name: str, kind: int, field: str) -> Author:
    required_id(user_id, f"{field}.id")
    check_text(name, f"{field}.name", MAX_NAME_BYTES)
    return Author(user_id, name, enum_value(AUTHOR_KIND_WORDS, kind, f"{field}.kind"))


def checked_reply(reply: pb.Reply) -> Reply:
    """Translate an edge whose message id must be set."""
    required_id(reply.message_id, "reply.message_id")
    check_id(reply.user_id, "reply.user_id")
    return reply_from_proto(reply)


def checked_mentions(mentions: Iterable[pb.Mention]) -> tuple[Mention, ...]:
    """Translate mentions whose user ids must be set."""
    for i, mention in enumerate(mentions):
        required_id(mention.user_id, f"mentions[{i}].user_id")
        check_text(mention.name, f"mentions[{i}].name", MAX_NAME_BYTES)
        if mention.end < mention.start:
            raise invalid(f"mentions[{i}].end", "lies before the start")
    return mentions_from_proto(mentions)


def checked_embedding(embedding: pb.Embedding, field: str) -> Embedding:
    """Translate a vector that can be compared: finite, not zero, of a named model."""
    if not embedding.embedder_id:
        raise missing(f"{field}.embedder_id")
    check_id(embedding.embedder_id, f"{field}.embedder_id")
    size = len(values := embedding.values)
    if not size or size % 4:
        raise invalid(f"{field}.values", "is no sequence of 4-byte floats")
    if size > 4 * MAX_DIMENSIONS:
        raise invalid(f"{field}.values", f"has more than {MAX_DIMENSIONS} dimensions")
    wide = np.frombuffer(values, np.float32).astype(np.float64)
    # 0 for the zero vector, inf or NaN as soon as one value is; no square is too large or too small for 64 bits.
    if not 0 < wide.dot(wide) < math.inf:
        raise invalid(f"{field}.values", "is zero or not finite")
    # Numbers are made of it where they are needed.
    return Embedding(embedding.embedder_id, memoryview(values).cast("f"))


# --- to the wire -----------------------------------------------------------------------------------


def message_to_proto(message: Message) -> pb.Message:
    """Translate a message; what is not set stays unset."""
    out = pb.Message(
        id=message.id,
        channel=message.channel,
        author=pb.Author(
            id=message.author.id,
            name=message.author.name,
            kind=AUTHOR_KIND_NUMBERS[message.author.kind],
        ),
        role=ROLE_NUMBERS[message.role],
        parts=map(part_to_proto, message.parts),
        sent_at_ms=message.sent_at_ms,
        partial=message.is_partial,
    )
    if message.thread_id:
        out.thread_id = message.thread_id
    if message.session_id:
        out.session_id = message.session_id
    if message.reply is not None:
        out.reply.CopyFrom(reply_to_proto(message.reply))
    if message.mentions:
        out.mentions.extend(
            pb.Mention(user_id=m.user_id, name=m.name, start=m.start, end=m.end)
            for m in message.mentions
        )
    if message.embeddings:
        out.embeddings.extend(map(_embedding_to_proto, message.embeddings))
    if message.dedupe_key:
        out.dedupe_key = message.dedupe_key
    if message.audience:
        out.audience.extend(message.audience)
    return out


def reply_to_proto(reply: Reply) -> pb.Reply:
    """Translate an edge."""
    return pb.Reply(
        message_id=reply.message_id,
        kind=REPLY_KIND_NUMBERS[reply.kind],
        inferred=reply.inferred,
        user_id=reply.user_id,
    )


def part_to_proto(part: Part) -> pb.Part:
    """Translate one part."""
    match part:
        case TextPart():
            return pb.Part(text=pb.TextPart(text=part.text))
        case MediaPart():
            media = pb.MediaPart(
                kind=part.kind, uri=part.uri, alt_text=part.alt_text, mime=part.mime
            )
            return pb.Part(media=media)
        case ToolCallPart():
            return pb.Part(tool_call=tool_call_to_proto(part))
        case ToolResultPart():
            result = pb.ToolResultPart(
                call_id=part.call_id, name=part.name, text=part.text, is_error=part.is_error
            )
            return pb.Part(tool_result=result)
        case ProviderStatePart():
            state = pb.ProviderStatePart(
                provider=part.provider,
                api=part.api,
                model=part.model,
                kind=part.kind,
                data=part.data,
            )
            return pb.Part(provider_state=state)


def tool_call_to_proto(call: ToolCallPart) -> pb.ToolCallPart:
    """Translate a call of a tool."""
    return pb.ToolCallPart(id=call.id, name=call.name, arguments_json=call.arguments_json)


def _embedding_to_proto(embedding: Embedding) -> pb.Embedding:
    values = struct.pack(f"<{len(embedding.values)}f", *embedding.values)
    return pb.Embedding(embedder_id=embedding.embedder_id, values=values)
