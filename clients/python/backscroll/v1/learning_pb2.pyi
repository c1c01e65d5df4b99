from backscroll.v1 import admin_pb2 as _admin_pb2
from backscroll.v1 import context_pb2 as _context_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TopicLabel(_message.Message):
    __slots__ = ("message_id", "label", "set_by", "set_at_ms")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    SET_AT_MS_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    label: str
    set_by: str
    set_at_ms: int
    def __init__(self, message_id: _Optional[str] = ..., label: _Optional[str] = ..., set_by: _Optional[str] = ..., set_at_ms: _Optional[int] = ...) -> None: ...

class SetTopicLabelsRequest(_message.Message):
    __slots__ = ("channel", "label", "message_ids", "set_by")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    channel: str
    label: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    set_by: str
    def __init__(self, channel: _Optional[str] = ..., label: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ..., set_by: _Optional[str] = ...) -> None: ...

class SetTopicLabelsResponse(_message.Message):
    __slots__ = ("labels",)
    LABELS_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedCompositeFieldContainer[TopicLabel]
    def __init__(self, labels: _Optional[_Iterable[_Union[TopicLabel, _Mapping]]] = ...) -> None: ...

class ListTopicLabelsRequest(_message.Message):
    __slots__ = ("channel", "label", "limit", "page_token")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    label: str
    limit: int
    page_token: str
    def __init__(self, channel: _Optional[str] = ..., label: _Optional[str] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTopicLabelsResponse(_message.Message):
    __slots__ = ("labels", "next_page_token")
    LABELS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    labels: _containers.RepeatedCompositeFieldContainer[TopicLabel]
    next_page_token: str
    def __init__(self, labels: _Optional[_Iterable[_Union[TopicLabel, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteTopicLabelsRequest(_message.Message):
    __slots__ = ("channel", "label", "message_ids")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    label: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel: _Optional[str] = ..., label: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteTopicLabelsResponse(_message.Message):
    __slots__ = ("deleted_count",)
    DELETED_COUNT_FIELD_NUMBER: _ClassVar[int]
    deleted_count: int
    def __init__(self, deleted_count: _Optional[int] = ...) -> None: ...

class SetUsageConsentRequest(_message.Message):
    __slots__ = ("user_id", "collect_usage")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    COLLECT_USAGE_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    collect_usage: bool
    def __init__(self, user_id: _Optional[str] = ..., collect_usage: bool = ...) -> None: ...

class SetUsageConsentResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetUsageConsentRequest(_message.Message):
    __slots__ = ("user_id",)
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    def __init__(self, user_id: _Optional[str] = ...) -> None: ...

class GetUsageConsentResponse(_message.Message):
    __slots__ = ("collect_usage",)
    COLLECT_USAGE_FIELD_NUMBER: _ClassVar[int]
    collect_usage: bool
    def __init__(self, collect_usage: bool = ...) -> None: ...

class ExportUsageRecordsRequest(_message.Message):
    __slots__ = ("channel", "user_id", "since_ms", "until_ms", "with_texts")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    WITH_TEXTS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    user_id: str
    since_ms: int
    until_ms: int
    with_texts: bool
    def __init__(self, channel: _Optional[str] = ..., user_id: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., with_texts: bool = ...) -> None: ...

class ExportedUsage(_message.Message):
    __slots__ = ("version", "record", "messages")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    version: int
    record: _admin_pb2.UsageRecord
    messages: _containers.RepeatedCompositeFieldContainer[ExportedMessage]
    def __init__(self, version: _Optional[int] = ..., record: _Optional[_Union[_admin_pb2.UsageRecord, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[ExportedMessage, _Mapping]]] = ...) -> None: ...

class ExportedMessage(_message.Message):
    __slots__ = ("message_id", "channel", "topic_labels", "text")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TOPIC_LABELS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    channel: str
    topic_labels: _containers.RepeatedScalarFieldContainer[str]
    text: str
    def __init__(self, message_id: _Optional[str] = ..., channel: _Optional[str] = ..., topic_labels: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ...) -> None: ...

class ExportSummary(_message.Message):
    __slots__ = ("build_count", "left_out_by_channel", "left_out_by_user", "left_out_message_count")
    BUILD_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_BY_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_BY_USER_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    build_count: int
    left_out_by_channel: int
    left_out_by_user: int
    left_out_message_count: int
    def __init__(self, build_count: _Optional[int] = ..., left_out_by_channel: _Optional[int] = ..., left_out_by_user: _Optional[int] = ..., left_out_message_count: _Optional[int] = ...) -> None: ...

class ExportUsageRecordsResponse(_message.Message):
    __slots__ = ("builds", "summary")
    BUILDS_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    builds: _containers.RepeatedCompositeFieldContainer[ExportedUsage]
    summary: ExportSummary
    def __init__(self, builds: _Optional[_Iterable[_Union[ExportedUsage, _Mapping]]] = ..., summary: _Optional[_Union[ExportSummary, _Mapping]] = ...) -> None: ...

class ReplayBuildsRequest(_message.Message):
    __slots__ = ("channel", "context_id", "since_ms", "until_ms", "profile", "overrides", "layout", "token_budget")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    channel: str
    context_id: str
    since_ms: int
    until_ms: int
    profile: str
    overrides: _context_pb2.Overrides
    layout: _context_pb2.Layout
    token_budget: int
    def __init__(self, channel: _Optional[str] = ..., context_id: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., profile: _Optional[str] = ..., overrides: _Optional[_Union[_context_pb2.Overrides, _Mapping]] = ..., layout: _Optional[_Union[_context_pb2.Layout, str]] = ..., token_budget: _Optional[int] = ...) -> None: ...

class ReplayedLine(_message.Message):
    __slots__ = ("message_id", "channel", "score_before", "score_after", "fate_before", "fate_after")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SCORE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    SCORE_AFTER_FIELD_NUMBER: _ClassVar[int]
    FATE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    FATE_AFTER_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    channel: str
    score_before: float
    score_after: float
    fate_before: _context_pb2.Fate
    fate_after: _context_pb2.Fate
    def __init__(self, message_id: _Optional[str] = ..., channel: _Optional[str] = ..., score_before: _Optional[float] = ..., score_after: _Optional[float] = ..., fate_before: _Optional[_Union[_context_pb2.Fate, str]] = ..., fate_after: _Optional[_Union[_context_pb2.Fate, str]] = ...) -> None: ...

class ReplayedBuild(_message.Message):
    __slots__ = ("context_id", "trigger_message_id", "created_at_ms", "left_out", "policy_before", "policy_after", "came", "went", "kept_count", "tokens_before", "tokens_after", "erased_count", "recalled_count", "edited_count", "not_kept")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    POLICY_BEFORE_FIELD_NUMBER: _ClassVar[int]
    POLICY_AFTER_FIELD_NUMBER: _ClassVar[int]
    CAME_FIELD_NUMBER: _ClassVar[int]
    WENT_FIELD_NUMBER: _ClassVar[int]
    KEPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    ERASED_COUNT_FIELD_NUMBER: _ClassVar[int]
    RECALLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    EDITED_COUNT_FIELD_NUMBER: _ClassVar[int]
    NOT_KEPT_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    trigger_message_id: str
    created_at_ms: int
    left_out: str
    policy_before: str
    policy_after: str
    came: _containers.RepeatedCompositeFieldContainer[ReplayedLine]
    went: _containers.RepeatedCompositeFieldContainer[ReplayedLine]
    kept_count: int
    tokens_before: int
    tokens_after: int
    erased_count: int
    recalled_count: int
    edited_count: int
    not_kept: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, context_id: _Optional[str] = ..., trigger_message_id: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., left_out: _Optional[str] = ..., policy_before: _Optional[str] = ..., policy_after: _Optional[str] = ..., came: _Optional[_Iterable[_Union[ReplayedLine, _Mapping]]] = ..., went: _Optional[_Iterable[_Union[ReplayedLine, _Mapping]]] = ..., kept_count: _Optional[int] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., erased_count: _Optional[int] = ..., recalled_count: _Optional[int] = ..., edited_count: _Optional[int] = ..., not_kept: _Optional[_Iterable[str]] = ...) -> None: ...

class ReplaySummary(_message.Message):
    __slots__ = ("replayed_count", "same_count", "came_count", "went_count", "kept_count", "tokens_before", "tokens_after", "left_out_count")
    class LeftOutCountEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    REPLAYED_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAME_COUNT_FIELD_NUMBER: _ClassVar[int]
    CAME_COUNT_FIELD_NUMBER: _ClassVar[int]
    WENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    KEPT_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    replayed_count: int
    same_count: int
    came_count: int
    went_count: int
    kept_count: int
    tokens_before: int
    tokens_after: int
    left_out_count: _containers.ScalarMap[str, int]
    def __init__(self, replayed_count: _Optional[int] = ..., same_count: _Optional[int] = ..., came_count: _Optional[int] = ..., went_count: _Optional[int] = ..., kept_count: _Optional[int] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., left_out_count: _Optional[_Mapping[str, int]] = ...) -> None: ...

class ReplayBuildsResponse(_message.Message):
    __slots__ = ("build", "summary")
    BUILD_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    build: ReplayedBuild
    summary: ReplaySummary
    def __init__(self, build: _Optional[_Union[ReplayedBuild, _Mapping]] = ..., summary: _Optional[_Union[ReplaySummary, _Mapping]] = ...) -> None: ...
