"""Connections to the database: one that writes, some that read, one statement after the other on each."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.postgres.failures import typed
from backscroll_sidecar.store.postgres.lease_statements import IS_POOLED
from backscroll_sidecar.store.postgres.statements import WAIT_FOR_DISK

if TYPE_CHECKING:
    Connection = (
        asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    )
else:
    Connection = object

T = TypeVar("T")

OLDEST_POSTGRES = 16
ENCODING = "UTF8"
CONNECT_S = 5.0
STATEMENT_S = 60.0
CLOSE_S = 10.0
IDLE_S = 300.0
PREPARED_STATEMENTS = 1_000
CACHE_SIZE = "statement_cache_size"
"""A parameter of the URL: 0 prepares no statements, for a pool in transaction mode."""
GROUP_STANDS_MS = 3_000
"""A server that is stopped in the middle of a group locks its rows for at most so long."""
OWN_SETTINGS: Mapping[str, str] = {
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_session_timeout": "0",
}
"""Of a server's own sessions, whatever its user has: how long it waits is decided here."""
_OF_AN_OPTION = (
    asyncpg.UndefinedObjectError, asyncpg.CantChangeRuntimeParamError, asyncpg.InvalidParameterValueError
)  # fmt: skip
_OWN = "; ".join(f"SET {name} = '{value}'" for name, value in OWN_SETTINGS.items())


