"""A matrix of weights that a few rows are multiplied with: a question's fourteen, say.

OpenBLAS packs what it multiplies, and packing a matrix for a few rows takes as long as multiplying it. Products of
at most a million multiplications it does without, where the processor has AVX-512 (OpenBLAS 0.3.31,
`kernel/x86_64/sgemm_small_kernel_permit_skylakex.c`). So small products are made of blocks of columns: 14 rows by
512 x 768 take 107 us for 224, by 1,280 x 256 90 for 178 (Zen 4, one thread, other matrices between). Where everything
is packed (`OPENBLAS_CORETYPE=Haswell`) 14 rows take .94 and 1.04 of the time and 30 rows 1.2: nothing to gain.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

BLOCK_COLUMNS = 32
MOST_MULTIPLICATIONS = 1_000_000
UNPACKED = frozenset(("SkylakeX", "Cooperlake", "SapphireRapids"))
"""What OpenBLAS calls processors with AVX-512, Zen 4 among them."""


def packs_nothing(library: Mapping[str, object]) -> bool:
    """Whether small products are made without packing by a library that threadpoolctl tells of."""
    return library.get("internal_api") == "openblas" and library.get("architecture") in UNPACKED


class ColumnBlocks:
    """Stands for `weights` on the right of an `@`: float32 of shape (K, N), N a multiple of 32, kept twice.

    Sums are taken in another order than by the whole matrix: equal to some 1e-7 of an answer's size.
    """

    __array_ufunc__ = None  # numpy leaves `rows @ self` to `__rmatmul__`

    def __init__(self, weights: NDArray[np.float32]) -> None:
        height, width = weights.shape
        self._whole = weights
        self._blocks = np.ascontiguousarray(
            weights.reshape(height, width // BLOCK_COLUMNS, BLOCK_COLUMNS).transpose(1, 0, 2)
        )
        self._most_rows = MOST_MULTIPLICATIONS // (height * BLOCK_COLUMNS)

    def __rmatmul__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(rows) > self._most_rows:
            return rows @ self._whole
        made = np.empty((len(rows), len(self._blocks), BLOCK_COLUMNS), np.float32)
        np.matmul(rows, self._blocks, out=made.transpose(1, 0, 2))
        return made.reshape(len(rows), self._whole.shape[1])
