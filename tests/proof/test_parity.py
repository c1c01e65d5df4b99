"""A server on SQLite and one on PostgreSQL give the same 10,000 answers, byte for byte (P-22, law 1)."""

from pathlib import Path

import pytest

from tests.integration.parity.played import played


@pytest.mark.proof
@pytest.mark.row("P-22")
@pytest.mark.timeout(3_600)
async def test_ten_thousand_builds_are_the_same_on_both_stores(tmp_path: Path) -> None:
    """Also all lists, searches, exports, members, sessions; once while it is recorded, once of servers started anew."""
    calls = await played(tmp_path, build_count=10_000)
    assert calls["BuildContext"] == 10_000
