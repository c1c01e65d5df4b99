"""`rows @ ColumnBlocks(weights)` is `rows @ weights` (P-18)."""

from __future__ import annotations

import numpy as np
import pytest

from backscroll_sidecar.models.column_blocks import (
    BLOCK_COLUMNS,
    MOST_MULTIPLICATIONS,
    ColumnBlocks,
)

HEIGHT = 1_280
MOST_ROWS = MOST_MULTIPLICATIONS // (HEIGHT * BLOCK_COLUMNS)


@pytest.mark.parametrize("count", [0, 1, 2, 14, MOST_ROWS, MOST_ROWS + 1, 100])
@pytest.mark.parametrize("width", [32, 256, 768])
def test_products_are_those_of_the_whole_matrix(count: int, width: int) -> None:
    random = np.random.default_rng(count)
    rows = random.standard_normal((count, HEIGHT)).astype(np.float32)
    weights = random.standard_normal((HEIGHT, width)).astype(np.float32)
    made = rows @ ColumnBlocks(weights)
    assert made.shape == (count, width)
    assert made.dtype == np.float32
    assert made.flags.c_contiguous
    exact = rows.astype(np.float64) @ weights.astype(np.float64)
    assert np.abs(made - exact).max(initial=0) < 1e-4 * HEIGHT**0.5


def test_rows_may_be_columns_of_another_matrix() -> None:
    """As the encoder gives them: words' vectors stand beside what is made of them."""
    random = np.random.default_rng(1)
    beside = random.standard_normal((14, HEIGHT + 96)).astype(np.float32)
    weights = random.standard_normal((HEIGHT, 256)).astype(np.float32)
    rows = beside[:, 96:]
    assert np.allclose(rows @ ColumnBlocks(weights), rows @ weights, atol=1e-3)


def test_equal_rows_give_equal_products() -> None:
    random = np.random.default_rng(2)
    rows = random.standard_normal((14, 512)).astype(np.float32)
    blocks = ColumnBlocks(random.standard_normal((512, 768)).astype(np.float32))
    assert (rows @ blocks).tobytes() == (rows.copy() @ blocks).tobytes()
