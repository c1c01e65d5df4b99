"""What a call costs, as `bench/measure_scaling.py` measured it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

Store = Literal["sqlite", "postgres"]
STORES: Mapping[Store, str] = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of a processor for one call.

    Parameters
    ----------
    loop_ms : of the thread that answers, which bounds one server.
    server_ms : of the whole server, that thread included.
    database_ms : of PostgreSQL.
    """

    loop_ms: float
    server_ms: float
    database_ms: float

    def more_than(self, other: Cost) -> Cost:
        """What this costs beyond the other one."""
        return Cost(
            max(0.0, self.loop_ms - other.loop_ms),
            max(0.0, self.server_ms - other.server_ms),
            max(0.0, self.database_ms - other.database_ms),
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """All costs of one store.

    `behind` is what a build costs more where another server wrote to its channel, `cold` what it costs more where the
    channel is not in memory, `cold_messages` of how many messages that channel was.
    """

    build: Cost
    append: Cost
    behind: Cost
    cold: Cost
    cold_messages: int
    message_bytes: int
    vector_bytes: int
    cached_message_bytes: int
    idle_bytes: int


def measured() -> Mapping[str, Any]:
    """The file that was measured."""
    text = resources.files(__package__).joinpath("measured.json").read_text("utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


def costs(store: Store, file: Mapping[str, Any] | None = None) -> Costs:
    """What calls cost on that store."""
    file = measured() if file is None else file
    one = file[store]
    build, alone = _cost(one["build"]), _cost(one["build_alone"])
    behind = Cost(0.0, 0.0, 0.0)
    if "build_behind_another" in one:
        server_ms = one["build_behind_another"]["server_ms"]
        behind = Cost(server_ms, server_ms, alone.database_ms).more_than(alone)
    return Costs(
        build=build,
        append=_cost(one["append"]),
        behind=behind,
        cold=_cost(one["cold_build"]).more_than(alone),
        cold_messages=file["workload"]["messages_a_channel"],
        message_bytes=one["message_bytes"],
        vector_bytes=file["vectors"]["vector_bytes"],
        cached_message_bytes=one["cached_message_bytes"],
        idle_bytes=one["idle_bytes"],
    )


def _cost(told: Mapping[str, float]) -> Cost:
    return Cost(told["loop_ms"], told["server_ms"], told["database_ms"])
