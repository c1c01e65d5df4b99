"""What is said of a reply edge at append: the edge is kept as sent, the sender is warned. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll_sidecar.domain import Message, WarningCode
from backscroll_sidecar.store.facts import Facts, MessageRow, Named, Place


class ReplyWatch:
    """Looks at the edges of one run. `rows` are the rows known so far, those the run stored included."""

    def __init__(self, facts: Facts, rows: Mapping[Named, MessageRow]) -> None:
        self._facts = facts
        self._rows = rows
        self._seen: set[Place] = set()
        """(tenant, message id) of what this run stored, in whatever channel."""
        self._named_as_parent: set[Named] = set()

    def look(self, here: Place, message: Message) -> tuple[WarningCode, ...]:
        """The warnings for a message just stored; later items of the run are compared with it."""
        tenant, channel = here
        self._seen.add((tenant, message.id))
        if message.reply is None:
            return ()
        parent = message.reply.message_id
        if parent == message.id:
            return (WarningCode.REPLY_TO_SELF,)
        warning = self._warning(here, message.id, parent)
        self._named_as_parent.add((tenant, channel, parent))
        return () if warning is None else (warning,)

    def _warning(self, here: Place, message_id: str, parent: str) -> WarningCode | None:
        tenant, channel = here
        named = (tenant, channel, parent)
        if named not in self._rows and named not in self._facts.parents:
            if (tenant, parent) in self._seen or named in self._facts.strangers:
                return WarningCode.REPLY_PARENT_IN_OTHER_CHANNEL
            return WarningCode.REPLY_PARENT_UNKNOWN
        if self._closes_circle(here, message_id, parent):
            return WarningCode.REPLY_CYCLE
        return None

    def _closes_circle(self, here: Place, message_id: str, parent: str) -> bool:
        """Whether the stored edges lead from the parent back to this id: only if it was named as a parent before."""
        named = (*here, message_id)
        if named not in self._facts.children and named not in self._named_as_parent:
            return False
        visited: set[str] = set()
        above: str | None = parent
        while above is not None and above not in visited:
            if above == message_id:
                return True
            visited.add(above)
            above = self._edge((*here, above))
        return False

    def _edge(self, named: Named) -> str | None:
        record = self._rows.get(named)
        if record is None:
            return self._facts.edges.get(named)
        reply = record.stored.message.reply
        return None if reply is None else reply.message_id
