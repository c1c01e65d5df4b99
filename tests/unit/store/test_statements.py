"""Law 6 in the text of every statement, and no statement that reads a whole table."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll_sidecar.store
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.store.sqlite import (
    SqliteStore,
    alias_statements,
    erase_statements,
    event_statements,
    migrate,
    record_statements,
    statements,
    usage_statements,
)
from backscroll_sidecar.store.sqlite.connection import transaction
from tests.contract.store.builders import append, edit, everything, message, recall, turn

WITHOUT_TENANT = {
    "COUNT_ROWS": "doctor counts the rows of whole tables, and returns nothing else",
    "NEWEST_SEGMENTS": "a start loads the channels in use last, whosever they are; it reads a bounded number of rows",
}
WITHOUT_CHANNEL = {
    "EXPIRED_RECORDS": "what is over goes, whatever channel of the tenant it is of; what is returned says which",
    "RECORDS_OF_OWNER": "what belongs to a person, in whatever channel of the tenant",
    "UPDATED_RECORDS": "the sessions of a tenant, in whatever channel; what is returned says which",
    "NAMING_CHANNELS": "what of the tenant may name a channel that goes, in whatever channel it is",
    "RECORD_OWNERS": "the people of a tenant who own anything",
    "RECORD_OF_CONTEXT": "a build of the tenant, whatever its channel",
    "RECORDS_OF_TENANT_OLDEST_FIRST": "the builds of a tenant, in whatever channel; what is returned says which",
    "RECORDS_OF_TENANT_NEWEST_FIRST": "the same",
    "RECORDS_OF_EXPERIMENT_OLDEST_FIRST": "those of an experiment, in whatever channel; what is returned says which",
    "RECORDS_OF_EXPERIMENT_NEWEST_FIRST": "the same",
    "OVER": "the oldest builds of a tenant, in whatever channel; what is returned says which",
    "SIGNALS": "of builds of the tenant, whatever their channels",
}
KEYED_WITHOUT_CHANNEL = {
    ("tenant", "kind", "updated_at_ms", "number"): "the sessions of a tenant, the newest first",
    ("tenant", "expires_at_ms", "number"): "the records of a tenant by the end of their time",
    ("tenant", "context_id"): "a build of the tenant, whatever its channel",
    ("tenant", "number"): "the builds of a tenant in order of recording",
    ("tenant", "experiment_id", "number"): "the builds of an experiment in order of recording",
    ("tenant", "created_at_ms", "number"): "the builds of a tenant by their time",
}
WALKS_A_CHANNEL = {
    # everything of it is what they return, delete or count
    "LOAD_SEGMENTS", "VICTIMS_ALL", "MEMBERS", "ERASE_ALL_EVENTS",
    "ERASE_ALL_MEMBERS", "LAST_MESSAGES", "RECORDS_OF_CHANNEL", "LOAD_ALIASES",
    "CHANNELS_TO_ERASE", "CHANNELS_TO_ERASE_OF_USER",  # every channel of the tenant is a question
    "ERASED_BY_CHANNEL", "HAS_ALIASES", "CHANNEL_NAMES",  # its first row
    "NAMING_CHANNEL",  # what of the tenant shows messages of other channels
}  # fmt: skip
TABLES = (
    "messages|revisions|vectors|tombstones|members|events|segments|records|record_names|aliases"
    "|usage_records|signals"
)
WALK = re.compile(
    rf"SEARCH ({TABLES}) "
    r".*\(tenant=\?( AND channel=\?)?\)$"
)
NO_TABLE = re.compile(
    r"SCAN (json_each|wanted|merged|found|above|below|bound|tree|places|stretch|\(subquery-\d+\)|CONSTANT ROW)"
)
MODULES = (
    statements, event_statements, alias_statements, record_statements, usage_statements, erase_statements,
)  # fmt: skip
OF_WHOLE_FILES = {
    "backup_statements": "a backup holds every tenant; no server has its file",
    "move_statements": "a history moves with every tenant, whole tables of it; test_moving.py has their plans",
}
"""Modules of statements that are not read here."""
ALL = {
    name: text
    for module in MODULES
    for name, text in vars(module).items()
    if name.isupper() and not name.startswith("_") and name not in {"COLUMNS", "WANTED"}
}
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|CREATE|DROP|ALTER)\b")
HOUSEKEEPING = re.compile(r"sqlite_schema|schema_migrations")
SOURCES = sorted(Path(backscroll_sidecar.store.__file__).parent.rglob("*.py"))


def texts_in(source: Path) -> Iterator[str]:
    """Every string of a module that is not a docstring, f-strings with their constant parts."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(v.value) for v in node.values if isinstance(v, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("name", sorted(ALL.keys() - WITHOUT_TENANT.keys()))
def test_every_statement_names_tenant_and_channel(name: str) -> None:
    """Law 6: once for every table it touches."""
    tables = re.findall(
        rf"(?:FROM|JOIN|INTO|UPDATE)\s+(channels|{TABLES})\b",
        ALL[name],
    )
    assert tables
    columns = ("tenant",) if name in WITHOUT_CHANNEL else ("tenant", "channel")
    for column in columns:
        named = re.findall(rf"(?<!in_)(?<!up_)\b{column}\b", ALL[name])
        assert len(named) >= len(tables), (column, ALL[name])


