from backscroll.v1 import context_pb2 as _context_pb2
from backscroll.v1 import experiment_pb2 as _experiment_pb2
from backscroll.v1 import feedback_pb2 as _feedback_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PreferenceExtraction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFERENCE_EXTRACTION_UNSPECIFIED: _ClassVar[PreferenceExtraction]
    PREFERENCE_EXTRACTION_OFF: _ClassVar[PreferenceExtraction]
    PREFERENCE_EXTRACTION_RULES: _ClassVar[PreferenceExtraction]
    PREFERENCE_EXTRACTION_MODEL: _ClassVar[PreferenceExtraction]

class RedactionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REDACTION_KIND_UNSPECIFIED: _ClassVar[RedactionKind]
    REDACTION_KIND_EMAIL: _ClassVar[RedactionKind]
    REDACTION_KIND_PHONE: _ClassVar[RedactionKind]
    REDACTION_KIND_CARD: _ClassVar[RedactionKind]
    REDACTION_KIND_ID_NUMBER: _ClassVar[RedactionKind]
    REDACTION_KIND_SECRET: _ClassVar[RedactionKind]

class MetricKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    METRIC_KIND_UNSPECIFIED: _ClassVar[MetricKind]
    METRIC_KIND_COUNTER: _ClassVar[MetricKind]
    METRIC_KIND_GAUGE: _ClassVar[MetricKind]
    METRIC_KIND_HISTOGRAM: _ClassVar[MetricKind]
    METRIC_KIND_SUMMARY: _ClassVar[MetricKind]

class TuningReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TUNING_REASON_UNSPECIFIED: _ClassVar[TuningReason]
    TUNING_REASON_ADOPTED: _ClassVar[TuningReason]
    TUNING_REASON_NO_PROPENSITIES: _ClassVar[TuningReason]
    TUNING_REASON_TOO_FEW_DECISIONS: _ClassVar[TuningReason]
    TUNING_REASON_WEIGHT_CONCENTRATED: _ClassVar[TuningReason]
    TUNING_REASON_NOTHING_PROPOSED: _ClassVar[TuningReason]
    TUNING_REASON_GUARD_WORSE: _ClassVar[TuningReason]
    TUNING_REASON_GUARD_UNKNOWN: _ClassVar[TuningReason]
    TUNING_REASON_ESTIMATES_DISAGREE: _ClassVar[TuningReason]
    TUNING_REASON_NOT_PROVEN: _ClassVar[TuningReason]
    TUNING_REASON_KEPT: _ClassVar[TuningReason]
    TUNING_REASON_ROLLED_BACK: _ClassVar[TuningReason]
    TUNING_REASON_SET_BY_HAND: _ClassVar[TuningReason]
    TUNING_REASON_NOT_WEIGHTED: _ClassVar[TuningReason]
    TUNING_REASON_NOT_COLLECTED: _ClassVar[TuningReason]
PREFERENCE_EXTRACTION_UNSPECIFIED: PreferenceExtraction
PREFERENCE_EXTRACTION_OFF: PreferenceExtraction
PREFERENCE_EXTRACTION_RULES: PreferenceExtraction
PREFERENCE_EXTRACTION_MODEL: PreferenceExtraction
REDACTION_KIND_UNSPECIFIED: RedactionKind
REDACTION_KIND_EMAIL: RedactionKind
REDACTION_KIND_PHONE: RedactionKind
REDACTION_KIND_CARD: RedactionKind
REDACTION_KIND_ID_NUMBER: RedactionKind
REDACTION_KIND_SECRET: RedactionKind
METRIC_KIND_UNSPECIFIED: MetricKind
METRIC_KIND_COUNTER: MetricKind
METRIC_KIND_GAUGE: MetricKind
METRIC_KIND_HISTOGRAM: MetricKind
METRIC_KIND_SUMMARY: MetricKind
TUNING_REASON_UNSPECIFIED: TuningReason
TUNING_REASON_ADOPTED: TuningReason
TUNING_REASON_NO_PROPENSITIES: TuningReason
TUNING_REASON_TOO_FEW_DECISIONS: TuningReason
TUNING_REASON_WEIGHT_CONCENTRATED: TuningReason
TUNING_REASON_NOTHING_PROPOSED: TuningReason
TUNING_REASON_GUARD_WORSE: TuningReason
TUNING_REASON_GUARD_UNKNOWN: TuningReason
TUNING_REASON_ESTIMATES_DISAGREE: TuningReason
TUNING_REASON_NOT_PROVEN: TuningReason
TUNING_REASON_KEPT: TuningReason
TUNING_REASON_ROLLED_BACK: TuningReason
TUNING_REASON_SET_BY_HAND: TuningReason
TUNING_REASON_NOT_WEIGHTED: TuningReason
TUNING_REASON_NOT_COLLECTED: TuningReason

