"""The command line inside the test's process, against a server in a process of its own: no start of Python a call."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backscroll_sidecar.cli.commands import app
from backscroll_sidecar.cli.console import CommandError


@dataclass
class Done:
    """What a command said; like a finished process."""

    returncode: int
    stdout: str
    stderr: str
    raw: bytes = b""


@dataclass
class Commands:
    """Runs commands that talk to one server."""

    server: str

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Done:
        runner = CliRunner(env={"BACKSCROLL_SERVER": self.server, "COLUMNS": "120"})
        done = runner.invoke(app, list(arguments), input=stdin)
        if isinstance(done.exception, CommandError):
            error = done.exception
            return Done(
                error.exit_code,
                done.stdout,
                f"{done.stderr}error: {error.message}\n{error.advice}\n",
            )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr, done.stdout_bytes)

    def json(self, *arguments: str, stdin: str | bytes | None = None):
        done = self.run(*arguments, "--json", stdin=stdin)
        assert done.returncode == 0, done.stderr
        try:
            return json.loads(done.stdout)
        except (
            json.JSONDecodeError
        ):  # the server in this process logs there, too: the whole says why
            pytest.fail(done.stdout, pytrace=False)

    def call(self, rpc: str, channel: str, **request: object):
        """The answer of one RPC about a channel."""
        return self.json("call", rpc, json.dumps({"channel": channel, **request}))

    def store(self, lines: Iterable[dict], *arguments: str):
        """What `import` says of these lines."""
        return self.json("import", "-", *arguments, stdin="\n".join(map(json.dumps, lines)))

    def messages(self, channel: str) -> list[dict]:
        """The messages of a channel that were not recalled, as `export` writes them."""
        return [one for one in self.lines(channel) if "author" in one and "recalled" not in one]

    def lines(self, channel: str) -> list[dict]:
        """Everything in a channel, as `export` writes it."""
        done = self.run("export", channel)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


EXPORTS = Path(__file__).parents[2] / "data" / "exports"
