from backscroll.v1 import history_pb2 as _history_pb2
from backscroll.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Layout(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LAYOUT_UNSPECIFIED: _ClassVar[Layout]
    LAYOUT_TURNS: _ClassVar[Layout]
    LAYOUT_CONTEXT_AND_QUESTION: _ClassVar[Layout]
    LAYOUT_SINGLE_USER: _ClassVar[Layout]
    LAYOUT_SYSTEM_AND_USER: _ClassVar[Layout]

class SpeakerStyle(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPEAKER_STYLE_UNSPECIFIED: _ClassVar[SpeakerStyle]
    SPEAKER_STYLE_ROLE: _ClassVar[SpeakerStyle]
    SPEAKER_STYLE_TAGGED: _ClassVar[SpeakerStyle]

class TimeStyle(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIME_STYLE_UNSPECIFIED: _ClassVar[TimeStyle]
    TIME_STYLE_NONE: _ClassVar[TimeStyle]
    TIME_STYLE_ISO_DATE: _ClassVar[TimeStyle]
    TIME_STYLE_RELATIVE: _ClassVar[TimeStyle]

class Tokenizer(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOKENIZER_UNSPECIFIED: _ClassVar[Tokenizer]
    TOKENIZER_O200K_BASE: _ClassVar[Tokenizer]
    TOKENIZER_CHARS_4: _ClassVar[Tokenizer]
    TOKENIZER_BYTES_4: _ClassVar[Tokenizer]

class PayloadFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAYLOAD_FORMAT_UNSPECIFIED: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_OPENAI_CHAT: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_NONE: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_OPENAI_RESPONSES: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_ANTHROPIC_MESSAGES: _ClassVar[PayloadFormat]
    PAYLOAD_FORMAT_GEMINI_CONTENTS: _ClassVar[PayloadFormat]

class ResponsePart(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESPONSE_PART_UNSPECIFIED: _ClassVar[ResponsePart]
    RESPONSE_PART_ITEM_MESSAGES: _ClassVar[ResponsePart]
    RESPONSE_PART_MESSAGES: _ClassVar[ResponsePart]
    RESPONSE_PART_PAYLOADS: _ClassVar[ResponsePart]
    RESPONSE_PART_TEXT: _ClassVar[ResponsePart]

class StoredSystemRows(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STORED_SYSTEM_ROWS_UNSPECIFIED: _ClassVar[StoredSystemRows]
    STORED_SYSTEM_ROWS_USER: _ClassVar[StoredSystemRows]
    STORED_SYSTEM_ROWS_SYSTEM: _ClassVar[StoredSystemRows]
    STORED_SYSTEM_ROWS_SKIP: _ClassVar[StoredSystemRows]

class ToolOutputs(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_OUTPUTS_UNSPECIFIED: _ClassVar[ToolOutputs]
    TOOL_OUTPUTS_KEEP: _ClassVar[ToolOutputs]
    TOOL_OUTPUTS_HEAD_TAIL: _ClassVar[ToolOutputs]
    TOOL_OUTPUTS_SKIP: _ClassVar[ToolOutputs]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_RECENT: _ClassVar[Source]
    SOURCE_WINDOW: _ClassVar[Source]
    SOURCE_THREAD: _ClassVar[Source]
    SOURCE_MENTION: _ClassVar[Source]
    SOURCE_LEXICAL: _ClassVar[Source]
    SOURCE_SEMANTIC: _ClassVar[Source]
    SOURCE_ASKER: _ClassVar[Source]
    SOURCE_PINNED: _ClassVar[Source]
    SOURCE_OWN: _ClassVar[Source]
    SOURCE_CHAIN: _ClassVar[Source]
    SOURCE_GRAPH: _ClassVar[Source]
    SOURCE_RECALL: _ClassVar[Source]
    SOURCE_SHARING: _ClassVar[Source]
    SOURCE_SINCE: _ClassVar[Source]

class Category(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATEGORY_UNSPECIFIED: _ClassVar[Category]
    CATEGORY_RECENT: _ClassVar[Category]
    CATEGORY_SEMANTIC: _ClassVar[Category]

class Fate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FATE_UNSPECIFIED: _ClassVar[Fate]
    FATE_SELECTED: _ClassVar[Fate]
    FATE_THRESHOLD: _ClassVar[Fate]
    FATE_LIMIT: _ClassVar[Fate]
    FATE_BUDGET: _ClassVar[Fate]
    FATE_DUPLICATE: _ClassVar[Fate]
    FATE_DIVERSITY: _ClassVar[Fate]
    FATE_VISIBILITY: _ClassVar[Fate]
    FATE_RECALLED: _ClassVar[Fate]

class PrefixChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFIX_CHANGE_UNSPECIFIED: _ClassVar[PrefixChange]
    PREFIX_CHANGE_NONE: _ClassVar[PrefixChange]
    PREFIX_CHANGE_FIRST: _ClassVar[PrefixChange]
    PREFIX_CHANGE_TOOLS: _ClassVar[PrefixChange]
    PREFIX_CHANGE_SYSTEM: _ClassVar[PrefixChange]
    PREFIX_CHANGE_SUMMARY: _ClassVar[PrefixChange]
    PREFIX_CHANGE_TRIMMED: _ClassVar[PrefixChange]
    PREFIX_CHANGE_STYLE: _ClassVar[PrefixChange]
    PREFIX_CHANGE_MESSAGES: _ClassVar[PrefixChange]

class Rung(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUNG_UNSPECIFIED: _ClassVar[Rung]
    RUNG_RANKED: _ClassVar[Rung]
    RUNG_RECENT: _ClassVar[Rung]
    RUNG_EMPTY: _ClassVar[Rung]

class AuthorVisibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTHOR_VISIBILITY_UNSPECIFIED: _ClassVar[AuthorVisibility]
    AUTHOR_VISIBILITY_ALL: _ClassVar[AuthorVisibility]
    AUTHOR_VISIBILITY_ALLOWLIST: _ClassVar[AuthorVisibility]
    AUTHOR_VISIBILITY_ALLOWLIST_QUOTE: _ClassVar[AuthorVisibility]

class VisibilityRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VISIBILITY_RULE_UNSPECIFIED: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_CHANNEL: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_SESSION: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_AUDIENCE: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_AUTHOR: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_MEMBERSHIP: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_QUOTE: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_USER_SCOPE: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_TENANT_SCOPE: _ClassVar[VisibilityRule]
    VISIBILITY_RULE_SHARING: _ClassVar[VisibilityRule]

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_COMPLETE: _ClassVar[EndReason]
    END_REASON_LENGTH: _ClassVar[EndReason]
    END_REASON_CONTENT_FILTER: _ClassVar[EndReason]
    END_REASON_TOOL_CALLS: _ClassVar[EndReason]
    END_REASON_INCOMPLETE: _ClassVar[EndReason]
    END_REASON_UPSTREAM_ERROR: _ClassVar[EndReason]
    END_REASON_DEADLINE: _ClassVar[EndReason]
    END_REASON_CANCELLED: _ClassVar[EndReason]

class CompactOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPACT_OUTCOME_UNSPECIFIED: _ClassVar[CompactOutcome]
    COMPACT_OUTCOME_COMPACTED: _ClassVar[CompactOutcome]
    COMPACT_OUTCOME_NOTHING_TO_DO: _ClassVar[CompactOutcome]
    COMPACT_OUTCOME_NO_PROGRESS: _ClassVar[CompactOutcome]

class SummaryKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUMMARY_KIND_UNSPECIFIED: _ClassVar[SummaryKind]
    SUMMARY_KIND_MODEL: _ClassVar[SummaryKind]
    SUMMARY_KIND_KEY_LINES: _ClassVar[SummaryKind]
LAYOUT_UNSPECIFIED: Layout
LAYOUT_TURNS: Layout
LAYOUT_CONTEXT_AND_QUESTION: Layout
LAYOUT_SINGLE_USER: Layout
LAYOUT_SYSTEM_AND_USER: Layout
SPEAKER_STYLE_UNSPECIFIED: SpeakerStyle
SPEAKER_STYLE_ROLE: SpeakerStyle
SPEAKER_STYLE_TAGGED: SpeakerStyle
TIME_STYLE_UNSPECIFIED: TimeStyle
TIME_STYLE_NONE: TimeStyle
TIME_STYLE_ISO_DATE: TimeStyle
TIME_STYLE_RELATIVE: TimeStyle
TOKENIZER_UNSPECIFIED: Tokenizer
TOKENIZER_O200K_BASE: Tokenizer
TOKENIZER_CHARS_4: Tokenizer
TOKENIZER_BYTES_4: Tokenizer
PAYLOAD_FORMAT_UNSPECIFIED: PayloadFormat
PAYLOAD_FORMAT_OPENAI_CHAT: PayloadFormat
PAYLOAD_FORMAT_NONE: PayloadFormat
PAYLOAD_FORMAT_OPENAI_RESPONSES: PayloadFormat
PAYLOAD_FORMAT_ANTHROPIC_MESSAGES: PayloadFormat
PAYLOAD_FORMAT_GEMINI_CONTENTS: PayloadFormat
RESPONSE_PART_UNSPECIFIED: ResponsePart
RESPONSE_PART_ITEM_MESSAGES: ResponsePart
RESPONSE_PART_MESSAGES: ResponsePart
RESPONSE_PART_PAYLOADS: ResponsePart
RESPONSE_PART_TEXT: ResponsePart
STORED_SYSTEM_ROWS_UNSPECIFIED: StoredSystemRows
STORED_SYSTEM_ROWS_USER: StoredSystemRows
STORED_SYSTEM_ROWS_SYSTEM: StoredSystemRows
STORED_SYSTEM_ROWS_SKIP: StoredSystemRows
TOOL_OUTPUTS_UNSPECIFIED: ToolOutputs
TOOL_OUTPUTS_KEEP: ToolOutputs
TOOL_OUTPUTS_HEAD_TAIL: ToolOutputs
TOOL_OUTPUTS_SKIP: ToolOutputs
SOURCE_UNSPECIFIED: Source
SOURCE_RECENT: Source
SOURCE_WINDOW: Source
SOURCE_THREAD: Source
SOURCE_MENTION: Source
SOURCE_LEXICAL: Source
SOURCE_SEMANTIC: Source
SOURCE_ASKER: Source
SOURCE_PINNED: Source
SOURCE_OWN: Source
SOURCE_CHAIN: Source
SOURCE_GRAPH: Source
SOURCE_RECALL: Source
SOURCE_SHARING: Source
SOURCE_SINCE: Source
CATEGORY_UNSPECIFIED: Category
CATEGORY_RECENT: Category
CATEGORY_SEMANTIC: Category
FATE_UNSPECIFIED: Fate
FATE_SELECTED: Fate
FATE_THRESHOLD: Fate
FATE_LIMIT: Fate
FATE_BUDGET: Fate
FATE_DUPLICATE: Fate
FATE_DIVERSITY: Fate
FATE_VISIBILITY: Fate
FATE_RECALLED: Fate
PREFIX_CHANGE_UNSPECIFIED: PrefixChange
PREFIX_CHANGE_NONE: PrefixChange
PREFIX_CHANGE_FIRST: PrefixChange
PREFIX_CHANGE_TOOLS: PrefixChange
PREFIX_CHANGE_SYSTEM: PrefixChange
PREFIX_CHANGE_SUMMARY: PrefixChange
PREFIX_CHANGE_TRIMMED: PrefixChange
PREFIX_CHANGE_STYLE: PrefixChange
PREFIX_CHANGE_MESSAGES: PrefixChange
RUNG_UNSPECIFIED: Rung
RUNG_RANKED: Rung
RUNG_RECENT: Rung
RUNG_EMPTY: Rung
AUTHOR_VISIBILITY_UNSPECIFIED: AuthorVisibility
AUTHOR_VISIBILITY_ALL: AuthorVisibility
AUTHOR_VISIBILITY_ALLOWLIST: AuthorVisibility
AUTHOR_VISIBILITY_ALLOWLIST_QUOTE: AuthorVisibility
VISIBILITY_RULE_UNSPECIFIED: VisibilityRule
VISIBILITY_RULE_CHANNEL: VisibilityRule
VISIBILITY_RULE_SESSION: VisibilityRule
VISIBILITY_RULE_AUDIENCE: VisibilityRule
VISIBILITY_RULE_AUTHOR: VisibilityRule
VISIBILITY_RULE_MEMBERSHIP: VisibilityRule
VISIBILITY_RULE_QUOTE: VisibilityRule
VISIBILITY_RULE_USER_SCOPE: VisibilityRule
VISIBILITY_RULE_TENANT_SCOPE: VisibilityRule
VISIBILITY_RULE_SHARING: VisibilityRule
END_REASON_UNSPECIFIED: EndReason
END_REASON_COMPLETE: EndReason
END_REASON_LENGTH: EndReason
END_REASON_CONTENT_FILTER: EndReason
END_REASON_TOOL_CALLS: EndReason
END_REASON_INCOMPLETE: EndReason
END_REASON_UPSTREAM_ERROR: EndReason
END_REASON_DEADLINE: EndReason
END_REASON_CANCELLED: EndReason
COMPACT_OUTCOME_UNSPECIFIED: CompactOutcome
COMPACT_OUTCOME_COMPACTED: CompactOutcome
COMPACT_OUTCOME_NOTHING_TO_DO: CompactOutcome
COMPACT_OUTCOME_NO_PROGRESS: CompactOutcome
SUMMARY_KIND_UNSPECIFIED: SummaryKind
SUMMARY_KIND_MODEL: SummaryKind
SUMMARY_KIND_KEY_LINES: SummaryKind

class Overrides(_message.Message):
    __slots__ = ("use_intelligent_context", "max_context", "time_window_hours", "relevance_threshold", "sources", "max_chars_per_message", "recent_limit", "recent_floor", "decay_per_hour", "recency_half_life_minutes", "weights", "exploration_slots", "exploration_temperature")
    USE_INTELLIGENT_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TIME_WINDOW_HOURS_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    MAX_CHARS_PER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RECENT_LIMIT_FIELD_NUMBER: _ClassVar[int]
    RECENT_FLOOR_FIELD_NUMBER: _ClassVar[int]
    DECAY_PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    RECENCY_HALF_LIFE_MINUTES_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_SLOTS_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    use_intelligent_context: bool
    max_context: int
    time_window_hours: int
    relevance_threshold: float
    sources: _containers.RepeatedScalarFieldContainer[str]
    max_chars_per_message: int
    recent_limit: int
    recent_floor: int
    decay_per_hour: float
    recency_half_life_minutes: float
    weights: ScoreWeights
    exploration_slots: int
    exploration_temperature: float
    def __init__(self, use_intelligent_context: bool = ..., max_context: _Optional[int] = ..., time_window_hours: _Optional[int] = ..., relevance_threshold: _Optional[float] = ..., sources: _Optional[_Iterable[str]] = ..., max_chars_per_message: _Optional[int] = ..., recent_limit: _Optional[int] = ..., recent_floor: _Optional[int] = ..., decay_per_hour: _Optional[float] = ..., recency_half_life_minutes: _Optional[float] = ..., weights: _Optional[_Union[ScoreWeights, _Mapping]] = ..., exploration_slots: _Optional[int] = ..., exploration_temperature: _Optional[float] = ...) -> None: ...

class Exploration(_message.Message):
    __slots__ = ("slots", "temperature", "seed", "probability", "seed_given")
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    SEED_GIVEN_FIELD_NUMBER: _ClassVar[int]
    slots: int
    temperature: float
    seed: int
    probability: float
    seed_given: bool
    def __init__(self, slots: _Optional[int] = ..., temperature: _Optional[float] = ..., seed: _Optional[int] = ..., probability: _Optional[float] = ..., seed_given: bool = ...) -> None: ...

class ScoreWeights(_message.Message):
    __slots__ = ("reply_chain", "user_continuity", "time_decay", "mention_relation", "keyword_overlap")
    REPLY_CHAIN_FIELD_NUMBER: _ClassVar[int]
    USER_CONTINUITY_FIELD_NUMBER: _ClassVar[int]
    TIME_DECAY_FIELD_NUMBER: _ClassVar[int]
    MENTION_RELATION_FIELD_NUMBER: _ClassVar[int]
    KEYWORD_OVERLAP_FIELD_NUMBER: _ClassVar[int]
    reply_chain: float
    user_continuity: float
    time_decay: float
    mention_relation: float
    keyword_overlap: float
    def __init__(self, reply_chain: _Optional[float] = ..., user_continuity: _Optional[float] = ..., time_decay: _Optional[float] = ..., mention_relation: _Optional[float] = ..., keyword_overlap: _Optional[float] = ...) -> None: ...

class SystemPrompt(_message.Message):
    __slots__ = ("text", "is_template", "parameters")
    class ParametersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    text: str
    is_template: bool
    parameters: _containers.ScalarMap[str, str]
    def __init__(self, text: _Optional[str] = ..., is_template: bool = ..., parameters: _Optional[_Mapping[str, str]] = ...) -> None: ...

class BuildContextRequest(_message.Message):
    __slots__ = ("channel", "asker", "question", "trigger_message_id", "asked_at_ms", "reply", "mentions", "thread_id", "session_id", "self_ids", "profile", "overrides", "layout", "speaker_style", "time_style", "time_zone", "system", "include_system", "tools_json", "reserve_tokens", "preferences", "query_embedding", "token_budget", "tokenizer", "payload_formats", "model", "explain", "question_label", "include_names", "visible_since_membership", "omit", "stored_system_rows", "semantic_scope", "language", "provider", "without_summary", "tool_outputs", "tool_output_chars", "cache_marks", "pictures", "include_pictures", "viewer_id", "author_visibility", "allowed_author_ids", "exploration_seed", "catch_up")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ASKER_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    MENTIONS_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SELF_IDS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_STYLE_FIELD_NUMBER: _ClassVar[int]
    TIME_STYLE_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    RESERVE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    QUERY_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FORMATS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    QUESTION_LABEL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_NAMES_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_SINCE_MEMBERSHIP_FIELD_NUMBER: _ClassVar[int]
    OMIT_FIELD_NUMBER: _ClassVar[int]
    STORED_SYSTEM_ROWS_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_SCOPE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    TOOL_OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    TOOL_OUTPUT_CHARS_FIELD_NUMBER: _ClassVar[int]
    CACHE_MARKS_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_PICTURES_FIELD_NUMBER: _ClassVar[int]
    VIEWER_ID_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_AUTHOR_IDS_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_SEED_FIELD_NUMBER: _ClassVar[int]
    CATCH_UP_FIELD_NUMBER: _ClassVar[int]
    channel: str
    asker: _message_pb2.Author
    question: str
    trigger_message_id: str
    asked_at_ms: int
    reply: _message_pb2.Reply
    mentions: _containers.RepeatedCompositeFieldContainer[_message_pb2.Mention]
    thread_id: str
    session_id: str
    self_ids: _containers.RepeatedScalarFieldContainer[str]
    profile: str
    overrides: Overrides
    layout: Layout
    speaker_style: SpeakerStyle
    time_style: TimeStyle
    time_zone: str
    system: SystemPrompt
    include_system: bool
    tools_json: str
    reserve_tokens: int
    preferences: _containers.RepeatedScalarFieldContainer[str]
    query_embedding: _message_pb2.Embedding
    token_budget: int
    tokenizer: Tokenizer
    payload_formats: _containers.RepeatedScalarFieldContainer[PayloadFormat]
    model: str
    explain: bool
    question_label: str
    include_names: bool
    visible_since_membership: bool
    omit: _containers.RepeatedScalarFieldContainer[ResponsePart]
    stored_system_rows: StoredSystemRows
    semantic_scope: _history_pb2.SearchScope
    language: str
    provider: str
    without_summary: bool
    tool_outputs: ToolOutputs
    tool_output_chars: int
    cache_marks: bool
    pictures: _containers.RepeatedCompositeFieldContainer[_message_pb2.MediaPart]
    include_pictures: bool
    viewer_id: str
    author_visibility: AuthorVisibility
    allowed_author_ids: _containers.RepeatedScalarFieldContainer[str]
    exploration_seed: int
    catch_up: CatchUp
    def __init__(self, channel: _Optional[str] = ..., asker: _Optional[_Union[_message_pb2.Author, _Mapping]] = ..., question: _Optional[str] = ..., trigger_message_id: _Optional[str] = ..., asked_at_ms: _Optional[int] = ..., reply: _Optional[_Union[_message_pb2.Reply, _Mapping]] = ..., mentions: _Optional[_Iterable[_Union[_message_pb2.Mention, _Mapping]]] = ..., thread_id: _Optional[str] = ..., session_id: _Optional[str] = ..., self_ids: _Optional[_Iterable[str]] = ..., profile: _Optional[str] = ..., overrides: _Optional[_Union[Overrides, _Mapping]] = ..., layout: _Optional[_Union[Layout, str]] = ..., speaker_style: _Optional[_Union[SpeakerStyle, str]] = ..., time_style: _Optional[_Union[TimeStyle, str]] = ..., time_zone: _Optional[str] = ..., system: _Optional[_Union[SystemPrompt, _Mapping]] = ..., include_system: bool = ..., tools_json: _Optional[str] = ..., reserve_tokens: _Optional[int] = ..., preferences: _Optional[_Iterable[str]] = ..., query_embedding: _Optional[_Union[_message_pb2.Embedding, _Mapping]] = ..., token_budget: _Optional[int] = ..., tokenizer: _Optional[_Union[Tokenizer, str]] = ..., payload_formats: _Optional[_Iterable[_Union[PayloadFormat, str]]] = ..., model: _Optional[str] = ..., explain: bool = ..., question_label: _Optional[str] = ..., include_names: bool = ..., visible_since_membership: bool = ..., omit: _Optional[_Iterable[_Union[ResponsePart, str]]] = ..., stored_system_rows: _Optional[_Union[StoredSystemRows, str]] = ..., semantic_scope: _Optional[_Union[_history_pb2.SearchScope, str]] = ..., language: _Optional[str] = ..., provider: _Optional[str] = ..., without_summary: bool = ..., tool_outputs: _Optional[_Union[ToolOutputs, str]] = ..., tool_output_chars: _Optional[int] = ..., cache_marks: bool = ..., pictures: _Optional[_Iterable[_Union[_message_pb2.MediaPart, _Mapping]]] = ..., include_pictures: bool = ..., viewer_id: _Optional[str] = ..., author_visibility: _Optional[_Union[AuthorVisibility, str]] = ..., allowed_author_ids: _Optional[_Iterable[str]] = ..., exploration_seed: _Optional[int] = ..., catch_up: _Optional[_Union[CatchUp, _Mapping]] = ...) -> None: ...

class CatchUp(_message.Message):
    __slots__ = ("since_message_id", "since_ms")
    SINCE_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    since_message_id: str
    since_ms: int
    def __init__(self, since_message_id: _Optional[str] = ..., since_ms: _Optional[int] = ...) -> None: ...

class Item(_message.Message):
    __slots__ = ("message", "role", "rank", "score", "sources", "own_sources", "category", "token_count", "truncated", "channel", "visible_by")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    OWN_SOURCES_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_BY_FIELD_NUMBER: _ClassVar[int]
    message: _message_pb2.Message
    role: _message_pb2.Role
    rank: int
    score: float
    sources: _containers.RepeatedScalarFieldContainer[Source]
    own_sources: _containers.RepeatedScalarFieldContainer[str]
    category: Category
    token_count: int
    truncated: bool
    channel: str
    visible_by: VisibilityRule
    def __init__(self, message: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., role: _Optional[_Union[_message_pb2.Role, str]] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., sources: _Optional[_Iterable[_Union[Source, str]]] = ..., own_sources: _Optional[_Iterable[str]] = ..., category: _Optional[_Union[Category, str]] = ..., token_count: _Optional[int] = ..., truncated: bool = ..., channel: _Optional[str] = ..., visible_by: _Optional[_Union[VisibilityRule, str]] = ...) -> None: ...

class RenderedMessage(_message.Message):
    __slots__ = ("role", "content", "message_ids")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    role: _message_pb2.Role
    content: str
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, role: _Optional[_Union[_message_pb2.Role, str]] = ..., content: _Optional[str] = ..., message_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Payload(_message.Message):
    __slots__ = ("format", "body")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    format: PayloadFormat
    body: bytes
    def __init__(self, format: _Optional[_Union[PayloadFormat, str]] = ..., body: _Optional[bytes] = ...) -> None: ...

class TokenCounts(_message.Message):
    __slots__ = ("system", "tools", "preferences", "recent", "semantic", "question", "framing", "reserve", "total", "budget", "tokenizer", "summary", "calibration")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    PREFERENCES_FIELD_NUMBER: _ClassVar[int]
    RECENT_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    FRAMING_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CALIBRATION_FIELD_NUMBER: _ClassVar[int]
    system: int
    tools: int
    preferences: int
    recent: int
    semantic: int
    question: int
    framing: int
    reserve: int
    total: int
    budget: int
    tokenizer: Tokenizer
    summary: int
    calibration: float
    def __init__(self, system: _Optional[int] = ..., tools: _Optional[int] = ..., preferences: _Optional[int] = ..., recent: _Optional[int] = ..., semantic: _Optional[int] = ..., question: _Optional[int] = ..., framing: _Optional[int] = ..., reserve: _Optional[int] = ..., total: _Optional[int] = ..., budget: _Optional[int] = ..., tokenizer: _Optional[_Union[Tokenizer, str]] = ..., summary: _Optional[int] = ..., calibration: _Optional[float] = ...) -> None: ...

class Degradation(_message.Message):
    __slots__ = ("stage", "source", "reason")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    stage: str
    source: str
    reason: str
    def __init__(self, stage: _Optional[str] = ..., source: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "type", "level", "parent_id", "at_ms", "payload")
    class PayloadEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    id: str
    type: str
    level: str
    parent_id: str
    at_ms: int
    payload: _containers.ScalarMap[str, str]
    def __init__(self, id: _Optional[str] = ..., type: _Optional[str] = ..., level: _Optional[str] = ..., parent_id: _Optional[str] = ..., at_ms: _Optional[int] = ..., payload: _Optional[_Mapping[str, str]] = ...) -> None: ...

class CandidateExplanation(_message.Message):
    __slots__ = ("message_id", "sources", "own_sources", "shares", "linear", "score", "decided_by", "fate", "rank", "scored_by", "channel", "visible_by", "sharing_group")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    OWN_SOURCES_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    LINEAR_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORED_BY_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_BY_FIELD_NUMBER: _ClassVar[int]
    SHARING_GROUP_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    sources: _containers.RepeatedScalarFieldContainer[Source]
    own_sources: _containers.RepeatedScalarFieldContainer[str]
    shares: _containers.RepeatedScalarFieldContainer[float]
    linear: float
    score: float
    decided_by: str
    fate: Fate
    rank: int
    scored_by: str
    channel: str
    visible_by: VisibilityRule
    sharing_group: str
    def __init__(self, message_id: _Optional[str] = ..., sources: _Optional[_Iterable[_Union[Source, str]]] = ..., own_sources: _Optional[_Iterable[str]] = ..., shares: _Optional[_Iterable[float]] = ..., linear: _Optional[float] = ..., score: _Optional[float] = ..., decided_by: _Optional[str] = ..., fate: _Optional[_Union[Fate, str]] = ..., rank: _Optional[int] = ..., scored_by: _Optional[str] = ..., channel: _Optional[str] = ..., visible_by: _Optional[_Union[VisibilityRule, str]] = ..., sharing_group: _Optional[str] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("profile", "factors", "weights", "threshold", "link", "candidates")
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    profile: str
    factors: _containers.RepeatedScalarFieldContainer[str]
    weights: _containers.RepeatedScalarFieldContainer[float]
    threshold: float
    link: str
    candidates: _containers.RepeatedCompositeFieldContainer[CandidateExplanation]
    def __init__(self, profile: _Optional[str] = ..., factors: _Optional[_Iterable[str]] = ..., weights: _Optional[_Iterable[float]] = ..., threshold: _Optional[float] = ..., link: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[CandidateExplanation, _Mapping]]] = ...) -> None: ...

class Diagnostics(_message.Message):
    __slots__ = ("stage_microseconds", "cache_hit", "channel_generation", "exhaustive_search", "candidate_count", "server_version", "prefix_change")
    class StageMicrosecondsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    STAGE_MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    CACHE_HIT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_GENERATION_FIELD_NUMBER: _ClassVar[int]
    EXHAUSTIVE_SEARCH_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    PREFIX_CHANGE_FIELD_NUMBER: _ClassVar[int]
    stage_microseconds: _containers.ScalarMap[str, int]
    cache_hit: bool
    channel_generation: int
    exhaustive_search: bool
    candidate_count: int
    server_version: str
    prefix_change: PrefixChange
    def __init__(self, stage_microseconds: _Optional[_Mapping[str, int]] = ..., cache_hit: bool = ..., channel_generation: _Optional[int] = ..., exhaustive_search: bool = ..., candidate_count: _Optional[int] = ..., server_version: _Optional[str] = ..., prefix_change: _Optional[_Union[PrefixChange, str]] = ...) -> None: ...

class BuildContextResponse(_message.Message):
    __slots__ = ("context_id", "channel_known", "asked_at_ms", "profile", "items", "messages", "payloads", "text", "tokens", "stable_prefix_tokens", "rung", "degradations", "trigger", "addressed", "question_type", "summary", "events", "explanation", "diagnostics", "speaker_style", "layout", "channel", "stable_prefix_messages", "exploration", "experiment")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_KNOWN_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PAYLOADS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    STABLE_PREFIX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    RUNG_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ADDRESSED_FIELD_NUMBER: _ClassVar[int]
    QUESTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSTICS_FIELD_NUMBER: _ClassVar[int]
    SPEAKER_STYLE_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    STABLE_PREFIX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    channel_known: bool
    asked_at_ms: int
    profile: str
    items: _containers.RepeatedCompositeFieldContainer[Item]
    messages: _containers.RepeatedCompositeFieldContainer[RenderedMessage]
    payloads: _containers.RepeatedCompositeFieldContainer[Payload]
    text: str
    tokens: TokenCounts
    stable_prefix_tokens: int
    rung: Rung
    degradations: _containers.RepeatedCompositeFieldContainer[Degradation]
    trigger: _message_pb2.Message
    addressed: bool
    question_type: _message_pb2.MessageType
    summary: str
    events: _containers.RepeatedCompositeFieldContainer[Event]
    explanation: Explanation
    diagnostics: Diagnostics
    speaker_style: SpeakerStyle
    layout: Layout
    channel: str
    stable_prefix_messages: int
    exploration: Exploration
    experiment: ExperimentUse
    def __init__(self, context_id: _Optional[str] = ..., channel_known: bool = ..., asked_at_ms: _Optional[int] = ..., profile: _Optional[str] = ..., items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., messages: _Optional[_Iterable[_Union[RenderedMessage, _Mapping]]] = ..., payloads: _Optional[_Iterable[_Union[Payload, _Mapping]]] = ..., text: _Optional[str] = ..., tokens: _Optional[_Union[TokenCounts, _Mapping]] = ..., stable_prefix_tokens: _Optional[int] = ..., rung: _Optional[_Union[Rung, str]] = ..., degradations: _Optional[_Iterable[_Union[Degradation, _Mapping]]] = ..., trigger: _Optional[_Union[_message_pb2.Message, _Mapping]] = ..., addressed: bool = ..., question_type: _Optional[_Union[_message_pb2.MessageType, str]] = ..., summary: _Optional[str] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ..., diagnostics: _Optional[_Union[Diagnostics, _Mapping]] = ..., speaker_style: _Optional[_Union[SpeakerStyle, str]] = ..., layout: _Optional[_Union[Layout, str]] = ..., channel: _Optional[str] = ..., stable_prefix_messages: _Optional[int] = ..., exploration: _Optional[_Union[Exploration, _Mapping]] = ..., experiment: _Optional[_Union[ExperimentUse, _Mapping]] = ...) -> None: ...

class ExperimentUse(_message.Message):
    __slots__ = ("experiment_id", "arm")
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    ARM_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    arm: str
    def __init__(self, experiment_id: _Optional[str] = ..., arm: _Optional[str] = ...) -> None: ...

class ModelCall(_message.Message):
    __slots__ = ("temperature", "max_tool_iterations", "enable_tools", "max_output_tokens", "extra_body_json", "model_api")
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOL_ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    ENABLE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_BODY_JSON_FIELD_NUMBER: _ClassVar[int]
    MODEL_API_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    max_tool_iterations: int
    enable_tools: bool
    max_output_tokens: int
    extra_body_json: str
    model_api: PayloadFormat
    def __init__(self, temperature: _Optional[float] = ..., max_tool_iterations: _Optional[int] = ..., enable_tools: bool = ..., max_output_tokens: _Optional[int] = ..., extra_body_json: _Optional[str] = ..., model_api: _Optional[_Union[PayloadFormat, str]] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("call_id", "text", "is_error")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    text: str
    is_error: bool
    def __init__(self, call_id: _Optional[str] = ..., text: _Optional[str] = ..., is_error: bool = ...) -> None: ...

class StreamChatRequest(_message.Message):
    __slots__ = ("context", "model_call", "turn_id", "tool_results", "question_message_id")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    MODEL_CALL_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    context: BuildContextRequest
    model_call: ModelCall
    turn_id: str
    tool_results: _containers.RepeatedCompositeFieldContainer[ToolResult]
    question_message_id: str
    def __init__(self, context: _Optional[_Union[BuildContextRequest, _Mapping]] = ..., model_call: _Optional[_Union[ModelCall, _Mapping]] = ..., turn_id: _Optional[str] = ..., tool_results: _Optional[_Iterable[_Union[ToolResult, _Mapping]]] = ..., question_message_id: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("prompt_tokens", "completion_tokens")
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TOKENS_FIELD_NUMBER: _ClassVar[int]
    prompt_tokens: int
    completion_tokens: int
    def __init__(self, prompt_tokens: _Optional[int] = ..., completion_tokens: _Optional[int] = ...) -> None: ...

class ChatEnd(_message.Message):
    __slots__ = ("reason", "turn_id", "reply_message_id", "usage", "partial", "finish_reason")
    REASON_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    REPLY_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    reason: EndReason
    turn_id: str
    reply_message_id: str
    usage: Usage
    partial: bool
    finish_reason: str
    def __init__(self, reason: _Optional[_Union[EndReason, str]] = ..., turn_id: _Optional[str] = ..., reply_message_id: _Optional[str] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., partial: bool = ..., finish_reason: _Optional[str] = ...) -> None: ...

class ChatError(_message.Message):
    __slots__ = ("message", "reason", "retry_after_ms")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    message: str
    reason: str
    retry_after_ms: int
    def __init__(self, message: _Optional[str] = ..., reason: _Optional[str] = ..., retry_after_ms: _Optional[int] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("text", "reason")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    text: str
    reason: EndReason
    def __init__(self, text: _Optional[str] = ..., reason: _Optional[_Union[EndReason, str]] = ...) -> None: ...

class StreamChatResponse(_message.Message):
    __slots__ = ("context", "delta", "tool_call", "notice", "error", "end", "target")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    context: BuildContextResponse
    delta: str
    tool_call: _message_pb2.ToolCallPart
    notice: Notice
    error: ChatError
    end: ChatEnd
    target: str
    def __init__(self, context: _Optional[_Union[BuildContextResponse, _Mapping]] = ..., delta: _Optional[str] = ..., tool_call: _Optional[_Union[_message_pb2.ToolCallPart, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ..., error: _Optional[_Union[ChatError, _Mapping]] = ..., end: _Optional[_Union[ChatEnd, _Mapping]] = ..., target: _Optional[str] = ...) -> None: ...

class ChatRequest(_message.Message):
    __slots__ = ("turn",)
    TURN_FIELD_NUMBER: _ClassVar[int]
    turn: StreamChatRequest
    def __init__(self, turn: _Optional[_Union[StreamChatRequest, _Mapping]] = ...) -> None: ...

class ChatResponse(_message.Message):
    __slots__ = ("context", "text", "tool_calls", "error", "end")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    context: BuildContextResponse
    text: str
    tool_calls: _containers.RepeatedCompositeFieldContainer[_message_pb2.ToolCallPart]
    error: ChatError
    end: ChatEnd
    def __init__(self, context: _Optional[_Union[BuildContextResponse, _Mapping]] = ..., text: _Optional[str] = ..., tool_calls: _Optional[_Iterable[_Union[_message_pb2.ToolCallPart, _Mapping]]] = ..., error: _Optional[_Union[ChatError, _Mapping]] = ..., end: _Optional[_Union[ChatEnd, _Mapping]] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ("channel", "thread_id", "focus", "without_model")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    FOCUS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_MODEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    thread_id: str
    focus: str
    without_model: bool
    def __init__(self, channel: _Optional[str] = ..., thread_id: _Optional[str] = ..., focus: _Optional[str] = ..., without_model: bool = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("outcome", "summary", "kind", "message_count", "first_kept_message_id", "tokens_before", "tokens_after", "largest_message_id", "model_failure")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_KEPT_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    LARGEST_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FAILURE_FIELD_NUMBER: _ClassVar[int]
    outcome: CompactOutcome
    summary: str
    kind: SummaryKind
    message_count: int
    first_kept_message_id: str
    tokens_before: int
    tokens_after: int
    largest_message_id: str
    model_failure: str
    def __init__(self, outcome: _Optional[_Union[CompactOutcome, str]] = ..., summary: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., message_count: _Optional[int] = ..., first_kept_message_id: _Optional[str] = ..., tokens_before: _Optional[int] = ..., tokens_after: _Optional[int] = ..., largest_message_id: _Optional[str] = ..., model_failure: _Optional[str] = ...) -> None: ...

class PeriodSummary(_message.Message):
    __slots__ = ("id", "start_ms", "end_ms", "text", "kind", "message_ids", "token_count", "made_at_ms", "model_failure")
    ID_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    END_MS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    MADE_AT_MS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FAILURE_FIELD_NUMBER: _ClassVar[int]
    id: str
    start_ms: int
    end_ms: int
    text: str
    kind: SummaryKind
    message_ids: _containers.RepeatedScalarFieldContainer[str]
    token_count: int
    made_at_ms: int
    model_failure: str
    def __init__(self, id: _Optional[str] = ..., start_ms: _Optional[int] = ..., end_ms: _Optional[int] = ..., text: _Optional[str] = ..., kind: _Optional[_Union[SummaryKind, str]] = ..., message_ids: _Optional[_Iterable[str]] = ..., token_count: _Optional[int] = ..., made_at_ms: _Optional[int] = ..., model_failure: _Optional[str] = ...) -> None: ...

class ListPeriodSummariesRequest(_message.Message):
    __slots__ = ("channel", "limit", "page_token")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    limit: int
    page_token: str
    def __init__(self, channel: _Optional[str] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPeriodSummariesResponse(_message.Message):
    __slots__ = ("summaries", "next_page_token")
    SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    summaries: _containers.RepeatedCompositeFieldContainer[PeriodSummary]
    next_page_token: str
    def __init__(self, summaries: _Optional[_Iterable[_Union[PeriodSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeletePeriodSummaryRequest(_message.Message):
    __slots__ = ("channel", "id")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    channel: str
    id: str
    def __init__(self, channel: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class DeletePeriodSummaryResponse(_message.Message):
    __slots__ = ("was_there",)
    WAS_THERE_FIELD_NUMBER: _ClassVar[int]
    was_there: bool
    def __init__(self, was_there: bool = ...) -> None: ...
