"""A watched server and one raw client of it."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.edge.http2.peer import Peer
from tests.integration.edge.http2.serving import Served, serving


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as one:
        yield one


@pytest.fixture
async def peer(served: Served) -> AsyncIterator[Peer]:
    async with served.peer() as one:
        yield one
