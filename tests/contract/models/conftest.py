"""The server that models of the network are run against, and the model on it."""

from collections.abc import AsyncIterator, Callable

import pytest

from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.models.options import OpenAIOptions
from tests.contract.models.sse_server import Reply, SseServer, sse_server

KEY = "sk-kept-to-ourselves"


@pytest.fixture
async def server() -> AsyncIterator[SseServer]:
    async with sse_server() as running:
        yield running


@pytest.fixture
async def connect(server: SseServer) -> AsyncIterator[Callable[..., OpenAIModel]]:
    """Makes a model on the server, which plays these replies, with short waits unless told otherwise."""
    made: list[OpenAIModel] = []

    def making(*replies: Reply, **options) -> OpenAIModel:
        server.replies[:] = replies
        options = {"api_key": KEY, "base_url": server.url, "idle_s": 20.0, **options}
        made.append(OpenAIModel(OpenAIOptions(**options)))
        return made[-1]

    yield making
    for model in made:
        await model.close()
