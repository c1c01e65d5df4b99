"""One app behind both edges, and a connection of every kind to each of them."""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.edge.listeners import EdgeName
from backscroll_sidecar.ports import Finished, FinishReason
from backscroll_sidecar.wiring import open_app
from tests.integration.edge.conftest import EdgeApp
from tests.integration.edge.edges.callers import ANSWER, CLIENTS, EDGES, TRANSPORTS, Client
from tests.integration.edge.edges.servers import Edge, edge_of
from tests.kit.fake_model import FakeModel


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app() -> AsyncIterator[EdgeApp]:
    """One history and one builder behind all edges, with a model that plays its part."""
    settings = Settings(database=Path(":memory:"), durability="normal", embedder="none")
    model = FakeModel(answer=lambda _: (ANSWER, Finished(FinishReason.STOP)))
    async with open_app(settings, model=model) as real:
        yield EdgeApp(real.history, real.builder, chat=real.chat, preferences=real.preferences)


Both = dict[EdgeName, Edge]
Clients = dict[tuple[EdgeName, str, str], Client]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(app: EdgeApp, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    """Two servers of one app that stay the same for all tests."""
    folder = tmp_path_factory.mktemp("edges")
    async with edge_of("auto", app, folder) as ours, edge_of("grpc", app, folder) as theirs:
        yield {"auto": ours, "grpc": theirs}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(both: Both) -> AsyncIterator[Clients]:
    """One connection of every kind that there is, for all tests: whatever a call comes to, it goes on."""
    made: Clients = {
        (edge, transport, kind): CLIENTS[kind](both[edge].target(transport))
        for edge, transport, kind in itertools.product(EDGES, TRANSPORTS, CLIENTS)
    }
    yield made
    for one in made.values():
        await one.close()


@pytest.fixture(params=EDGES)
def edge(request: pytest.FixtureRequest) -> EdgeName:
    name: EdgeName = request.param
    return name


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(clients: Clients, edge: EdgeName, transport: str, kind: str) -> Client:
    return clients[edge, transport, kind]
