"""Results, written by hand."""

from backscroll_bench.speed.reading import Reading
from backscroll_bench.speed.report import Result
from backscroll_bench.speed.rows import Row

LOWER = Row("quick", "part", "p50", "a call", "x R0", 2.0, 1.5)
HIGHER = Row("many", "part", "rate", "calls a second", "of R0", 0.5, 0.7, "higher")
TOLD = Row("told", "part", "stages", "stages", "µs", None, None)


def result(row: Row, value: float, noise: str = "", fails: str = "", **details: float) -> Result:
    return Result(row, Reading(value, details, fails=fails), noise)
