"""`backscroll` for a shell, forked from a prepared process: a program for its PATH that needs no start of our packages.

The program is this file. It asks a socket of the test's process, which hands what it asks over to the one that forks.
"""

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.kit.prepared import LENGTH, NUMBER, Prepared

STREAMS = 3


class Forks:
    """A directory with the program in it, which works until it is closed."""

    def __init__(self, prepared: Prepared, directory: Path) -> None:
        self._prepared = prepared
        self.directory = directory
        directory.mkdir()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(directory / "socket"))
        self._listening.listen()
        program = directory / "backscroll"
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -I -S "{__file__}" "{directory}/socket" "$@"\n'
        )
        program.chmod(0o755)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """No more commands."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                asking, _ = self._listening.accept()
            except OSError:
                return
            with asking:
                header, fds, _, _ = socket.recv_fds(asking, LENGTH.size, STREAMS)
                asked = asking.recv(*LENGTH.unpack(header), socket.MSG_WAITALL)
                self._prepared.hand_over(asked, [*fds, asking.fileno()])
                for one in fds:
                    os.close(one)


def main(path: str, arguments: list[str]) -> int:
    """Have a command run with the standard streams, the environment and the directory of this process."""
    with socket.socket(socket.AF_UNIX) as forks:
        forks.connect(path)
        asked = json.dumps([arguments, str(Path.cwd()), dict(os.environ)]).encode()
        socket.send_fds(forks, [LENGTH.pack(len(asked))], range(STREAMS))
        forks.sendall(asked)
        (pid,) = NUMBER.unpack(forks.recv(NUMBER.size, socket.MSG_WAITALL))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        (code,) = NUMBER.unpack(forks.recv(NUMBER.size, socket.MSG_WAITALL))
        return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
