"""Which messages hold a model's tool calls and which their results. Sparse: most channels have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backscroll_sidecar.domain import Part, ToolCallPart, ToolResultPart


@dataclass(frozen=True, slots=True)
class ToolIds:
    """The ids of the calls a message makes and of those it answers, and the names of the tools it calls."""

    calls: Mapping[str, str]
    results: frozenset[str]


class ToolRounds:
    """Tool messages by id, and by call who takes part in it. Entries are only ever added.

    A reader of an older view may find messages that came later: it knows its own rows and skips the others.
    """

    __slots__ = ("_of_call", "_of_message")

    def __init__(self) -> None:
        self._of_message: dict[str, ToolIds] = {}
        self._of_call: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_message)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._of_message

    def note(self, message_id: str, parts: Iterable[Part]) -> None:
        """Enter a message; one without calls and results leaves no trace."""
        calls: dict[str, str] = {}
        results: set[str] = set()
        for part in parts:
            if isinstance(part, ToolCallPart):
                calls[part.id] = part.name
            elif isinstance(part, ToolResultPart):
                results.add(part.call_id)
        if calls or results:
            self._of_message[message_id] = ToolIds(calls, frozenset(results))
            for call_id in {*calls, *results}:
                self._of_call.setdefault(call_id, []).append(message_id)

    def without(self, message_ids: Iterable[str]) -> ToolRounds:
        """A copy that does not know these messages, for readers to come."""
        gone = set(message_ids)
        out = ToolRounds()
        out._of_message = {id: ids for id, ids in self._of_message.items() if id not in gone}
        for message_id, ids in out._of_message.items():
            for call_id in {*ids.calls, *ids.results}:
                out._of_call.setdefault(call_id, []).append(message_id)
        return out

    def of_message(self, message_id: str) -> ToolIds | None:
        """What a message calls and answers; None for the usual message."""
        return self._of_message.get(message_id)

    def of_call(self, call_id: str) -> tuple[str, ...]:
        """The messages that make or answer a call, in order of arrival."""
        return tuple(self._of_call.get(call_id, ()))