def test_exceptions_still_exist() -> None:
    """A name in the list of exceptions that no statement has would hide the next mistake."""
    assert WITHOUT_TENANT.keys() | WITHOUT_CHANNEL.keys() <= ALL.keys()


OF_A_MIGRATION = {"moves", "moved_keys"}
"""Of a whole database, and empty but while one is under way."""


def test_statements_live_in_modules_of_their_own() -> None:
    """So that reading these is reading them all."""
    elsewhere = {
        (source.name, text)
        for source in SOURCES
        if not source.name.endswith("statements.py")
        for text in texts_in(source)
        if STATEMENT.match(text) and not HOUSEKEEPING.search(text)
    }
    assert elsewhere == set()


def test_every_module_of_statements_is_read() -> None:
    """Or it says why not."""
    folder = Path(statements.__file__).parent
    read = {module.__name__.rpartition(".")[2] for module in MODULES}
    assert {path.stem for path in folder.glob("*statements.py")} == read | OF_WHOLE_FILES.keys()


@pytest.fixture
def empty() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate.migrate(connection, migrate.known())
    yield connection
    connection.close()


def test_every_table_and_index_begins_with_the_tenant(empty: sqlite3.Connection) -> None:
    """Law 6: part of every key and index; the number of an event is no name of anything."""
    tables = empty.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('schema_migrations', 'sqlite_sequence')"
    ).fetchall()
    ours = {table for (table,) in tables} - OF_A_MIGRATION
    assert len(ours) == 13
    without_channel = set()
    for table in ours:
        columns = {row[1] for row in empty.execute(f"PRAGMA table_info({table})")}
        assert {"tenant", "channel"} <= columns
        for _, index, *_ in empty.execute(f"PRAGMA index_list({table})").fetchall():
            keyed = [row[2] for row in empty.execute(f"PRAGMA index_info({index})")]
            assert keyed[0] == "tenant"
            if "channel" not in keyed:
                without_channel.add(tuple(keyed))
    assert without_channel == KEYED_WITHOUT_CHANNEL.keys()


@pytest.mark.parametrize("name", sorted(ALL.keys() - WITHOUT_TENANT.keys()))
def test_every_statement_has_its_index(empty: sqlite3.Connection, name: str) -> None:
    """None reads a whole table; one that walks a channel is meant to."""
    named = dict.fromkeys(re.findall(r":(\w+)", ALL[name]), "1")
    numbered = {int(number) for number in re.findall(r"\?(\d+)", ALL[name])}
    values = named or ["[]"] * (len(numbered) or ALL[name].count("?"))
    empty.execute("PRAGMA foreign_keys = ON")
    plan = [row[3] for row in empty.execute(f"EXPLAIN QUERY PLAN {ALL[name]}", values)]
    scans = [step for step in plan if step.startswith("SCAN") and not NO_TABLE.match(step)]
    walks = [step for step in plan if WALK.search(step)]
    assert scans == []
    assert bool(walks) == (name in WALKS_A_CHANNEL), plan


def test_features_of_a_channel_by_time_have_their_index(empty: sqlite3.Connection) -> None:
    """S5-19: the index over group and time that the design wants for cached features is that of the messages."""
    plan = empty.execute(
        "EXPLAIN QUERY PLAN SELECT message_type, token_count, keywords, details FROM messages"
        " WHERE tenant = 't' AND channel = 'c' AND state = 0 AND rank_time_ms BETWEEN 1 AND 2"
    ).fetchall()
    [(*_, step)] = plan
    assert step.startswith("SEARCH messages USING INDEX messages_by_time (tenant=? AND channel=?")


async def test_what_really_runs_names_tenant_and_channel(tmp_path: Path) -> None:
    """Law 6, seen from SQLite: every statement of a day's work, as executed."""
    ran: set[str] = set()
    store = await SqliteStore.open(tmp_path / "history.db", durability="normal")
    for side in (store._writer, store._reader):
        await side.run(lambda connection: connection.set_trace_callback(ran.add))
    key = ChannelKey("t", "c")
    await store.apply([append(message("m1"), message("m2", reply_to="m1"), key=key)])
    await store.apply([edit("m1", "x", key=key), recall("m2", key=key), turn("t1", key=key)])
    await everything(store, [key], ["m1"])
    await store.close()
    bare = {s for s in ran if not re.match(r"\s*(BEGIN|COMMIT|PRAGMA|--)", s)}
    assert len(bare) > 20
    assert [s for s in bare if "tenant" not in s] == []
    without_channel = [s for s in bare if "channel" not in s]
    assert [s for s in without_channel if not re.match(r"\s*SELECT DISTINCT owner\b", s)] == []


def test_a_transaction_that_cannot_be_rolled_back_is_seen(empty: sqlite3.Connection) -> None:
    """The block's own error arrives, not the roll-back's."""

    def fail() -> None:
        with transaction(empty):
            empty.execute("ROLLBACK")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not empty.in_transaction
