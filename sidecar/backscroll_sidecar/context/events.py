"""The events of a build (S3-16, S3-17). Pure."""

from __future__ import annotations

from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.compress import Limits
from backscroll_sidecar.domain import Event


def compression_events(
    context_id: str, at_ms: int, fitted: Fitted, limits: Limits
) -> tuple[Event, ...]:
    """What is recorded when something was cut: the agent's event, its turn, and the cut under the agent's."""
    agent, turn = f"{context_id}:agent", f"{context_id}:turn"
    return (
        Event(agent, "agent.started", "agent", at_ms),
        Event(turn, "turn.started", "turn", at_ms, agent),
        Event(
            f"{context_id}:compressed",
            "context.compressed",
            "turn",
            at_ms,
            agent,
            {
                "original_count": fitted.original_count,
                "compressed_count": len(fitted.lines),
                "max_messages": limits.max_messages or 0,
                "max_chars_per_message": limits.max_chars_per_message or 0,
            },
        ),
    )
