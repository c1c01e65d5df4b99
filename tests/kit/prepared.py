"""Commands in processes of their own that need no start of Python: forked from one that has imported everything.

A process of the command line takes half a second of a core to start, a server three; a fork takes a few hundredths.
Everything else is as in a process that was started: its signals, its exit code, its environment, its directory. What
Python reads as it starts is not: see `IN_THE_START`.

The process that forks is this file as a program. It serves one socket, a request a command, until that closes.
"""

import gc
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

IN_THE_START = re.compile("PYTHON(?!PATH)|NUMBA_|LC_|LANG|TERM|COLUMNS|NO_COLOR")
"""Variables that begin so are read as Python starts, or as modules are imported."""
STANDARD = (0, 1, 2)
LENGTH = struct.Struct("!Q")
NUMBER = struct.Struct("!i")


class Started:
    """A command on its way; the part of `subprocess.Popen` that its users need."""

    def __init__(self, status: socket.socket, stdout: IO[str] | None) -> None:
        self._status = status
        self.stdout = stdout
        self.returncode: int | None = None
        self.pid = self._number()

    def poll(self) -> int | None:
        """The exit code, or nothing yet."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; negative: the signal that ended it."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = self._number()
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("backscroll", timeout or 0.0) from None
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing happens to one that has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _number(self) -> int:
        said = self._status.recv(NUMBER.size, socket.MSG_WAITALL)
        assert said, "the process that forks has ended"
        return int(NUMBER.unpack(said)[0])


class Prepared:
    """Starts commands by forks.

    Parameters
    ----------
    kernels : where compiled kernels are.
    """

    def __init__(self, kernels: Path) -> None:
        self._asking = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            variables = {**os.environ, "NUMBA_CACHE_DIR": str(kernels), "COLUMNS": "120"}
            self._forking = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], env=variables,
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def close(self) -> None:
        """No more commands; those on their way go on."""
        self._socket.close()
        self._forking.wait(60)

    def run(
        self,
        arguments: Sequence[str],
        stdin: str,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float,
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run`."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as said,
            tempfile.TemporaryFile() as errors,
        ):
            given.write(stdin.encode())
            given.seek(0)
            streams = (given.fileno(), said.fileno(), errors.fileno())
            started = Started(self._fork(arguments, cwd, env, streams), None)
            try:
                code = started.wait(timeout)
            finally:
                started.send_signal(signal.SIGKILL)
            for file in (said, errors):
                file.seek(0)
            outputs = (said.read().decode(), errors.read().decode())
        return subprocess.CompletedProcess(arguments, code, *outputs)

    def start(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], stderr: IO[str]
    ) -> Started:
        """As `subprocess.Popen` with a pipe to read its output from."""
        ours, theirs = os.pipe()
        try:
            with Path(os.devnull).open() as nothing:
                streams = (nothing.fileno(), theirs, stderr.fileno())
                status = self._fork(arguments, cwd, env, streams)
        finally:
            os.close(theirs)
        return Started(status, os.fdopen(ours, encoding="utf-8"))

    def _fork(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int]
    ) -> socket.socket:
        asked = json.dumps([list(arguments), str(cwd), dict(env)]).encode()
        status, theirs = socket.socketpair()
        with theirs:
            self.hand_over(asked, [*streams, theirs.fileno()])
        return status

    def hand_over(self, asked: bytes, fds: Sequence[int]) -> None:
        """Ask for a command with these standard streams; the last one is told the command's id and exit code."""
        with self._asking:
            socket.send_fds(self._socket, [LENGTH.pack(len(asked))], fds)
            self._socket.sendall(asked)


def serve(requests: socket.socket) -> None:
    """Fork for each request one that waits for the command: its own child."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait are nobody's to wait for
    while True:
        header, fds, _, _ = socket.recv_fds(requests, LENGTH.size, 4)
        if not header:
            return
        asked = requests.recv(*LENGTH.unpack(header), socket.MSG_WAITALL)
        if os.fork() == 0:
            requests.close()
            wait_for(json.loads(asked), fds)
        for one in fds:
            os.close(one)


def wait_for(asked: Sequence, fds: Sequence[int]) -> NoReturn:
    """Fork the command, say its id and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, answer = fds
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        become(asked, streams)
    for one in streams:
        os.close(one)
    os.write(answer, NUMBER.pack(pid))
    _, status = os.waitpid(pid, 0)
    try:
        os.write(answer, NUMBER.pack(os.waitstatus_to_exitcode(status)))
    finally:
        os._exit(0)


def become(asked: Sequence, streams: Sequence[int]) -> NoReturn:
    """The command itself, from the entry of the real one to the end of the process."""
    from backscroll._cli_entry import main

    arguments, directory, environment = asked
    for ours, given in zip(STANDARD, streams, strict=True):
        os.dup2(given, ours)
        os.close(given)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["backscroll", *arguments]
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    main()
    raise AssertionError("the entry ends the process")


def prepare() -> None:
    """Import what serves and what commands use, and load the tables: nothing that starts a thread."""
    import importlib

    for module in ("cli.commands", "server", "wiring", "cli.compiling"):
        importlib.import_module(f"backscroll_sidecar.{module}")
    import uvloop  # noqa: F401

    from backscroll_sidecar.analyze.tokens import token_counter

    token_counter()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.path[0] = ""  # as `python -m`: the directory that a command is in, not that of this file
    prepare()
    serve(socket.socket(fileno=int(sys.argv[1])))
