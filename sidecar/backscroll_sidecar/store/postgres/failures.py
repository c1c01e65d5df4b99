"""The driver's errors become the port's: two kinds, without the server's text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import asyncpg

from backscroll_sidecar.errors import StoreMoved, StoreReadOnly, StoreUnavailable

_CANNOT_WRITE = {
    asyncpg.DiskFullError: "the disk is full",
    asyncpg.ReadOnlySQLTransactionError: "the database is read-only: it may be a standby",
    asyncpg.InsufficientPrivilegeError: "the database's user may not do this",
}
_CANNOT_ANSWER = {
    asyncpg.TooManyConnectionsError: "the database takes no more connections",
    asyncpg.CannotConnectNowError: "the database is starting or stopping",
    asyncpg.AdminShutdownError: "the database is stopping",
    asyncpg.CrashShutdownError: "the database failed and starts anew",
    asyncpg.InvalidAuthorizationSpecificationError: "the database refuses the user: check the name and the password",
    asyncpg.InvalidCatalogNameError: "there is no such database: make it",
    asyncpg.OutOfMemoryError: "the database is out of memory",
    asyncpg.QueryCanceledError: "the database broke the statement off",
    asyncpg.LockNotAvailableError: "the database is locked",
    asyncpg.PostgresConnectionError: "the connection to the database broke",
    asyncpg.OperatorInterventionError: "the database broke the statement off",
    asyncpg.TransactionRollbackError: "others wrote the same: try again",
}
_OUR_FAULT = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.DataError,
    asyncpg.SyntaxOrAccessError,
)
MOVED = "BKMVD"
"""The SQLSTATE of the triggers that refuse every write (`postgres/move_statements.py`)."""
TRY_AGAIN = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
"""Nothing was written, and the same may be written now."""


@contextlib.contextmanager
def typed() -> Iterator[None]:
    """Raise `StoreReadOnly` or `StoreUnavailable` for what the block raises, except for our own mistakes."""
    try:
        yield
    except asyncpg.PostgresError as error:
        if error.sqlstate == MOVED:
            raise StoreMoved from error
        metadata = {"postgres_error": error.sqlstate or ""}
        for kind, said in _CANNOT_WRITE.items():
            if isinstance(error, kind):
                raise StoreReadOnly(said, metadata=metadata) from error
        for kind, said in _CANNOT_ANSWER.items():
            if isinstance(error, kind):
                raise StoreUnavailable(said, metadata=metadata) from error
        if isinstance(error, _OUR_FAULT):
            raise
        raise StoreUnavailable("the database failed", metadata=metadata) from error
    except asyncpg.InterfaceError as error:
        if "closed" not in str(error) and "closing" not in str(error):
            raise
        raise StoreUnavailable("the store is closed") from error
    except TimeoutError as error:
        raise StoreUnavailable("the database does not answer in time") from error
    except (OSError, EOFError, asyncpg.InternalClientError) as error:
        # The last: the driver hands out a connection that the database has ended just now.
        raise StoreUnavailable(
            "the database cannot be reached: check that it runs, and the address"
        ) from error
