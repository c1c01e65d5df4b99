from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SignalKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_KIND_UNSPECIFIED: _ClassVar[SignalKind]
    SIGNAL_KIND_FEEDBACK: _ClassVar[SignalKind]
    SIGNAL_KIND_REPHRASED: _ClassVar[SignalKind]
    SIGNAL_KIND_CORRECTED: _ClassVar[SignalKind]
    SIGNAL_KIND_THANKED: _ClassVar[SignalKind]
    SIGNAL_KIND_CITED_LEFT_OUT: _ClassVar[SignalKind]
    SIGNAL_KIND_ANSWERED_BY_OTHER: _ClassVar[SignalKind]
SIGNAL_KIND_UNSPECIFIED: SignalKind
SIGNAL_KIND_FEEDBACK: SignalKind
SIGNAL_KIND_REPHRASED: SignalKind
SIGNAL_KIND_CORRECTED: SignalKind
SIGNAL_KIND_THANKED: SignalKind
SIGNAL_KIND_CITED_LEFT_OUT: SignalKind
SIGNAL_KIND_ANSWERED_BY_OTHER: SignalKind

class Signal(_message.Message):
    __slots__ = ("kind", "user_id", "message_id", "value", "confidence", "rating", "text", "at_ms")
    KIND_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    kind: SignalKind
    user_id: str
    message_id: str
    value: float
    confidence: float
    rating: int
    text: str
    at_ms: int
    def __init__(self, kind: _Optional[_Union[SignalKind, str]] = ..., user_id: _Optional[str] = ..., message_id: _Optional[str] = ..., value: _Optional[float] = ..., confidence: _Optional[float] = ..., rating: _Optional[int] = ..., text: _Optional[str] = ..., at_ms: _Optional[int] = ...) -> None: ...

class RecordFeedbackRequest(_message.Message):
    __slots__ = ("context_id", "channel", "reply_message_id", "user_id", "rating", "success", "text")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    REPLY_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    RATING_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    channel: str
    reply_message_id: str
    user_id: str
    rating: int
    success: float
    text: str
    def __init__(self, context_id: _Optional[str] = ..., channel: _Optional[str] = ..., reply_message_id: _Optional[str] = ..., user_id: _Optional[str] = ..., rating: _Optional[int] = ..., success: _Optional[float] = ..., text: _Optional[str] = ...) -> None: ...

class RecordFeedbackResponse(_message.Message):
    __slots__ = ("context_id", "user_feedback", "success_indicator")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_INDICATOR_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    user_feedback: str
    success_indicator: float
    def __init__(self, context_id: _Optional[str] = ..., user_feedback: _Optional[str] = ..., success_indicator: _Optional[float] = ...) -> None: ...
