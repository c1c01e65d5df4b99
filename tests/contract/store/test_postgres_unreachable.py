"""Connections on which nothing comes any more, as behind a firewall or an address that moved, hold nobody up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from asyncpg.transaction import Transaction

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.postgres import PostgresStore, connections, presence
from backscroll_sidecar.store.postgres.failures import typed
from tests.contract.store.builders import ROOM, append, message
from tests.kit.postgres import server


class Way:
    """The way to the database over TCP. What goes by connections that were made before `drop` ends nowhere."""

    def __init__(self, url: str) -> None:
        self._name = url.removeprefix("postgresql://backscroll@/").partition("?")[0]
        self._open = asyncio.Event()
        self._open.set()
        self.url = ""

    def drop(self) -> None:
        self._open.clear()
        self._open = asyncio.Event()
        self._open.set()

    @asynccontextmanager
    async def lead(self) -> AsyncIterator[None]:
        listener = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        self.url = f"postgresql://backscroll@127.0.0.1:{port}/{self._name}"
        yield
        listener.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_open = self._open
        there = await asyncio.open_unix_connection(str(server().folder / ".s.PGSQL.5432"))
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(
                self._lead(reader, there[1], is_open), self._lead(there[0], writer, is_open)
            )

    async def _lead(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_open: asyncio.Event
    ) -> None:
        while data := await reader.read(65_536):
            if is_open.is_set():
                writer.write(data)
        writer.close()


@asynccontextmanager
async def reached() -> AsyncIterator[tuple[PostgresStore, Way]]:
    way = Way(await server().emptied())
    async with way.lead():
        store = await PostgresStore.open(way.url)
        await store.apply([append(message("a"))])
        yield store, way
        await store.close()


async def test_the_session_of_the_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked every other second. Whoever waits hears so, and the next call gets a connection that leads there."""
    monkeypatch.setattr(presence, "ANSWERS_S", 0.5)
    monkeypatch.setattr(presence, "LOOKED_AFTER_S", 0.1)
    async with reached() as (store, way), asyncio.timeout(connections.STATEMENT_S / 2):
        while store._presence._session is None:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.02)
        way.drop()
        asking = [store.apply([append(message("b"))]), store.latest(ROOM, 1)]
        heard = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(one) for one in heard] == [StoreUnavailable] * 2
        assert (await store.apply([append(message("b"))]))[0].error is None
        assert len(await store.latest(ROOM, 9)) == 2


async def test_without_one_a_group_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection ends when a statement gets no answer. To take the group back there would be none either."""
    monkeypatch.setattr(connections, "STATEMENT_S", 2.0)
    monkeypatch.setattr(presence, "LOOKED_AFTER_S", 600.0)
    leave, were_ended = Transaction.__aexit__, list[bool]()

    async def left(transaction: Transaction, *why: object) -> None:
        were_ended.append(transaction._connection.is_closed())
        await leave(transaction, *why)

    async with reached() as (store, way):

        async def group() -> None:
            with typed():
                async with store._connections.writing() as connection:
                    way.drop()
                    await connection.execute("SELECT 1")

        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "__aexit__", left)
            with pytest.raises(StoreUnavailable, match="the connection to the database broke"):
                await group()
        assert were_ended == [True]
        assert (await store.apply([append(message("b"))]))[0].error is None
