"""deploy/citus spreads every table by tenant, and what Citus asks of tables and statements holds (law 6).

Citus itself cannot be had here. Functions of its names note what they are asked, in a PostgreSQL with our tables.
"""

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from backscroll_sidecar.store import postgres
from backscroll_sidecar.store.postgres import PostgresStore
from tests.contract.store.test_postgres_statements import MODULES, OF_ALL_TENANTS, STATEMENTS
from tests.kit.postgres import server

ROOT = Path(__file__).parents[3]
ON_THE_COORDINATOR = {
    "leases": "its statements look at the clock while they write, which Citus lets none do",
    "schema_migrations": "a start reads it",
    "moved_keys": "of a migration to another database, with triggers, which is not done on Citus",
}
OF_WHOLE_DATABASES = {
    "migrate": "brings the schema up to date",
    "move_statements": "asks whether a history has moved, and moves it to another database, which is not done on Citus",
}
"""Modules whose statements are not read here."""
EVERYWHERE = {"moves": "each call asks whether the history has moved"}
OF_CITUS = """
CREATE TABLE asked (place int GENERATED ALWAYS AS IDENTITY, name regclass, by text, beside text);
CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text, colocate_with text)
RETURNS void LANGUAGE sql
AS 'INSERT INTO asked (name, by, beside) VALUES (table_name, distribution_column, colocate_with)';
CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql
AS 'INSERT INTO asked (name) VALUES (table_name)';
"""
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
KEYS = """
SELECT indrelid::regclass, indexrelid::regclass, string_agg(attname, ',' ORDER BY place)
FROM pg_index CROSS JOIN unnest(indkey) WITH ORDINALITY AS of (number, place)
    JOIN pg_attribute ON attrelid = indrelid AND attnum = number
WHERE indisunique AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
GROUP BY 1, 2
"""
FIRST_COLUMNS = """
SELECT attrelid::regclass, attname, attnotnull FROM pg_attribute JOIN pg_tables ON attrelid = tablename::regclass
WHERE attnum = 1 AND schemaname = 'public'
"""
IDENTITIES = "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attidentity <> ''"
REFERENCES = """
SELECT conrelid::regclass, confrelid::regclass, mine.attname, theirs.attname FROM pg_constraint
    JOIN pg_attribute AS mine ON mine.attrelid = conrelid AND mine.attnum = conkey[1]
    JOIN pg_attribute AS theirs ON theirs.attrelid = confrelid AND theirs.attnum = confkey[1]
WHERE contype = 'f'
"""
CHANGEABLE = "SELECT DISTINCT proname FROM pg_proc WHERE provolatile <> 'i'"


@pytest.fixture(scope="module")
def here() -> SimpleNamespace:
    """A database in which the script ran, and what it asked for."""
    url = server().new_database()
    asyncio.run(_migrated(url))
    tables = {name for (name,) in _rows(url, TABLES)}
    server().psql(url, OF_CITUS)
    server().psql(url, (ROOT / "deploy/citus/distribute.sql").read_text())
    asked = _rows(url, "SELECT name, by, beside FROM asked WHERE by <> '' ORDER BY place")
    everywhere = {name for (name,) in _rows(url, "SELECT name FROM asked WHERE by IS NULL")}
    spread = [name for name, *_ in asked]
    return SimpleNamespace(
        url=url, tables=tables, asked=asked, spread=spread, everywhere=everywhere
    )


async def _migrated(url: str) -> None:
    await (await PostgresStore.open(url)).close()


def _rows(url: str, statement: str) -> list[tuple[str, ...]]:
    return [tuple(line.split("|")) for line in server().psql(url, statement).splitlines()]


def test_every_table_is_spread_once_by_tenant_beside_the_first(here: SimpleNamespace) -> None:
    assert len(here.spread) == len(set(here.spread))
    assert here.everywhere == set(EVERYWHERE)
    assert set(here.spread) == here.tables - set(ON_THE_COORDINATOR) - here.everywhere
    assert set(ON_THE_COORDINATOR) <= here.tables
    first, *others = here.asked
    assert first == (here.spread[0], "tenant", "none")
    assert {(by, beside) for _, by, beside in others} == {("tenant", here.spread[0])}


def test_the_tenant_is_the_first_column_of_each_table_and_of_each_key(
    here: SimpleNamespace,
) -> None:
    columns = {table: rest for table, *rest in _rows(here.url, FIRST_COLUMNS)}
    assert all(columns[table] == ["tenant", "t"] for table in here.spread)
    keys = [(table, key, columns) for table, key, columns in _rows(here.url, KEYS)]
    assert {table for table, *_ in keys} >= set(here.spread)
    for table, key, columns in keys:
        assert table not in here.spread or columns.split(",")[0] == "tenant", key


def test_tables_refer_to_others_of_their_tenant_that_were_spread_before(
    here: SimpleNamespace,
) -> None:
    found = _rows(here.url, REFERENCES)
    assert found
    for table, other, mine, theirs in found:
        assert (mine, theirs) == ("tenant", "tenant")
        assert here.spread.index(other) < here.spread.index(table)


def test_numbers_that_the_database_gives_are_as_wide_as_citus_wants(here: SimpleNamespace) -> None:
    assert {one for (one,) in _rows(here.url, IDENTITIES)} - {"integer"} == {"bigint"}


def test_what_is_written_on_the_machines_depends_on_no_clock(here: SimpleNamespace) -> None:
    """Every copy of a row must come out alike: Citus refuses what is not."""
    changeable = {one for (one,) in _rows(here.url, CHANGEABLE)}
    refused = [
        name
        for name, text in STATEMENTS.items()
        if re.search(r"\b(INSERT|UPDATE|DELETE)\b", text)
        and {one.lower() for one in re.findall(r"(\w+)\(", text)} & changeable
    ]
    assert refused
    assert all(name.startswith("lease_statements.") for name in refused)


def test_no_statement_stands_elsewhere() -> None:
    """What these tests read is all that there is."""
    folder = Path(postgres.__file__).parent
    read = {module.__name__.rpartition(".")[2] for module in MODULES}
    for path in folder.glob("*.py"):
        if path.stem not in {*read, *OF_WHOLE_DATABASES}:
            found = re.findall(
                r"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b.*", path.read_text()
            )
            assert not found, path.name


def test_what_asks_all_tenants_says_why_and_writes_nothing() -> None:
    for name in OF_ALL_TENANTS:
        (text,) = [one for full, one in STATEMENTS.items() if full.rpartition(".")[2] == name]
        assert not re.search(r"\b(INSERT|UPDATE|DELETE)\b", text)
