"""A run: each part once, again where the machine was busy, refused where it stays so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from pathlib import Path

from backscroll_bench.speed.fixture import Bench, Serve, opened
from backscroll_bench.speed.loops import run
from backscroll_bench.speed.parts import PARTS, Part
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.report import Result
from backscroll_bench.speed.rows import Row
from backscroll_bench.speed.sizes import Sizes
from backscroll_bench.speed.stats import Absent, Noise, Wrong, check_noise

TRIES = 3
"""A part whose denominator was noisy is measured again, all of it, before the run is refused. Not where noise is
allowed."""


def measure(
    rows: Sequence[Row],
    serve: Serve,
    directory: Path,
    state_dir: Path,
    sizes: Sizes,
    *,
    peers: Path | None = None,
    allow_noise: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    parts: Mapping[str, Part] = PARTS,
) -> list[Result]:
    """Measure the parts that these rows need, one after the other, in the rows' order.

    A part that cannot be measured (`Wrong`) costs its own rows only: their value is NaN and they say why.

    Parameters
    ----------
    serve : starts a server of the bench's own, on this machine.
    directory : for databases; empty, the caller's to remove.
    state_dir : where compiled kernels are kept.
    peers : venv of the other products (`make peers`); without it their rows are not measured, and say so.
    allow_noise : take what a noisy part found, marked, instead of refusing it.
    progress : told the name of each part before it begins, and "" at the end.

    Raises
    ------
    Noise
        What a part is compared with moved too much, `TRIES` times.
    """
    found: dict[str, tuple[Readings, str]] = {}

    async def measured() -> None:
        async with opened(serve, directory, state_dir, sizes, peers) as bench:
            for name in dict.fromkeys(row.part for row in rows):
                progress(name)
                try:
                    found[name] = await _quietly(name, parts[name], bench, allow_noise)
                except (Absent, Wrong) as error:
                    found[name] = {row.reading: _missing(error) for row in rows}, ""
            progress("")

    run(measured())
    return [Result(row, found[row.part][0][row.reading], found[row.part][1]) for row in rows]


def _missing(error: Absent | Wrong) -> Reading:
    if isinstance(error, Absent):
        return Reading(nan, absent=str(error))
    return Reading(nan, fails=str(error))


async def _quietly(name: str, part: Part, bench: Bench, allow_noise: bool) -> tuple[Readings, str]:
    """What a part found, and the complaint about noise if there was one to the last."""
    tries = 1 if allow_noise else TRIES
    for left in reversed(range(tries)):
        try:
            readings = await part(bench)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        try:
            for reading in readings.values():
                bases = reading.rounds.bases if reading.rounds else ()
                check_noise(name, reading.calm or bases)
        except Noise as noise:
            if allow_noise:
                return readings, str(noise)
            if not left:
                raise
        else:
            return readings, ""
    raise AssertionError("there is at least one try")
