"""The events of a build (S3-16, S3-17). Pure."""

from __future__ import annotations

from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.domain import Event


def agent_event_id(context_id: str) -> str:
    """Of what everything of a turn hangs under."""
    return f"{context_id}:agent"


def turn_event_id(context_id: str) -> str:
    """Of the turn's begin."""
    return f"{context_id}:turn"


def beginning_events(context_id: str, began_ms: int, message_id: str) -> tuple[Event, ...]:
    """That the bot began, and its turn, about this message."""
    agent, turn = agent_event_id(context_id), turn_event_id(context_id)
    return (
        Event(agent, "agent.started", "agent", began_ms, message_id=message_id),
        Event(turn, "turn.started", "turn", began_ms, agent, message_id=message_id),
    )


def compression_events(
    context_id: str, began_ms: int, at_ms: int, message_id: str, fitted: Fitted, limits: Limits
) -> tuple[Event, ...]:
    """What is recorded when something was cut: the agent's event, its turn, and the cut under the agent's."""
    return (
        *beginning_events(context_id, began_ms, message_id),
        Event(
            f"{context_id}:compressed",
            "context.compressed",
            "turn",
            at_ms,
            agent_event_id(context_id),
            {
                "original_count": fitted.original_count,
                "compressed_count": len(fitted.lines),
                "max_messages": limits.max_messages or 0,
                "max_chars_per_message": limits.max_chars_per_message or 0,
            },
            message_id,
        ),
    )