class ChannelSettings(_message.Message):
    __slots__ = ("channel", "profile", "overrides", "collect_usage", "updated_at_ms", "redaction", "sharing", "preference_extraction", "summary_hours", "retention")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    COLLECT_USAGE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    REDACTION_FIELD_NUMBER: _ClassVar[int]
    SHARING_FIELD_NUMBER: _ClassVar[int]
    PREFERENCE_EXTRACTION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_HOURS_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    channel: str
    profile: str
    overrides: _context_pb2.Overrides
    collect_usage: bool
    updated_at_ms: int
    redaction: Redaction
    sharing: Sharing
    preference_extraction: PreferenceExtraction
    summary_hours: int
    retention: Retention
    def __init__(self, channel: _Optional[str] = ..., profile: _Optional[str] = ..., overrides: _Optional[_Union[_context_pb2.Overrides, _Mapping]] = ..., collect_usage: bool = ..., updated_at_ms: _Optional[int] = ..., redaction: _Optional[_Union[Redaction, _Mapping]] = ..., sharing: _Optional[_Union[Sharing, _Mapping]] = ..., preference_extraction: _Optional[_Union[PreferenceExtraction, str]] = ..., summary_hours: _Optional[int] = ..., retention: _Optional[_Union[Retention, _Mapping]] = ...) -> None: ...

class Sharing(_message.Message):
    __slots__ = ("shares_with", "reads_from", "groups", "max_messages")
    SHARES_WITH_FIELD_NUMBER: _ClassVar[int]
    READS_FROM_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    shares_with: _containers.RepeatedScalarFieldContainer[str]
    reads_from: _containers.RepeatedScalarFieldContainer[str]
    groups: _containers.RepeatedScalarFieldContainer[str]
    max_messages: int
    def __init__(self, shares_with: _Optional[_Iterable[str]] = ..., reads_from: _Optional[_Iterable[str]] = ..., groups: _Optional[_Iterable[str]] = ..., max_messages: _Optional[int] = ...) -> None: ...

class Retention(_message.Message):
    __slots__ = ("days", "messages")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    days: int
    messages: int
    def __init__(self, days: _Optional[int] = ..., messages: _Optional[int] = ...) -> None: ...

class Redaction(_message.Message):
    __slots__ = ("kinds",)
    KINDS_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[RedactionKind]
    def __init__(self, kinds: _Optional[_Iterable[_Union[RedactionKind, str]]] = ...) -> None: ...

class GetChannelSettingsRequest(_message.Message):
    __slots__ = ("channel",)
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    def __init__(self, channel: _Optional[str] = ...) -> None: ...

class GetChannelSettingsResponse(_message.Message):
    __slots__ = ("settings",)
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: ChannelSettings
    def __init__(self, settings: _Optional[_Union[ChannelSettings, _Mapping]] = ...) -> None: ...

class SetChannelSettingsRequest(_message.Message):
    __slots__ = ("settings",)
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: ChannelSettings
    def __init__(self, settings: _Optional[_Union[ChannelSettings, _Mapping]] = ...) -> None: ...

class SetChannelSettingsResponse(_message.Message):
    __slots__ = ("settings",)
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    settings: ChannelSettings
    def __init__(self, settings: _Optional[_Union[ChannelSettings, _Mapping]] = ...) -> None: ...

