"""What an operator may have set, forgotten or got wrong: nothing comes of it, or an error that says what to do."""

import asyncio
import contextlib
import re
import ssl
from pathlib import Path

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.postgres import PostgresStore, findings
from backscroll_sidecar.store.postgres.moves import look
from tests.contract.store.builders import NOON_MS, ROOM, append, edit, message, recall
from tests.kit.certificates import certificate_of_own
from tests.kit.postgres import server

USUAL = """
ALTER ROLE bot SET default_transaction_isolation = 'serializable';
ALTER ROLE bot SET lock_timeout = '1ms';
ALTER ROLE bot SET statement_timeout = '500ms';
ALTER ROLE bot SET idle_session_timeout = '500ms';
ALTER ROLE bot SET synchronous_commit = 'off';
ALTER ROLE bot SET standard_conforming_strings = 'off';
ALTER ROLE bot SET client_encoding = 'latin1';
ALTER ROLE bot SET "TimeZone" = 'Asia/Kathmandu';
ALTER ROLE bot SET "DateStyle" = 'German, DMY';
ALTER ROLE bot SET "IntervalStyle" = 'sql_standard';
ALTER ROLE bot SET search_path = app, public;
"""
"""Of a user, as a company may have it for all of its programs."""


def of_bot(settings: str = "", *, may_make: bool = True) -> str:
    """The URL of an empty database, whose user is `bot`."""
    url = server().new_database()
    owns = "CREATE SCHEMA app AUTHORIZATION bot; GRANT CREATE ON SCHEMA public TO bot;"
    if not server().rows(url, "SELECT 1 FROM pg_roles WHERE rolname = 'bot'"):
        server().psql(url, "CREATE ROLE bot LOGIN")
    server().psql(url, f"ALTER ROLE bot RESET ALL; {settings} {owns if may_make else ''}")
    return url.replace("backscroll@", "bot@")


def with_option(option: str) -> str:
    return f"{server().url('postgres')}&{option}"


async def refusal(url: str) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        await PostgresStore.open(url)
    return refused.value.message


async def failures(url: str) -> list[tuple[str, str]]:
    """What doctor says failed, and its advice."""
    found = await asyncio.to_thread(lambda: list(findings(url)))
    return [(one.detail, one.advice) for one in found if one.status == "fail"]


async def test_settings_of_the_user_change_nothing() -> None:
    """Two servers write the same channel at once, and one is idle for longer than the user's sessions may be."""
    url = of_bot(USUAL)
    stores = [await PostgresStore.open(url) for _ in range(2)]

    async def write(store: PostgresStore, name: str) -> None:
        for n in range(20):
            await store.apply([append(message(f"{name}{n}", "ça va \\N ' 猫"))])
            await store.apply([edit(f"{name}{n}", "other words", at=n)])
        await store.apply([recall(f"{name}0")])

    await asyncio.gather(*(write(store, name) for store, name in zip(stores, "ab", strict=True)))
    async with stores[0]._connections.writing() as connection:
        assert await connection.fetchval("SHOW synchronous_commit") == "on"
    while (session := stores[1]._presence._session) is None:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.05)
    await asyncio.sleep(1.2)
    assert stores[1]._presence._session is session
    assert len((await stores[1].load_channel(ROOM)).parts[0]) == 40
    (done,) = await stores[1].apply([EraseChange(ROOM, (), "", NOON_MS)])
    assert done.receipt is not None
    assert done.receipt.counts["messages"] == 40
    for store in stores:
        await store.close()
    places = "SELECT DISTINCT schemaname FROM pg_tables WHERE tableowner = 'bot'"
    assert server().rows(url, places) == [("app",)]


async def test_what_is_acknowledged_is_on_the_disk_unless_that_is_not_wanted() -> None:
    url = of_bot("ALTER ROLE bot SET synchronous_commit = 'off';")
    for durability, expected in (("full", "on"), ("normal", "off")):
        store = await PostgresStore.open(url, durability=durability)  # type: ignore[arg-type]
        async with store._connections.writing() as connection:
            assert await connection.fetchval("SHOW synchronous_commit") == expected
        await store.close()


