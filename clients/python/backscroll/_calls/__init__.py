"""Every call of the contract, described once for both clients.

A *plan* is a generator: it yields the calls to make, is sent their responses and returns the
result. It knows nothing of threads or event loops; `Client` and `AsyncClient` carry plans out,
and their methods take signature and documentation from here. A plan that lists yields what it
found as well; a `Stream` is one call with many responses, and a conversation is streams with runs
of the bot's own functions between them.
"""

from backscroll._calls.admin import get_metric_minutes, get_metrics, list_events
from backscroll._calls.batches import AnyImport, AnyMessage, Importer
from backscroll._calls.channel_settings import (
    delete_channel_settings,
    get_channel_settings,
    list_channel_settings,
    set_channel_settings,
)
from backscroll._calls.chat import chat, stream_chat
from backscroll._calls.context import build_context
from backscroll._calls.experiments import (
    delete_experiment,
    get_experiment,
    get_experiment_report,
    list_experiments,
    put_experiment,
    stop_experiment,
)
from backscroll._calls.feedback import get_usage_record, list_usage_records, record_feedback
from backscroll._calls.learning import (
    delete_topic_labels,
    export_usage_records,
    get_usage_consent,
    list_topic_labels,
    set_topic_labels,
    set_usage_consent,
)
from backscroll._calls.plan import (
    BULK_TIMEOUT_S,
    Call,
    Conversation,
    Listing,
    Plan,
    Stream,
    deadline_s,
    present,
    present_waited,
)
from backscroll._calls.preferences import (
    delete_preference,
    list_preference_topics,
    list_preferences,
    set_preference,
)
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
from backscroll._calls.rooms import (
    RoomCore,
    act,
    add,
    delete,
    export,
    fork,
    remove,
    room,
    session,
    states,
    update,
)
from backscroll._calls.round_plan import RoundPlan
from backscroll._calls.rounds import go_on, prepare, resume, route, say
from backscroll._calls.sessions import (
    delete_space,
    get_space,
    import_session,
    list_sessions,
    list_spaces,
    modes,
    put_space,
)
from backscroll._calls.summaries import (
    compact,
    delete_period_summary,
    list_period_summaries,
)
from backscroll._calls.tuning import list_weight_versions, roll_back_weights, tune_channel
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
    "RoomCore",
    "RoundPlan",
    "Stream",
    "act",
    "add",
    "alias_message",
    "append",
    "build_context",
    "chat",
    "compact",
    "deadline_s",
    "delete",
    "delete_channel_settings",
    "delete_experiment",
    "delete_period_summary",
    "delete_preference",
    "delete_space",
    "delete_topic_labels",
    "edit_message",
    "erase",
    "export",
    "export_messages",
    "export_usage_records",
    "fork",
    "get_channel",
    "get_channel_settings",
    "get_experiment",
    "get_experiment_report",
    "get_metric_minutes",
    "get_metrics",
    "get_space",
    "get_thread",
    "get_usage_consent",
    "get_usage_record",
    "go_on",
    "health",
    "import_session",
    "list_channel_settings",
    "list_channels",
    "list_events",
    "list_experiments",
    "list_members",
    "list_messages",
    "list_period_summaries",
    "list_pinned_messages",
    "list_preference_topics",
    "list_preferences",
    "list_sessions",
    "list_spaces",
    "list_topic_labels",
    "list_usage_records",
    "list_weight_versions",
    "modes",
    "near_channels",
    "pin_message",
    "prepare",
    "present",
    "present_waited",
    "put_experiment",
    "put_space",
    "recall_message",
    "record_feedback",
    "remove",
    "resume",
    "roll_back_weights",
    "room",
    "route",
    "say",
    "search",
    "session",
    "set_channel_settings",
    "set_preference",
    "set_topic_labels",
    "set_usage_consent",
    "states",
    "stop_experiment",
    "stream_chat",
    "tune_channel",
    "unpin_message",
    "update",
    "upsert_members",
    "wait_for_index",
]
