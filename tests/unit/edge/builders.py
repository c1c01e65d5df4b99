"""Messages of the contract with every field set, made from its descriptors: a new field is covered as it appears."""

import struct
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

from backscroll.v1 import message_pb2 as pb

SPECIAL = {
    "backscroll.v1.Embedding.values": struct.pack("<2f", 0.5, -1.0),
    "backscroll.v1.Mention.start": 1,
    "backscroll.v1.Mention.end": 3,
    "backscroll.v1.BuildContextRequest.tool_output_chars": 99,
    "backscroll.v1.BuildContextRequest.time_zone": "Asia/Shanghai",
    "backscroll.v1.BuildContextRequest.language": "zh",
    "backscroll.v1.BuildContextRequest.tools_json": '[{"type": "function"}]',
    "backscroll.v1.Overrides.max_chars_per_message": 99,
    "backscroll.v1.Overrides.exploration_slots": 2,
    "backscroll.v1.MediaPart.uri": "https://example.org/cat.png",
    "backscroll.v1.MediaPart.mime": "image/png",
    "backscroll.v1.Overrides.relevance_threshold": 0.5,
    "backscroll.v1.ScoreWeights.reply_chain": 0.5,
    "backscroll.v1.ScoreWeights.user_continuity": 0.5,
    "backscroll.v1.ScoreWeights.time_decay": 0.5,
    "backscroll.v1.ScoreWeights.mention_relation": 0.5,
    "backscroll.v1.ScoreWeights.keyword_overlap": 0.5,
}


def full_field(field: Any) -> Any:
    """A value of a field that is not its default, valid where the contract is strict."""
    if field.full_name in SPECIAL:
        return SPECIAL[field.full_name]
    if field.type == Field.TYPE_MESSAGE:
        return full_message(field.message_type._concrete_class())
    if field.type == Field.TYPE_STRING:
        return f"{field.name}/小黑 \u202e'\""
    if field.type == Field.TYPE_BOOL:
        return True
    if field.type == Field.TYPE_ENUM:
        return field.enum_type.values[-1].number
    if field.type == Field.TYPE_BYTES:
        return b"\x00\x01"
    return 7


def set_field(message: Message, field: Any) -> None:
    """Set one field to something that is not its default."""
    repeated = hasattr(getattr(message, field.name), "__len__") and not isinstance(
        getattr(message, field.name), str | bytes
    )
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        getattr(message, field.name)["name"] = full_field(
            field.message_type.fields_by_name["value"]
        )
    elif repeated:
        getattr(message, field.name).append(full_field(field))
    elif field.type == Field.TYPE_MESSAGE:
        getattr(message, field.name).CopyFrom(full_field(field))
    else:
        setattr(message, field.name, full_field(field))


def full_message(message: Any) -> Any:
    """Set every field of a message; of a oneof the last one wins."""
    for field in message.DESCRIPTOR.fields:
        set_field(message, field)
    return message


def chat_message(**changes: Any) -> pb.Message:
    """A plain message of a chat."""
    fields: dict[str, Any] = {
        "id": "m1",
        "author": pb.Author(id="u1", name="Ann"),
        "parts": [pb.Part(text=pb.TextPart(text="hello"))],
        "sent_at_ms": 1_700_000_000_000,
    }
    return pb.Message(**(fields | changes))
