"""A PostgreSQL server of the tests' own: the bench's, without its waits for the disk; and what tests ask of it."""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import asyncpg

from backscroll_bench.speed.postgres import Postgres

_NUMBERED_ANEW = """
    SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE schemaname = 'public'
"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


class PostgresServer(Postgres):
    """A server that waits for no disk. Its folder goes at the end."""

    def __init__(self, *options: str, **environment: str) -> None:
        super().__init__(
            "--no-sync", "--set=fsync=off", "--set=autovacuum=off", *options, **environment
        )  # fmt: skip
        self._beside = asyncio.new_event_loop()
        threading.Thread(target=self._beside.run_forever, name="postgres", daemon=True).start()
        self._kept = ""
        atexit.register(self.stop)

    def restart(self, how: Literal["fast", "immediate"]) -> None:
        """End it and start it again."""
        self.halt(how)
        self.go_on()

    def copied(self) -> Path:
        """A copy as a standby has it, or a backup."""
        copy = self.folder / "copy"
        self._run(
            *self._as_user, self.bin / "pg_basebackup", *self._as_client, "-D", copy, "--checkpoint=fast"
        )  # fmt: skip
        return copy

    def fail_over(self, copy: Path) -> None:
        """End it as a crash does, and go on with the copy, which has not heard of the last commits."""
        self.halt("immediate")
        data = self.folder / "data"
        data.rename(self.folder / "failed")
        copy.rename(data)
        self.go_on()

    def drop(self, url: str) -> None:
        """Delete a database, whoever is still connected to it."""
        name = url.removeprefix("postgresql://backscroll@/").partition("?")[0]
        self.rows(self.url("postgres"), f"DROP DATABASE {name} WITH (FORCE)")

    async def emptied(self) -> str:
        """The URL of a database with nothing in it, the same each time: emptying takes a hundredth of making one.

        The few rows are deleted: to truncate is to make the files of every table and index anew.
        """
        self._kept = self._kept or self.new_database()
        connection = await asyncpg.connect(self._kept)
        tables = await connection.fetch(f"{_TABLES} AND tablename <> 'schema_migrations'")
        if tables:
            await connection.execute("; ".join(f"DELETE FROM {name}" for (name,) in tables))
            await connection.execute(_NUMBERED_ANEW)
        await connection.close()
        return self._kept

    def forget_lineages(self) -> str:
        """Do what a crash does to the database of `emptied`; its URL."""
        self.psql(self._kept, "TRUNCATE lineages")
        return self._kept

    def rows(self, url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement gives; it is committed. Asked in a thread of its own, whatever loop the caller is in."""

        async def asked() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(url)
            try:
                return [tuple(row) for row in await connection.fetch(statement, *values)]
            finally:
                await connection.close()

        return asyncio.run_coroutine_threadsafe(asked(), self._beside).result()

    def tables(self, url: str) -> list[str]:
        return [name for (name,) in self.rows(url, _TABLES)]

    def psql(self, url: str, statements: str) -> str:
        """What the server's own client prints of these; its protocol takes what has parameters without values."""
        told = subprocess.run(
            [self.bin / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", url],
            input=statements, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        return told.stdout


@cache
def server() -> PostgresServer:
    """The one of this process."""
    return PostgresServer()


@contextmanager
def server_in(language: str) -> Iterator[PostgresServer]:
    """One whose texts have the order of a language, as most databases have it."""
    locale = f"{language}.UTF-8"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = ["localedef", "-i", language, "-f", "UTF-8", f"{folder}/{locale}"]
        subprocess.run(made, check=True, capture_output=True)
        found = PostgresServer(f"--locale={locale}", LOCPATH=folder)
        try:
            yield found
        finally:
            found.stop()


IN_POSTGRES = os.environ.get("TEST_STORE") == "postgres"
"""Whether servers of the tests keep their history in PostgreSQL, whatever database a test names."""
_databases: dict[str, str] = {}


def database_url(database: Path | str) -> str:
    """What a test names, or the database of PostgreSQL that stands for it: for each path one."""
    if not IN_POSTGRES or str(database).startswith("postgresql:"):
        return str(database)
    name = str(database)
    url = _databases.get(name) or server().new_database()
    _databases[url if name == ":memory:" else name] = url
    return url


def database_known(database: Path) -> str | None:
    """The database that stands for a file already, if one does."""
    return _databases.get(str(database))


def databases_below(folder: Path) -> list[str]:
    """Those that stand for files in a folder."""
    return [url for name, url in _databases.items() if Path(name).is_relative_to(folder)]


@contextmanager
def databases_end() -> Iterator[None]:
    """Those that the block made go at its end: each takes 8 MB of the disk."""
    before = set(_databases)
    yield
    for name in _databases.keys() - before:
        server().drop(_databases.pop(name))
