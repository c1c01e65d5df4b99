"""What the proofs share."""

from collections.abc import Iterator

import pytest

from backscroll_bench.awake import Awake


@pytest.fixture
def awake() -> Iterator[None]:
    """Times are the program's and not the host's: no core sleeps meanwhile."""
    with Awake():
        yield
