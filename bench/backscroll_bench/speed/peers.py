"""The parts about what a user would pick instead, each in process, against Backscroll over gRPC.

The same 10,000 messages of one chat, the same questions, the same vectors: a stub embedder looks them up on both sides,
so that only what each product does is measured. Backscroll gives more for it: reply links, words and speakers count,
and the answer is cut to a budget and ready to be posted.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import backscroll_bench
from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, vectors
from backscroll_bench.speed.fixture import Bench
from backscroll_bench.speed.load import Questions, closed_loop
from backscroll_bench.speed.questions import far
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.stats import Absent, Rounds, Wrong, percentile

HISTORY, QUICK_HISTORY = 10_000, 1_000
CALLS = 100
QUIET = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "POSTHOG_DISABLED": "1",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
}
"""What keeps the products from calling home; `worker.stay_here` sees to it."""


async def against(bench: Bench, name: str) -> Readings:
    """How many times faster Backscroll answers than one of `MEMORIES`. Reading: speedup."""
    count = QUICK_HISTORY if bench.sizes.quick else HISTORY
    python = bench.peers / "bin" / "python" if bench.peers else None
    if python is None or not python.exists():
        raise Absent("its venv is not there: make peers")
    given = await far(bench, count)
    directory = bench.directory / bench.new_name(name)
    write_chat(directory, count, given)
    calls = min(CALLS, bench.sizes.calls)
    with _worker(python, name, directory) as worker:

        async def measured() -> float:
            load = await closed_loop(
                given.call, given.requests, calls, longest_s=bench.sizes.seconds
            )
            return load.p50_s

        async def base() -> float:
            asked = {"calls": calls, "longest_s": bench.sizes.seconds}
            taken: list[float] = worker.ask(asked)["seconds"]
            return percentile(taken, 0.5)

        filled = worker.read()
        if not all(filled["found"]):
            raise Wrong(f"{name} found nothing for a question")
        await measured(), await base()
        pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(1 / a for a, _ in pairs), tuple(1 / b for _, b in pairs))
    details = {
        "p50_ms": median(a for a, _ in pairs) * 1e3,
        "peer_p50_ms": median(b for _, b in pairs) * 1e3,
        "peer_fill_s": filled["filled_s"],
        "peer_found": float(median(filled["found"])),
    }
    return {"speedup": Reading(rounds.ratio, details, rounds)}


def write_chat(directory: Path, count: int, asked: Questions) -> None:
    """What a worker reads: the messages that the server's channel has, and the questions it is asked."""
    directory.mkdir()
    said = chats.said(count)
    questions = [context_pb2.BuildContextRequest.FromString(one).question for one in asked.requests]
    texts = list(dict.fromkeys([*(one.line.content for one in said), *questions]))
    chat = {
        "messages": [
            {"id": one.id, "user": one.line.user_id, "text": one.line.content} for one in said
        ],
        "questions": questions,
        "texts": texts,
    }
    (directory / "chat.json").write_text(json.dumps(chat), "utf-8")
    np.save(directory / "vectors.npy", vectors.vectors_of(texts))


class _Worker:
    """One line a question, one line an answer. Waiting for one holds the event loop: nothing else is to run then."""

    def __init__(self, name: str, process: subprocess.Popen[str], log: Path) -> None:
        self._name, self._process, self._log = name, process, log

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """A round."""
        assert self._process.stdin is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return self.read()

    def read(self) -> dict[str, Any]:
        """The next answer.

        Raises
        ------
        Wrong
            The process ended; with the last line it wrote.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._log.read_text("utf-8", "replace").strip().splitlines()
            raise Wrong(f"{self._name} ended: {said[-1] if said else 'it said nothing'}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def _worker(python: Path, name: str, directory: Path) -> Iterator[_Worker]:
    """A worker in the peers' venv; at home in its directory, ended with the block."""
    home = {"HOME": str(directory), "MEM0_DIR": str(directory / "mem0")}
    code = {"PYTHONPATH": str(Path(backscroll_bench.__file__).parents[1])}
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR") if key in os.environ}
    log = directory / "log.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [str(python), "-m", "backscroll_bench.peers.worker", name, str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            cwd=directory, env=kept | QUIET | home | code,
        )  # fmt: skip
        with process:
            try:
                yield _Worker(name, process, log)
            finally:
                process.kill()
