"""With how many examples a property is tried: a part of them in `make test`, all of them in `make proof`."""

import os
from typing import Any

import pytest

SHARE = 1.0 if os.environ.get("TEST_EXAMPLES") == "all" else 0.4


def examples(count: int) -> int:
    """That part of so many."""
    return round(count * SHARE)


def seeds(count: int, quick: int) -> list[Any]:
    """Numbers of random cases, for `parametrize`: the first so many in `make test`, the others in `make proof`."""
    return [n if n < quick else pytest.param(n, marks=pytest.mark.proof) for n in range(count)]
