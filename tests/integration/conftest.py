"""What every test of a server gets: with TEST_STORE=postgres it runs on PostgreSQL, unless it is about SQLite."""

from collections.abc import Iterator

import pytest

from tests.kit.postgres import IN_POSTGRES, databases_end


def pytest_runtest_setup(item: pytest.Item) -> None:
    if IN_POSTGRES and (marker := item.get_closest_marker("sqlite")):
        pytest.skip(f"of SQLite: {marker.args[0]}")


@pytest.fixture(autouse=True)
def databases_go() -> Iterator[None]:
    """Databases that a test made in PostgreSQL go with it."""
    with databases_end():
        yield
