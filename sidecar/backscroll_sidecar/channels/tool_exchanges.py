"""Which messages hold a model's tool calls and which their results: exchanges. Sparse: most channels have none.

A result belongs to the newest call of its id that arrived before it, since some local servers give the same ids again
and again; where none had arrived, to the next one. Messages that are linked so, in any number of steps, are one round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backscroll_sidecar.domain import Part, ToolCallPart, ToolResultPart


@dataclass(frozen=True, slots=True)
class ToolIds:
    """The calls a message makes, with the names of their tools, and the calls it answers; `seq`: when it arrived."""

    seq: int
    calls: Mapping[str, str]
    results: frozenset[str]


class ToolExchanges:
    """Tool messages and the exchanges they form, by message id. Noting one costs the smaller of those it unites.

    Entries are only ever added: a reader of an older view may find messages that came later. It knows its own rows.
    """

    __slots__ = ("_exchanges", "_ids", "_newest_call", "_waiting")

    def __init__(self) -> None:
        self._ids: dict[str, ToolIds] = {}
        self._exchanges: dict[str, list[str]] = {}
        self._newest_call: dict[str, str] = {}
        self._waiting: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._ids)

    def enter(self, message_id: str, ids: ToolIds) -> None:
        """Enter a tool message, in order of arrival."""
        self._ids[message_id] = ids
        self._exchanges[message_id] = [message_id]
        for call_id in ids.calls:
            self._newest_call[call_id] = message_id
            for waiting in self._waiting.pop(call_id, ()):
                self._unite(message_id, waiting)
        for call_id in ids.results:
            caller = self._newest_call.get(call_id)
            if caller is None:
                self._waiting.setdefault(call_id, []).append(message_id)
            else:
                self._unite(caller, message_id)

    def all(self) -> Mapping[str, ToolIds]:
        """What each tool message calls and answers, by id."""
        return self._ids

    def replaced(self, changed: Mapping[str, tuple[int, Sequence[Part]]]) -> ToolExchanges:
        """The exchanges after these messages (seq and new parts by id) changed; itself when that changes nothing."""
        new = {id: tool_ids(seq, parts) for id, (seq, parts) in changed.items()}
        if all(self._ids.get(id) == ids for id, ids in new.items()):
            return self
        entries = {**self._ids, **new}
        out = ToolExchanges()
        known = [(id, ids) for id, ids in entries.items() if ids is not None]
        for message_id, ids in sorted(known, key=lambda one: one[1].seq):
            out.enter(message_id, ids)
        return out

    def ids(self, message_id: str) -> ToolIds | None:
        """What a message calls and answers; None for the usual message."""
        return self._ids.get(message_id)

    def exchange(self, message_id: str) -> Sequence[str]:
        """The messages of the exchange a tool message belongs to, itself among them."""
        return self._exchanges[message_id]

    def _unite(self, one: str, other: str) -> None:
        large, small = self._exchanges[one], self._exchanges[other]
        if large is small:
            return
        if len(large) < len(small):
            large, small = small, large
        large.extend(small)
        for message_id in small:
            self._exchanges[message_id] = large


def tool_ids(seq: int, parts: Iterable[Part], scope: str = "") -> ToolIds | None:
    """What a message calls and answers; None for one that does neither. Ids count within their `scope` only."""
    calls: dict[str, str] = {}
    results: list[str] = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            calls[scope + part.id] = part.name
        elif isinstance(part, ToolResultPart):
            results.append(scope + part.call_id)
    return ToolIds(seq, calls, frozenset(results)) if calls or results else None
