"""The rows' floor: what a row of BuildContext would be if a build cost nothing.

The server of a row answers each of its questions once, and these answers are recorded. A server with the edge of
Backscroll's own (HTTP/2 on the loop, the pipeline before every handler) in its own process gives them back: the
same requests, the same bytes, nothing parsed, nothing built. What is left of the ratio to R0 is transport, and what a
gate allows beyond it is what a build may take.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from backscroll_bench.speed import meaning
from backscroll_bench.speed.builds import KINDS
from backscroll_bench.speed.children import child, until_input_ends
from backscroll_bench.speed.cores import keep_loop
from backscroll_bench.speed.fixture import BUILD, Bench, Questions, Served
from backscroll_bench.speed.load import open_channel, unary
from backscroll_bench.speed.loops import run
from backscroll_bench.speed.reading import Readings, latencies, rates
from backscroll_bench.speed.rows import find_rows
from backscroll_sidecar.edge.call_pipeline import Call, CallPipeline, Method
from backscroll_sidecar.edge.exposure import parse_address
from backscroll_sidecar.edge.listeners import Listeners
from backscroll_sidecar.edge.tenants import OneTenant
from backscroll_sidecar.telemetry import logs

MODULE = "backscroll_bench.speed.floor"
REQUEST, REPLY = ".request", ".reply"
HISTORY = 10_000
VECTOR = "vector"
"""Beside the profiles: `balanced` with a query vector that is used."""


async def floor(bench: Bench, what: str, row: str, concurrency: int = 1) -> Readings:
    """Recorded answers beside R0: by one caller p50, by several their rate.

    The detail `left_us` is what the row's gate leaves of a call beyond the floor; by several callers a call is the time
    between two answers.
    """
    served, asked = await _asked(bench, what)
    real = served.call(BUILD)
    answers = [await real(request) for request in asked.requests]
    asked = Questions(asked.requests, list(map(len, answers)))
    directory = bench.directory / bench.new_name("recorded")
    record(directory, asked.requests, answers)
    calls = bench.sizes.calls if concurrency == 1 else bench.sizes.many
    with child(MODULE, [str(directory)]) as address:
        async with open_channel(address) as channel:
            call = unary(channel, BUILD)
            rounds = await bench.beside_r0(call, asked, calls=calls, concurrency=concurrency)
    (gated,) = find_rows((row,))
    assert gated.gate is not None
    if concurrency == 1:
        found, slower = latencies(rounds)["p50"], gated.gate
        each = [(one.p50_s, r0.p50_s) for one, r0 in rounds]
    else:
        found, slower = rates(rounds), 1 / gated.gate
        each = [(1 / one.per_second, 1 / r0.per_second) for one, r0 in rounds]
    left_us = median(slower * r0_s - floor_s for floor_s, r0_s in each) * 1e6
    reading = replace(found, details={**found.details, "left_us": left_us})
    return {"p50" if concurrency == 1 else "rate": reading}


async def _asked(bench: Bench, what: str) -> tuple[Served, Questions]:
    """The server and the questions of the rows with `HISTORY` messages."""
    if what == VECTOR:
        served, given, _ = await meaning.asked(bench, HISTORY)
        return served, given
    return await bench.served(KINDS[what]), await bench.questions(KINDS[what], what, HISTORY)


def record(directory: Path, requests: Sequence[bytes], answers: Sequence[bytes]) -> None:
    """Write requests and their answers into a new directory."""
    directory.mkdir()
    for n, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        (directory / f"{n}{REQUEST}").write_bytes(request)
        (directory / f"{n}{REPLY}").write_bytes(answer)


def recorded(directory: Path) -> Mapping[bytes, bytes]:
    """Answers by question."""
    return {
        path.read_bytes(): path.with_suffix(REPLY).read_bytes()
        for path in directory.glob(f"*{REQUEST}")
    }


async def _serve(replies: Mapping[bytes, bytes]) -> None:
    logs.configure("error")
    pipeline = CallPipeline(OneTenant())
    pipeline.ready = True

    async def answer(request: bytes, _call: Call) -> bytes:
        return replies[request]

    listeners = Listeners([pipeline.endpoint(Method(BUILD[1:], parse=bytes, answer=answer))])
    target = listeners.bind(parse_address("127.0.0.1:0"))
    await listeners.start()
    keep_loop()
    await until_input_ends(int(target.rpartition(":")[2]))
    await listeners.stop(0)


if __name__ == "__main__":
    run(_serve(recorded(Path(sys.argv[1]))))
