from backscroll.v1 import context_pb2 as _context_pb2
from backscroll.v1 import history_pb2 as _history_pb2
from backscroll.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ParticipantKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARTICIPANT_KIND_UNSPECIFIED: _ClassVar[ParticipantKind]
    PARTICIPANT_KIND_HUMAN: _ClassVar[ParticipantKind]
    PARTICIPANT_KIND_PERSONA: _ClassVar[ParticipantKind]
    PARTICIPANT_KIND_BOT: _ClassVar[ParticipantKind]

class Observe(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBSERVE_UNSPECIFIED: _ClassVar[Observe]
    OBSERVE_ALL: _ClassVar[Observe]
    OBSERVE_PRESENT: _ClassVar[Observe]
    OBSERVE_ADDRESSED: _ClassVar[Observe]
    OBSERVE_NONE: _ClassVar[Observe]

class ReplyRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPLY_RULE_UNSPECIFIED: _ClassVar[ReplyRule]
    REPLY_RULE_ROUTED: _ClassVar[ReplyRule]
    REPLY_RULE_MENTIONED: _ClassVar[ReplyRule]
    REPLY_RULE_ALWAYS: _ClassVar[ReplyRule]
    REPLY_RULE_NEVER: _ClassVar[ReplyRule]

class Unaddressed(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNADDRESSED_UNSPECIFIED: _ClassVar[Unaddressed]
    UNADDRESSED_ALL: _ClassVar[Unaddressed]
    UNADDRESSED_LAST_HEALTHY: _ClassVar[Unaddressed]
    UNADDRESSED_DEFAULT: _ClassVar[Unaddressed]
    UNADDRESSED_SELECTOR: _ClassVar[Unaddressed]
    UNADDRESSED_NOBODY: _ClassVar[Unaddressed]

class SessionStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATUS_UNSPECIFIED: _ClassVar[SessionStatus]
    SESSION_STATUS_ACTIVE: _ClassVar[SessionStatus]
    SESSION_STATUS_SEALED: _ClassVar[SessionStatus]
    SESSION_STATUS_ARCHIVED: _ClassVar[SessionStatus]

class RouteReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROUTE_REASON_UNSPECIFIED: _ClassVar[RouteReason]
    ROUTE_REASON_EXPLICIT: _ClassVar[RouteReason]
    ROUTE_REASON_MENTION: _ClassVar[RouteReason]
    ROUTE_REASON_GROUP_MENTION: _ClassVar[RouteReason]
    ROUTE_REASON_REPLY: _ClassVar[RouteReason]
    ROUTE_REASON_ROLE_MAP: _ClassVar[RouteReason]
    ROUTE_REASON_SELECTOR: _ClassVar[RouteReason]
    ROUTE_REASON_LAST_HEALTHY: _ClassVar[RouteReason]
    ROUTE_REASON_DEFAULT: _ClassVar[RouteReason]
    ROUTE_REASON_ALL: _ClassVar[RouteReason]
    ROUTE_REASON_ALWAYS: _ClassVar[RouteReason]
    ROUTE_REASON_ONWARD: _ClassVar[RouteReason]

class IgnoredReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IGNORED_REASON_UNSPECIFIED: _ClassVar[IgnoredReason]
    IGNORED_REASON_UNKNOWN: _ClassVar[IgnoredReason]
    IGNORED_REASON_SELF: _ClassVar[IgnoredReason]
    IGNORED_REASON_UNAVAILABLE: _ClassVar[IgnoredReason]
    IGNORED_REASON_CODE: _ClassVar[IgnoredReason]
    IGNORED_REASON_LIMIT: _ClassVar[IgnoredReason]
    IGNORED_REASON_LOOP: _ClassVar[IgnoredReason]

class TargetEndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TARGET_END_REASON_UNSPECIFIED: _ClassVar[TargetEndReason]
    TARGET_END_REASON_COMPLETE: _ClassVar[TargetEndReason]
    TARGET_END_REASON_FAILED: _ClassVar[TargetEndReason]
    TARGET_END_REASON_PARTIAL: _ClassVar[TargetEndReason]
    TARGET_END_REASON_SILENT: _ClassVar[TargetEndReason]
    TARGET_END_REASON_FOREIGN_SPEAKER: _ClassVar[TargetEndReason]
    TARGET_END_REASON_INTERRUPTED: _ClassVar[TargetEndReason]

class RoundEndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROUND_END_REASON_UNSPECIFIED: _ClassVar[RoundEndReason]
    ROUND_END_REASON_COMPLETE: _ClassVar[RoundEndReason]
    ROUND_END_REASON_NOBODY: _ClassVar[RoundEndReason]
    ROUND_END_REASON_INTERRUPTED: _ClassVar[RoundEndReason]
    ROUND_END_REASON_DEADLINE: _ClassVar[RoundEndReason]
    ROUND_END_REASON_COALESCED: _ClassVar[RoundEndReason]
    ROUND_END_REASON_LOOP_SUPPRESSED: _ClassVar[RoundEndReason]
    ROUND_END_REASON_STEP_LIMIT: _ClassVar[RoundEndReason]
PARTICIPANT_KIND_UNSPECIFIED: ParticipantKind
PARTICIPANT_KIND_HUMAN: ParticipantKind
PARTICIPANT_KIND_PERSONA: ParticipantKind
PARTICIPANT_KIND_BOT: ParticipantKind
OBSERVE_UNSPECIFIED: Observe
OBSERVE_ALL: Observe
OBSERVE_PRESENT: Observe
OBSERVE_ADDRESSED: Observe
OBSERVE_NONE: Observe
REPLY_RULE_UNSPECIFIED: ReplyRule
REPLY_RULE_ROUTED: ReplyRule
REPLY_RULE_MENTIONED: ReplyRule
REPLY_RULE_ALWAYS: ReplyRule
REPLY_RULE_NEVER: ReplyRule
UNADDRESSED_UNSPECIFIED: Unaddressed
UNADDRESSED_ALL: Unaddressed
UNADDRESSED_LAST_HEALTHY: Unaddressed
UNADDRESSED_DEFAULT: Unaddressed
UNADDRESSED_SELECTOR: Unaddressed
UNADDRESSED_NOBODY: Unaddressed
SESSION_STATUS_UNSPECIFIED: SessionStatus
SESSION_STATUS_ACTIVE: SessionStatus
SESSION_STATUS_SEALED: SessionStatus
SESSION_STATUS_ARCHIVED: SessionStatus
ROUTE_REASON_UNSPECIFIED: RouteReason
ROUTE_REASON_EXPLICIT: RouteReason
ROUTE_REASON_MENTION: RouteReason
ROUTE_REASON_GROUP_MENTION: RouteReason
ROUTE_REASON_REPLY: RouteReason
ROUTE_REASON_ROLE_MAP: RouteReason
ROUTE_REASON_SELECTOR: RouteReason
ROUTE_REASON_LAST_HEALTHY: RouteReason
ROUTE_REASON_DEFAULT: RouteReason
ROUTE_REASON_ALL: RouteReason
ROUTE_REASON_ALWAYS: RouteReason
ROUTE_REASON_ONWARD: RouteReason
IGNORED_REASON_UNSPECIFIED: IgnoredReason
IGNORED_REASON_UNKNOWN: IgnoredReason
IGNORED_REASON_SELF: IgnoredReason
IGNORED_REASON_UNAVAILABLE: IgnoredReason
IGNORED_REASON_CODE: IgnoredReason
IGNORED_REASON_LIMIT: IgnoredReason
IGNORED_REASON_LOOP: IgnoredReason
TARGET_END_REASON_UNSPECIFIED: TargetEndReason
TARGET_END_REASON_COMPLETE: TargetEndReason
TARGET_END_REASON_FAILED: TargetEndReason
TARGET_END_REASON_PARTIAL: TargetEndReason
TARGET_END_REASON_SILENT: TargetEndReason
TARGET_END_REASON_FOREIGN_SPEAKER: TargetEndReason
TARGET_END_REASON_INTERRUPTED: TargetEndReason
ROUND_END_REASON_UNSPECIFIED: RoundEndReason
ROUND_END_REASON_COMPLETE: RoundEndReason
ROUND_END_REASON_NOBODY: RoundEndReason
ROUND_END_REASON_INTERRUPTED: RoundEndReason
ROUND_END_REASON_DEADLINE: RoundEndReason
ROUND_END_REASON_COALESCED: RoundEndReason
ROUND_END_REASON_LOOP_SUPPRESSED: RoundEndReason
ROUND_END_REASON_STEP_LIMIT: RoundEndReason

class SessionRef(_message.Message):
    __slots__ = ("session_id", "space", "project_id", "owner_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    space: str
    project_id: str
    owner_id: str
    def __init__(self, session_id: _Optional[str] = ..., space: _Optional[str] = ..., project_id: _Optional[str] = ..., owner_id: _Optional[str] = ...) -> None: ...

class Presence(_message.Message):
    __slots__ = ("after_sequence", "until_sequence", "joined_at_ms", "left_at_ms")
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOINED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    LEFT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    after_sequence: int
    until_sequence: int
    joined_at_ms: int
    left_at_ms: int
    def __init__(self, after_sequence: _Optional[int] = ..., until_sequence: _Optional[int] = ..., joined_at_ms: _Optional[int] = ..., left_at_ms: _Optional[int] = ...) -> None: ...

class Participant(_message.Message):
    __slots__ = ("id", "kind", "name", "nickname", "aliases", "persona", "summary", "observe", "reply", "presences", "model", "token_budget")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NICKNAME_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    PERSONA_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    PRESENCES_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    id: str
    kind: ParticipantKind
    name: str
    nickname: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    persona: str
    summary: str
    observe: Observe
    reply: ReplyRule
    presences: _containers.RepeatedCompositeFieldContainer[Presence]
    model: str
    token_budget: int
    def __init__(self, id: _Optional[str] = ..., kind: _Optional[_Union[ParticipantKind, str]] = ..., name: _Optional[str] = ..., nickname: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., persona: _Optional[str] = ..., summary: _Optional[str] = ..., observe: _Optional[_Union[Observe, str]] = ..., reply: _Optional[_Union[ReplyRule, str]] = ..., presences: _Optional[_Iterable[_Union[Presence, _Mapping]]] = ..., model: _Optional[str] = ..., token_budget: _Optional[int] = ...) -> None: ...

class RoomPolicy(_message.Message):
    __slots__ = ("unaddressed", "default_id", "preferred_ids", "max_targets", "sequential", "window_messages", "summarise_after_messages", "summarise_after_tokens", "question_label", "loop_limit", "loop_window_s", "burst_window_ms", "onward_depth", "profile", "layout", "language", "author_visibility", "allowed_author_ids", "prompt")
    UNADDRESSED_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_ID_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_IDS_FIELD_NUMBER: _ClassVar[int]
    MAX_TARGETS_FIELD_NUMBER: _ClassVar[int]
    SEQUENTIAL_FIELD_NUMBER: _ClassVar[int]
    WINDOW_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SUMMARISE_AFTER_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SUMMARISE_AFTER_TOKENS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_LABEL_FIELD_NUMBER: _ClassVar[int]
    LOOP_LIMIT_FIELD_NUMBER: _ClassVar[int]
    LOOP_WINDOW_S_FIELD_NUMBER: _ClassVar[int]
    BURST_WINDOW_MS_FIELD_NUMBER: _ClassVar[int]
    ONWARD_DEPTH_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_AUTHOR_IDS_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    unaddressed: Unaddressed
    default_id: str
    preferred_ids: _containers.RepeatedScalarFieldContainer[str]
    max_targets: int
    sequential: bool
    window_messages: int
    summarise_after_messages: int
    summarise_after_tokens: int
    question_label: str
    loop_limit: int
    loop_window_s: int
    burst_window_ms: int
    onward_depth: int
    profile: str
    layout: _context_pb2.Layout
    language: str
    author_visibility: _context_pb2.AuthorVisibility
    allowed_author_ids: _containers.RepeatedScalarFieldContainer[str]
    prompt: str
    def __init__(self, unaddressed: _Optional[_Union[Unaddressed, str]] = ..., default_id: _Optional[str] = ..., preferred_ids: _Optional[_Iterable[str]] = ..., max_targets: _Optional[int] = ..., sequential: bool = ..., window_messages: _Optional[int] = ..., summarise_after_messages: _Optional[int] = ..., summarise_after_tokens: _Optional[int] = ..., question_label: _Optional[str] = ..., loop_limit: _Optional[int] = ..., loop_window_s: _Optional[int] = ..., burst_window_ms: _Optional[int] = ..., onward_depth: _Optional[int] = ..., profile: _Optional[str] = ..., layout: _Optional[_Union[_context_pb2.Layout, str]] = ..., language: _Optional[str] = ..., author_visibility: _Optional[_Union[_context_pb2.AuthorVisibility, str]] = ..., allowed_author_ids: _Optional[_Iterable[str]] = ..., prompt: _Optional[str] = ...) -> None: ...

class Space(_message.Message):
    __slots__ = ("slug", "project_id", "participants", "mode", "role_config_json", "policy")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ROLE_CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    slug: str
    project_id: str
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    mode: str
    role_config_json: str
    policy: RoomPolicy
    def __init__(self, slug: _Optional[str] = ..., project_id: _Optional[str] = ..., participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ..., mode: _Optional[str] = ..., role_config_json: _Optional[str] = ..., policy: _Optional[_Union[RoomPolicy, _Mapping]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "aliases", "space", "project_id", "owner_id", "channel", "title", "mode", "role_config_json", "mode_state_json", "state_version", "status", "policy", "participants", "forked_from", "created_at_ms", "updated_at_ms", "parent_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ROLE_CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    MODE_STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    FORKED_FROM_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    space: str
    project_id: str
    owner_id: str
    channel: str
    title: str
    mode: str
    role_config_json: str
    mode_state_json: str
    state_version: int
    status: SessionStatus
    policy: RoomPolicy
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    forked_from: ForkOrigin
    created_at_ms: int
    updated_at_ms: int
    parent_id: str
    def __init__(self, session_id: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., space: _Optional[str] = ..., project_id: _Optional[str] = ..., owner_id: _Optional[str] = ..., channel: _Optional[str] = ..., title: _Optional[str] = ..., mode: _Optional[str] = ..., role_config_json: _Optional[str] = ..., mode_state_json: _Optional[str] = ..., state_version: _Optional[int] = ..., status: _Optional[_Union[SessionStatus, str]] = ..., policy: _Optional[_Union[RoomPolicy, _Mapping]] = ..., participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ..., forked_from: _Optional[_Union[ForkOrigin, _Mapping]] = ..., created_at_ms: _Optional[int] = ..., updated_at_ms: _Optional[int] = ..., parent_id: _Optional[str] = ...) -> None: ...

class ForkOrigin(_message.Message):
    __slots__ = ("session_id", "message_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    message_id: str
    def __init__(self, session_id: _Optional[str] = ..., message_id: _Optional[str] = ...) -> None: ...

class PutSpaceRequest(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: Space
    def __init__(self, space: _Optional[_Union[Space, _Mapping]] = ...) -> None: ...

class PutSpaceResponse(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: Space
    def __init__(self, space: _Optional[_Union[Space, _Mapping]] = ...) -> None: ...

class GetSpaceRequest(_message.Message):
    __slots__ = ("slug",)
    SLUG_FIELD_NUMBER: _ClassVar[int]
    slug: str
    def __init__(self, slug: _Optional[str] = ...) -> None: ...

class GetSpaceResponse(_message.Message):
    __slots__ = ("space",)
    SPACE_FIELD_NUMBER: _ClassVar[int]
    space: Space
    def __init__(self, space: _Optional[_Union[Space, _Mapping]] = ...) -> None: ...

class ListSpacesRequest(_message.Message):
    __slots__ = ("limit", "page_token")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    limit: int
    page_token: str
    def __init__(self, limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSpacesResponse(_message.Message):
    __slots__ = ("spaces", "next_page_token")
    SPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    spaces: _containers.RepeatedCompositeFieldContainer[Space]
    next_page_token: str
    def __init__(self, spaces: _Optional[_Iterable[_Union[Space, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteSpaceRequest(_message.Message):
    __slots__ = ("slug",)
    SLUG_FIELD_NUMBER: _ClassVar[int]
    slug: str
    def __init__(self, slug: _Optional[str] = ...) -> None: ...

class DeleteSpaceResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session", "created")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    session: Session
    created: bool
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., created: bool = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("space", "channel", "owner_id", "include_archived", "limit", "page_token")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    OWNER_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    space: str
    channel: str
    owner_id: str
    include_archived: bool
    limit: int
    page_token: str
    def __init__(self, space: _Optional[str] = ..., channel: _Optional[str] = ..., owner_id: _Optional[str] = ..., include_archived: bool = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class UpdateSessionRequest(_message.Message):
    __slots__ = ("session", "title", "mode", "role_config_json", "status", "policy", "mode_state_json", "expected_state_version", "add_aliases")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ROLE_CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    MODE_STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    ADD_ALIASES_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    title: str
    mode: str
    role_config_json: str
    status: SessionStatus
    policy: RoomPolicy
    mode_state_json: str
    expected_state_version: int
    add_aliases: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., title: _Optional[str] = ..., mode: _Optional[str] = ..., role_config_json: _Optional[str] = ..., status: _Optional[_Union[SessionStatus, str]] = ..., policy: _Optional[_Union[RoomPolicy, _Mapping]] = ..., mode_state_json: _Optional[str] = ..., expected_state_version: _Optional[int] = ..., add_aliases: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class DeleteSessionRequest(_message.Message):
    __slots__ = ("session", "erase_messages")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    ERASE_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    erase_messages: bool
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., erase_messages: bool = ...) -> None: ...

class DeleteSessionResponse(_message.Message):
    __slots__ = ("deleted", "erased_message_count")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    ERASED_MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    erased_message_count: int
    def __init__(self, deleted: bool = ..., erased_message_count: _Optional[int] = ...) -> None: ...

class ForkSessionRequest(_message.Message):
    __slots__ = ("session", "message_id", "new_session_id")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    NEW_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    message_id: str
    new_session_id: str
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., message_id: _Optional[str] = ..., new_session_id: _Optional[str] = ...) -> None: ...

class ForkSessionResponse(_message.Message):
    __slots__ = ("session", "message_count")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    session: Session
    message_count: int
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., message_count: _Optional[int] = ...) -> None: ...

class PutParticipantsRequest(_message.Message):
    __slots__ = ("session", "participants")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ...) -> None: ...

class PutParticipantsResponse(_message.Message):
    __slots__ = ("participants",)
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    def __init__(self, participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ...) -> None: ...

class RemoveParticipantsRequest(_message.Message):
    __slots__ = ("session", "participant_ids", "left_at_ms", "forget")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANT_IDS_FIELD_NUMBER: _ClassVar[int]
    LEFT_AT_MS_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    participant_ids: _containers.RepeatedScalarFieldContainer[str]
    left_at_ms: int
    forget: bool
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., participant_ids: _Optional[_Iterable[str]] = ..., left_at_ms: _Optional[int] = ..., forget: bool = ...) -> None: ...

class RemoveParticipantsResponse(_message.Message):
    __slots__ = ("participants",)
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    def __init__(self, participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ...) -> None: ...

class Target(_message.Message):
    __slots__ = ("participant_id", "name", "reason", "start", "end")
    PARTICIPANT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    participant_id: str
    name: str
    reason: RouteReason
    start: int
    end: int
    def __init__(self, participant_id: _Optional[str] = ..., name: _Optional[str] = ..., reason: _Optional[_Union[RouteReason, str]] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class IgnoredMention(_message.Message):
    __slots__ = ("text", "reason", "participant_id", "start", "end")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANT_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    text: str
    reason: IgnoredReason
    participant_id: str
    start: int
    end: int
    def __init__(self, text: _Optional[str] = ..., reason: _Optional[_Union[IgnoredReason, str]] = ..., participant_id: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Route(_message.Message):
    __slots__ = ("targets", "ignored", "clean_text", "user_text", "policy", "candidate_ids")
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    IGNORED_FIELD_NUMBER: _ClassVar[int]
    CLEAN_TEXT_FIELD_NUMBER: _ClassVar[int]
    USER_TEXT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_IDS_FIELD_NUMBER: _ClassVar[int]
    targets: _containers.RepeatedCompositeFieldContainer[Target]
    ignored: _containers.RepeatedCompositeFieldContainer[IgnoredMention]
    clean_text: str
    user_text: str
    policy: Unaddressed
    candidate_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, targets: _Optional[_Iterable[_Union[Target, _Mapping]]] = ..., ignored: _Optional[_Iterable[_Union[IgnoredMention, _Mapping]]] = ..., clean_text: _Optional[str] = ..., user_text: _Optional[str] = ..., policy: _Optional[_Union[Unaddressed, str]] = ..., candidate_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RouteMessageRequest(_message.Message):
    __slots__ = ("session", "message", "targets")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    message: _message_pb2.Message
    targets: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., targets: _Optional[_Iterable[str]] = ...) -> None: ...

class RouteMessageResponse(_message.Message):
    __slots__ = ("route", "mode", "state_version")
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    route: Route
    mode: str
    state_version: int
    def __init__(self, route: _Optional[_Union[Route, _Mapping]] = ..., mode: _Optional[str] = ..., state_version: _Optional[int] = ...) -> None: ...

class StartRoundRequest(_message.Message):
    __slots__ = ("request_id", "session", "message", "targets", "mode", "role_config_json", "participants", "policy", "channel", "expected_state_version", "context", "model_call")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ROLE_CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALL_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    session: SessionRef
    message: _message_pb2.Message
    targets: _containers.RepeatedScalarFieldContainer[str]
    mode: str
    role_config_json: str
    participants: _containers.RepeatedCompositeFieldContainer[Participant]
    policy: RoomPolicy
    channel: str
    expected_state_version: int
    context: _context_pb2.BuildContextRequest
    model_call: _context_pb2.ModelCall
    def __init__(self, request_id: _Optional[str] = ..., session: _Optional[_Union[SessionRef, _Mapping]] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., targets: _Optional[_Iterable[str]] = ..., mode: _Optional[str] = ..., role_config_json: _Optional[str] = ..., participants: _Optional[_Iterable[_Union[Participant, _Mapping]]] = ..., policy: _Optional[_Union[RoomPolicy, _Mapping]] = ..., channel: _Optional[str] = ..., expected_state_version: _Optional[int] = ..., context: _Optional[_Union[_context_pb2.BuildContextRequest, _Mapping]] = ..., model_call: _Optional[_Union[_context_pb2.ModelCall, _Mapping]] = ...) -> None: ...

class ToolAnswers(_message.Message):
    __slots__ = ("interrupt_id", "tool_results")
    INTERRUPT_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    interrupt_id: str
    tool_results: _containers.RepeatedCompositeFieldContainer[_context_pb2.ToolResult]
    def __init__(self, interrupt_id: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[_context_pb2.ToolResult, _Mapping]]] = ...) -> None: ...

class ResumeRoundRequest(_message.Message):
    __slots__ = ("session", "request_id", "after_sequence", "answers")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    request_id: str
    after_sequence: int
    answers: _containers.RepeatedCompositeFieldContainer[ToolAnswers]
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., request_id: _Optional[str] = ..., after_sequence: _Optional[int] = ..., answers: _Optional[_Iterable[_Union[ToolAnswers, _Mapping]]] = ...) -> None: ...

class RoundStarted(_message.Message):
    __slots__ = ("session", "request_id", "user_message", "route", "snapshot_sequence", "resumed")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    USER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    session: Session
    request_id: str
    user_message: _message_pb2.Message
    route: Route
    snapshot_sequence: int
    resumed: bool
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., request_id: _Optional[str] = ..., user_message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., route: _Optional[_Union[Route, _Mapping]] = ..., snapshot_sequence: _Optional[int] = ..., resumed: bool = ...) -> None: ...

class TargetStarted(_message.Message):
    __slots__ = ("target", "context", "step")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    target: Target
    context: _context_pb2.BuildContextResponse
    step: int
    def __init__(self, target: _Optional[_Union[Target, _Mapping]] = ..., context: _Optional[_Union[_context_pb2.BuildContextResponse, _Mapping]] = ..., step: _Optional[int] = ...) -> None: ...

class TargetDelta(_message.Message):
    __slots__ = ("text", "whole")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    text: str
    whole: bool
    def __init__(self, text: _Optional[str] = ..., whole: bool = ...) -> None: ...

class TargetEnded(_message.Message):
    __slots__ = ("reason", "message", "error", "usage", "end_reason", "foreign_speaker_id")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_SPEAKER_ID_FIELD_NUMBER: _ClassVar[int]
    reason: TargetEndReason
    message: _message_pb2.Message
    error: _context_pb2.ChatError
    usage: _context_pb2.Usage
    end_reason: _context_pb2.EndReason
    foreign_speaker_id: str
    def __init__(self, reason: _Optional[_Union[TargetEndReason, str]] = ..., message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., error: _Optional[_Union[_context_pb2.ChatError, _Mapping]] = ..., usage: _Optional[_Union[_context_pb2.Usage, _Mapping]] = ..., end_reason: _Optional[_Union[_context_pb2.EndReason, str]] = ..., foreign_speaker_id: _Optional[str] = ...) -> None: ...

class StateChanged(_message.Message):
    __slots__ = ("state_version", "event", "mode_state_json", "announcements", "over")
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    MODE_STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    ANNOUNCEMENTS_FIELD_NUMBER: _ClassVar[int]
    OVER_FIELD_NUMBER: _ClassVar[int]
    state_version: int
    event: str
    mode_state_json: str
    announcements: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    over: bool
    def __init__(self, state_version: _Optional[int] = ..., event: _Optional[str] = ..., mode_state_json: _Optional[str] = ..., announcements: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., over: bool = ...) -> None: ...

class Interrupt(_message.Message):
    __slots__ = ("interrupt_id", "tool_calls", "expires_at_ms")
    INTERRUPT_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_MS_FIELD_NUMBER: _ClassVar[int]
    interrupt_id: str
    tool_calls: _containers.RepeatedCompositeFieldContainer[_message_pb2.ToolCallPart]
    expires_at_ms: int
    def __init__(self, interrupt_id: _Optional[str] = ..., tool_calls: _Optional[_Iterable[_Union[_message_pb2.ToolCallPart, _Mapping]]] = ..., expires_at_ms: _Optional[int] = ...) -> None: ...

class LoopSuppressed(_message.Message):
    __slots__ = ("sender_id", "participant_id", "retry_after_ms")
    SENDER_ID_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANT_ID_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    sender_id: str
    participant_id: str
    retry_after_ms: int
    def __init__(self, sender_id: _Optional[str] = ..., participant_id: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class RoundEnded(_message.Message):
    __slots__ = ("reason", "responses", "failed_ids", "state_version", "coalesced_into")
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    FAILED_IDS_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    COALESCED_INTO_FIELD_NUMBER: _ClassVar[int]
    reason: RoundEndReason
    responses: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    failed_ids: _containers.RepeatedScalarFieldContainer[str]
    state_version: int
    coalesced_into: str
    def __init__(self, reason: _Optional[_Union[RoundEndReason, str]] = ..., responses: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., failed_ids: _Optional[_Iterable[str]] = ..., state_version: _Optional[int] = ..., coalesced_into: _Optional[str] = ...) -> None: ...

class RoundEvent(_message.Message):
    __slots__ = ("sequence", "target_id", "round_started", "target_started", "delta", "tool_call", "target_ended", "state_changed", "interrupt", "loop_suppressed", "notice", "round_ended")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TARGET_ID_FIELD_NUMBER: _ClassVar[int]
    ROUND_STARTED_FIELD_NUMBER: _ClassVar[int]
    TARGET_STARTED_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TARGET_ENDED_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGED_FIELD_NUMBER: _ClassVar[int]
    INTERRUPT_FIELD_NUMBER: _ClassVar[int]
    LOOP_SUPPRESSED_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    ROUND_ENDED_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    target_id: str
    round_started: RoundStarted
    target_started: TargetStarted
    delta: TargetDelta
    tool_call: _message_pb2.ToolCallPart
    target_ended: TargetEnded
    state_changed: StateChanged
    interrupt: Interrupt
    loop_suppressed: LoopSuppressed
    notice: _context_pb2.Notice
    round_ended: RoundEnded
    def __init__(self, sequence: _Optional[int] = ..., target_id: _Optional[str] = ..., round_started: _Optional[_Union[RoundStarted, _Mapping]] = ..., target_started: _Optional[_Union[TargetStarted, _Mapping]] = ..., delta: _Optional[_Union[TargetDelta, _Mapping]] = ..., tool_call: _Optional[_Union[_message_pb2.ToolCallPart, _Mapping]] = ..., target_ended: _Optional[_Union[TargetEnded, _Mapping]] = ..., state_changed: _Optional[_Union[StateChanged, _Mapping]] = ..., interrupt: _Optional[_Union[Interrupt, _Mapping]] = ..., loop_suppressed: _Optional[_Union[LoopSuppressed, _Mapping]] = ..., notice: _Optional[_Union[_context_pb2.Notice, _Mapping]] = ..., round_ended: _Optional[_Union[RoundEnded, _Mapping]] = ...) -> None: ...

class StartRoundResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: RoundEvent
    def __init__(self, event: _Optional[_Union[RoundEvent, _Mapping]] = ...) -> None: ...

class ResumeRoundResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: RoundEvent
    def __init__(self, event: _Optional[_Union[RoundEvent, _Mapping]] = ...) -> None: ...

class PrepareRoundRequest(_message.Message):
    __slots__ = ("round",)
    ROUND_FIELD_NUMBER: _ClassVar[int]
    round: StartRoundRequest
    def __init__(self, round: _Optional[_Union[StartRoundRequest, _Mapping]] = ...) -> None: ...

class TargetContext(_message.Message):
    __slots__ = ("target", "context", "stop_names")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    STOP_NAMES_FIELD_NUMBER: _ClassVar[int]
    target: Target
    context: _context_pb2.BuildContextResponse
    stop_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, target: _Optional[_Union[Target, _Mapping]] = ..., context: _Optional[_Union[_context_pb2.BuildContextResponse, _Mapping]] = ..., stop_names: _Optional[_Iterable[str]] = ...) -> None: ...

class PrepareRoundResponse(_message.Message):
    __slots__ = ("lookup", "route", "history", "user_text", "task_prompt", "contexts", "mode", "state_version")
    class LookupEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    USER_TEXT_FIELD_NUMBER: _ClassVar[int]
    TASK_PROMPT_FIELD_NUMBER: _ClassVar[int]
    CONTEXTS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    lookup: _containers.ScalarMap[str, str]
    route: Route
    history: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    user_text: str
    task_prompt: str
    contexts: _containers.RepeatedCompositeFieldContainer[TargetContext]
    mode: str
    state_version: int
    def __init__(self, lookup: _Optional[_Mapping[str, str]] = ..., route: _Optional[_Union[Route, _Mapping]] = ..., history: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., user_text: _Optional[str] = ..., task_prompt: _Optional[str] = ..., contexts: _Optional[_Iterable[_Union[TargetContext, _Mapping]]] = ..., mode: _Optional[str] = ..., state_version: _Optional[int] = ...) -> None: ...

class ActRequest(_message.Message):
    __slots__ = ("session", "name", "actor_id", "argument", "expected_state_version", "request_id")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    name: str
    actor_id: str
    argument: str
    expected_state_version: int
    request_id: str
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., name: _Optional[str] = ..., actor_id: _Optional[str] = ..., argument: _Optional[str] = ..., expected_state_version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ActResponse(_message.Message):
    __slots__ = ("change", "waiting_for")
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    WAITING_FOR_FIELD_NUMBER: _ClassVar[int]
    change: StateChanged
    waiting_for: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, change: _Optional[_Union[StateChanged, _Mapping]] = ..., waiting_for: _Optional[_Iterable[str]] = ...) -> None: ...

class ListStatesRequest(_message.Message):
    __slots__ = ("session", "limit", "page_token")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    limit: int
    page_token: str
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SessionState(_message.Message):
    __slots__ = ("id", "previous_id", "state_version", "mode", "event", "actor_id", "at_ms", "mode_state_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    MODE_STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    previous_id: str
    state_version: int
    mode: str
    event: str
    actor_id: str
    at_ms: int
    mode_state_json: str
    def __init__(self, id: _Optional[str] = ..., previous_id: _Optional[str] = ..., state_version: _Optional[int] = ..., mode: _Optional[str] = ..., event: _Optional[str] = ..., actor_id: _Optional[str] = ..., at_ms: _Optional[int] = ..., mode_state_json: _Optional[str] = ...) -> None: ...

class ListStatesResponse(_message.Message):
    __slots__ = ("states", "next_page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[SessionState]
    next_page_token: str
    def __init__(self, states: _Optional[_Iterable[_Union[SessionState, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListModesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Mode(_message.Message):
    __slots__ = ("name", "role_config_schema_json", "mode_state_schema_json", "unaddressed", "heeds_mentions", "sequential", "window_messages")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROLE_CONFIG_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    MODE_STATE_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    UNADDRESSED_FIELD_NUMBER: _ClassVar[int]
    HEEDS_MENTIONS_FIELD_NUMBER: _ClassVar[int]
    SEQUENTIAL_FIELD_NUMBER: _ClassVar[int]
    WINDOW_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    name: str
    role_config_schema_json: str
    mode_state_schema_json: str
    unaddressed: Unaddressed
    heeds_mentions: bool
    sequential: bool
    window_messages: int
    def __init__(self, name: _Optional[str] = ..., role_config_schema_json: _Optional[str] = ..., mode_state_schema_json: _Optional[str] = ..., unaddressed: _Optional[_Union[Unaddressed, str]] = ..., heeds_mentions: bool = ..., sequential: bool = ..., window_messages: _Optional[int] = ...) -> None: ...

class ListModesResponse(_message.Message):
    __slots__ = ("modes",)
    MODES_FIELD_NUMBER: _ClassVar[int]
    modes: _containers.RepeatedCompositeFieldContainer[Mode]
    def __init__(self, modes: _Optional[_Iterable[_Union[Mode, _Mapping]]] = ...) -> None: ...

class ExportSessionRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: SessionRef
    def __init__(self, session: _Optional[_Union[SessionRef, _Mapping]] = ...) -> None: ...

class ExportSessionResponse(_message.Message):
    __slots__ = ("lines",)
    LINES_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, lines: _Optional[_Iterable[str]] = ...) -> None: ...

class ImportSessionRequest(_message.Message):
    __slots__ = ("lines", "session_id", "channel", "space")
    LINES_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[str]
    session_id: str
    channel: str
    space: str
    def __init__(self, lines: _Optional[_Iterable[str]] = ..., session_id: _Optional[str] = ..., channel: _Optional[str] = ..., space: _Optional[str] = ...) -> None: ...

class ImportSessionResponse(_message.Message):
    __slots__ = ("session", "messages")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    session: Session
    messages: _history_pb2.ImportMessagesResponse
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ..., messages: _Optional[_Union[_history_pb2.ImportMessagesResponse, _Mapping]] = ...) -> None: ...
