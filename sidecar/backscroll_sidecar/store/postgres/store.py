"""History in a PostgreSQL database: one connection that writes groups, a pool that reads pages.

Any number of servers share one database. Safe to call from any task of one event loop; `apply` is called by one task
only, the writer.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from typing import Any, Concatenate, ParamSpec, TypeVar

from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.ports import (
    Applied,
    Change,
    Leases,
    Left,
    Loss,
    SharedWork,
    SharedWrites,
)
from backscroll_sidecar.store.durability import Durability
from backscroll_sidecar.store.moving.ends import check_here
from backscroll_sidecar.store.postgres import (
    group,
    journal,
    lookups,
    losses,
    migrate,
    reads,
    records,
    usage,
    work,
)
from backscroll_sidecar.store.postgres import lease_statements as lease_sql
from backscroll_sidecar.store.postgres import loss_statements as loss_sql
from backscroll_sidecar.store.postgres.connections import Connection, Connections
from backscroll_sidecar.store.postgres.failures import TRY_AGAIN, typed
from backscroll_sidecar.store.postgres.losses import Told
from backscroll_sidecar.store.postgres.moves import found_move
from backscroll_sidecar.store.postgres.presence import Presence

READERS = 8
SILENT_MS = 60_000
"""A live server that has not prolonged a lease for so long after its end loses it."""
TRIES = 5
"""For a group that loses against groups of other servers."""

P = ParamSpec("P")
T = TypeVar("T")


def _page(
    read: Callable[Concatenate[Connection, P], Awaitable[T]],
) -> Callable[Concatenate[PostgresStore, P], Coroutine[Any, Any, T]]:
    """The method of the store that does this read as one page."""

    async def ask(self: PostgresStore, /, *args: P.args, **named: P.kwargs) -> T:
        return await self._connections.read(lambda connection: read(connection, *args, **named))

    return ask


class PostgresStore:
    """`HistoryStore` on a PostgreSQL database. Open it with `PostgresStore.open`, always close it."""

    maintenance = None
    keeps_segments = True

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._told = Told()
        self.holder = uuid.uuid4().hex
        self._server = secrets.randbits(63)
        self._presence = Presence(connections, self._server)
        self._presence.start()

    @classmethod
    async def open(cls, url: str, *, durability: Durability = "full") -> PostgresStore:
        """Connect, and bring the schema up to date.

        Parameters
        ----------
        url : str
            ``postgresql://user:password@host:port/database``.
        durability : {"full", "normal"}
            ``normal``: a crash of the database may lose the last commits (``synchronous_commit = off``).

        Raises
        ------
        StoreUnavailable
            The database cannot be reached, refuses the user, was written by a newer version, or its history moved.
        """
        connections = Connections(url, READERS, waits=durability == "full")
        try:
            await connections.open()
            with typed():
                async with connections.writing() as connection:
                    await migrate.migrate(connection, migrate.known())
                    check_here(await found_move(connection))
        except BaseException:
            await connections.close()
            raise
        return cls(connections)

    async def close(self) -> None:
        """Finish what runs and disconnect. Idempotent."""
        await self._presence.close()
        await self._connections.close()

    # --- writing -----------------------------------------------------------------------------

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        if not changes:
            return []
        with typed():
            for left in reversed(range(TRIES)):
                try:
                    return await self._applied(changes)
                except TRY_AGAIN:
                    if not left:
                        raise
        raise AssertionError("unreachable")

    async def _applied(self, changes: Sequence[Change]) -> list[Applied]:
        done: dict[int, Applied] = {}
        own: dict[str, range] = {}
        try:
            async with self._connections.writing() as connection:
                for tenant, places in sorted(group.by_tenant(changes).items()):
                    some = [changes[place] for place in places]
                    applied, own[tenant] = await group.apply_changes(
                        connection, tenant, some, self._told, self.holder
                    )
                    done.update(zip(places, applied, strict=True))
                for tenant, numbers in own.items():  # before anybody can read them
                    self._told.note_own(tenant, numbers)
        except BaseException:
            for tenant, numbers in own.items():
                self._told.forget_own(tenant, numbers)
            raise
        return [done[place] for place in range(len(changes))]

    # --- what others write -------------------------------------------------------------------

    @property
    def shared(self) -> SharedWrites:
        return self

    versions = _page(journal.versions)
    missed = _page(journal.missed)
    _losses_since = _page(losses.since)

    async def new_losses(self, tenant: str, loss_count: int) -> Sequence[Loss]:
        known = self._told.counts.get(tenant, loss_count)
        found: Sequence[losses.Numbered] = ()
        if loss_count > known:
            found, loss_count = await self._losses_since(tenant, known)
        return self._told.tell(tenant, found, loss_count)

    async def hold_turns(self, tenant: str, name: str) -> None:
        held = (tenant, f"{self.holder}:{name}")
        await self._connections.read(lambda c: c.execute(loss_sql.HOLD_TURNS, *held))

    async def let_turns(self, tenant: str, name: str) -> None:
        held = (tenant, f"{self.holder}:{name}")
        await self._connections.read(lambda c: c.execute(loss_sql.LET_TURNS, *held))

    # --- what one server at a time does ------------------------------------------------------

    @property
    def leases(self) -> Leases:
        return self

    async def take(self, tenant: str, name: str, lasts_ms: int, holding: int) -> bool:
        values = (tenant, name, lasts_ms, self._server, holding)
        if await self._ask(lease_sql.TAKE, *values):
            return True
        holder = await self._gone_holder(tenant, name)
        return holder is not None and bool(await self._ask(lease_sql.TAKE_OVER, *values, holder))

    async def _gone_holder(self, tenant: str, name: str) -> int | None:
        """The server that no longer holds a name, though it has not given it back."""
        run_out = await self._connections.read(
            lambda one: one.fetchrow(lease_sql.RUN_OUT, tenant, name, SILENT_MS)
        )
        if run_out is None:
            return None
        holder, is_long_ago = run_out
        return holder if is_long_ago or await self._presence.is_gone(holder) else None

    async def prolong(self, tenant: str, names: Collection[str], lasts_ms: int) -> Sequence[str]:
        values = (tenant, list(names), lasts_ms, self._server)
        rows = await self._connections.read(lambda c: c.fetch(lease_sql.PROLONG, *values))
        return [name for (name,) in rows]

    async def give_back(self, tenant: str, name: str, holding: int) -> None:
        await self._ask(lease_sql.GIVE_BACK, tenant, name, self._server, holding)

    async def _ask(self, statement: str, *values: str | int) -> Any:  # noqa: ANN401
        return await self._connections.read(lambda one: one.fetchval(statement, *values))

    # --- moving ------------------------------------------------------------------------------

    async def moved_to(self) -> str:
        move = await self._connections.read(found_move)
        return move.other if move is not None and move.phase == "left" else ""

    def let_go(self) -> None:
        """Do nothing: each answer asks where the history is."""

    # --- what follows from messages ----------------------------------------------------------

    @property
    def work(self) -> SharedWork:
        return self

    async def end_work(self, tenant: str, done: Mapping[str, Iterable[int]]) -> None:
        await self._connections.read(lambda c: work.end(c, tenant, self.holder, done))

    async def others_at_work(self) -> Mapping[str, Sequence[str]]:
        return await self._connections.read(lambda c: work.others(c, self.holder))

    async def take_over(self, tenant: str, holder: str) -> Sequence[Left]:
        return await self._connections.read(
            lambda c: work.take_over(c, tenant, self.holder, holder)
        )

    # --- reading -----------------------------------------------------------------------------

    load_channel = _page(reads.load_channel)
    latest = _page(reads.latest)
    list_messages = _page(reads.list_messages)
    latest_of_user = _page(reads.latest_of_user)
    get_messages = _page(reads.get_messages)
    reply_tree = _page(reads.reply_tree)
    answer_to = _page(lookups.answer_to)
    overdue = _page(reads.overdue)
    channel_infos = _page(reads.channel_infos)
    channel_info = _page(reads.channel_info)
    members = _page(reads.members)
    last_messages = _page(reads.last_messages)
    events = _page(reads.events)
    usage_records = _page(usage.usage_records)
    signals = _page(usage.signals)
    ids_by_seq = _page(usage.ids_by_seq)
    newest_records = _page(records.newest_records)
    record = _page(records.record)
    updated_records = _page(records.updated_records)
    records_of_ids = _page(records.records_of_ids)
    records_about = _page(records.records_about)
    records_of_owner = _page(records.records_of_owner)
    record_owners = _page(records.record_owners)
    records = _page(records.records)
    vectors = _page(reads.vectors)
    unembedded = _page(reads.unembedded)
    unembedded_count = _page(reads.unembedded_count)
    channels = _page(reads.channels)
    lately_kept = _page(reads.lately_kept)
    channels_of_tenant = _page(reads.channels_of_tenant)
    channels_of_user = _page(reads.channels_of_user)
    channels_to_erase = _page(reads.channels_to_erase)
    _export_page = _page(reads.export_page)

    async def export(self, key: ChannelKey) -> AsyncIterator[StoredMessage]:
        after_seq = 0
        while page := await self._export_page(key, after_seq):
            for stored in page:
                yield stored
            after_seq = page[-1].seq
