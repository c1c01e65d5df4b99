"""How kernels are compiled: when this package is imported, for exactly the types we pass.

Nothing compiles inside a request: a kernel has one explicit signature and refuses other types. It
reads its arguments and writes its outputs, nothing else: any thread may call it at any time.
With ``NUMBA_DISABLE_JIT=1`` in the environment the decorators leave the Python functions as they
are. Compiled code is kept in ``NUMBA_CACHE_DIR`` (numba reads it when it is first imported), else
beside the source.

The cache knows a kernel by its own file alone. So a kernel calls nothing compiled in another file,
and whoever changes this file, `intrinsics`, or a constant that a kernel imports, deletes the
cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

import numba as nb

F = TypeVar("F", bound=Callable[..., Any])

# What we read: a signature for read-only arrays takes writable ones too, and refuses strided ones.
READ_I32 = nb.types.Array(nb.int32, 1, "C", readonly=True)
READ_I64 = nb.types.Array(nb.int64, 1, "C", readonly=True)
READ_F64 = nb.types.Array(nb.float64, 1, "C", readonly=True)
READ_U64 = nb.types.Array(nb.uint64, 1, "C", readonly=True)
READ_BOOL = nb.types.Array(nb.boolean, 1, "C", readonly=True)
READ_I8_3D = nb.types.Array(nb.int8, 3, "C", readonly=True)
READ_F32_2D = nb.types.Array(nb.float32, 2, "C", readonly=True)
READ_U64_2D = nb.types.Array(nb.uint64, 2, "C", readonly=True)
READ_U8 = nb.types.Array(nb.uint8, 1, "C", readonly=True)
READ_I32_2D = nb.types.Array(nb.int32, 2, "C", readonly=True)
READ_F64_2D = nb.types.Array(nb.float64, 2, "C", readonly=True)
READ_F32 = nb.types.Array(nb.float32, 1, "C", readonly=True)
READ_BYTES = nb.types.Bytes(nb.uint8, 1, "C", readonly=True)  # a Python `bytes` as it is
# What we write.
BOOL = nb.types.Array(nb.boolean, 1, "C")
F32 = nb.types.Array(nb.float32, 1, "C")
I32 = nb.types.Array(nb.int32, 1, "C")
I64 = nb.types.Array(nb.int64, 1, "C")
I32_2D = nb.types.Array(nb.int32, 2, "C")
F64 = nb.types.Array(nb.float64, 1, "C")
F32_2D = nb.types.Array(nb.float32, 2, "C")
U8 = nb.types.Array(nb.uint8, 1, "C")
U64 = nb.types.Array(nb.uint64, 1, "C")
U64_2D = nb.types.Array(nb.uint64, 2, "C")
F64_2D = nb.types.Array(nb.float64, 2, "C")


def kernel(signature: object, *, nogil: bool = False, any_order: bool = False) -> Callable[[F], F]:
    """Compile for one signature, now. ``nogil`` for what may run longer than some 30 microseconds.

    No fast-math (nan and inf keep their meaning) and no ``parallel=True`` (two threads inside it
    abort the process). Division follows NumPy: loops without a ZeroDivisionError vectorise.
    ``any_order`` lets sums of floats be taken in another order, which is what makes them vectorise:
    for results that may differ in their last bits between two kinds of processor.
    """
    fast = ANY_ORDER if any_order else False
    decorate = nb.njit(signature, cache=True, nogil=nogil, error_model="numpy", fastmath=fast)
    return cast("Callable[[F], F]", decorate)


ANY_ORDER = {"reassoc", "contract"}


def helper(function: F) -> F:
    """Mark a part of kernels: compiled into those that call it, never alone, and not to be called from Python."""
    return _part(function, fast=False)


def any_order_helper(function: F) -> F:
    """Mark a part of kernels whose sums may be taken in any order (see `kernel`)."""
    return _part(function, fast=ANY_ORDER)


def inlined(function: F) -> F:
    """Mark a part that stands in its one caller as if it were written there: no call, however much it is given."""
    return _part(function, fast=False, inline="always")


def _part(function: F, fast: set[str] | bool, inline: Literal["always", "never"] = "never") -> F:
    untyped: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made = nb.njit(function, error_model="numpy", fastmath=fast, inline=inline, **untyped)
    return cast("F", made)
