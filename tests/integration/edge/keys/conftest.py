"""One world for all tests of a module."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.keys.worlds import EDGES, World, world_of


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    async with world_of() as one:
        yield one


@pytest.fixture(params=EDGES)
def edge(request: pytest.FixtureRequest) -> EdgeName:
    name: EdgeName = request.param
    return name
