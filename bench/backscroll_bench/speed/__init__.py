"""The speed bench: what a call costs against an empty one, and the rest of the table, on this machine.

`run.measure` does the work; it is not imported here, because it imports the compiled kernels.
"""

from backscroll_bench.speed.report import Result
from backscroll_bench.speed.rows import ROWS, Row, find_rows
from backscroll_bench.speed.sizes import Sizes, sizes
from backscroll_bench.speed.slo import Breach, Objective, SloError, breaches, read_slo
from backscroll_bench.speed.stats import Noise, Wrong

__all__ = [
    "ROWS",
    "Breach",
    "Noise",
    "Objective",
    "Result",
    "Row",
    "Sizes",
    "SloError",
    "Wrong",
    "breaches",
    "find_rows",
    "read_slo",
    "sizes",
]
