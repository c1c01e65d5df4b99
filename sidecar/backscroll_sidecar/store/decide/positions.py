"""Where the rows of a channel stand, and under which ids they are known. Pure.

A row is ranked behind the row it answers, by however little (from the rows alone, so in the same place after a
load). Where the parent comes late, what answers it moves, and what answers that. An alias resolves when it is read: no
stored edge names one, so an alias that comes late changes the edges that were waiting for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from backscroll_sidecar.domain import Analysis, Message, Reply, StoredMessage
from backscroll_sidecar.store.facts import Facts, MessageRow, Named, Place, Plan


class Positions:
    """The edges of one run, those of the run's own rows included. `rows` are the rows known so far."""

    def __init__(self, facts: Facts, rows: dict[Named, MessageRow], plan: Plan) -> None:
        self._parents = facts.parents
        self._rows = rows
        self._plan = plan
        self.followers = {parent: list(ids) for parent, ids in facts.followers.items()}
        """By id: the rows that name it as what they answer, whether or not it came."""
        self.aliases = dict(facts.aliases)
        """By alias: the id of its message."""

    def true_id(self, here: Place, message_id: str) -> str:
        """The id of the message that has this one, by itself or as an alias."""
        return self.aliases.get((*here, message_id), message_id)

    def resolved(
        self, here: Place, message: Message, analysis: Analysis
    ) -> tuple[Message, Analysis]:
        """The same with an edge to the message itself where it names an alias."""
        reply = message.reply
        if reply is None or (*here, reply.message_id) not in self.aliases:
            return message, analysis
        return _answering(self.true_id(here, reply.message_id), message, analysis)

    def rank_ms(self, here: Place, reply: Reply, rank_time_ms: int) -> int:
        """When a new row is ranked that answers a known message; where both are of one time it is behind anyway."""
        if reply.inferred:
            return rank_time_ms
        parent = (*here, reply.message_id)
        record = self._rows.get(parent)
        parent_ms = self._parents[parent] if record is None else record.stored.rank_time_ms
        return rank_time_ms if rank_time_ms >= parent_ms else parent_ms + 1

    def note(self, here: Place, message_id: str, parent_id: str) -> None:
        """A new row answers another."""
        if parent_id != message_id:
            self.followers.setdefault((*here, parent_id), []).append(message_id)

    def alias(self, here: Place, alias_id: str, message_id: str) -> list[StoredMessage]:
        """Let an id be another one of a stored message; the rows that answered it, and those that moved with them."""
        alias, target = (*here, alias_id), (*here, message_id)
        self.aliases[alias] = self._plan.aliases[alias] = message_id
        waiting = self.followers.pop(alias, [])
        if not waiting:
            return []
        for child_id in waiting:
            child = (*here, child_id)
            stored = self._rows[child].stored
            message, analysis = _answering(message_id, stored.message, stored.analysis)
            self._put(child, replace(stored, message=message, analysis=analysis))
        self.followers.setdefault(target, []).extend(waiting)
        moved = {row.message.id: row for row in self.settle(target)}
        changed = [self._rows[(*here, child_id)].stored for child_id in waiting]
        return list({row.message.id: row for row in [*changed, *moved.values()]}.values())

    def settle(self, row: Named) -> list[StoredMessage]:
        """Move what answers this row and stands before it, and so on; a circle ends where it would close."""
        parents, seen = [row], {row}
        moved: list[StoredMessage] = []
        while parents:
            parent = parents.pop()
            above = self._rows[parent].stored
            for child in self._children(parent):
                stored = self._rows[child].stored
                if child in seen or _order(stored) > _order(above):
                    continue
                seen.add(child)
                moved.append(self._put(child, replace(stored, rank_time_ms=above.rank_time_ms + 1)))
                parents.append(child)
        return moved

    def _children(self, parent: Named) -> Iterable[Named]:
        tenant, channel, _ = parent
        for child_id in self.followers.get(parent, ()):
            child = (tenant, channel, child_id)
            reply = self._rows[child].stored.message.reply
            if reply is not None and not reply.inferred:
                yield child

    def _put(self, named: Named, stored: StoredMessage) -> StoredMessage:
        stored = replace(stored, moves=stored.moves + 1)
        record = self._rows[named]._replace(stored=stored)
        self._rows[named] = record
        self._plan.put(named, record)
        return stored


def _order(stored: StoredMessage) -> tuple[int, int]:
    return stored.rank_time_ms, stored.seq


def _answering(message_id: str, message: Message, analysis: Analysis) -> tuple[Message, Analysis]:
    """A message that answers this one, by the edge it had."""
    assert message.reply is not None
    reply = replace(message.reply, message_id=message_id)
    if analysis.reply == message.reply:
        analysis = replace(analysis, reply=reply)
    return replace(message, reply=reply), analysis
