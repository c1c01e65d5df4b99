from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuthorKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTHOR_KIND_UNSPECIFIED: _ClassVar[AuthorKind]
    AUTHOR_KIND_HUMAN: _ClassVar[AuthorKind]
    AUTHOR_KIND_BOT: _ClassVar[AuthorKind]
    AUTHOR_KIND_SYSTEM: _ClassVar[AuthorKind]

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]

class ReplyKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLY_KIND_UNSPECIFIED: _ClassVar[ReplyKind]
    REPLY_KIND_QUOTE: _ClassVar[ReplyKind]
    REPLY_KIND_MENTION: _ClassVar[ReplyKind]
    REPLY_KIND_THREAD: _ClassVar[ReplyKind]

class MessageType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_TYPE_UNSPECIFIED: _ClassVar[MessageType]
    MESSAGE_TYPE_QUESTION: _ClassVar[MessageType]
    MESSAGE_TYPE_ANSWER: _ClassVar[MessageType]
    MESSAGE_TYPE_DISCUSSION: _ClassVar[MessageType]
    MESSAGE_TYPE_NOTIFICATION: _ClassVar[MessageType]
    MESSAGE_TYPE_CASUAL: _ClassVar[MessageType]
AUTHOR_KIND_UNSPECIFIED: AuthorKind
AUTHOR_KIND_HUMAN: AuthorKind
AUTHOR_KIND_BOT: AuthorKind
AUTHOR_KIND_SYSTEM: AuthorKind
ROLE_UNSPECIFIED: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_SYSTEM: Role
ROLE_TOOL: Role
REPLY_KIND_UNSPECIFIED: ReplyKind
REPLY_KIND_QUOTE: ReplyKind
REPLY_KIND_MENTION: ReplyKind
REPLY_KIND_THREAD: ReplyKind
MESSAGE_TYPE_UNSPECIFIED: MessageType
MESSAGE_TYPE_QUESTION: MessageType
MESSAGE_TYPE_ANSWER: MessageType
MESSAGE_TYPE_DISCUSSION: MessageType
MESSAGE_TYPE_NOTIFICATION: MessageType
MESSAGE_TYPE_CASUAL: MessageType

class Author(_message.Message):
    __slots__ = ("id", "name", "kind")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    kind: AuthorKind
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., kind: _Optional[_Union[AuthorKind, str]] = ...) -> None: ...

class TextPart(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class MediaPart(_message.Message):
    __slots__ = ("kind", "uri", "alt_text", "mime")
    KIND_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    ALT_TEXT_FIELD_NUMBER: _ClassVar[int]
    MIME_FIELD_NUMBER: _ClassVar[int]
    kind: str
    uri: str
    alt_text: str
    mime: str
    def __init__(self, kind: _Optional[str] = ..., uri: _Optional[str] = ..., alt_text: _Optional[str] = ..., mime: _Optional[str] = ...) -> None: ...

class ToolCallPart(_message.Message):
    __slots__ = ("id", "name", "arguments_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ToolResultPart(_message.Message):
    __slots__ = ("call_id", "name", "text", "is_error")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    text: str
    is_error: bool
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., text: _Optional[str] = ..., is_error: bool = ...) -> None: ...

class ProviderStatePart(_message.Message):
    __slots__ = ("provider", "api", "model", "kind", "data")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    API_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    provider: str
    api: str
    model: str
    kind: str
    data: bytes
    def __init__(self, provider: _Optional[str] = ..., api: _Optional[str] = ..., model: _Optional[str] = ..., kind: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("text", "media", "tool_call", "tool_result", "provider_state")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_STATE_FIELD_NUMBER: _ClassVar[int]
    text: TextPart
    media: MediaPart
    tool_call: ToolCallPart
    tool_result: ToolResultPart
    provider_state: ProviderStatePart
    def __init__(self, text: _Optional[_Union[TextPart, _Mapping]] = ..., media: _Optional[_Union[MediaPart, _Mapping]] = ..., tool_call: _Optional[_Union[ToolCallPart, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResultPart, _Mapping]] = ..., provider_state: _Optional[_Union[ProviderStatePart, _Mapping]] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("message_id", "kind", "inferred", "user_id")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    INFERRED_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    kind: ReplyKind
    inferred: bool
    user_id: str
    def __init__(self, message_id: _Optional[str] = ..., kind: _Optional[_Union[ReplyKind, str]] = ..., inferred: bool = ..., user_id: _Optional[str] = ...) -> None: ...

class Mention(_message.Message):
    __slots__ = ("user_id", "name", "start", "end")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    name: str
    start: int
    end: int
    def __init__(self, user_id: _Optional[str] = ..., name: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("embedder_id", "values")
    EMBEDDER_ID_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    embedder_id: str
    values: bytes
    def __init__(self, embedder_id: _Optional[str] = ..., values: _Optional[bytes] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("id", "channel", "thread_id", "session_id", "author", "role", "parts", "sent_at_ms", "reply", "mentions", "embeddings", "dedupe_key", "partial", "rank_time_ms", "alias_ids", "recalled", "audience")
    ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    DEDUPE_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    RANK_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    ALIAS_IDS_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    AUDIENCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    channel: str
    thread_id: str
    session_id: str
    author: Author
    role: Role
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    sent_at_ms: int
    reply: Reply
    mentions: _containers.RepeatedCompositeFieldContainer[Mention]
    embeddings: _containers.RepeatedCompositeFieldContainer[Embedding]
    dedupe_key: str
    partial: bool
    rank_time_ms: int
    alias_ids: _containers.RepeatedScalarFieldContainer[str]
    recalled: bool
    audience: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., channel: _Optional[str] = ..., thread_id: _Optional[str] = ..., session_id: _Optional[str] = ..., author: _Optional[_Union[Author, _Mapping]] = ..., role: _Optional[_Union[Role, str]] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., sent_at_ms: _Optional[int] = ..., reply: _Optional[_Union[Reply, _Mapping]] = ..., mentions: _Optional[_Iterable[_Union[Mention, _Mapping]]] = ..., embeddings: _Optional[_Iterable[_Union[Embedding, _Mapping]]] = ..., dedupe_key: _Optional[str] = ..., partial: bool = ..., rank_time_ms: _Optional[int] = ..., alias_ids: _Optional[_Iterable[str]] = ..., recalled: bool = ..., audience: _Optional[_Iterable[str]] = ...) -> None: ...
