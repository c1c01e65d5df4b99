"""One server for the tests of this folder that need no settings of their own; each test has its own channel."""

from collections.abc import AsyncIterator

import pytest_asyncio

from backscroll import AsyncClient
from tests.kit.served import served


@pytest_asyncio.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with served() as (client, _):
        yield client
