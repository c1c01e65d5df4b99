"""What the core needs from outside, with the obligations of every implementation.

Adapters (`store`, `vectors`, `models`) implement these; only `wiring` knows which. One contract suite per port,
in `tests/contract`, is run on every implementation.
"""

from __future__ import annotations

from backscroll_sidecar.ports.changes import (
    AppendChange,
    Applied,
    Change,
    EditChange,
    EraseChange,
    EraseReceipt,
    EventsChange,
    IndexChange,
    MembersChange,
    RecallChange,
    SegmentsChange,
    TurnChange,
    TurnMark,
    VectorsChange,
)
from backscroll_sidecar.ports.history import ChannelInfo, HistoryReader, HistoryStore, ListQuery
from backscroll_sidecar.ports.models import (
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelFault,
    ModelRequest,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from backscroll_sidecar.ports.segments import ChannelRows, Segment
from backscroll_sidecar.ports.services import Clock, EventSink, FragmentCodec
from backscroll_sidecar.ports.vectors import (
    Embedder,
    EmbeddingProgress,
    IndexRecord,
    KeptVector,
    MessageVector,
    Nearest,
    Similarities,
    StoredVector,
    Unembedded,
    UnembeddedPage,
    VectorSearch,
)

__all__ = [
    "AppendChange",
    "Applied",
    "Change",
    "ChannelInfo",
    "ChannelRows",
    "ChatModel",
    "Clock",
    "EditChange",
    "Embedder",
    "EmbeddingProgress",
    "EraseChange",
    "EraseReceipt",
    "EventSink",
    "EventsChange",
    "FinishReason",
    "Finished",
    "FragmentCodec",
    "HistoryReader",
    "HistoryStore",
    "IndexChange",
    "IndexRecord",
    "KeptVector",
    "ListQuery",
    "MembersChange",
    "MessageVector",
    "ModelError",
    "ModelEvent",
    "ModelFault",
    "ModelRequest",
    "Nearest",
    "RecallChange",
    "Segment",
    "SegmentsChange",
    "Similarities",
    "StoredVector",
    "TextDelta",
    "ToolCallDelta",
    "TurnChange",
    "TurnMark",
    "Unembedded",
    "UnembeddedPage",
    "UsageDelta",
    "VectorSearch",
    "VectorsChange",
]
