"""The driver's errors become the port's: two kinds, without the server's text."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping

import asyncpg

from backscroll_sidecar.errors import StoreMoved, StoreReadOnly, StoreUnavailable

_Kinds = Mapping[type[asyncpg.PostgresError], str]
CANNOT_WRITE: _Kinds = {
    asyncpg.DiskFullError: "the disk is full",
    asyncpg.ReadOnlySQLTransactionError: "the database is read-only: it may be a standby",
    asyncpg.InsufficientPrivilegeError: "the database's user may not do this: make it the owner of the tables",
}
_CANNOT_ANSWER: _Kinds = {
    asyncpg.TooManyConnectionsError: "the database takes no more connections",
    asyncpg.CannotConnectNowError: "the database is starting or stopping",
    asyncpg.AdminShutdownError: "the database is stopping",
    asyncpg.CrashShutdownError: "the database failed and starts anew",
    asyncpg.InvalidPasswordError: "the database refuses the user: check the name and the password",
    asyncpg.InvalidAuthorizationSpecificationError: (
        "the database refuses the user from here: check the name, sslmode, and its pg_hba.conf"
    ),
    asyncpg.InvalidCatalogNameError: "there is no such database: make it with createdb",
    asyncpg.InvalidSchemaNameError: "no schema of the user's search_path is there: make it, or set search_path",
    asyncpg.OutOfMemoryError: "the database is out of memory",
    asyncpg.QueryCanceledError: "the database broke the statement off: is statement_timeout of its user too short?",
    asyncpg.LockNotAvailableError: "the database is locked",
    asyncpg.PostgresConnectionError: "the connection to the database broke",
    asyncpg.OperatorInterventionError: "the database broke the statement off",
    asyncpg.TransactionRollbackError: "others wrote the same: try again",
}
_OUR_FAULT = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.DataError,
    asyncpg.SyntaxOrAccessError,
    asyncpg.ProgramLimitExceededError,
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
        for raised, kinds in ((StoreReadOnly, CANNOT_WRITE), (StoreUnavailable, _CANNOT_ANSWER)):
            said = next((said for kind, said in kinds.items() if isinstance(error, kind)), None)
            if said is not None:
                raise raised(said, metadata=metadata) from error
        if isinstance(error, _OUR_FAULT):
            raise
        raise StoreUnavailable("the database failed", metadata=metadata) from error
    except asyncpg.InterfaceError as error:
        if isinstance(error, ValueError) or not ("closed" in str(error) or "closing" in str(error)):
            raise  # a value says what it is, whatever that is
        raise StoreUnavailable(_closed(error)) from error
    except TimeoutError as error:
        raise StoreUnavailable("the database does not answer in time") from error
    except ssl.SSLError as error:
        raise StoreUnavailable(
            "no TLS with the database: look at sslmode and sslrootcert of its URL"
        ) from error
    except (OSError, EOFError, asyncpg.InternalClientError) as error:
        # The last: the driver hands out a connection that the database has ended just now.
        raise StoreUnavailable(
            "the database cannot be reached: check that it runs, its address, and what its URL says of TLS"
        ) from error


def _closed(error: asyncpg.InterfaceError) -> str:
    is_pool = str(error).startswith("pool ")
    return "the store is closed" if is_pool else "the connection to the database broke"
