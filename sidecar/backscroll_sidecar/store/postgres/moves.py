"""What a database says of a move."""

from __future__ import annotations

import msgspec

from backscroll_sidecar.store.moving.ends import Move, Progress
from backscroll_sidecar.store.postgres.connections import Connection

_GET_MOVE = "SELECT id, phase, other, began_at_ms, progress FROM moves WHERE place = 1"


async def found_move(connection: Connection) -> Move | None:
    """What the database says of a move."""
    row = await connection.fetchrow(_GET_MOVE)
    if row is None:
        return None
    id_, phase, other, began_at_ms, progress = row
    return Move(id_, phase, other, began_at_ms, msgspec.json.decode(progress, type=Progress))
