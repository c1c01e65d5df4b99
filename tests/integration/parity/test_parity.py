"""A server on SQLite and one on PostgreSQL say the same of the same chats, byte for byte (P-22, law 1)."""

from pathlib import Path

import pytest

from tests.integration.parity.played import played


@pytest.mark.row("P-22")
async def test_both_stores_give_the_same_answers(tmp_path: Path) -> None:
    """Some of what tests/proof/test_parity.py asks."""
    calls = await played(tmp_path, build_count=240, is_short=True)
    assert calls["BuildContext"] == 240
    assert calls["Erase"] > 8  # the course was taken
