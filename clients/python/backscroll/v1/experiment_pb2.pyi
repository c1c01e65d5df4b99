from backscroll.v1 import context_pb2 as _context_pb2
from backscroll.v1 import feedback_pb2 as _feedback_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AssignedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ASSIGNED_BY_UNSPECIFIED: _ClassVar[AssignedBy]
    ASSIGNED_BY_HASH: _ClassVar[AssignedBy]
    ASSIGNED_BY_RESOLVER: _ClassVar[AssignedBy]

class ExperimentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPERIMENT_STATE_UNSPECIFIED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_SCHEDULED: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_RUNNING: _ClassVar[ExperimentState]
    EXPERIMENT_STATE_STOPPED: _ClassVar[ExperimentState]
ASSIGNED_BY_UNSPECIFIED: AssignedBy
ASSIGNED_BY_HASH: AssignedBy
ASSIGNED_BY_RESOLVER: AssignedBy
EXPERIMENT_STATE_UNSPECIFIED: ExperimentState
EXPERIMENT_STATE_SCHEDULED: ExperimentState
EXPERIMENT_STATE_RUNNING: ExperimentState
EXPERIMENT_STATE_STOPPED: ExperimentState

class ExperimentArm(_message.Message):
    __slots__ = ("name", "weight", "profile", "overrides", "layout")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    name: str
    weight: float
    profile: str
    overrides: _context_pb2.Overrides
    layout: _context_pb2.Layout
    def __init__(self, name: _Optional[str] = ..., weight: _Optional[float] = ..., profile: _Optional[str] = ..., overrides: _Optional[_Union[_context_pb2.Overrides, _Mapping]] = ..., layout: _Optional[_Union[_context_pb2.Layout, str]] = ...) -> None: ...

class Experiment(_message.Message):
    __slots__ = ("experiment_id", "arms", "coverage", "holdout", "allowed_channels", "denied_channels", "shadow", "assigned_by", "starts_at_ms", "stops_at_ms", "description", "bucket_version", "state", "updated_at_ms", "comparable_since_ms")
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    HOLDOUT_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    DENIED_CHANNELS_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_BY_FIELD_NUMBER: _ClassVar[int]
    STARTS_AT_MS_FIELD_NUMBER: _ClassVar[int]
    STOPS_AT_MS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    BUCKET_VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_MS_FIELD_NUMBER: _ClassVar[int]
    COMPARABLE_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    arms: _containers.RepeatedCompositeFieldContainer[ExperimentArm]
    coverage: float
    holdout: float
    allowed_channels: _containers.RepeatedScalarFieldContainer[str]
    denied_channels: _containers.RepeatedScalarFieldContainer[str]
    shadow: ExperimentArm
    assigned_by: AssignedBy
    starts_at_ms: int
    stops_at_ms: int
    description: str
    bucket_version: int
    state: ExperimentState
    updated_at_ms: int
    comparable_since_ms: int
    def __init__(self, experiment_id: _Optional[str] = ..., arms: _Optional[_Iterable[_Union[ExperimentArm, _Mapping]]] = ..., coverage: _Optional[float] = ..., holdout: _Optional[float] = ..., allowed_channels: _Optional[_Iterable[str]] = ..., denied_channels: _Optional[_Iterable[str]] = ..., shadow: _Optional[_Union[ExperimentArm, _Mapping]] = ..., assigned_by: _Optional[_Union[AssignedBy, str]] = ..., starts_at_ms: _Optional[int] = ..., stops_at_ms: _Optional[int] = ..., description: _Optional[str] = ..., bucket_version: _Optional[int] = ..., state: _Optional[_Union[ExperimentState, str]] = ..., updated_at_ms: _Optional[int] = ..., comparable_since_ms: _Optional[int] = ...) -> None: ...

class PutExperimentRequest(_message.Message):
    __slots__ = ("experiment", "allow_moves", "validate_only")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    ALLOW_MOVES_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    allow_moves: bool
    validate_only: bool
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ..., allow_moves: bool = ..., validate_only: bool = ...) -> None: ...

class PutExperimentResponse(_message.Message):
    __slots__ = ("experiment", "moved_share")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    MOVED_SHARE_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    moved_share: float
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ..., moved_share: _Optional[float] = ...) -> None: ...

class GetExperimentRequest(_message.Message):
    __slots__ = ("experiment_id",)
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    def __init__(self, experiment_id: _Optional[str] = ...) -> None: ...

class GetExperimentResponse(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ...) -> None: ...