@pytest.mark.parametrize("table", ["schema_migrations (version text)", "messages (id text)"])
async def test_a_database_of_another_program(table: str) -> None:
    url = server().new_database()
    server().psql(url, f"CREATE TABLE {table}")
    assert "a database of its own" in await refusal(url)
    ((said, _),) = await failures(url)
    assert "a database of its own" in said
    assert server().tables(url) == [table.partition(" ")[0]]


@pytest.mark.parametrize("settings", ["", "ALTER ROLE bot SET search_path = nowhere;"])
async def test_a_user_that_may_make_no_tables(settings: str) -> None:
    url = of_bot(settings, may_make=False)
    assert re.search("owner of the database|search_path", await refusal(url))
    ((said, _),) = await failures(url)
    assert "may make no tables" in said


async def test_tables_that_are_another_users() -> None:
    url = of_bot(may_make=False)
    await (await PostgresStore.open(url.replace("bot@", "backscroll@"))).close()
    assert "owner of the tables" in await refusal(url)


async def test_a_user_that_may_only_read() -> None:
    url = of_bot("ALTER ROLE bot SET default_transaction_read_only = on;")
    assert "read-only" in await refusal(url)
    ((said, advice),) = await failures(url)
    assert "read-only" in said
    assert "target_session_attrs" in advice


async def test_no_more_connections() -> None:
    url = of_bot("ALTER ROLE bot CONNECTION LIMIT 0;")
    try:
        assert "no more connections" in await refusal(url)
    finally:
        server().psql(server().url("postgres"), "ALTER ROLE bot CONNECTION LIMIT -1")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_of_another_encoding(encoding: str) -> None:
    name = f"in_{encoding.lower()}"
    server().psql(
        server().url("postgres"),
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'",
    )
    assert f"encoding {encoding}: make one" in await refusal(server().url(name))
    assert server().tables(server().url(name)) == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("connect_timeout=5", 'unrecognized configuration parameter "connect_timeout"'),
        ("channel_binding=require", '"channel_binding"'),
        ("TimeZone=Nowhere/Else", '"TimeZone"'),
        ("shared_buffers=1", '"shared_buffers"'),
        ("sslmode=s3cret", "addresses and options"),
        ("s3cret", "addresses and options"),
        ("target_session_attrs=standby", "target_session_attrs"),
    ],
)
async def test_an_option_of_the_url_that_cannot_be(option: str, said: str) -> None:
    url = with_option(option)
    found = await refusal(url)
    assert said in found
    assert [one for one, _ in await failures(url)] == [found]
    with pytest.raises(StoreUnavailable, match=re.escape(found)):
        await look(url)
    assert "s3cret" not in found


@pytest.mark.parametrize("address", ["b@127.0.0.1:99999", "b@[::g]", "b@127.0.0.1:1,[::1"])
async def test_an_address_that_cannot_be(address: str) -> None:
    assert "addresses and options" in await refusal(f"postgresql://{address}/x")


async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    for name in ("theirs", "ours"):
        (tmp_path / name).mkdir()
    theirs, ours = certificate_of_own(tmp_path / "theirs"), certificate_of_own(tmp_path / "ours")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(theirs.cert, theirs.key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8)  # whether it speaks TLS
        writer.write(b"S")
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.start_tls(context)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        options = f"sslmode=verify-full&sslrootcert={ours.cert}"
        assert "no TLS with the database" in await refusal(f"postgresql://b@{address}/x?{options}")


async def test_a_change_that_is_too_large_for_an_index_fails_alone() -> None:
    """It is a fault of ours, so the writer looks for the one that cannot be stored; else all that came with it fail."""
    store = await PostgresStore.open(await server().emptied())
    far = "".join(chr(0x4E00 + n * 7_919 % 20_000) for n in range(1_500))
    with pytest.raises(Exception, match="index row") as refused:
        await store.apply([append(message("a"), key=ChannelKey("t", far))])
    assert not isinstance(refused.value, StoreUnavailable)
    assert (await store.apply([append(message("b"))]))[0].error is None
    await store.close()
