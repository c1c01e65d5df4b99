"""A fake server, and both clients made to look alike."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator

import pytest

from backscroll import AsyncClient, AsyncRoom, AsyncRound, Client, Room, Round
from tests.clients.python import fake_server
from tests.clients.python.calls_kit import lines


@pytest.fixture(scope="session")
def fakes():
    """The module with the fake server."""
    return fake_server


@pytest.fixture
def fake(fakes):
    with fakes.FakeServer() as server:
        yield server


@pytest.fixture
def room(fake):
    """The fake server, with five messages in `room`."""
    for message in lines(5):
        fake.append("room", message.to_proto())
    return fake


class Driver:
    """A client of either kind, called without await; what it iterates comes as a list."""

    def __init__(self, kind, target, **options):
        self.kind = kind
        self._runner = asyncio.Runner() if kind is AsyncClient else None
        self.client = kind(target, **options)

    def of(self, room):
        """The same for a room of the client."""
        driver = object.__new__(Driver)
        driver.kind, driver._runner, driver.client = self.kind, self._runner, room
        return driver

    def __getattr__(self, name):
        method = getattr(self.client, name)
        if not callable(method):
            return method

        def call(*args, **kwargs):
            result = method(*args, **kwargs)
            if inspect.iscoroutine(result):
                result = self._runner.run(result)
            if isinstance(result, Room | AsyncRoom):
                return self.of(result)
            if isinstance(result, AsyncRound):
                return self._runner.run(result.wait()) if result.ended is None else result
            if isinstance(result, Round):
                return result.wait()
            if isinstance(result, AsyncIterator):
                return self._runner.run(self._collect(result))
            return list(result) if isinstance(result, Iterator) else result

        return call

    def run(self, coroutine):
        return self._runner.run(coroutine)

    @staticmethod
    async def _collect(result):
        return [item async for item in result]

    def end(self):
        if self._runner is None:
            self.client.close()
        else:
            self._runner.run(self.client.close())
            self._runner.close()


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def connect(request):
    """Make a `Driver`; whatever is tested through it is tested for both clients."""
    drivers = []

    def make(target, **options):
        drivers.append(Driver(request.param, target, **options))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.end()


@pytest.fixture
def client(connect, fake):
    return connect(fake.address)
