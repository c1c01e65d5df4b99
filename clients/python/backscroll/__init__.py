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
from backscroll.results import AppendReport, Context, SearchHits, text_of
from backscroll.values import (
    Author,
    Embedding,
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
    "ErrorEvent",
    "Gone",
    "InternalError",
    "InvalidRequest",
    "Media",
    "Member",
    "Mention",
    "Message",
    "NotFound",
    "NotImplementedByServer",
    "Notice",
    "Omitted",
    "Overloaded",
    "Overrides",
    "PermissionDenied",
    "ProviderState",
    "Reply",
    "SearchHits",
    "Stay",
    "SystemPrompt",
    "TlsConfig",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "Unauthenticated",
    "Unavailable",
    "__version__",
    "text_of",
]
