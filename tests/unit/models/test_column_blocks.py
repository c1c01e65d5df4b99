"""`rows @ ColumnBlocks(weights)` is `rows @ weights` (P-18)."""

import numpy as np
import pytest

from backscroll_sidecar.models.column_blocks import (
    BLOCK_COLUMNS,
    MOST_MULTIPLICATIONS,
    ColumnBlocks,
    packs_nothing,
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


def test_small_products_are_made_of_blocks() -> None:
    """What the whole matrix holds is read for larger ones only."""
    weights = np.ones((HEIGHT, 64), np.float32)
    blocks = ColumnBlocks(weights)
    weights[:] = np.nan
    rows = np.ones((MOST_ROWS + 1, HEIGHT), np.float32)
    assert (rows[:-1] @ blocks == HEIGHT).all()
    assert np.isnan(rows @ blocks).all()


@pytest.mark.parametrize(
    ("api", "architecture", "expected"),
    [
        ("openblas", "SkylakeX", True),
        ("openblas", "Haswell", False),
        ("openblas", None, False),
        ("mkl", "SkylakeX", False),
        ("openmp", None, False),
    ],
)
def test_only_openblas_with_avx_512_packs_nothing(
    api: str, architecture: str | None, expected: bool
) -> None:
    assert packs_nothing({"internal_api": api, "architecture": architecture}) == expected
