"""What moves: the tables that every kind of database has, in the form in which rows travel. Pure.

What can be made again stays behind, and so does what only running servers need: segments, leases, and what tells caches
of other servers' commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that moves. Its columns begin with `key`, by which both kinds have an index. Few rows share a key."""

    name: str
    key: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All, the key first."""
        return self.key + self.others

    def size_of(self, rows: Iterable[Row]) -> int:
        """About how long rows are, by the columns that may be long."""
        places = [place for place, name in enumerate(self.columns) if name in _LONG]
        return sum(len(row[place] or "") for row in rows for place in places)

    def by_key(self, rows: Iterable[Row]) -> dict[Key, list[Row]]:
        """The rows of each key, in an order that both ends share."""
        found: dict[Key, list[Row]] = {}
        width = len(self.key)
        for row in rows:
            found.setdefault(row[:width], []).append(row)
        for several in found.values():
            if len(several) > 1:
                several.sort()
        return found


def _table(name: str, key: str, others: str) -> Table:
    return Table(name, tuple(key.split()), tuple(others.split()))


_LONG = frozenset(
    ("text", "details", "content", "vector", "payload", "body", "context", "candidates")
)
RECORDS = "records"
RECORD_NAMES = "record_names"

TABLES: Sequence[Table] = (
    _table("channels", "tenant channel", "last_seq"),
    _table(
        "messages",
        "tenant channel seq",
        "id author_id author_name author_kind role sent_at_ms rank_time_ms received_at_ms thread_id session_id "
        "reply_to reply_kind reply_inferred dedupe_key edited_at_ms state revision message_type token_count text "
        "keywords details moves",
    ),
    _table("revisions", "tenant channel message_id revision", "edited_at_ms content"),
    _table("vectors", "tenant channel message_id revision embedder_id", "dims vector"),
    _table("tombstones", "tenant channel message_id", "erased_at_ms dedupe_digest with_channel"),
    _table(
        "members",
        "tenant channel user_id",
        "name kind named_at_ms joined_at_ms left_at_ms aliases former_names role earlier_stays name_times",
    ),
    _table("aliases", "tenant channel alias_id", "message_id number"),
    _table(
        "events",
        "tenant channel number",
        "context_id id parent_id type level at_ms message_id payload",
    ),
    _table(
        RECORDS,
        "tenant channel kind number",
        "owner id body created_at_ms updated_at_ms expires_at_ms version",
    ),
    _table(RECORD_NAMES, "tenant channel number", "name"),
    _table(
        "usage_records",
        "tenant channel number",
        "context_id user_id trigger_message_id context candidates details other_channels created_at_ms "
        "experiment_id arm shadow_of reply_seq user_feedback success_indicator",
    ),
    _table(
        "signals",
        "tenant channel context_id kind user_id message_id",
        "value confidence rating text at_ms",
    ),
)
NUMBERED = ("aliases", "events", RECORDS, "usage_records")
"""Tables whose rows get numbers that are never given twice."""
BY_NAME = {one.name: one for one in TABLES}

OPERATIONS: Mapping[str, Sequence[str]] = {
    "insert": ("new",),
    "update": ("old", "new"),
    "delete": ("old",),
}
"""What changes rows, and which of the old and new row have keys to note."""


def noted_keys(noted: Iterable[Iterable[Any]]) -> dict[str, set[Key]]:
    """The keys that triggers noted, by table. `noted`: numbers, tables, and keys as JSON.

    A record also brings the keys of its names, since a record that is put again gets its names again.
    """
    found: dict[str, set[Key]] = {}
    for _, kind, key in noted:
        found.setdefault(kind, set()).add(tuple(json.loads(key)))
    if of_records := found.get(RECORDS):
        own = {(tenant, channel, number) for tenant, channel, _, number in of_records}
        found[RECORD_NAMES] = own | found.get(RECORD_NAMES, set())
    return found
