"""Client of Backscroll, the context sidecar for chat bots.

Examples
--------
>>> from backscroll import Author, Client, Message
>>> with Client(address) as client:
...     report = client.append("room", Message("m1", Author("ann", "Ann"), "we meet at six"))
...     context = client.build_context("room", "when do we meet?", asker="ben")
>>> context.payload["messages"][-1]
{'role': 'user', 'content': 'when do we meet?'}
"""

from importlib.metadata import PackageNotFoundError, version

from backscroll._aio import AsyncClient
from backscroll._channel import TlsConfig
from backscroll._room import Room, Round
from backscroll._room_aio import AsyncRoom, AsyncRound
from backscroll._sync import Client
from backscroll.errors import (
    BackscrollError,
    Conflict,
    DeadlineExceeded,
    Gone,
    InternalError,
    InvalidRequest,
    NotFound,
    NotImplementedByServer,
    Omitted,
    Overloaded,
    PermissionDenied,
    Refused,
    Unauthenticated,
    Unavailable,
)
from backscroll.events import (
    ChatAnswer,
    ChatEvent,
    ContextEvent,
    Delta,
    End,
    ErrorEvent,
    Notice,
    ToolCallEvent,
)
from backscroll.results import AppendReport, Context, EraseReceipt, SearchHits, text_of
from backscroll.room_events import (
    Ignored,
    Interrupt,
    LoopSuppressed,
    Move,
    PreparedRound,
    RoundEnded,
    RoundEvent,
    RoundNotice,
    RoundStarted,
    Route,
    StateChanged,
    Target,
    TargetContext,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    TargetToolCall,
)
from backscroll.room_values import Participant, Persona, Presence, RoomPolicy
from backscroll.values import (
    Author,
    Embedding,
    ExperimentArm,
    Media,
    Member,
    Mention,
    Message,
    Overrides,
    ProviderState,
    Reply,
    Stay,
    SystemPrompt,
    ToolCall,
    ToolResult,
)

try:
    __version__ = version("backscroll")
except PackageNotFoundError:  # run from a copy of the sources
    __version__ = "0+unknown"

__all__ = [
    "AppendReport",
    "AsyncClient",
    "AsyncRoom",
    "AsyncRound",
    "Author",
    "BackscrollError",
    "ChatAnswer",
    "ChatEvent",
    "Client",
    "Conflict",
    "Context",
    "ContextEvent",
    "DeadlineExceeded",
    "Delta",
    "Embedding",
    "End",
    "EraseReceipt",
    "ErrorEvent",
    "ExperimentArm",
    "Gone",
    "Ignored",
    "InternalError",
    "Interrupt",
    "InvalidRequest",
    "LoopSuppressed",
    "Media",
    "Member",
    "Mention",
    "Message",
    "Move",
    "NotFound",
    "NotImplementedByServer",
    "Notice",
    "Omitted",
    "Overloaded",
    "Overrides",
    "Participant",
    "PermissionDenied",
    "Persona",
    "PreparedRound",
    "Presence",
    "ProviderState",
    "Refused",
    "Reply",
    "Room",
    "RoomPolicy",
    "Round",
    "RoundEnded",
    "RoundEvent",
    "RoundNotice",
    "RoundStarted",
    "Route",
    "SearchHits",
    "StateChanged",
    "Stay",
    "SystemPrompt",
    "Target",
    "TargetContext",
    "TargetDelta",
    "TargetEnded",
    "TargetStarted",
    "TargetToolCall",
    "TlsConfig",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "Unauthenticated",
    "Unavailable",
    "__version__",
    "text_of",
]
