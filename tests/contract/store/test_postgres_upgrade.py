"""A database of an earlier schema is brought up to date with what it holds."""

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.postgres import PostgresStore, migrate
from tests.contract.store.builders import NOON_MS, OTHER_ROOM, ROOM, append, message
from tests.kit.postgres import server

FILLED = ("messages", "members", "tombstones", "channels", "channel_changes", "aliases")
NO_TENANT = ChannelKey("", "c1")
"""Called like what a migration puts in for a moment."""


def kept(url: str) -> dict[str, list[tuple[object, ...]]]:
    return {one: sorted(server().rows(url, f"SELECT * FROM {one}"), key=repr) for one in FILLED}


async def test_no_row_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    url = server().new_database()
    known = migrate.known()
    with monkeypatch.context() as earlier:
        earlier.setattr(migrate, "known", lambda: known[:3])
        store = await PostgresStore.open(url)
        await store.apply(
            [append(message("a"), message("b")), append(message("c"), key=OTHER_ROOM)]
        )
        await store.apply(
            [append(message("m1"), key=NO_TENANT), EraseChange(OTHER_ROOM, (), "", NOON_MS)]
        )
        await store.close()
    server().rows(
        url,
        "INSERT INTO aliases (tenant, channel, alias_id, message_id) VALUES ('', 'c1', 'a1', 'm1')",
    )
    before = kept(url)
    assert all(before.values())
    store = await PostgresStore.open(url)
    assert kept(url) == before
    assert sorted(await store.get_messages(ROOM, ["a", "b"])) == ["a", "b"]
    await store.close()
    assert server().rows(url, "SELECT max(number) FROM schema_migrations") == [(known[-1].number,)]


async def test_the_planner_knows_new_tables_that_are_empty() -> None:
    url = server().new_database()
    await (await PostgresStore.open(url)).close()
    assert not any(kept(url).values())
    told = "SELECT count(*) > 0 FROM pg_stats WHERE tablename = $1"
    for table in ("messages", "aliases", "tombstones", "members"):
        assert server().rows(url, told, table) == [(True,)], table