class ListChannelSettingsRequest(_message.Message):
    __slots__ = ("limit", "page_token")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    limit: int
    page_token: str
    def __init__(self, limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListChannelSettingsResponse(_message.Message):
    __slots__ = ("settings", "next_page_token")
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    settings: _containers.RepeatedCompositeFieldContainer[ChannelSettings]
    next_page_token: str
    def __init__(self, settings: _Optional[_Iterable[_Union[ChannelSettings, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteChannelSettingsRequest(_message.Message):
    __slots__ = ("channel",)
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    channel: str
    def __init__(self, channel: _Optional[str] = ...) -> None: ...

class DeleteChannelSettingsResponse(_message.Message):
    __slots__ = ("was_set",)
    WAS_SET_FIELD_NUMBER: _ClassVar[int]
    was_set: bool
    def __init__(self, was_set: bool = ...) -> None: ...

class UsageRecord(_message.Message):
    __slots__ = ("context_id", "channel", "user_id", "trigger_message_id", "context_message_ids", "reply_message_id", "llm_response", "user_feedback", "success_indicator", "candidates", "signals", "created_at_ms", "asked_at_ms", "profile", "policy_id", "rung", "degradations", "token_count", "token_budget", "build_microseconds", "exploration", "factors", "experiment_id", "arm", "is_listed", "shadow_of")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_MESSAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    REPLY_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    LLM_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    USER_FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_INDICATOR_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    POLICY_ID_FIELD_NUMBER: _ClassVar[int]
    RUNG_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    BUILD_MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    EXPLORATION_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    ARM_FIELD_NUMBER: _ClassVar[int]
    IS_LISTED_FIELD_NUMBER: _ClassVar[int]
    SHADOW_OF_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    channel: str
    user_id: str
    trigger_message_id: str
    context_message_ids: _containers.RepeatedScalarFieldContainer[str]
    reply_message_id: str
    llm_response: str
    user_feedback: str
    success_indicator: float
    candidates: _containers.RepeatedCompositeFieldContainer[RecordedCandidate]
    signals: _containers.RepeatedCompositeFieldContainer[_feedback_pb2.Signal]
    created_at_ms: int
    asked_at_ms: int
    profile: str
    policy_id: str
    rung: _context_pb2.Rung
    degradations: _containers.RepeatedCompositeFieldContainer[_context_pb2.Degradation]
    token_count: int
    token_budget: int
    build_microseconds: int
    exploration: _context_pb2.Exploration
    factors: _containers.RepeatedScalarFieldContainer[str]
    experiment_id: str
    arm: str
    is_listed: bool
    shadow_of: str
    def __init__(self, context_id: _Optional[str] = ..., channel: _Optional[str] = ..., user_id: _Optional[str] = ..., trigger_message_id: _Optional[str] = ..., context_message_ids: _Optional[_Iterable[str]] = ..., reply_message_id: _Optional[str] = ..., llm_response: _Optional[str] = ..., user_feedback: _Optional[str] = ..., success_indicator: _Optional[float] = ..., candidates: _Optional[_Iterable[_Union[RecordedCandidate, _Mapping]]] = ..., signals: _Optional[_Iterable[_Union[_feedback_pb2.Signal, _Mapping]]] = ..., created_at_ms: _Optional[int] = ..., asked_at_ms: _Optional[int] = ..., profile: _Optional[str] = ..., policy_id: _Optional[str] = ..., rung: _Optional[_Union[_context_pb2.Rung, str]] = ..., degradations: _Optional[_Iterable[_Union[_context_pb2.Degradation, _Mapping]]] = ..., token_count: _Optional[int] = ..., token_budget: _Optional[int] = ..., build_microseconds: _Optional[int] = ..., exploration: _Optional[_Union[_context_pb2.Exploration, _Mapping]] = ..., factors: _Optional[_Iterable[str]] = ..., experiment_id: _Optional[str] = ..., arm: _Optional[str] = ..., is_listed: bool = ..., shadow_of: _Optional[str] = ...) -> None: ...

class RecordedCandidate(_message.Message):
    __slots__ = ("message_id", "channel", "score", "fate", "features", "inclusion_probability", "drawn")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    INCLUSION_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    channel: str
    score: float
    fate: _context_pb2.Fate
    features: _containers.RepeatedScalarFieldContainer[float]
    inclusion_probability: float
    drawn: bool
    def __init__(self, message_id: _Optional[str] = ..., channel: _Optional[str] = ..., score: _Optional[float] = ..., fate: _Optional[_Union[_context_pb2.Fate, str]] = ..., features: _Optional[_Iterable[float]] = ..., inclusion_probability: _Optional[float] = ..., drawn: bool = ...) -> None: ...

class GetUsageRecordRequest(_message.Message):
    __slots__ = ("context_id",)
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    def __init__(self, context_id: _Optional[str] = ...) -> None: ...

class GetUsageRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: UsageRecord
    def __init__(self, record: _Optional[_Union[UsageRecord, _Mapping]] = ...) -> None: ...

class ListUsageRecordsRequest(_message.Message):
    __slots__ = ("channel", "user_id", "trigger_message_id", "since_ms", "until_ms", "with_candidates", "newest_first", "limit", "page_token", "experiment_id", "arm", "with_shadows")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    WITH_CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    NEWEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    ARM_FIELD_NUMBER: _ClassVar[int]
    WITH_SHADOWS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    user_id: str
    trigger_message_id: str
    since_ms: int
    until_ms: int
    with_candidates: bool
    newest_first: bool
    limit: int
    page_token: str
    experiment_id: str
    arm: str
    with_shadows: bool
    def __init__(self, channel: _Optional[str] = ..., user_id: _Optional[str] = ..., trigger_message_id: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., with_candidates: bool = ..., newest_first: bool = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ..., experiment_id: _Optional[str] = ..., arm: _Optional[str] = ..., with_shadows: bool = ...) -> None: ...

class ListUsageRecordsResponse(_message.Message):
    __slots__ = ("records", "next_page_token")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[UsageRecord]
    next_page_token: str
    def __init__(self, records: _Optional[_Iterable[_Union[UsageRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

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

class GetMetricsRequest(_message.Message):
    __slots__ = ("names", "minutes")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    MINUTES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    minutes: int
    def __init__(self, names: _Optional[_Iterable[str]] = ..., minutes: _Optional[int] = ...) -> None: ...

class MetricSample(_message.Message):
    __slots__ = ("name", "labels", "value", "unit", "period", "kind")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    name: str
    labels: _containers.ScalarMap[str, str]
    value: float
    unit: str
    period: str
    kind: MetricKind
    def __init__(self, name: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., value: _Optional[float] = ..., unit: _Optional[str] = ..., period: _Optional[str] = ..., kind: _Optional[_Union[MetricKind, str]] = ...) -> None: ...

class GetMetricsResponse(_message.Message):
    __slots__ = ("samples", "minutes")
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    MINUTES_FIELD_NUMBER: _ClassVar[int]
    samples: _containers.RepeatedCompositeFieldContainer[MetricSample]
    minutes: _containers.RepeatedCompositeFieldContainer[MetricMinute]
    def __init__(self, samples: _Optional[_Iterable[_Union[MetricSample, _Mapping]]] = ..., minutes: _Optional[_Iterable[_Union[MetricMinute, _Mapping]]] = ...) -> None: ...

class MetricMinute(_message.Message):
    __slots__ = ("began_at_ms", "samples")
    BEGAN_AT_MS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    began_at_ms: int
    samples: _containers.RepeatedCompositeFieldContainer[MetricSample]
    def __init__(self, began_at_ms: _Optional[int] = ..., samples: _Optional[_Iterable[_Union[MetricSample, _Mapping]]] = ...) -> None: ...

class TuneChannelRequest(_message.Message):
    __slots__ = ("channel", "dry_run", "requested_by")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_BY_FIELD_NUMBER: _ClassVar[int]
    channel: str
    dry_run: bool
    requested_by: str
    def __init__(self, channel: _Optional[str] = ..., dry_run: bool = ..., requested_by: _Optional[str] = ...) -> None: ...

class GainEstimate(_message.Message):
    __slots__ = ("value", "lower", "upper")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    value: float
    lower: float
    upper: float
    def __init__(self, value: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ...) -> None: ...

class TuningEvidence(_message.Message):
    __slots__ = ("direct", "snips", "doubly_robust", "decisions", "effective_decisions", "largest_share", "guards")
    DIRECT_FIELD_NUMBER: _ClassVar[int]
    SNIPS_FIELD_NUMBER: _ClassVar[int]
    DOUBLY_ROBUST_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_DECISIONS_FIELD_NUMBER: _ClassVar[int]
    LARGEST_SHARE_FIELD_NUMBER: _ClassVar[int]
    GUARDS_FIELD_NUMBER: _ClassVar[int]
    direct: GainEstimate
    snips: GainEstimate
    doubly_robust: GainEstimate
    decisions: int
    effective_decisions: float
    largest_share: float
    guards: _containers.RepeatedCompositeFieldContainer[TuningGuard]
    def __init__(self, direct: _Optional[_Union[GainEstimate, _Mapping]] = ..., snips: _Optional[_Union[GainEstimate, _Mapping]] = ..., doubly_robust: _Optional[_Union[GainEstimate, _Mapping]] = ..., decisions: _Optional[int] = ..., effective_decisions: _Optional[float] = ..., largest_share: _Optional[float] = ..., guards: _Optional[_Iterable[_Union[TuningGuard, _Mapping]]] = ...) -> None: ...

class TuningGuard(_message.Message):
    __slots__ = ("name", "incumbent", "candidate", "most")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INCUMBENT_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    name: str
    incumbent: float
    candidate: float
    most: float
    def __init__(self, name: _Optional[str] = ..., incumbent: _Optional[float] = ..., candidate: _Optional[float] = ..., most: _Optional[float] = ...) -> None: ...

class TuneChannelResponse(_message.Message):
    __slots__ = ("channel", "profile", "reason", "detail", "changed", "version", "factors", "current_weights", "proposed_weights", "evidence", "recorded_builds", "rated_builds")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    CURRENT_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    RECORDED_BUILDS_FIELD_NUMBER: _ClassVar[int]
    RATED_BUILDS_FIELD_NUMBER: _ClassVar[int]
    channel: str
    profile: str
    reason: TuningReason
    detail: str
    changed: bool
    version: int
    factors: _containers.RepeatedScalarFieldContainer[str]
    current_weights: _containers.RepeatedScalarFieldContainer[float]
    proposed_weights: _containers.RepeatedScalarFieldContainer[float]
    evidence: TuningEvidence
    recorded_builds: int
    rated_builds: int
    def __init__(self, channel: _Optional[str] = ..., profile: _Optional[str] = ..., reason: _Optional[_Union[TuningReason, str]] = ..., detail: _Optional[str] = ..., changed: bool = ..., version: _Optional[int] = ..., factors: _Optional[_Iterable[str]] = ..., current_weights: _Optional[_Iterable[float]] = ..., proposed_weights: _Optional[_Iterable[float]] = ..., evidence: _Optional[_Union[TuningEvidence, _Mapping]] = ..., recorded_builds: _Optional[int] = ..., rated_builds: _Optional[int] = ...) -> None: ...

class WeightVersion(_message.Message):
    __slots__ = ("version", "parent", "factors", "weights", "reason", "detail", "requested_by", "created_at_ms", "evidence")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    FACTORS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    version: int
    parent: int
    factors: _containers.RepeatedScalarFieldContainer[str]
    weights: _containers.RepeatedScalarFieldContainer[float]
    reason: TuningReason
    detail: str
    requested_by: str
    created_at_ms: int
    evidence: TuningEvidence
    def __init__(self, version: _Optional[int] = ..., parent: _Optional[int] = ..., factors: _Optional[_Iterable[str]] = ..., weights: _Optional[_Iterable[float]] = ..., reason: _Optional[_Union[TuningReason, str]] = ..., detail: _Optional[str] = ..., requested_by: _Optional[str] = ..., created_at_ms: _Optional[int] = ..., evidence: _Optional[_Union[TuningEvidence, _Mapping]] = ...) -> None: ...

class ListWeightVersionsRequest(_message.Message):
    __slots__ = ("channel", "limit", "page_token")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    channel: str
    limit: int
    page_token: str
    def __init__(self, channel: _Optional[str] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWeightVersionsResponse(_message.Message):
    __slots__ = ("versions", "next_page_token")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[WeightVersion]
    next_page_token: str
    def __init__(self, versions: _Optional[_Iterable[_Union[WeightVersion, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RollBackWeightsRequest(_message.Message):
    __slots__ = ("channel", "version", "requested_by")
    CHANNEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_BY_FIELD_NUMBER: _ClassVar[int]
    channel: str
    version: int
    requested_by: str
    def __init__(self, channel: _Optional[str] = ..., version: _Optional[int] = ..., requested_by: _Optional[str] = ...) -> None: ...

class RollBackWeightsResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: WeightVersion
    def __init__(self, version: _Optional[_Union[WeightVersion, _Mapping]] = ...) -> None: ...
