"""A selector for the referee: a Backscroll server of its own, asked over gRPC.

    PYTHONPATH=../shared/referee:. .venv/bin/python -m quality.evaluate --data irc_dev \
        --selector bench.quality.sidecar:Sidecar

Profile from BACKSCROLL_PROFILE, else the server's default. Nothing of the referee is imported: its messages are
read by attribute (message_id, group_id, user_id, name, content, timestamp, mentions, reply_to).
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Sequence
from typing import Protocol

from backscroll import Author, Client, Mention, Message
from backscroll_bench.server import ServerProcess

RANKED_TOKEN_BUDGET = 1_000_000
"""Far above any list the referee asks for: it cuts by messages and counts tokens itself."""
INDEX_WAIT_S = 120.0
"""What is asked at once may not depend on how fast the machine embeds."""


class Line(Protocol):
    """What is read of the referee's messages and queries."""

    message_id: str
    group_id: str
    user_id: str
    name: str
    content: str
    timestamp: int
    mentions: Sequence[str]
    reply_to: str | None


class Limit(Protocol):
    """What is read of the referee's budget."""

    max_messages: int
    max_tokens: int | None


class Sidecar:
    """Drives one server; every run gets channels of its own."""

    ranked = True

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="backscroll-quality-")
        self._server = ServerProcess(f"{self._folder.name}/quality.db", durability="normal").start()
        atexit.register(self.close)
        self._client = Client(self._server.address, timeout_s=30.0)
        self._profile = os.environ.get("BACKSCROLL_PROFILE") or None
        self._run = 0

    def close(self) -> None:
        """End the server and remove its files."""
        self._client.close()
        self._server.stop()
        self._folder.cleanup()

    def reset(self) -> None:
        """Forget everything: the next run uses other channels."""
        self._run += 1

    def ingest(self, messages: Sequence[Line]) -> None:
        """Append in order; visible to the next `select` when it returns."""
        by_channel: dict[str, list[Message]] = {}
        for message in messages:
            by_channel.setdefault(self._channel(message), []).append(_message(message))
        for channel, batch in by_channel.items():
            report = self._client.append(channel, batch)
            if report.stored != len(batch):
                raise ValueError(
                    f"{len(batch) - report.stored} of {len(batch)} not stored: {report.problems}"
                )
            if not self._client.wait_for_index(channel, wait_s=INDEX_WAIT_S).ready:
                raise ValueError(f"the index of {channel} is not ready")

    def select(self, query: Line, budget: Limit) -> list[str]:
        """Ids of the chosen messages, best first."""
        asked = _message(query)
        context = self._client.build_context(
            self._channel(query),
            query.content,
            asker=asked.author,
            asked_at=query.timestamp,
            reply=query.reply_to,
            mentions=asked.mentions,
            profile=self._profile,
            overrides={"max_context": budget.max_messages},
            token_budget=budget.max_tokens or RANKED_TOKEN_BUDGET,
            payload_formats="none",
        )
        if context.degradations:
            raise ValueError(f"degraded: {context.degradations}")
        return [item.message.id for item in sorted(context.items, key=lambda item: item.rank)]

    def _channel(self, message: Line) -> str:
        return f"run{self._run}/{message.group_id}"


def _message(message: Line) -> Message:
    return Message(
        message.message_id,
        Author(message.user_id, message.name),
        message.content,
        message.timestamp,
        reply_to=message.reply_to,
        mentions=[Mention(user_id=name, name=name) for name in message.mentions],
    )
