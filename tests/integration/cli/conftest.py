"""Real processes: the command as a user runs it, and servers on free ports. Most are forked from a prepared one."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from backscroll_sidecar.cli import main
from tests.kit import surface
from tests.kit.postgres import IN_POSTGRES, database_known, database_url
from tests.kit.prepared import IN_THE_START, Prepared, Started

COMMAND = (sys.executable, "-m", "backscroll._cli_entry")
OURS = ("BACKSCROLL_", "MEMORY_", "MAX_CHARS_PER_MESSAGE", "TG_HISTORY_WINDOW")
CHAT = resources.files("backscroll_sidecar") / "data" / "demo_chat.jsonl.gz"
CHANNEL = "irc-2011-11-13_02"


@dataclass
class Process:
    """A server's process and what it said when it was ready."""

    popen: subprocess.Popen[str] | Started
    ready: dict
    log: Path

    @property
    def address(self) -> str:
        return self.ready["listen"][0]

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        return self.popen.wait(120)


@dataclass
class Shell:
    """A working directory and an environment to run commands in.

    What `run` and `serving` start is forked from `prepared`, if one is given; what `start` starts is not.
    """

    directory: Path
    kernels: Path
    environment: dict[str, str] = field(default_factory=dict)
    prepared: Prepared | None = None

    def variables(self, more: dict[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        state = {
            "BACKSCROLL_STATE_DIR": str(self.directory / "state"),
            "NUMBA_CACHE_DIR": str(self.kernels),
            "BACKSCROLL_EMBEDDER": "none",  # loading one takes seconds; tests that want it say so
        }
        if url := database_known(self.default_database):
            state["BACKSCROLL_DATABASE"] = url
        return {**inherited, **state, "COLUMNS": "120", **self.environment, **more}

    @property
    def default_database(self) -> Path:
        return self.directory / "state" / "backscroll.db"

    def run(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        variables = self.variables(environment)
        if self.can_fork(environment):
            surface.CALLS["command line"] += 1
            return self.prepared.run(arguments, stdin, self.directory, variables, timeout=500)
        return subprocess.run(
            [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=500,
            cwd=self.directory, env=variables, check=False,
        )  # fmt: skip

    def can_fork(self, more: dict[str, str]) -> bool:
        given = {**self.environment, **more}
        return self.prepared is not None and not any(map(IN_THE_START.match, given))

    def json(self, *arguments: str, stdin: str = "", **environment: str):
        done = self.run(*arguments, "--json", stdin=stdin, **environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
        """A command on its way; `streams` and more as `Popen` takes them, `environment` among them."""
        variables = self.variables(streams.pop("environment", {}))
        return subprocess.Popen(
            [*COMMAND, *arguments], text=True, cwd=self.directory, env=variables, **streams
        )

    @contextmanager
    def serving(
        self, *arguments: str, listen: str = "127.0.0.1:0", **environment: str
    ) -> Iterator[Process]:
        if IN_POSTGRES:
            arguments, environment = self._in_postgres(arguments, environment)
        log = self.directory / "server.log"
        with log.open("w") as errors:
            command = ("serve", "--json", "--listen", listen, *arguments)
            if self.can_fork(environment):
                surface.CALLS["command line"] += 1
                variables = self.variables(environment)
                popen = self.prepared.start(command, self.directory, variables, stderr=errors)
            else:
                popen = self.start(
                    *command, stdout=subprocess.PIPE, stderr=errors, environment=environment
                )
            process = Process(popen, {}, log)
            try:
                line = popen.stdout.readline()
                assert line, log.read_text()
                process.ready = json.loads(line)
                yield process
            finally:
                process.stop()
                popen.stdout.close()

    def _in_postgres(
        self, arguments: tuple[str, ...], environment: dict[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """The same with the database of PostgreSQL that stands for the one meant."""
        if "--database" in arguments:
            at = arguments.index("--database") + 1
            return (*arguments[:at], database_url(arguments[at]), *arguments[at + 1 :]), environment
        meant = self.variables(environment).get("BACKSCROLL_DATABASE", self.default_database)
        return arguments, {**environment, "BACKSCROLL_DATABASE": database_url(meant)}


@dataclass
class InProcess(Shell):
    """The same, with commands inside the test's process, by the entry of the real one: no start of Python a call.

    For what is not about the process itself. Servers are processes all the same.
    """

    def run(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(3)]
        streams[0].write(stdin)
        streams[0].seek(0)
        kept = sys.stdin, sys.stdout, sys.stderr
        with (
            mock.patch.dict(os.environ, self.variables(environment), clear=True),
            contextlib.chdir(self.directory),
        ):
            sys.stdin, sys.stdout, sys.stderr = streams
            surface.CALLS["command line"] += 1
            try:
                code = main(list(arguments))
            finally:
                sys.stdin, sys.stdout, sys.stderr = kept
        said = [one.buffer.getvalue().decode() for one in streams[1:]]
        return subprocess.CompletedProcess(arguments, code, *said)


@pytest.fixture(scope="session")
def kernels(pytestconfig) -> Path:
    """Compiled kernels outlive the test run: compiling takes longer than all else here."""
    return pytestconfig.cache.mkdir("kernels")


@pytest.fixture(scope="session")
def prepared(kernels) -> Iterator[Prepared]:
    """The process that commands are forked from."""
    one = Prepared(kernels)
    yield one
    one.close()


@pytest.fixture
def shell(tmp_path, kernels, prepared) -> Shell:
    return Shell(tmp_path, kernels, prepared=prepared)


@pytest.fixture
def started(tmp_path, kernels) -> Shell:
    """A shell whose commands start as a user's do: by Python's own start, all imports and kernels behind it."""
    return Shell(tmp_path, kernels)


@pytest.fixture
def inside(tmp_path, kernels, prepared) -> InProcess:
    """A shell for commands that need no process of their own."""
    return InProcess(tmp_path, kernels, prepared=prepared)


@pytest.fixture(scope="module")
def chat(tmp_path_factory, kernels, prepared) -> Iterator[InProcess]:
    """A server with the demo chat; the shell's commands talk to it. For tests that only read."""
    shell = InProcess(tmp_path_factory.mktemp("chat"), kernels, prepared=prepared)
    with shell.serving() as process:
        shell.environment["BACKSCROLL_SERVER"] = process.address
        shell.json("import", str(CHAT))
        yield shell


@pytest.fixture(scope="module")
def commands(chat):
    """The same server, with the commands inside this process."""
    from tests.integration.cli.in_process import Commands

    return Commands(chat.environment["BACKSCROLL_SERVER"])


@pytest.fixture
def here():
    """The command line in this process, for what asks no server."""
    from tests.integration.cli.in_process import Commands

    return Commands("127.0.0.1:1")
