"""How kernels are compiled: when this package is imported, for exactly the types we pass, never inside a request.

With ``NUMBA_DISABLE_JIT=1`` in the environment the decorator leaves the Python function as it is. The compiled code
is kept in ``NUMBA_CACHE_DIR`` (read by numba when it is first imported), else beside the source.

The cache knows a kernel by its own file only: a kernel may call nothing compiled in another file, and whoever
changes this file or a constant a kernel imports must delete the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb  # type: ignore[import-untyped, unused-ignore]

F = TypeVar("F", bound=Callable[..., Any])

# What we read: a signature for read-only arrays takes writable ones too, and refuses strided ones.
READ_I32 = nb.types.Array(nb.int32, 1, "C", readonly=True)
READ_I64 = nb.types.Array(nb.int64, 1, "C", readonly=True)
READ_F64 = nb.types.Array(nb.float64, 1, "C", readonly=True)
# What we write.
I32 = nb.types.Array(nb.int32, 1, "C")
I64 = nb.types.Array(nb.int64, 1, "C")
U8 = nb.types.Array(nb.uint8, 1, "C")
F64 = nb.types.Array(nb.float64, 1, "C")
F64_2D = nb.types.Array(nb.float64, 2, "C")


def kernel(signature: Any, *, nogil: bool = False) -> Callable[[F], F]:
    """Compile for one signature, now. ``nogil`` for kernels that may run longer than some tens of microseconds.

    No fast-math (nan and inf keep their meaning) and no ``parallel=True`` (it aborts the process when two threads
    call). Division follows NumPy: no ZeroDivisionError, so loops vectorise.
    """
    decorate = nb.njit(signature, cache=True, nogil=nogil, error_model="numpy")
    return cast("Callable[[F], F]", decorate)
