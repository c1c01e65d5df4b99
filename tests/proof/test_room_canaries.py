"""A hundred thousand builds of a thousand channels, and nobody is shown what is not meant for them.

TEST_CANARIES sets how many contexts are built.
"""

import os
from pathlib import Path

import pytest

from tests.property.test_room_canaries import check_seen, run

BUILDS = int(os.environ.get("TEST_CANARIES", "100000"))


@pytest.mark.proof
@pytest.mark.row("N-11", "N-18")
@pytest.mark.timeout(3_600)
async def test_a_hundred_thousand_builds(tmp_path: Path) -> None:
    """Each hundredth over gRPC; a line or a participant changes before each eighth."""
    seen = await run(1_000, BUILDS, grpc_every=100, seed=7, database=tmp_path / "history.db")
    print(dict(sorted(seen.items())))
    check_seen(seen)
