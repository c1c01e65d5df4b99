"""Every call of the contract, described once for both clients.

A *plan* is a generator: it yields the calls to make, is sent their responses and returns the
result. It knows nothing of threads or event loops; `Client` and `AsyncClient` carry plans out,
and their methods take signature and documentation from here. A plan that lists yields what it
found as well; a `Stream` is one call with many responses, and a conversation is streams with runs
of the bot's own functions between them.
"""

from backscroll._calls.admin import list_events
from backscroll._calls.batches import AnyImport, AnyMessage, Importer
from backscroll._calls.chat import chat, stream_chat
from backscroll._calls.context import build_context
from backscroll._calls.plan import (
    BULK_TIMEOUT_S,
    Call,
    Conversation,
    Listing,
    Plan,
    Stream,
    deadline_s,
    present,
)
from backscroll._calls.preferences import delete_preference, list_preferences, set_preference
from backscroll._calls.reading import (
    export_messages,
    get_channel,
    get_thread,
    health,
    list_channels,
    list_members,
    list_messages,
    list_pinned_messages,
    near_channels,
    search,
    wait_for_index,
)
from backscroll._calls.summaries import compact
from backscroll._calls.writing import (
    alias_message,
    append,
    edit_message,
    erase,
    pin_message,
    recall_message,
    unpin_message,
    upsert_members,
)

__all__ = [
    "BULK_TIMEOUT_S",
    "AnyImport",
    "AnyMessage",
    "Call",
    "Conversation",
    "Importer",
    "Listing",
    "Plan",
    "Stream",
    "alias_message",
    "append",
    "build_context",
    "chat",
    "compact",
    "deadline_s",
    "delete_preference",
    "edit_message",
    "erase",
    "export_messages",
    "get_channel",
    "get_thread",
    "health",
    "list_channels",
    "list_events",
    "list_members",
    "list_messages",
    "list_pinned_messages",
    "list_preferences",
    "near_channels",
    "pin_message",
    "present",
    "recall_message",
    "search",
    "set_preference",
    "stream_chat",
    "unpin_message",
    "upsert_members",
    "wait_for_index",
]
