"""The commands that pages show, and a place to run those of one page."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"\b(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)")
OURS = ("BACKSCROLL_", "MEMORY_", "OTEL_")
SERVES = re.compile(r"(?:^|\s)backscroll serve(?:\s|$)")
SHELL = ("bash", "console")
START_S, COMMAND_S = 120, 120

ELSEWHERE = {
    "docker": "needs a container engine; make image-check takes the steps of the image",
    "make": "runs these tests, or what a target of its own proves",
    "pip": "make package installs wheel and sdist",
}
"""Programs that pages show and no page's test runs, and why."""


BLOCK = re.compile(r"(<!-- not run: .+ -->\n)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A block, its kind, and a reason why nobody runs it; the reason is not shown to readers."""


def blocks(page: Path) -> list[str]:
    """The insides of the blocks for a shell that are to be run; of those with prompts, without what is printed."""
    found = BLOCK.findall(page.read_text("utf-8"))
    shell = [(kind, text) for reason, kind, text in found if kind in SHELL and not reason]
    return [text if kind == "bash" else _typed(text) for kind, text in shell]


def hidden(page: Path) -> list[str]:
    """Lines that look like commands in blocks of another kind: nobody would run them."""
    found = [text for _, kind, text in BLOCK.findall(page.read_text("utf-8")) if kind not in SHELL]
    return [
        line
        for text in found
        for line in text.splitlines()
        if re.match(r"\$ |(\w+=\S+ )*(backscroll|curl|docker|make|pip|systemctl) ", line)
    ]


def _typed(block: str) -> str:
    """What stands behind the prompts, with the lines that end an open quote."""
    typed: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            typed.append(line[2:])
        elif typed and _is_open(typed[-1]):
            typed[-1] += "\n" + line
    return "\n".join(typed)


def commands(block: str) -> list[str]:
    """A block's commands, each with all its lines."""
    found: list[str] = []
    for line in block.splitlines():
        if found and _is_open(found[-1]):
            found[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            found.append(line)
    return found


def _is_open(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def program(command: str) -> str:
    """What a command begins with, behind variables and changes of directory."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    while words[0] == "cd" or re.match(r"\w+=", words[0]):
        words = words[words.index("&&") + 1 :] if words[0] == "cd" else words[1:]
    return words[0]


class World:
    """A folder, an empty home, a server, and in its channel `my-group` twenty messages: m1 to m20.

    A command that serves takes the server's place. Addresses are changed to free ones, and `instead` says what else of
    a page stands for something that only a page can know.
    """

    def __init__(self, directory: Path, programs: Path, kernels: Path) -> None:
        self.directory = directory
        self.instead: dict[str, str] = {}
        self._ports: dict[str, int] = {}
        self._server: subprocess.Popen[str] | None = None
        self._has_chat = self._is_stopped = False
        inherited = {name: one for name, one in os.environ.items() if not name.startswith(OURS)}
        self._variables = {
            **inherited,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(directory),
            "COLUMNS": "120",
            "NUMBA_CACHE_DIR": str(kernels),
            "BACKSCROLL_STATE_DIR": str(directory / "state"),
            "BACKSCROLL_LISTEN": self.changed("127.0.0.1:7171"),
            "BACKSCROLL_EMBEDDER": "none",  # loading one takes seconds
        }

    def run(self, command: str) -> str:
        """What the command prints; it must succeed."""
        words = shlex.split(command, comments=True)
        if words[0] == "systemctl":
            return self._systemctl(words[1])
        if SERVES.search(command):
            self.stop()
            return self._serve(command)
        if not self._is_stopped:
            if self._server is None:
                self._serve("backscroll serve")
            if not self._has_chat:
                self._store_chat()
        return self._done(command)

    def stop(self) -> None:
        """End the server."""
        if self._server is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGTERM)
        code = self._server.wait(60)
        assert self._server.stdout is not None
        self._server.stdout.close()
        self._server = None
        assert code == 0, (self.directory / "serve.log").read_text()

    def json(self, command: str):
        """What a command of ours says to programs."""
        return json.loads(self.run(f"{command} --json"))

    def changed(self, text: str) -> str:
        """With what stands for something put in, and addresses that are free."""
        for one, other in self.instead.items():
            text = text.replace(one, other)
        return ADDRESS.sub(lambda found: f"127.0.0.1:{self._port(found[1])}", text)

    def _port(self, shown: str) -> int:
        if shown not in self._ports:
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                self._ports[shown] = one.getsockname()[1]
        return self._ports[shown]

    def _serve(self, command: str) -> str:
        with (self.directory / "serve.log").open("w") as log:
            self._server = subprocess.Popen(
                ["bash", "-c", self.changed(command)], cwd=self.directory, env=self._variables,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True,
            )  # fmt: skip
        killer = threading.Timer(START_S, os.killpg, (self._server.pid, signal.SIGKILL))
        killer.start()
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        killer.cancel()
        assert " serves on " in line, (command, (self.directory / "serve.log").read_text())
        return line

    def _done(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", self.changed(command)], cwd=self.directory,
            env=self._variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=COMMAND_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (self.changed(command), done.stdout, done.stderr)
        return done.stdout

    def _systemctl(self, verb: str) -> str:
        """Of our service: the server. Others are nobody's to start here."""
        if verb == "stop":
            self.stop()
        elif verb == "start":
            self._serve("backscroll serve")
        self._is_stopped = self._server is None
        return ""

    def _store_chat(self) -> None:
        self._has_chat = True
        begun_ms = int(datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp() * 1000)
        with (self.directory / "my-group.jsonl").open("w") as file:
            for number in range(1, 21):
                who = ("ann", "u1", "u17")[number % 3]
                line = {
                    "channel": "my-group", "id": f"m{number}", "author": who, "text": f"trip no. {number}, the red one",
                    "sent_at_ms": begun_ms + number * 300_000,
                    **({"reply_to": f"m{number - 1}"} if number % 3 == 0 else {}),
                }  # fmt: skip
                file.write(json.dumps(line) + "\n")
        self._done("backscroll import my-group.jsonl")


@contextlib.contextmanager
def world(directory: Path, programs: Path, kernels: Path) -> Iterator[World]:
    """A world until the block is left."""
    one = World(directory, programs, kernels)
    try:
        yield one
    finally:
        one.stop()
