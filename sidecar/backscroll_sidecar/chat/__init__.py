"""StreamChat and Chat: store the question, build a context, stream the model, store the reply."""

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
from backscroll_sidecar.chat.service import ChatService
from backscroll_sidecar.chat.turns import ChatRequest, ChatSettings

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
