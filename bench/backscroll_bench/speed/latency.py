"""Latency against history, channels and callers as a page of tables, and held against objectives. Pure.

The page is made of what `drawing` keeps as data, and of nothing else: anybody can make it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backscroll_bench.speed.slo import MILLISECONDS, Breach, Objective

Points = Mapping[str, Sequence[Mapping[str, Any]]]
PAGE_FILE = "latency.md"
PROFILE = "balanced"
"""The profile that objectives are of: the default."""
INTRO = """\
How long `BuildContext` takes over gRPC on one machine, beside R0: a bare `grpc.aio` echo with the same requests and
answers as large. Real chats fill the channels; every question is the line that was said next. Milliseconds, medians of
the rounds. *objective*: p50 and p99 that `backscroll bench --plots DIR --slo` holds this against (`slo.toml`)."""


def named(points: Points) -> dict[str, Mapping[str, Any]]:
    """The points that objectives may name: ``history-10k``, ``channels-256``, of the default profile."""
    found = {f"history-{_short(one['messages'])}": one for one in _of_default(points, "history")}
    return found | {f"channels-{one['channels']}": one for one in points.get("channels", ())}


def late(objectives: Iterable[Objective], points: Points) -> list[Breach]:
    """Which objectives these points do not hold; what was not measured is passed over."""
    found = named(points)
    return [
        Breach(one, found[one.row][one.bound])
        for one in objectives
        if one.row in found and found[one.row][one.bound] > one.limit
    ]


def page(body: Mapping[str, Any], objectives: Iterable[Objective]) -> str:
    """The page of what was measured: `points` and `note`."""
    points: Points = body["points"]
    bounds = {(one.row, one.bound): one.limit for one in objectives}
    parts = ["# Latency", INTRO, body["note"]]
    for title, name, column in (
        ("Messages in the channel", "history", "messages"),
        ("Channels in memory, another one each time", "channels", "channels"),
        ("Callers at once", "concurrency", "callers"),
    ):
        rows = [_row(one, name, column, bounds) for one in points.get(name, ())]
        head = [column, "profile", "p50", "p99", "R0 p50", "R0 p99", "builds a second", "objective"]
        parts += [f"## {title}", _table([head, *rows])]
    cold = [
        [f"{one['messages']:,}", _ms(one["first_ms"]), _ms(one["slowest_ms"])]
        for one in points.get("cold", ())
    ]
    parts += [
        "## The first build on a channel that is not in memory",
        _table([["messages", "median", "slowest"], *cold]),
    ]
    return "\n\n".join(parts) + "\n"


def _row(
    one: Mapping[str, Any], name: str, column: str, bounds: Mapping[tuple[str, str], float]
) -> list[str]:
    point = {"profile": PROFILE, **one}
    of = {"history": f"history-{_short(point[column])}", "channels": f"channels-{point[column]}"}
    wanted = [
        bounds.get((of.get(name, ""), bound)) if point["profile"] == PROFILE else None
        for bound in MILLISECONDS
    ]
    told = " / ".join(f"{limit:g}" for limit in wanted if limit is not None)
    held = all(
        limit is None or point[bound] <= limit
        for limit, bound in zip(wanted, MILLISECONDS, strict=True)
    )
    return [
        f"{point[column]:,}",
        f"`{point['profile'].partition(',')[0]}`{''.join(point['profile'].partition(',')[1:])}",
        *(_ms(point[each]) for each in ("p50_ms", "p99_ms", "r0_p50_ms", "r0_p99_ms")),
        f"{point['per_second']:,.0f}",
        f"{told}, {'held' if held else 'not held'}" if told else "",
    ]


def _of_default(points: Points, name: str) -> list[Mapping[str, Any]]:
    return [one for one in points.get(name, ()) if one["profile"] == PROFILE]


def _short(count: int) -> str:
    for unit, size in (("m", 1_000_000), ("k", 1_000)):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    marks = ["---:" if at != 1 or len(head) == 3 else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *others))
