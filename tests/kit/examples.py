"""With how many examples a property is tried: a part of them in `make test`, all of them in `make proof`."""

import os

SHARE = 1.0 if os.environ.get("TEST_EXAMPLES") == "all" else 0.4


def examples(count: int) -> int:
    """That part of so many."""
    return round(count * SHARE)