def driver_options(url: str) -> dict[str, Any]:
    """The driver's arguments for a URL, which may say `statement_cache_size=0`. Raises `StoreUnavailable`."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    sizes = [value for name, value in query if name == CACHE_SIZE]
    if not sizes:
        return {"dsn": url, CACHE_SIZE: PREPARED_STATEMENTS}
    if not sizes[-1].isdecimal():
        raise StoreUnavailable(f"{CACHE_SIZE} of the database's URL is no number")
    rest = urlencode([one for one in query if one[0] != CACHE_SIZE])
    dsn = urlunsplit(parts._replace(query=rest))
    return {"dsn": dsn, CACHE_SIZE: int(sizes[-1])}


class Connections:
    """A pool for pages and one connection for groups. Safe to call from any task of one event loop.

    Parameters
    ----------
    url : of the database, ``postgresql://``.
    readers : how many pages may be read at once.
    waits : for the disk at each commit.
    """

    def __init__(self, url: str, readers: int, *, waits: bool) -> None:
        self._url = url
        self._waits = waits
        self._readers = readers
        self._pool: asyncpg.Pool | None = None
        self._writer: asyncpg.Pool | None = None
        self._used: set[Connection] = set()

    async def open(self) -> None:
        """Connect. Raises `StoreUnavailable`."""
        with connecting():
            self._writer = await self._made(1, self._for_groups)
            self._pool = await self._made(self._readers, _for_pages)

    async def close(self) -> None:
        """Finish what runs and disconnect. Idempotent."""
        pools = [pool for pool in (self._pool, self._writer) if pool is not None]
        self._pool = self._writer = None
        for pool in pools:
            with contextlib.suppress(
                asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError
            ):
                async with asyncio.timeout(CLOSE_S):
                    await pool.close()

    async def read(self, page: Callable[[Connection], Awaitable[T]]) -> T:
        """What a page found, on a connection of its own. Raises `StoreUnavailable`."""
        pool = self._of(self._pool)
        with typed():
            async with asyncio.timeout(STATEMENT_S):  # the pool's own timeout costs a task
                connection = await pool.acquire()
            try:
                # An abandoned statement may still run, even one that begins a transaction. Nobody may get that.
                with self._using(connection, asyncio.CancelledError, TimeoutError):
                    return await page(connection)
            finally:
                await pool.release(connection)

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """The writing connection, in a transaction that is committed at the end. Raises the driver's errors."""
        async with self._of(self._writer).acquire(timeout=STATEMENT_S) as connection:
            with self._using(connection, TimeoutError):
                async with connection.transaction(isolation="read_committed"):
                    try:
                        if not self._waits:
                            await connection.execute("SET LOCAL synchronous_commit = off")
                        yield connection
                    except TimeoutError:  # a rollback would wait as long again
                        connection.terminate()
                        raise

    @contextlib.contextmanager
    def _using(self, connection: Connection, *ends: type[BaseException]) -> Iterator[None]:
        """While a connection is used; it ends with an exception of these kinds."""
        self._used.add(connection)
        try:
            yield
        except ends:
            connection.terminate()
            raise
        finally:
            self._used.discard(connection)

    async def renew(self) -> None:
        """End all connections, since the database answers on none any more. Whoever waits for one hears so at once."""
        for connection in tuple(self._used):
            connection.terminate()
        for pool in (self._pool, self._writer):
            if pool is not None:
                await pool.expire_connections()

    @contextlib.asynccontextmanager
    async def of_its_own(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection outside the pools while the block lasts. Raises `StoreUnavailable`."""
        connection = await connected(self._url, CONNECT_S, command_timeout=STATEMENT_S)
        try:
            yield connection
        finally:
            connection.terminate()

    def _of(self, pool: asyncpg.Pool | None) -> asyncpg.Pool:
        if pool is None:
            raise StoreUnavailable("the store is closed")
        return pool

    async def _for_groups(self, connection: asyncpg.Connection) -> None:
        """A session that writes."""
        if not await _for_pages(connection):
            return
        await connection.execute(f"SET idle_in_transaction_session_timeout = {GROUP_STANDS_MS}")
        if self._waits:
            await connection.execute(WAIT_FOR_DISK)

    async def _made(self, size: int, init: Any) -> asyncpg.Pool:  # noqa: ANN401 - the driver's stubs hide it
        return await asyncpg.create_pool(
            **driver_options(self._url),
            min_size=1,
            max_size=size,
            timeout=CONNECT_S,
            command_timeout=STATEMENT_S,
            max_inactive_connection_lifetime=IDLE_S,
            init=init,
            reset=_left_as_found,
        )


@contextlib.contextmanager
def connecting() -> Iterator[None]:
    """Raise `StoreUnavailable` for what is wrong with the URL, too, and say nothing of it that may be a password."""
    with typed():
        try:
            yield
        except _OF_AN_OPTION as error:
            raise StoreUnavailable(
                f"mend or drop an option of the database's URL: {error}"
            ) from error
        except asyncpg.ObjectNotInPrerequisiteStateError as error:
            raise StoreUnavailable("the database takes no connections now") from error
        except asyncpg.TargetServerAttributeNotMatched as error:
            raise StoreUnavailable(
                "no server of the database's URL is what target_session_attrs asks for"
            ) from error
        except ssl.SSLError:  # of a certificate it is a ValueError, too
            raise
        except (ValueError, OverflowError, asyncpg.InterfaceError):
            raise StoreUnavailable(
                "the driver cannot use the database's URL: look at its addresses and options"
            ) from None


async def connected(url: str, timeout_s: float, **more: Any) -> asyncpg.Connection:  # noqa: ANN401
    """A connection beside all pools, with more that the driver is told. Raises `StoreUnavailable`."""
    with connecting():
        found: asyncpg.Connection = await asyncpg.connect(
            **driver_options(url), timeout=timeout_s, **more
        )
    return found


def check_server(connection: Connection) -> None:
    """Refuse what this program was not made for. Raises `StoreUnavailable`."""
    version = connection.get_server_version()
    if version.major < OLDEST_POSTGRES:
        raise StoreUnavailable(
            f"PostgreSQL {version.major} runs there: {OLDEST_POSTGRES} or newer is needed"
        )
    encoding = getattr(connection.get_settings(), "server_encoding", ENCODING)
    if encoding != ENCODING:
        raise StoreUnavailable(
            f"the database has the encoding {encoding}: make one with ENCODING '{ENCODING}'"
        )


async def is_pooled(connection: asyncpg.Connection) -> bool:
    """Whether a pool is in between: then the process that answers is not the one that the connection was told."""
    return bool(await connection.fetchval(IS_POOLED, connection.get_server_pid()))


async def _for_pages(connection: asyncpg.Connection) -> bool:
    """Let a session keep each statement's plan for any values; False: it is a pool's, and stays as it is.

    Plans for single values are made each time. If the statistics do not know a tenant yet, the planner thinks that it
    has no rows, and then reads all of them.
    """
    check_server(connection)
    if await is_pooled(connection):
        return False
    await connection.execute(f"SET plan_cache_mode = force_generic_plan; {_OWN}")
    return True


async def _left_as_found(_: object) -> None:
    """Replaces the driver's reset, a round trip after each page. No page leaves anything on its connection."""


@contextlib.asynccontextmanager
async def snapshot(connection: Connection) -> AsyncIterator[None]:
    """Everything that the block reads is as of one moment."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield
