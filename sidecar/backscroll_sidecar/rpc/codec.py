"""The wire form of a stored message, made once at append and joined into answers from then on."""

from __future__ import annotations

from dataclasses import replace

from backscroll.v1 import history_pb2 as pb
from backscroll_sidecar.domain import Message, MessageState, StoredMessage
from backscroll_sidecar.rpc.enums import MESSAGE_TYPE_NUMBERS
from backscroll_sidecar.rpc.translate_messages import message_to_proto, reply_to_proto
from backscroll_sidecar.rpc.wire import LENGTH, lengthed, tag

_MESSAGE_TAG = tag(pb.StoredMessage, "message", LENGTH)


class WireCodec:
    """A `ports.FragmentCodec`: one message as the bytes an item of an answer carries.

    Vectors stay out: nobody who asks for a context wants them back, and they outweigh the text.
    """

    version = "1"

    def encode(self, stored: StoredMessage) -> bytes:
        """Serialise the current revision as `backscroll.v1.Message`; a recalled one without its content."""
        message = _visible(stored)
        if message.embeddings:
            message = replace(message, embeddings=())
        return message_to_proto(message).SerializeToString()


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
    )
    fragment = message_to_proto(_visible(stored)).SerializeToString()
    return lengthed(_MESSAGE_TAG, fragment) + rest.SerializeToString()


def _visible(stored: StoredMessage) -> Message:
    """The message without what was taken back; the store has it no longer, and this keeps it so."""
    message = stored.message
    if stored.state is MessageState.RECALLED:
        return replace(message, parts=(), mentions=(), embeddings=())
    return message
