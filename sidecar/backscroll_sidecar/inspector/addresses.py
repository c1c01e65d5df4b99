"""Which function makes the page of an address."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll_sidecar.inspector.pages import chats, questions, records, server
from backscroll_sidecar.inspector.visits import Handler

PAGES: Mapping[str, Handler] = {
    "": chats.channels,
    "timeline": chats.channel_timeline,
    "message": chats.message,
    "question": questions.question,
    "line": questions.line,
    "compare": questions.compare,
    "payload": questions.payload_sent,
    "case": questions.test_case,
    "builds": records.builds,
    "build": records.build,
    "events": records.events,
    "trends": server.trends,
    "health": server.health,
    "experiments": server.experiment_list,
    "experiment": server.experiment,
}
"""By the last part of the address."""
