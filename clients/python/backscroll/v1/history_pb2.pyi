from backscroll.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AppendOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPEND_OUTCOME_UNSPECIFIED: _ClassVar[AppendOutcome]
    APPEND_OUTCOME_STORED: _ClassVar[AppendOutcome]
    APPEND_OUTCOME_DUPLICATE: _ClassVar[AppendOutcome]
    APPEND_OUTCOME_CONFLICT: _ClassVar[AppendOutcome]
    APPEND_OUTCOME_GONE: _ClassVar[AppendOutcome]
    APPEND_OUTCOME_REFUSED: _ClassVar[AppendOutcome]

class AppendWarning(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPEND_WARNING_UNSPECIFIED: _ClassVar[AppendWarning]
    APPEND_WARNING_REPLY_TO_SELF: _ClassVar[AppendWarning]
    APPEND_WARNING_REPLY_CYCLE: _ClassVar[AppendWarning]
    APPEND_WARNING_REPLY_PARENT_UNKNOWN: _ClassVar[AppendWarning]
    APPEND_WARNING_REPLY_PARENT_IN_OTHER_CHANNEL: _ClassVar[AppendWarning]
    APPEND_WARNING_TIME_ZERO: _ClassVar[AppendWarning]
    APPEND_WARNING_TIME_IN_FUTURE: _ClassVar[AppendWarning]
    APPEND_WARNING_METADATA_DIFFERS: _ClassVar[AppendWarning]
    APPEND_WARNING_DEDUPE_KEY_SEEN: _ClassVar[AppendWarning]
    APPEND_WARNING_TEXT_SANITISED: _ClassVar[AppendWarning]
    APPEND_WARNING_TIME_LOOKS_LIKE_SECONDS: _ClassVar[AppendWarning]
    APPEND_WARNING_OWN_REPLY_SEEN: _ClassVar[AppendWarning]

class AppendRefusal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPEND_REFUSAL_UNSPECIFIED: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_MISSING_ID: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_MISSING_AUTHOR: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_BAD_UTF8: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_NUL_CHARACTER: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_TEXT_TOO_LARGE: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_ID_TOO_LONG: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_NEGATIVE_TIME: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_WRONG_CHANNEL: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_BAD_EMBEDDING: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_UNKNOWN_ENUM: _ClassVar[AppendRefusal]
    APPEND_REFUSAL_BAD_STATE: _ClassVar[AppendRefusal]

class SearchScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_SCOPE_UNSPECIFIED: _ClassVar[SearchScope]
    SEARCH_SCOPE_CHANNEL: _ClassVar[SearchScope]
    SEARCH_SCOPE_USER: _ClassVar[SearchScope]
    SEARCH_SCOPE_TENANT: _ClassVar[SearchScope]

class FilesState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILES_STATE_UNSPECIFIED: _ClassVar[FilesState]
    FILES_STATE_CLEAN: _ClassVar[FilesState]
    FILES_STATE_SCHEDULED: _ClassVar[FilesState]
APPEND_OUTCOME_UNSPECIFIED: AppendOutcome
APPEND_OUTCOME_STORED: AppendOutcome
APPEND_OUTCOME_DUPLICATE: AppendOutcome
APPEND_OUTCOME_CONFLICT: AppendOutcome
APPEND_OUTCOME_GONE: AppendOutcome
APPEND_OUTCOME_REFUSED: AppendOutcome
APPEND_WARNING_UNSPECIFIED: AppendWarning
APPEND_WARNING_REPLY_TO_SELF: AppendWarning
APPEND_WARNING_REPLY_CYCLE: AppendWarning
APPEND_WARNING_REPLY_PARENT_UNKNOWN: AppendWarning
APPEND_WARNING_REPLY_PARENT_IN_OTHER_CHANNEL: AppendWarning
APPEND_WARNING_TIME_ZERO: AppendWarning
APPEND_WARNING_TIME_IN_FUTURE: AppendWarning
APPEND_WARNING_METADATA_DIFFERS: AppendWarning
APPEND_WARNING_DEDUPE_KEY_SEEN: AppendWarning
APPEND_WARNING_TEXT_SANITISED: AppendWarning
APPEND_WARNING_TIME_LOOKS_LIKE_SECONDS: AppendWarning
APPEND_WARNING_OWN_REPLY_SEEN: AppendWarning
APPEND_REFUSAL_UNSPECIFIED: AppendRefusal
APPEND_REFUSAL_MISSING_ID: AppendRefusal
APPEND_REFUSAL_MISSING_AUTHOR: AppendRefusal
APPEND_REFUSAL_BAD_UTF8: AppendRefusal
APPEND_REFUSAL_NUL_CHARACTER: AppendRefusal
APPEND_REFUSAL_TEXT_TOO_LARGE: AppendRefusal
APPEND_REFUSAL_ID_TOO_LONG: AppendRefusal
APPEND_REFUSAL_NEGATIVE_TIME: AppendRefusal
APPEND_REFUSAL_WRONG_CHANNEL: AppendRefusal
APPEND_REFUSAL_BAD_EMBEDDING: AppendRefusal
APPEND_REFUSAL_UNKNOWN_ENUM: AppendRefusal
APPEND_REFUSAL_BAD_STATE: AppendRefusal
SEARCH_SCOPE_UNSPECIFIED: SearchScope
SEARCH_SCOPE_CHANNEL: SearchScope
SEARCH_SCOPE_USER: SearchScope
SEARCH_SCOPE_TENANT: SearchScope
FILES_STATE_UNSPECIFIED: FilesState
FILES_STATE_CLEAN: FilesState
FILES_STATE_SCHEDULED: FilesState

class AppendMessagesRequest(_message.Message):
    __slots__ = ("channel", "messages", "context_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    context_id: str
    def __init__(self, channel: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., context_id: _Optional[str] = ...) -> None: ...

class AppendResult(_message.Message):
    __slots__ = ("message_id", "outcome", "warnings", "refusal", "field", "duplicate_of", "sequence")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_OF_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    outcome: AppendOutcome
    warnings: _containers.RepeatedScalarFieldContainer[AppendWarning]
    refusal: AppendRefusal
    field: str
    duplicate_of: str
    sequence: int
    def __init__(self, message_id: _Optional[str] = ..., outcome: _Optional[_Union[AppendOutcome, str]] = ..., warnings: _Optional[_Iterable[_Union[AppendWarning, str]]] = ..., refusal: _Optional[_Union[AppendRefusal, str]] = ..., field: _Optional[str] = ..., duplicate_of: _Optional[str] = ..., sequence: _Optional[int] = ...) -> None: ...

class AppendMessagesResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[AppendResult]
    def __init__(self, results: _Optional[_Iterable[_Union[AppendResult, _Mapping]]] = ...) -> None: ...

class ImportMessagesRequest(_message.Message):
    __slots__ = ("channel", "messages", "restore_erased", "members", "members_at_ms")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    RESTORE_ERASED_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_AT_MS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    restore_erased: bool
    members: _containers.RepeatedCompositeFieldContainer[Member]
    members_at_ms: int
    def __init__(self, channel: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., restore_erased: bool = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., members_at_ms: _Optional[int] = ...) -> None: ...

class ImportMessagesResponse(_message.Message):
    __slots__ = ("stored_count", "duplicate_count", "conflict_count", "gone_count", "refused_count", "warning_count", "problems", "warning_count_by_kind")
    class WarningCountByKindEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    STORED_COUNT_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_COUNT_FIELD_NUMBER: _ClassVar[int]
    GONE_COUNT_FIELD_NUMBER: _ClassVar[int]
    REFUSED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WARNING_COUNT_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    WARNING_COUNT_BY_KIND_FIELD_NUMBER: _ClassVar[int]
    stored_count: int
    duplicate_count: int
    conflict_count: int
    gone_count: int
    refused_count: int
    warning_count: int
    problems: _containers.RepeatedCompositeFieldContainer[AppendResult]
    warning_count_by_kind: _containers.ScalarMap[str, int]
    def __init__(self, stored_count: _Optional[int] = ..., duplicate_count: _Optional[int] = ..., conflict_count: _Optional[int] = ..., gone_count: _Optional[int] = ..., refused_count: _Optional[int] = ..., warning_count: _Optional[int] = ..., problems: _Optional[_Iterable[_Union[AppendResult, _Mapping]]] = ..., warning_count_by_kind: _Optional[_Mapping[str, int]] = ...) -> None: ...

class StoredMessage(_message.Message):
    __slots__ = ("message", "sequence", "revision", "recalled", "message_type", "keywords", "mentioned_user_ids", "reply", "token_count", "partial", "rank_time_ms", "alias_ids")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    MENTIONED_USER_IDS_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    RANK_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    ALIAS_IDS_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.Message
    sequence: int
    revision: int
    recalled: bool
    message_type: _message_pb2.MessageType
    keywords: _containers.RepeatedScalarFieldContainer[str]
    mentioned_user_ids: _containers.RepeatedScalarFieldContainer[str]
    reply: _message_pb2.Reply
    token_count: int
    partial: bool
    rank_time_ms: int
    alias_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., sequence: _Optional[int] = ..., revision: _Optional[int] = ..., recalled: bool = ..., message_type: _Optional[_Union[_message_pb2.MessageType, str]] = ..., keywords: _Optional[_Iterable[str]] = ..., mentioned_user_ids: _Optional[_Iterable[str]] = ..., reply: _Optional[_Union[_message_pb2.Reply, _Mapping]] = ..., token_count: _Optional[int] = ..., partial: bool = ..., rank_time_ms: _Optional[int] = ..., alias_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListMessagesRequest(_message.Message):
    __slots__ = ("channel", "limit", "newest_first", "page_token", "author_id", "thread_id", "since_ms", "until_ms", "include_recalled", "channels", "message_ids")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_RECALLED_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    limit: int
    newest_first: bool
    page_token: str
    author_id: str
    thread_id: str
    since_ms: int
    until_ms: int
    include_recalled: bool
    channels: _containers.RepeatedScalarFieldContainer[str]
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, channel: _Optional[str] = ..., limit: _Optional[int] = ..., newest_first: bool = ..., page_token: _Optional[str] = ..., author_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., include_recalled: bool = ..., channels: _Optional[_Iterable[str]] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ListMessagesResponse(_message.Message):
    __slots__ = ("messages", "next_page_token")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[StoredMessage]
    next_page_token: str
    def __init__(self, messages: _Optional[_Iterable[_Union[StoredMessage, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetThreadRequest(_message.Message):
    __slots__ = ("channel", "message_id", "limit")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    limit: int
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class GetThreadResponse(_message.Message):
    __slots__ = ("root_message_id", "messages")
    ROOT_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    root_message_id: str
    messages: _containers.RepeatedCompositeFieldContainer[StoredMessage]
    def __init__(self, root_message_id: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[StoredMessage, _Mapping]]] = ...) -> None: ...

class GetChannelRequest(_message.Message):
    __slots__ = ("channel",)
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    def __init__(self, channel: _Optional[str] = ...) -> None: ...

class GetChannelResponse(_message.Message):
    __slots__ = ("channel", "newest_message_id", "newest_sent_at_ms", "message_count", "last_sequence", "unembedded_count")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    NEWEST_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    NEWEST_SENT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    UNEMBEDDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    channel: str
    newest_message_id: str
    newest_sent_at_ms: int
    message_count: int
    last_sequence: int
    unembedded_count: int
    def __init__(self, channel: _Optional[str] = ..., newest_message_id: _Optional[str] = ..., newest_sent_at_ms: _Optional[int] = ..., message_count: _Optional[int] = ..., last_sequence: _Optional[int] = ..., unembedded_count: _Optional[int] = ...) -> None: ...

class ListChannelsRequest(_message.Message):
    __slots__ = ("limit", "page_token", "name_contains")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    limit: int
    page_token: str
    name_contains: str
    def __init__(self, limit: _Optional[int] = ..., page_token: _Optional[str] = ..., name_contains: _Optional[str] = ...) -> None: ...

class ChannelSummary(_message.Message):
    __slots__ = ("channel", "message_count", "newest_sent_at_ms")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    NEWEST_SENT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_count: int
    newest_sent_at_ms: int
    def __init__(self, channel: _Optional[str] = ..., message_count: _Optional[int] = ..., newest_sent_at_ms: _Optional[int] = ...) -> None: ...

class ListChannelsResponse(_message.Message):
    __slots__ = ("channels", "next_page_token")
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channels: _containers.RepeatedCompositeFieldContainer[ChannelSummary]
    next_page_token: str
    def __init__(self, channels: _Optional[_Iterable[_Union[ChannelSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SearchMessagesRequest(_message.Message):
    __slots__ = ("channel", "query", "limit", "scope", "user_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    query: str
    limit: int
    scope: SearchScope
    user_id: str
    def __init__(self, channel: _Optional[str] = ..., query: _Optional[str] = ..., limit: _Optional[int] = ..., scope: _Optional[_Union[SearchScope, str]] = ..., user_id: _Optional[str] = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("message", "score")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    message: StoredMessage
    score: float
    def __init__(self, message: _Optional[_Union[StoredMessage, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class SearchMessagesResponse(_message.Message):
    __slots__ = ("hits", "exhaustive")
    HITS_FIELD_NUMBER: _ClassVar[int]
    EXHAUSTIVE_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    exhaustive: bool
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., exhaustive: bool = ...) -> None: ...

class EditMessageRequest(_message.Message):
    __slots__ = ("channel", "message_id", "parts", "mentions", "edited_at_ms")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    EDITED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    parts: _containers.RepeatedCompositeFieldContainer[_message_pb2.Part]
    mentions: _containers.RepeatedCompositeFieldContainer[_message_pb2.Mention]
    edited_at_ms: int
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[_message_pb2.Part, _Mapping]]] = ..., mentions: _Optional[_Iterable[_Union[_message_pb2.Mention, _Mapping]]] = ..., edited_at_ms: _Optional[int] = ...) -> None: ...

class EditMessageResponse(_message.Message):
    __slots__ = ("message",)
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    message: StoredMessage
    def __init__(self, message: _Optional[_Union[StoredMessage, _Mapping]] = ...) -> None: ...

class RecallMessageRequest(_message.Message):
    __slots__ = ("channel", "message_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class RecallMessageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Member(_message.Message):
    __slots__ = ("user_id", "name", "aliases", "kind", "joined_at_ms", "left_at_ms", "former_names", "stays", "role")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JOINED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FORMER_NAMES_FIELD_NUMBER: _ClassVar[int]
    STAYS_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    user_id: str
    name: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    kind: _message_pb2.AuthorKind
    joined_at_ms: int
    left_at_ms: int
    former_names: _containers.RepeatedScalarFieldContainer[str]
    stays: _containers.RepeatedCompositeFieldContainer[Stay]
    role: str
    def __init__(self, user_id: _Optional[str] = ..., name: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., kind: _Optional[_Union[_message_pb2.AuthorKind, str]] = ..., joined_at_ms: _Optional[int] = ..., left_at_ms: _Optional[int] = ..., former_names: _Optional[_Iterable[str]] = ..., stays: _Optional[_Iterable[_Union[Stay, _Mapping]]] = ..., role: _Optional[str] = ...) -> None: ...

class Stay(_message.Message):
    __slots__ = ("joined_at_ms", "left_at_ms")
    JOINED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    joined_at_ms: int
    left_at_ms: int
    def __init__(self, joined_at_ms: _Optional[int] = ..., left_at_ms: _Optional[int] = ...) -> None: ...

class UpsertMembersRequest(_message.Message):
    __slots__ = ("channel", "members")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    members: _containers.RepeatedCompositeFieldContainer[Member]
    def __init__(self, channel: _Optional[str] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ...) -> None: ...

class UpsertMembersResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListMembersRequest(_message.Message):
    __slots__ = ("channel", "limit", "page_token")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    limit: int
    page_token: str
    def __init__(self, channel: _Optional[str] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMembersResponse(_message.Message):
    __slots__ = ("members", "next_page_token")
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    members: _containers.RepeatedCompositeFieldContainer[Member]
    next_page_token: str
    def __init__(self, members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WaitForIndexRequest(_message.Message):
    __slots__ = ("channel", "timeout_ms")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    timeout_ms: int
    def __init__(self, channel: _Optional[str] = ..., timeout_ms: _Optional[int] = ...) -> None: ...

class WaitForIndexResponse(_message.Message):
    __slots__ = ("ready", "unembedded_count")
    READY_FIELD_NUMBER: _ClassVar[int]
    UNEMBEDDED_COUNT_FIELD_NUMBER: _ClassVar[int]
    ready: bool
    unembedded_count: int
    def __init__(self, ready: bool = ..., unembedded_count: _Optional[int] = ...) -> None: ...

class EraseRequest(_message.Message):
    __slots__ = ("channel", "message_ids", "user_id", "whole_channel", "all_channels", "whole_tenant", "dry_run")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    WHOLE_CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ALL_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    WHOLE_TENANT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    user_id: str
    whole_channel: bool
    all_channels: bool
    whole_tenant: bool
    dry_run: bool
    def __init__(self, channel: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ..., user_id: _Optional[str] = ..., whole_channel: bool = ..., all_channels: bool = ..., whole_tenant: bool = ..., dry_run: bool = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("erased_count_by_store", "tenant", "erased_at_ms", "files", "files_clean_by_ms", "dry_run")
    class ErasedCountByStoreEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ERASED_COUNT_BY_STORE_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    ERASED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FILES_CLEAN_BY_MS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    erased_count_by_store: _containers.ScalarMap[str, int]
    tenant: str
    erased_at_ms: int
    files: FilesState
    files_clean_by_ms: int
    dry_run: bool
    def __init__(self, erased_count_by_store: _Optional[_Mapping[str, int]] = ..., tenant: _Optional[str] = ..., erased_at_ms: _Optional[int] = ..., files: _Optional[_Union[FilesState, str]] = ..., files_clean_by_ms: _Optional[int] = ..., dry_run: bool = ...) -> None: ...

class ExportMessagesRequest(_message.Message):
    __slots__ = ("channel",)
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    def __init__(self, channel: _Optional[str] = ...) -> None: ...

class ExportMessagesResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[StoredMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[StoredMessage, _Mapping]]] = ...) -> None: ...

class AliasMessageRequest(_message.Message):
    __slots__ = ("channel", "message_id", "alias_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ALIAS_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    alias_id: str
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ..., alias_id: _Optional[str] = ...) -> None: ...

class AliasMessageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PinMessageRequest(_message.Message):
    __slots__ = ("channel", "message_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class PinMessageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UnpinMessageRequest(_message.Message):
    __slots__ = ("channel", "message_id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    message_id: str
    def __init__(self, channel: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class UnpinMessageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListPinnedMessagesRequest(_message.Message):
    __slots__ = ("channel",)
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    def __init__(self, channel: _Optional[str] = ...) -> None: ...

class ListPinnedMessagesResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[StoredMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[StoredMessage, _Mapping]]] = ...) -> None: ...
