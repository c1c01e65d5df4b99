from backscroll.v1 import context_pb2 as _context_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListEventsRequest(_message.Message):
    __slots__ = ("channel", "context_id", "types", "limit", "newest_first", "page_token")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    context_id: str
    types: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    newest_first: bool
    page_token: str
    def __init__(self, channel: _Optional[str] = ..., context_id: _Optional[str] = ..., types: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ..., newest_first: bool = ..., page_token: _Optional[str] = ...) -> None: ...

class RecordedEvent(_message.Message):
    __slots__ = ("event", "context_id", "message_id")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    event: _context_pb2.Event
    context_id: str
    message_id: str
    def __init__(self, event: _Optional[_Union[_context_pb2.Event, _Mapping]] = ..., context_id: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[RecordedEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[RecordedEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
