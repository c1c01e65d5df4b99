"""A history moves: copied table by table, caught up with, verified, and switched at one moment.

Every change from `begin` on is noted by its key. So a row is right at the new end if it was equal there once, and is
copied again whenever it changes. Everything is compared while servers write, and after the switch only what changed
since. Rows are compared whole, not by a hash, since both ends are read anyway.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from backscroll_sidecar.errors import Conflict, FailedPrecondition
from backscroll_sidecar.store.moving.ends import Changed, Move, NewEnd, OldEnd, Phase
from backscroll_sidecar.store.moving.tables import BY_NAME, TABLES, Key, Row, Table

Told = Callable[[str, int, int], object]
"""Is told which step runs, how many rows it has done, and of how many."""

FIRST_ROWS, MOST_ROWS, PAGE_BYTES = 500, 5_000, 8 * 2**20
"""Rows of the first page, rows of a page at most, and about how long a page may be."""
FEW_KEYS = 1_000
LOT = 20_000
"""How many changes are caught up with at a time while unique keys and references do not hold yet."""
ROUND_S = 5.0
"""How often changes are caught up with while everything is compared. What is left then must be done at once."""
SHORT_S = 0.5
"""The switch comes once few keys are left (`FEW_KEYS`) or a round took less than this: its pause is as short."""


@dataclass
class Moved:
    """What a move did."""

    rows: dict[str, int] = field(default_factory=dict)
    """Copied by this run, by table, without what changed meanwhile."""
    caught_up: int = 0
    """Keys of rows that changed meanwhile and were copied again."""
    compared: int = 0
    """Rows found equal before the switch; `compared_last`: after it."""
    compared_last: int = 0
    pause_ms: int = 0
    """From the moment that nothing could be written to the old end until the new one was open."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By step."""


async def move(old: OldEnd, new: NewEnd, told: Told) -> Moved:
    """Move a history, or go on with a move between these two that was broken off.

    Raises
    ------
    FailedPrecondition
        One of the ends belongs to another move, or the new one holds something.
    Conflict
        The ends differ after all; the old one takes writes as before.
    StoreUnavailable
        An end cannot be reached or written. The next call goes on where this one stopped.
    """
    return await _Run(old, new, told).move()


async def leaving(old: OldEnd, address: str) -> Move | None:
    """The move that takes a history to that address; None: there is none. Ask before the new end is touched.

    Raises
    ------
    FailedPrecondition
        It goes elsewhere, or is not whole yet.
    """
    mine = await old.move()
    if mine is None or mine.phase == "arrived":
        return None
    if mine.phase == "arriving":
        raise FailedPrecondition(
            f"{old.address} is being filled from {mine.other}: let that migration end first"
        )
    if mine.other != address:
        raise FailedPrecondition(
            f"{old.address} moves to {mine.other}: name that with --to, or end it with --abandon"
        )
    return mine


def is_over(mine: Move, theirs: Move | None) -> bool:
    """Whether the new end is open. A server may have it by now."""
    return theirs is not None and theirs.id == mine.id and theirs.phase == "arrived"


async def abandon(old: OldEnd, new: NewEnd) -> bool:
    """Take back a move that has not come to its end; False: there is none. Raises as `move` does."""
    mine = await leaving(old, new.address)
    if mine is None:
        return False
    theirs = await new.move()
    if mine.phase == "left" and (theirs is None or theirs.id != mine.id):
        raise FailedPrecondition(
            f"this history moved to {mine.other}, which has none of it: is it the right one?"
        )
    if theirs is not None and theirs.id == mine.id:
        if theirs.phase == "arrived":
            raise FailedPrecondition(
                f"this history is at {mine.other} by now: move it back from there"
            )
        await new.clear()
    await old.abandon()
    return True


