from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Preference(_message.Message):
    __slots__ = ("id", "user_id", "channel", "text", "updated_at_ms")
    ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    id: str
    user_id: str
    channel: str
    text: str
    updated_at_ms: int
    def __init__(self, id: _Optional[str] = ..., user_id: _Optional[str] = ..., channel: _Optional[str] = ..., text: _Optional[str] = ..., updated_at_ms: _Optional[int] = ...) -> None: ...

class SetPreferenceRequest(_message.Message):
    __slots__ = ("preference",)
    PREFERENCE_FIELD_NUMBER: _ClassVar[int]
    preference: Preference
    def __init__(self, preference: _Optional[_Union[Preference, _Mapping]] = ...) -> None: ...

class SetPreferenceResponse(_message.Message):
    __slots__ = ("preference",)
    PREFERENCE_FIELD_NUMBER: _ClassVar[int]
    preference: Preference
    def __init__(self, preference: _Optional[_Union[Preference, _Mapping]] = ...) -> None: ...

class ListPreferencesRequest(_message.Message):
    __slots__ = ("user_id", "channel")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    channel: str
    def __init__(self, user_id: _Optional[str] = ..., channel: _Optional[str] = ...) -> None: ...

class ListPreferencesResponse(_message.Message):
    __slots__ = ("preferences",)
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    preferences: _containers.RepeatedCompositeFieldContainer[Preference]
    def __init__(self, preferences: _Optional[_Iterable[_Union[Preference, _Mapping]]] = ...) -> None: ...

class DeletePreferenceRequest(_message.Message):
    __slots__ = ("user_id", "channel", "id")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    channel: str
    id: str
    def __init__(self, user_id: _Optional[str] = ..., channel: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class DeletePreferenceResponse(_message.Message):
    __slots__ = ("deleted_count",)
    DELETED_COUNT_FIELD_NUMBER: _ClassVar[int]
    deleted_count: int
    def __init__(self, deleted_count: _Optional[int] = ...) -> None: ...
