"""`backscroll migrate`: a history moves to another database while its server goes on."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.console import (
    INTERRUPTED,
    CommandError,
    err,
    os_words,
    print_json,
    progress_bars,
    usage,
)
from backscroll_sidecar.config.types import PostgresUrl, database
from backscroll_sidecar.errors import BackscrollError, Conflict, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from backscroll_sidecar.store.moving.move import Moved, Told

EPILOG = (
    "Example: backscroll migrate --from chat.db --to postgresql://bot:secret@db.example/backscroll"
)


def migrate(
    from_: Annotated[
        str, typer.Option("--from", metavar="DATABASE", help="Where the history is: a file or URL.")
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="DATABASE", help="Where it goes: an empty database, or a new file."
        ),
    ],
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Take back a migration that was broken off.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Move a history from SQLite to PostgreSQL or back, whether a server runs or not.

    Servers go on meanwhile. A server started on the new database waits for the end. There nothing can be written for a
    moment; then the old database refuses everything for good, its servers stop, and the new one's begin. Every row is
    compared before. Ctrl-C takes everything back. Run it again after it was killed, and it goes on where it was. A URL
    needs no password where PGPASSWORD or ~/.pgpass has it.
    """
    ends = _End(from_), _End(to)
    if ends[0].address == ends[1].address:
        usage("--from and --to are the same database")
    try:
        if abandon:
            _say_abandoned(ends[0], taken_back=asyncio.run(_abandon(*ends)), as_json=as_json)
        else:
            _say_moved(*ends, _run(*ends, quiet=as_json), as_json=as_json)
    except Conflict as error:
        raise CommandError(error.message, "run it again; please report it if it stays so") from None
    except BackscrollError as error:
        raise CommandError(error.message) from None
    except OSError as error:
        raise CommandError(os_words(error)) from None


class _End:
    """A database as the command line names it."""

    def __init__(self, named: str) -> None:
        try:
            found = database(named)
        except ValueError as error:
            usage(str(error))
        if found == Path(":memory:"):
            usage(f"{named} is kept in memory only: name a file, or the URL of PostgreSQL")
        if isinstance(found, PostgresUrl):
            self.url, self.address = found.get_secret_value(), str(found)
        else:
            self.address = str(Path(str(found)).expanduser().resolve())
            self.url = f"sqlite:///{self.address}"


def _run(old: _End, new: _End, *, quiet: bool) -> "Moved | None":
    with progress_bars(quiet=quiet) as bars:
        task = bars.add_task("looking", total=None)

        def told(step: str, done: int, total: int) -> None:
            nonlocal task
            if step != bars.tasks[0].description:  # the total of a task cannot be unknown again
                bars.remove_task(task)
                task = bars.add_task(step, total=None)
            bars.update(task, completed=done, total=total or None)

        return asyncio.run(_interruptible(_move(old, new, told), old, new))


async def _interruptible(
    work: Coroutine[Any, Any, "Moved | None"], old: _End, new: _End
) -> "Moved | None":
    """Ctrl-C, by which the loop cancels this, takes the migration back, until servers are told that it left."""
    try:
        return await work
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        if await _has_left(old):
            raise CommandError(
                "interrupted: servers know already that this history moved",
                "run it again: it goes on where it was; or end it with --abandon and start servers again",
                exit_code=INTERRUPTED,
            ) from None
        await _abandon(old, new)
        raise CommandError("interrupted: both are as before", exit_code=INTERRUPTED) from None


async def _has_left(old: _End) -> bool:
    from backscroll_sidecar.store.opening import move_of

    said = await move_of(old.url)
    return said is not None and said.phase == "left"


async def _move(old: _End, new: _End, told: "Told") -> "Moved | None":
    """None: it moved before."""
    from backscroll_sidecar.store.moving.move import is_over, leaving, move
    from backscroll_sidecar.store.opening import move_of, open_new_end, open_old_end

    async with AsyncExitStack() as stack:
        with _named(old):
            left = await open_old_end(old.url, old.address)
        stack.push_async_callback(left.close)
        mine = await leaving(left, new.address)
        with _named(new):
            if mine is not None and mine.phase == "left" and is_over(mine, await move_of(new.url)):
                await left.tidy()  # the run that opened the new end may have ended before
                return None
            coming = await open_new_end(new.url, new.address)
        stack.push_async_callback(coming.close)
        try:
            return await move(left, coming, told)
        except (StoreUnavailable, StoreReadOnly) as error:
            advice = "run it again: it goes on where it was; or end it with --abandon"
            raise CommandError(error.message, advice) from None


async def _abandon(old: _End, new: _End) -> bool:
    from backscroll_sidecar.store.moving.move import abandon, leaving
    from backscroll_sidecar.store.opening import open_new_end, open_old_end

    async with AsyncExitStack() as stack:
        with _named(old):
            left = await open_old_end(old.url, old.address)
        stack.push_async_callback(left.close)
        if await leaving(left, new.address) is None:
            return False
        with _named(new):
            coming = await open_new_end(new.url, new.address)
        stack.push_async_callback(coming.close)
        return await abandon(left, coming)


@contextmanager
def _named(end: _End) -> Iterator[None]:
    """Say of which of the two databases it is that it cannot be opened."""
    try:
        yield
    except (StoreUnavailable, StoreReadOnly) as error:
        said = error.message
        raise CommandError(said if end.address in said else f"{end.address}: {said}") from None


def _say_abandoned(old: _End, *, taken_back: bool, as_json: bool) -> None:
    if as_json:
        print_json({"abandoned": taken_back, "from": old.address})
    elif taken_back:
        err().print(f"{old.address} is as before the migration", markup=False)
    else:
        err().print(f"{old.address} is in no migration", markup=False)


def _say_moved(old: _End, new: _End, done: "Moved | None", *, as_json: bool) -> None:
    from backscroll_sidecar.store.moving.move import Moved

    if as_json:
        print_json({"database": new.address, **asdict(done or Moved())})
        return
    console = err()
    if done is None:
        console.print(f"{old.address} moved before: the history is at {new.address}", markup=False)
        return
    rows = sum(done.rows.values())
    console.print(f"{rows:,} rows copied, {done.caught_up:,} changed meanwhile", markup=False)
    console.print(
        f"{done.compared + done.compared_last:,} rows are equal; writes paused for {done.pause_ms:,} ms",
        markup=False,
    )
    console.print(f"the history is at {new.address}: set database to that", markup=False)