class ListExperimentsRequest(_message.Message):
    __slots__ = ("limit", "page_token")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    limit: int
    page_token: str
    def __init__(self, limit: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListExperimentsResponse(_message.Message):
    __slots__ = ("experiments", "next_page_token")
    EXPERIMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    experiments: _containers.RepeatedCompositeFieldContainer[Experiment]
    next_page_token: str
    def __init__(self, experiments: _Optional[_Iterable[_Union[Experiment, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class StopExperimentRequest(_message.Message):
    __slots__ = ("experiment_id",)
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    def __init__(self, experiment_id: _Optional[str] = ...) -> None: ...

class StopExperimentResponse(_message.Message):
    __slots__ = ("experiment",)
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ...) -> None: ...

class DeleteExperimentRequest(_message.Message):
    __slots__ = ("experiment_id",)
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    def __init__(self, experiment_id: _Optional[str] = ...) -> None: ...

class DeleteExperimentResponse(_message.Message):
    __slots__ = ("existed",)
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    existed: bool
    def __init__(self, existed: bool = ...) -> None: ...

class GetExperimentReportRequest(_message.Message):
    __slots__ = ("experiment_id", "since_ms", "until_ms")
    EXPERIMENT_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    experiment_id: str
    since_ms: int
    until_ms: int
    def __init__(self, experiment_id: _Optional[str] = ..., since_ms: _Optional[int] = ..., until_ms: _Optional[int] = ...) -> None: ...

class Measured(_message.Message):
    __slots__ = ("mean", "lower", "upper", "count")
    MEAN_FIELD_NUMBER: _ClassVar[int]
    LOWER_FIELD_NUMBER: _ClassVar[int]
    UPPER_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    mean: float
    lower: float
    upper: float
    count: int
    def __init__(self, mean: _Optional[float] = ..., lower: _Optional[float] = ..., upper: _Optional[float] = ..., count: _Optional[int] = ...) -> None: ...

class SignalCount(_message.Message):
    __slots__ = ("kind", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: _feedback_pb2.SignalKind
    count: int
    def __init__(self, kind: _Optional[_Union[_feedback_pb2.SignalKind, str]] = ..., count: _Optional[int] = ...) -> None: ...

class ArmReport(_message.Message):
    __slots__ = ("arm", "is_shadow", "is_listed", "builds", "channels", "build_milliseconds", "build_milliseconds_median", "build_milliseconds_p95", "tokens", "accuracy", "fallbacks", "recall", "signals", "same_messages")
    ARM_FIELD_NUMBER: _ClassVar[int]
    IS_SHADOW_FIELD_NUMBER: _ClassVar[int]
    IS_LISTED_FIELD_NUMBER: _ClassVar[int]
    BUILDS_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    BUILD_MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    BUILD_MILLISECONDS_MEDIAN_FIELD_NUMBER: _ClassVar[int]
    BUILD_MILLISECONDS_P95_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    ACCURACY_FIELD_NUMBER: _ClassVar[int]
    FALLBACKS_FIELD_NUMBER: _ClassVar[int]
    RECALL_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_FIELD_NUMBER: _ClassVar[int]
    SAME_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    arm: str
    is_shadow: bool
    is_listed: bool
    builds: int
    channels: int
    build_milliseconds: Measured
    build_milliseconds_median: float
    build_milliseconds_p95: float
    tokens: Measured
    accuracy: Measured
    fallbacks: Measured
    recall: Measured
    signals: _containers.RepeatedCompositeFieldContainer[SignalCount]
    same_messages: Measured
    def __init__(self, arm: _Optional[str] = ..., is_shadow: bool = ..., is_listed: bool = ..., builds: _Optional[int] = ..., channels: _Optional[int] = ..., build_milliseconds: _Optional[_Union[Measured, _Mapping]] = ..., build_milliseconds_median: _Optional[float] = ..., build_milliseconds_p95: _Optional[float] = ..., tokens: _Optional[_Union[Measured, _Mapping]] = ..., accuracy: _Optional[_Union[Measured, _Mapping]] = ..., fallbacks: _Optional[_Union[Measured, _Mapping]] = ..., recall: _Optional[_Union[Measured, _Mapping]] = ..., signals: _Optional[_Iterable[_Union[SignalCount, _Mapping]]] = ..., same_messages: _Optional[_Union[Measured, _Mapping]] = ...) -> None: ...

class GetExperimentReportResponse(_message.Message):
    __slots__ = ("experiment", "arms", "since_ms", "sample_ratio_probability", "sample_ratio_alarm", "notes")
    EXPERIMENT_FIELD_NUMBER: _ClassVar[int]
    ARMS_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATIO_PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATIO_ALARM_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    experiment: Experiment
    arms: _containers.RepeatedCompositeFieldContainer[ArmReport]
    since_ms: int
    sample_ratio_probability: float
    sample_ratio_alarm: bool
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, experiment: _Optional[_Union[Experiment, _Mapping]] = ..., arms: _Optional[_Iterable[_Union[ArmReport, _Mapping]]] = ..., since_ms: _Optional[int] = ..., sample_ratio_probability: _Optional[float] = ..., sample_ratio_alarm: bool = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...
