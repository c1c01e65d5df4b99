"""What a database says about a move."""

from __future__ import annotations

from backscroll_sidecar.store.moving.ends import Move
from backscroll_sidecar.store.postgres import move_statements as sql
from backscroll_sidecar.store.postgres.connections import Connection, connected
from backscroll_sidecar.store.postgres.failures import typed

CONNECT_S = 10.0
LOOKS = "backscroll looks"
"""The name of connections that only ask whether a database is being filled."""


async def found_move(connection: Connection) -> Move | None:
    """What the database says about a move."""
    return Move.of_row(await connection.fetchrow(sql.GET_MOVE))


async def look(url: str) -> Move | None:
    """What a database says about a move, even if others use it. Raises `StoreUnavailable`."""
    connection = await connected(url, CONNECT_S, server_settings={"application_name": LOOKS})
    with typed():
        try:
            if await connection.fetchval(sql.HAS_MOVES) is None:
                return None
            return await found_move(connection)
        finally:
            await connection.close(timeout=CONNECT_S)
