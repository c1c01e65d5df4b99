"""StreamChat and Chat: store the question, build, stream the model, store the reply, end with a reason (law 8)."""

from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ChatEvent,
    ContextBuilt,
    Delta,
    EndReason,
    Notice,
    TakenBack,
    ToolCalled,
)
from backscroll_sidecar.chat.service import ChatService, ChatSettings
from backscroll_sidecar.chat.turns import ChatRequest

__all__ = [
    "ChatEnd",
    "ChatError",
    "ChatEvent",
    "ChatRequest",
    "ChatService",
    "ChatSettings",
    "ContextBuilt",
    "Delta",
    "EndReason",
    "Notice",
    "TakenBack",
    "ToolCalled",
]
