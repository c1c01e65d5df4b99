"""What the core needs from outside, with the obligations of every implementation.

Adapters (`store`, `vectors`, `models`) implement these; only `wiring` knows which. One contract suite per port,
in `tests/contract`, is run on every implementation.
"""

from __future__ import annotations

from backscroll_sidecar.ports.changes import (
    VERSION_FIELD,
    AliasChange,
    AppendChange,
    Applied,
    Change,
    EditChange,
    EraseChange,
    EraseReceipt,
    EventsChange,
    MembersChange,
    RecordChange,
    RetractChange,
    SegmentsChange,
    SignalChange,
    TurnMark,
    UsageChange,
    VectorsChange,
)
from backscroll_sidecar.ports.experiments import (
    CONTROL,
    HOLDOUT,
    NOWHERE,
    ArmSettings,
    Placement,
    ShadowSink,
    StoredExperiments,
)
from backscroll_sidecar.ports.history import (
    ANY_EVENT,
    ChannelInfo,
    EventQuery,
    HistoryReader,
    HistoryStore,
    LastMessage,
    ListQuery,
    OverdueQuery,
    RecordedEvent,
)
from backscroll_sidecar.ports.leases import Leases
from backscroll_sidecar.ports.losses import Loss, kept_by_turns, loss_of
from backscroll_sidecar.ports.maintenance import Finding, Maintenance, Status
from backscroll_sidecar.ports.models import (
    RESERVED_BODY_FIELDS,
    AnswerParts,
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelFault,
    ModelRequest,
    Relay,
    Relayed,
    TextDelta,
    TextTakenBack,
    ToolCallDelta,
    Upstream,
    UsageDelta,
    VendorAnswer,
    reserved_fields,
)
from backscroll_sidecar.ports.records import (
    ANY_ERASURE,
    ANY_RETRACTION,
    CHAIN_PREFIX,
    CHANNEL_SETTINGS,
    EVERYWHERE,
    EXPERIMENT,
    NAMING_CHANNELS,
    NAMING_PEOPLE,
    OF_TENANT,
    PIN,
    RECEIPT_STORES,
    SESSION,
    SPACE,
    TURN,
    VECTOR_INDEX,
    StoredRecord,
    about_chain,
    about_message,
    about_text,
    about_user,
    count_by_store,
)
from backscroll_sidecar.ports.replicas import (
    CatchUp,
    LooksElsewhere,
    Missed,
    SharedWrites,
    Versions,
    nothing_to_catch_up,
)
from backscroll_sidecar.ports.segments import ChannelRows, Segment
from backscroll_sidecar.ports.services import (
    ChangeWriter,
    Clock,
    EventSink,
    FragmentCodec,
    StoredChannelSettings,
    UsageSink,
)
from backscroll_sidecar.ports.usage import (
    ANY_USAGE,
    FATES,
    NO_TRIAL,
    AskedWith,
    Chances,
    Exploration,
    ForeignMessage,
    PackedCandidate,
    Signal,
    SignalKind,
    StoredUsage,
    Trial,
    UsageQuery,
    UsageRecord,
    pack_candidates,
    unpack_candidates,
)
from backscroll_sidecar.ports.vectors import (
    Comparison,
    Embedder,
    EmbeddingProgress,
    KeptVector,
    MessageVector,
    Nearby,
    Nearest,
    NearestMessages,
    Similarities,
    StoredVector,
    Unembedded,
    UnembeddedPage,
    VectorSearch,
    VectorsPage,
    Waited,
    WideHit,
    WideHits,
    WideSearch,
)
from backscroll_sidecar.ports.work import Left, SharedWork