class _Run:
    """One run of a move."""

    def __init__(self, old: OldEnd, new: NewEnd, told: Told) -> None:
        self._old = old
        self._new = new
        self._told = told
        self._done = Moved()
        self._doubtful: dict[str, set[Key]] = {}
        """Keys whose rows must be compared again."""

    async def move(self) -> Moved:
        mine, theirs = await self._claimed()
        if mine.phase == "left":
            await self._old.leave()  # the run that said so may have died before all servers knew
            await self._open()
            await self._old.tidy()
            return self._done
        if mine.phase == "closed":
            await self._old.reopen()
        await self._copy(theirs)
        await self._catch_up()
        await self._timed("compare", self._compare())
        await self._catch_up()
        await self._switch()
        return self._done

    # --- whose the ends are ----------------------------------------------------------------------

    async def _claimed(self) -> tuple[Move, Move]:
        """What the ends say about this move, which both know now."""
        mine, theirs = await leaving(self._old, self._new.address), await self._new.move()
        if theirs is not None and (mine is None or theirs.id != mine.id):
            raise FailedPrecondition(_TAKEN.format(self._new.address))
        if theirs is None and not await self._new.is_empty():
            raise FailedPrecondition(_TAKEN.format(self._new.address))
        if mine is None:
            mine = self._said("leaving", self._new.address, uuid.uuid4().hex)
            await self._old.begin(mine)
        if theirs is None:
            if mine.phase == "left":
                raise FailedPrecondition(
                    f"{self._old.address} moved to {mine.other}, which is empty: is it the right one?"
                )
            theirs = self._said("arriving", self._old.address, mine.id)
            await self._new.prepare(theirs)
        if theirs.phase == "arrived":
            raise FailedPrecondition(f"{self._old.address} moved to {mine.other} already")
        return mine, theirs

    def _said(self, phase: Phase, other: str, id_: str) -> Move:
        return Move(id_, phase, other, time.time_ns() // 1_000_000)

    # --- copying ---------------------------------------------------------------------------------

    async def _copy(self, theirs: Move) -> None:
        progress = theirs.progress
        total, done = await self._old.count(), 0
        started_s = time.monotonic()
        for table in TABLES:
            if table.name in progress.copied:
                continue
            behind = progress.behind.get(table.name)
            after = None if behind is None else tuple(behind)
            count = 0
            limit = FIRST_ROWS
            page = await self._old.page(table, after, limit)
            while page:
                after = page[-1][: len(table.key)]
                limit = _next_limit(limit, table.size_of(page))
                ahead = asyncio.create_task(self._old.page(table, after, limit))
                progress.behind = {table.name: list(after)}
                try:
                    await self._new.fill(table, page, progress)
                finally:
                    await asyncio.wait((ahead,))
                count += len(page)
                self._told("copying", done + count, total)
                page = ahead.result()
            progress.copied.append(table.name)
            progress.behind = {}
            await self._new.fill(table, (), progress)
            self._done.rows[table.name] = count
            done += count
        self._note_time("copy", started_s)
        if not progress.is_whole:
            await self._timed("catch up", self._by_lots())
            await self._timed("index", self._finish(theirs))

    async def _finish(self, theirs: Move) -> None:
        self._told("making indexes", 0, 0)
        await self._new.finish(theirs.progress)

    async def _by_lots(self) -> None:
        """The first time, when much may have changed. A lot may contradict what is there until the next one."""
        while len((await self._round(LOT)).marks) == LOT:
            pass

    async def _catch_up(self) -> None:
        """Until little is left."""
        started_s = time.monotonic()
        while True:
            round_s = time.monotonic()
            changed = await self._round()
            await self._settle()
            if changed.key_count <= FEW_KEYS or time.monotonic() - round_s < SHORT_S:
                break
        self._note_time("catch up", started_s)

    async def _round(self, limit: int | None = None) -> Changed:
        """Copy what changed since the last time. A lot is not doubtful, since everything is compared after it."""
        changed = await self._old.changed(limit)
        if changed.key_count:
            self._told("catching up", changed.key_count, 0)
            await self._new.replace(changed)
            await self._old.forget(changed)
            for kind, keys in changed.keys.items() if limit is None else ():
                self._doubtful.setdefault(kind, set()).update(keys)
            self._done.caught_up += changed.key_count
        return changed

    # --- comparing -------------------------------------------------------------------------------

    async def _compare(self) -> None:
        """Compare everything. What differs is doubtful, since it may have changed meanwhile."""
        total, done = await self._old.count(), 0
        round_s = time.monotonic()
        for table in TABLES:
            after: Key | None = None
            limit = FIRST_ROWS
            while True:
                rows = await self._old.page(table, after, limit)
                limit = _next_limit(limit, table.size_of(rows))
                upto = rows[-1][: len(table.key)] if rows else None
                there = await self._new.between(table, after, upto)
                if rows != there:
                    self._note_differences(table, rows, there)
                done += len(rows)
                self._told("comparing", done, total)
                if time.monotonic() - round_s > ROUND_S:
                    await self._round()
                    round_s = time.monotonic()
                if upto is None:
                    break
                after = upto
        self._done.compared = done

    def _note_differences(self, table: Table, here: Sequence[Row], there: Sequence[Row]) -> None:
        mine, theirs = table.by_key(here), table.by_key(there)
        differ = {key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key)}
        if differ:
            self._doubtful.setdefault(table.name, set()).update(differ)

    async def _settle(self) -> int:
        """Compare what is doubtful, and drop what is equal now. Returns how many rows were compared."""
        compared = 0
        doubtful, self._doubtful = self._doubtful, {}
        for kind, keys in doubtful.items():
            table = BY_NAME[kind]
            here, there = await self._old.rows(table, keys), await self._new.rows(table, keys)
            self._note_differences(table, here, there)
            compared += len(here)
        return compared

    # --- switching -------------------------------------------------------------------------------

    async def _switch(self) -> None:
        self._told("switching", 0, 0)
        started_s = time.monotonic()
        try:
            await self._old.shut()
            while (await self._round()).key_count:
                pass
            self._done.compared_last = await self._settle()
            if self._doubtful:
                kind, keys = next(iter(self._doubtful.items()))
                raise Conflict(
                    f"the ends differ in {sum(map(len, self._doubtful.values()))} rows, the first in {kind}, "
                    f"{min(keys)}: nothing was moved, the old database goes on"
                )
        except BaseException:  # whatever failed, bots go on
            await self._old.reopen()
            raise
        await self._old.leave()
        await self._open()
        self._done.pause_ms = round((time.monotonic() - started_s) * 1_000)
        self._note_time("switch", started_s)
        await self._old.tidy()

    async def _open(self) -> None:
        await self._new.open_for_servers(await self._old.numbers())

    # --- times -----------------------------------------------------------------------------------

    async def _timed(self, step: str, work: Awaitable[object]) -> None:
        started_s = time.monotonic()
        await work
        self._note_time(step, started_s)

    def _note_time(self, step: str, started_s: float) -> None:
        taken = self._done.seconds.get(step, 0.0) + time.monotonic() - started_s
        self._done.seconds[step] = round(taken, 3)


def _next_limit(limit: int, size_bytes: int) -> int:
    fitting = limit * PAGE_BYTES // max(size_bytes, 1)
    return max(1, min(fitting, 2 * limit, MOST_ROWS))


_TAKEN = "{} holds something that is not of this move: name an empty database"
