from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PreferenceOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFERENCE_ORIGIN_UNSPECIFIED: _ClassVar[PreferenceOrigin]
    PREFERENCE_ORIGIN_SET: _ClassVar[PreferenceOrigin]
    PREFERENCE_ORIGIN_RULES: _ClassVar[PreferenceOrigin]
    PREFERENCE_ORIGIN_MODEL: _ClassVar[PreferenceOrigin]

class PreferenceStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFERENCE_STATUS_UNSPECIFIED: _ClassVar[PreferenceStatus]
    PREFERENCE_STATUS_CURRENT: _ClassVar[PreferenceStatus]
    PREFERENCE_STATUS_UPCOMING: _ClassVar[PreferenceStatus]
    PREFERENCE_STATUS_PAST: _ClassVar[PreferenceStatus]

class PreferenceTopicType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFERENCE_TOPIC_TYPE_UNSPECIFIED: _ClassVar[PreferenceTopicType]
    PREFERENCE_TOPIC_TYPE_TEXT: _ClassVar[PreferenceTopicType]
    PREFERENCE_TOPIC_TYPE_CHOICE: _ClassVar[PreferenceTopicType]
    PREFERENCE_TOPIC_TYPE_LANGUAGE: _ClassVar[PreferenceTopicType]
    PREFERENCE_TOPIC_TYPE_TIME_ZONE: _ClassVar[PreferenceTopicType]
PREFERENCE_ORIGIN_UNSPECIFIED: PreferenceOrigin
PREFERENCE_ORIGIN_SET: PreferenceOrigin
PREFERENCE_ORIGIN_RULES: PreferenceOrigin
PREFERENCE_ORIGIN_MODEL: PreferenceOrigin
PREFERENCE_STATUS_UNSPECIFIED: PreferenceStatus
PREFERENCE_STATUS_CURRENT: PreferenceStatus
PREFERENCE_STATUS_UPCOMING: PreferenceStatus
PREFERENCE_STATUS_PAST: PreferenceStatus
PREFERENCE_TOPIC_TYPE_UNSPECIFIED: PreferenceTopicType
PREFERENCE_TOPIC_TYPE_TEXT: PreferenceTopicType
PREFERENCE_TOPIC_TYPE_CHOICE: PreferenceTopicType
PREFERENCE_TOPIC_TYPE_LANGUAGE: PreferenceTopicType
PREFERENCE_TOPIC_TYPE_TIME_ZONE: PreferenceTopicType

class Preference(_message.Message):
    __slots__ = ("id", "user_id", "channel", "text", "updated_at_ms", "topic", "value", "valid_from_ms", "valid_until_ms", "origin", "source_message_ids", "status", "superseded_by")
    ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_MS_FIELD_NUMBER: _ClassVar[int]
    VALID_UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SOURCE_MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    id: str
    user_id: str
    channel: str
    text: str
    updated_at_ms: int
    topic: str
    value: str
    valid_from_ms: int
    valid_until_ms: int
    origin: PreferenceOrigin
    source_message_ids: _containers.RepeatedScalarFieldContainer[str]
    status: PreferenceStatus
    superseded_by: str
    def __init__(self, id: _Optional[str] = ..., user_id: _Optional[str] = ..., channel: _Optional[str] = ..., text: _Optional[str] = ..., updated_at_ms: _Optional[int] = ..., topic: _Optional[str] = ..., value: _Optional[str] = ..., valid_from_ms: _Optional[int] = ..., valid_until_ms: _Optional[int] = ..., origin: _Optional[_Union[PreferenceOrigin, str]] = ..., source_message_ids: _Optional[_Iterable[str]] = ..., status: _Optional[_Union[PreferenceStatus, str]] = ..., superseded_by: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("user_id", "channel", "include_past", "topic", "at_ms", "limit", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PAST_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    channel: str
    include_past: bool
    topic: str
    at_ms: int
    limit: int
    page_token: str
    def __init__(self, user_id: _Optional[str] = ..., channel: _Optional[str] = ..., include_past: bool = ..., topic: _Optional[str] = ..., at_ms: _Optional[int] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPreferencesResponse(_message.Message):
    __slots__ = ("preferences", "next_page_token")
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    preferences: _containers.RepeatedCompositeFieldContainer[Preference]
    next_page_token: str
    def __init__(self, preferences: _Optional[_Iterable[_Union[Preference, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeletePreferenceRequest(_message.Message):
    __slots__ = ("user_id", "channel", "id", "all_channels")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ALL_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    channel: str
    id: str
    all_channels: bool
    def __init__(self, user_id: _Optional[str] = ..., channel: _Optional[str] = ..., id: _Optional[str] = ..., all_channels: bool = ...) -> None: ...

class DeletePreferenceResponse(_message.Message):
    __slots__ = ("deleted_count",)
    DELETED_COUNT_FIELD_NUMBER: _ClassVar[int]
    deleted_count: int
    def __init__(self, deleted_count: _Optional[int] = ...) -> None: ...

class PreferenceTopic(_message.Message):
    __slots__ = ("name", "type", "has_many", "words", "opposite", "choices", "always_shown")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    HAS_MANY_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    OPPOSITE_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    ALWAYS_SHOWN_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: PreferenceTopicType
    has_many: bool
    words: _containers.RepeatedScalarFieldContainer[str]
    opposite: str
    choices: _containers.RepeatedScalarFieldContainer[str]
    always_shown: bool
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[PreferenceTopicType, str]] = ..., has_many: bool = ..., words: _Optional[_Iterable[str]] = ..., opposite: _Optional[str] = ..., choices: _Optional[_Iterable[str]] = ..., always_shown: bool = ...) -> None: ...

class ListPreferenceTopicsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPreferenceTopicsResponse(_message.Message):
    __slots__ = ("topics",)
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[PreferenceTopic]
    def __init__(self, topics: _Optional[_Iterable[_Union[PreferenceTopic, _Mapping]]] = ...) -> None: ...
