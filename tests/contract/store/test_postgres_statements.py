"""Every statement asks one tenant, thus one shard, and finds its rows by an index (law 6)."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from backscroll_sidecar.store.postgres import (
    PostgresStore,
    alias_statements,
    change_statements,
    erase_statements,
    event_statements,
    lease_statements,
    loss_statements,
    record_statements,
    statements,
    usage_statements,
    work_statements,
)
from tests.kit.postgres import server

MODULES = (
    statements, alias_statements, change_statements, erase_statements, event_statements, lease_statements,
    loss_statements, record_statements, usage_statements, work_statements,
)  # fmt: skip
OF_ALL_TENANTS = {
    "CHANNELS": "background work over all tenants",
    "OTHERS_AT_WORK": "background work over all tenants",
    "NEWEST_SEGMENTS": "a start loads the channels in use last, whosever they are",
    "SETTINGS": "of the server",
    "LOCK_SCHEMA": "of the schema",
    "COUNT_ROWS": "doctor counts the rows of whole tables, and returns nothing else",
}
ONE_TENANT = re.compile(r"\(\w+\.tenant = (?:\$1|\(\$1\)::text)\)")
PARTS = {"WANTED", "RECURSIVE_WANTED", "COLUMNS", "MEMBER_COLUMNS"}
STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": text
    for module in MODULES
    for name, text in vars(module).items()
    if name.isupper()
    and name[0] != "_"
    and isinstance(text, str)
    and name not in PARTS
    and not text.startswith("SET ")
}


@pytest.fixture(scope="module")
def plans() -> dict[str, Any]:
    """The plan of each that the server makes without looking at values, where an index can be had."""

    url = server().new_database()
    asyncio.run(_migrated(url))
    asked = (
        f"EXPLAIN (GENERIC_PLAN, VERBOSE, FORMAT JSON) {text};" for text in STATEMENTS.values()
    )
    told = server().psql(url, "\n".join(["SET enable_seqscan = off;", *asked]))
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(told):
        plan, at = decoder.raw_decode(told, at)
        at += len(told[at:]) - len(told[at:].lstrip())
        found.append(plan)
    return dict(zip(STATEMENTS, found, strict=True))


async def _migrated(url: str) -> None:
    await (await PostgresStore.open(url)).close()


def test_there_are_statements() -> None:
    assert len(STATEMENTS) > 100


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_of_one_tenant(name: str, plans: dict[str, Any]) -> None:
    """Citus sends to one shard what compares the tenant of each table with one value."""
    if name.rpartition(".")[2] in OF_ALL_TENANTS:
        return
    for scan in _scans(plans[name]):
        if scan["Relation Name"] == "moves":  # one row, of the whole database
            continue
        said = " ".join(str(scan.get(one, "")) for one in ("Index Cond", "Recheck Cond", "Filter"))
        assert ONE_TENANT.search(said), scan


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_a_statement_inserts_is_of_one_tenant(name: str, plans: dict[str, Any]) -> None:
    for insert in _inserts(plans[name]):
        (rows,) = [one for one in insert["Plans"] if one["Parent Relationship"] != "InitPlan"]
        assert re.fullmatch(r"\(?\$1\)?(::text)?", rows["Output"][0]), insert["Relation Name"]


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_reads_no_whole_table(name: str, plans: dict[str, Any]) -> None:
    if name.rpartition(".")[2] != "COUNT_ROWS":
        assert not [scan for scan in _scans(plans[name]) if scan["Node Type"] == "Seq Scan"]


def _scans(plan: Any) -> Iterator[dict[str, Any]]:
    """The parts of a plan that read a table."""
    if isinstance(plan, list):
        for one in plan:
            yield from _scans(one)
    elif isinstance(plan, dict):
        inner = plan.get("Node Type") == "Bitmap Index Scan"
        if "Relation Name" in plan and plan["Node Type"] != "ModifyTable" and not inner:
            yield plan
        for one in ("Plan", "Plans"):
            yield from _scans(plan.get(one, []))


def _inserts(plan: Any) -> Iterator[dict[str, Any]]:
    """The parts of a plan that insert rows. Their first column is the tenant (`test_postgres_distribution`)."""
    if isinstance(plan, list):
        for one in plan:
            yield from _inserts(one)
    elif isinstance(plan, dict):
        if plan.get("Operation") == "Insert":
            yield plan
        for one in ("Plan", "Plans"):
            yield from _inserts(plan.get(one, []))


@pytest.mark.parametrize("name", ["statements.LOCK_CHANNELS", "work_statements.BEGIN_WORK"])
def test_rows_are_locked_in_the_order_of_columns(name: str) -> None:
    """Given names have the collation of the database, keys have "C": in two orders two servers lock each other out."""
    orders = re.findall(r"ORDER BY (.*)", STATEMENTS[name])
    assert orders == ['one COLLATE "C"']
