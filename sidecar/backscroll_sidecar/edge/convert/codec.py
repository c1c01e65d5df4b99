"""The wire form of a stored message, made once at append and joined into answers from then on."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from backscroll.v1 import history_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    Mention,
    Message,
    MessageState,
    Part,
    Reply,
    ReplyKind,
    Role,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.edge.convert.fields import MESSAGE_TYPE_NUMBERS
from backscroll_sidecar.edge.convert.messages import (
    mentions_from_proto,
    message_to_proto,
    parts_from_proto,
    reply_to_proto,
)
from backscroll_sidecar.edge.convert.wire import LENGTH, VARINT, lengthed, tag, varint

KEPT_SPEAKERS = 1_024
"""Who spoke where, encoded: the people of a few rooms."""

_MESSAGE_TAG = tag(pb.StoredMessage, "message", LENGTH)
_ID = tag(message_pb2.Message, "id", LENGTH)
_PARTS = tag(message_pb2.Message, "parts", LENGTH)
_TEXT_PART = tag(message_pb2.Part, "text", LENGTH)
_TEXT = tag(message_pb2.TextPart, "text", LENGTH)
_SENT_AT = tag(message_pb2.Message, "sent_at_ms", VARINT)
_REPLY_TO = tag(message_pb2.Reply, "message_id", LENGTH)
_REPLY_USER = tag(message_pb2.Reply, "user_id", LENGTH)
_REPLY = tag(message_pb2.Message, "reply", LENGTH)


class WireCodec:
    """A `ports.FragmentCodec`: one message as the bytes an item of an answer carries.

    Vectors stay out: nobody who asks for a context wants them back, and they outweigh the text.
    """

    version = "1"

    def encode(self, stored: StoredMessage) -> bytes:
        """Serialise the current revision as `backscroll.v1.Message`; a recalled one without its content."""
        message = _visible(stored)
        if text := _only_text(message):
            return _plain(message, text)
        if message.embeddings:
            message = replace(message, embeddings=())
        return message_to_proto(message).SerializeToString()

    def parts(self, fragment: bytes) -> tuple[Part, ...]:
        """The parts of the message whose wire form this is."""
        return parts_from_proto(message_pb2.Message.FromString(fragment).parts)

    def mentions(self, fragment: bytes) -> tuple[Mention, ...]:
        """The people the message marks as mentioned."""
        return mentions_from_proto(message_pb2.Message.FromString(fragment).mentions)

    def sent_at_ms(self, fragment: bytes) -> int:
        """When the message was sent, as its sender says."""
        return message_pb2.Message.FromString(fragment).sent_at_ms

    def answering(self, fragment: bytes, user_id: str) -> bytes:
        """The same, its edge naming whom it answers; without an edge of the sender's as it is."""
        message = message_pb2.Message.FromString(fragment)
        if not message.HasField("reply") or message.reply.user_id == user_id:
            return fragment
        message.reply.user_id = user_id
        return message.SerializeToString()


def _only_text(message: Message) -> str:
    """The text of a message that has nothing beside it but a reply, as nearly all; empty for others."""
    more = message.mentions or message.dedupe_key or message.is_partial or message.audience
    if more or len(message.parts) != 1 or message.sent_at_ms <= 0 or not message.id:
        return ""
    if message.reply is not None and not message.reply.message_id:
        return ""
    (part,) = message.parts
    return part.text if isinstance(part, TextPart) else ""


def _plain(message: Message, text: str) -> bytes:
    """What `message_to_proto` serialises to, field by field: a third of the time."""
    message_id, said = message.id.encode(), lengthed(_TEXT, text.encode())
    author = message.author
    speaker = _speaker(
        message.channel, message.thread_id, message.session_id, message.role,
        author.id, author.name, author.kind,
    )  # fmt: skip
    fields = (
        _ID, varint(len(message_id)), message_id, speaker,
        lengthed(_PARTS, lengthed(_TEXT_PART, said)), _SENT_AT, varint(message.sent_at_ms),
    )  # fmt: skip
    if message.reply is None:
        return b"".join(fields)
    reply = message.reply
    edge = lengthed(_REPLY_TO, reply.message_id.encode()) + _edge(reply.kind, reply.inferred)
    if reply.user_id:
        edge += lengthed(_REPLY_USER, reply.user_id.encode())
    return b"".join((*fields, lengthed(_REPLY, edge)))


@lru_cache
def _edge(kind: ReplyKind, inferred: bool) -> bytes:
    """What follows the id in a reply."""
    return reply_to_proto(Reply("", kind, inferred)).SerializeToString()


@lru_cache(maxsize=KEPT_SPEAKERS)
def _speaker(
    channel: str,
    thread_id: str,
    session_id: str,
    role: Role,
    user_id: str,
    name: str,
    kind: AuthorKind,
) -> bytes:
    """The fields between the id and the parts."""
    author = Author(user_id, name, kind)
    said = Message(
        "", channel, author, (), 0, role=role, thread_id=thread_id, session_id=session_id
    )
    return message_to_proto(said).SerializeToString()


def encode_stored(stored: StoredMessage) -> bytes:
    """Serialise a row as `backscroll.v1.StoredMessage`, vectors included."""
    analysis = stored.analysis
    rest = pb.StoredMessage(
        sequence=stored.seq,
        revision=stored.revision,
        recalled=stored.state is MessageState.RECALLED,
        message_type=MESSAGE_TYPE_NUMBERS[analysis.message_type],
        keywords=analysis.keywords,
        mentioned_user_ids=analysis.mention_ids,
        reply=None if analysis.reply is None else reply_to_proto(analysis.reply),
        token_count=analysis.token_count,
        partial=stored.state is MessageState.PARTIAL,
        rank_time_ms=stored.rank_time_ms,
        alias_ids=stored.alias_ids,
    )
    fragment = message_to_proto(_visible(stored)).SerializeToString()
    return lengthed(_MESSAGE_TAG, fragment) + rest.SerializeToString()


def _visible(stored: StoredMessage) -> Message:
    """The message without what was taken back; the store has it no longer, and this keeps it so."""
    message = stored.message
    if stored.state is MessageState.RECALLED:
        return replace(message, parts=(), mentions=(), embeddings=())
    return message
