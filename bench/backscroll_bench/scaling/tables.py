"""The tables of docs/guide/scaling.md, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backscroll_bench.scaling.costs import STORES, Cost, costs, measured
from backscroll_bench.scaling.simulator import BUSY, Outcome, Plan, simulated

PEAK = 3
"""The busiest hour has so many times the mean of a day."""
CORE, MEMORY_GB, DISK_GB = 30, 4, 0.1
"""US dollars a month."""
DATABASE_CORES_MOST = 64
DATABASE_DISK_MOST_GB = 16_000
"""Of one machine; from there on the history is spread over several."""
DAYS = 365
DAY_S = 86_400
GB = 1e9
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
PLANS: Sequence[Plan] = (
    Plan(store="sqlite"),
    *(Plan(servers=servers) for servers in (1, 2, 3, 6, 12)),
    *(Plan(servers=servers, affinity=False) for servers in (3, 12)),
)


def tables(file: Mapping[str, Any] | None = None) -> str:
    """All of them, with their headings."""
    file = measured() if file is None else file
    outcomes = {plan: simulated(plan, costs(plan.store, file)) for plan in PLANS}
    parts = {
        "What was measured": _measured(file),
        "What is assumed": _assumed(),
        "What servers carry": _carried(outcomes),
        "What a load needs": _needed(outcomes, file),
    }
    return "\n".join(f"### {title}\n\n{text}\n" for title, text in parts.items())


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _measured(file: Mapping[str, Any]) -> str:
    by_store = {store: costs(store, file) for store in STORES}

    def rows() -> Iterator[Sequence[str]]:
        for title, field in (
            ("a build", "build"), ("a message", "append"), ("more, where another server wrote", "behind"),
            ("more, where the channel is not in memory", "cold"),
        ):  # fmt: skip
            for store, name in STORES.items():
                cost: Cost = getattr(by_store[store], field)
                if cost.server_ms:
                    loop, database = f"{cost.loop_ms:.2f} ms", f"{cost.database_ms:.2f} ms"
                    if (
                        field == "behind"
                    ):  # of two servers at once only their processes were measured
                        loop = database = "–"
                    yield f"{title}, {name}", loop, f"{cost.server_ms:.2f} ms", database

    machine, one = file["machine"], by_store["postgres"]
    sizes = [f"{by_store[store].message_bytes:,} bytes in {name}" for store, name in STORES.items()]
    told = [
        f"- A message takes {' and '.join(sizes)}, its indexes included, and {one.cached_message_bytes:,} in memory.",
        f"- A vector takes {one.vector_bytes:,} bytes in PostgreSQL.",
        f"- A server that has no channel in memory takes {one.idle_bytes / 1e6:,.0f} MB.",
        f"- Measured on {file['made']}: {machine['processor']}, {machine['cores']} cores, by `{file['by']}`.",
    ]
    head = ["processor time of", "the server's loop", "the whole server", "PostgreSQL"]
    return "\n".join([_table(head, rows()), "", *told])


def _assumed() -> str:
    plan = Plan()
    return _table(
        ["what", "assumed"],
        iter(
            [
                ("channels in use", f"{plan.channels:,}"),
                ("share of the n-th most popular one", f"1 / n^{plan.popularity:g}"),
                ("messages of a channel in memory", f"{plan.messages_a_channel:,}"),
                ("builds a message", f"{plan.builds_a_message:g}"),
                ("memory for channels, a server", f"{plan.cache_bytes >> 20:,} MiB"),
                ("cores of PostgreSQL", f"{plan.database_cores}"),
                ("what a build costs more where another server wrote", "the server's loop alone"),
                ("a round trip to it", f"{plan.network_ms:g} ms"),
                (
                    "a machine of PostgreSQL, at most",
                    f"{DATABASE_CORES_MOST} cores, {DATABASE_DISK_MOST_GB:,} GB",
                ),
                ("use of the busiest part, at most", f"{BUSY:.0%}"),
                ("the busiest hour, of a day's mean", f"{PEAK} times"),
                (
                    "a core, a GB of memory, a GB of disk",
                    f"{CORE}, {MEMORY_GB}, {DISK_GB:g} USD a month",
                ),
            ]
        ),
    )


def _carried(outcomes: Mapping[Plan, Outcome]) -> str:
    def rows() -> Iterator[Sequence[str]]:
        for plan, one in outcomes.items():
            spread = "" if plan.servers == 1 else ", by channel" if plan.affinity else ", anywhere"
            yield (
                f"{plan.servers} on {STORES[plan.store]}{spread}", f"{one.messages_per_second:,.0f}",
                f"{one.builds_per_second:,.0f}", f"{one.p50_ms:.1f} ms", f"{one.p99_ms:.0f} ms",
                f"{one.server_cores:.1f}", f"{one.database_cores:.2f}", f"{one.memory_bytes / GB:.1f} GB",
                f"{one.cold_share:.0%}", f"{one.behind_share:.0%}", one.first,
            )  # fmt: skip

    head = [
        "servers", "messages/s", "builds/s", "p50", "p99", "cores of servers", "of PostgreSQL", "memory", "cold",
        "behind", "full first",
    ]  # fmt: skip
    one, three, anywhere = (
        outcomes[plan].builds_per_second
        for plan in (Plan(), Plan(servers=3), Plan(servers=3, affinity=False))
    )
    said = (
        f"Three servers carry {three / one:.1f} times what one carries,"
        f" and {anywhere / one:.1f} times where calls go anywhere."
    )
    return f"{_table(head, rows())}\n\n{said}"


def _needed(outcomes: Mapping[Plan, Outcome], file: Mapping[str, Any]) -> str:
    largest = max((plan for plan in PLANS if plan.affinity), key=lambda plan: plan.servers)
    each, alone = outcomes[largest], outcomes[Plan(store="sqlite")]
    of = costs("postgres", file)

    def rows() -> Iterator[Sequence[str]]:
        for a_day in SIZES:
            rate = PEAK * a_day / DAY_S
            share = rate / each.messages_per_second
            servers = max(2, math.ceil(share * largest.servers))
            cores = math.ceil(share * each.server_cores / BUSY)
            database = max(2, math.ceil(share * each.database_cores / BUSY))
            memory = (
                max(2, share * largest.servers) * each.memory_bytes / largest.servers / GB
                + 4 * database
            )
            disk = DAYS * a_day * (of.message_bytes + of.vector_bytes) / GB
            machines = math.ceil(max(database / DATABASE_CORES_MOST, disk / DATABASE_DISK_MOST_GB))
            database = max(database, 2 * machines)
            usd = CORE * (max(cores, servers) + database) + MEMORY_GB * memory + DISK_GB * disk
            yield (
                f"{a_day:,}", f"{rate:,.0f}", "enough" if rate <= alone.messages_per_second else "too little",
                f"{servers:,}", f"{max(cores, servers):,}", f"{database:,} on {machines}", f"{memory:,.0f} GB",
                f"{disk:,.0f} GB", f"{usd:,.0f}",
            )  # fmt: skip

    head = [
        "messages a day", "a second at peak", "one server on SQLite", "servers on PostgreSQL", "their cores",
        "PostgreSQL's cores, machines", "memory", "disk after a year, with vectors", "USD a month",
    ]  # fmt: skip
    return _table(head, rows())
