"""Runs one memory in this process: ``python -m backscroll_bench.peers.worker NAME DIRECTORY``.

The directory has ``chat.json`` (messages, questions, texts) and ``vectors.npy`` (of those texts). Each line of standard
input asks for a round, ``{"calls": 50, "longest_s": 3}``; each line of standard output answers, the first one when the
chat is stored. No connection leaves this machine.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from backscroll_bench.peers.memories import MEMORIES, Memory, Said, Stub

LOOPBACK = ("127.", "::1", "localhost")


def stay_here(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections and look-ups of other machines, whoever asks for them: an audit hook."""
    if event == "socket.connect":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else ""
    elif event == "socket.getaddrinfo":
        host = arguments[0] or ""
    else:
        return
    if host and not str(host).startswith(LOOPBACK):
        raise PermissionError(f"no network here: {host}")


def main(name: str, directory: str, answers: TextIO) -> None:
    """Store the chat, then answer rounds until standard input ends."""
    chat = json.loads((Path(directory) / "chat.json").read_text("utf-8"))
    stub = Stub(chat["texts"], np.load(Path(directory) / "vectors.npy"))
    memory = MEMORIES[name](directory, stub)
    began = time.perf_counter()
    memory.fill([Said(**one) for one in chat["messages"]])
    questions = chat["questions"]
    filled_s = time.perf_counter() - began
    tell(answers, {"filled_s": filled_s, "found": [memory.ask(one) for one in questions]})
    for line in sys.stdin:
        tell(answers, {"seconds": ask_round(memory, questions, **json.loads(line))})


def ask_round(memory: Memory, questions: list[str], calls: int, longest_s: float) -> list[float]:
    """Seconds of each of so many calls; none is begun after `longest_s`."""
    taken: list[float] = []
    end = time.perf_counter() + longest_s
    for n in range(calls):
        began = time.perf_counter()
        if began >= end:
            break
        memory.ask(questions[n % len(questions)])
        taken.append(time.perf_counter() - began)
    return taken


def tell(answers: TextIO, answer: dict[str, Any]) -> None:
    """One line, where nothing else writes."""
    print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    # What a library prints goes to standard error.
    answers_to, sys.stdout = sys.stdout, sys.stderr
    sys.addaudithook(stay_here)
    main(sys.argv[1], sys.argv[2], answers_to)
