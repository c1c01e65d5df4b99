"""What a BuildContext takes inside the server's process, case by case: this tree, and another commit by turns.

Example: ``python bench/in_process.py --against HEAD~10``. Parsing, building and encoding are timed, no socket. Each
number is the median over the questions of the least microseconds that one took in all rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import signature
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backscroll_sidecar.wiring import App

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".pytest_cache/d/against"
"""Where other commits are checked out and their kernels stay compiled."""
MESSAGES, QUESTIONS = 10_000, 20
CASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plain": ("plain", {}),
    "replies to a message": ("plain", {"reply": True}),
    "one recalled message": ("recalled", {}),
    "one tool call": ("tool", {}),
    "a recalled message and a tool call": ("both", {}),
    "token_budget 2,000": ("plain", {"token_budget": 2_000}),
    "token_budget 1,000": ("plain", {"token_budget": 1_000}),
    "token_budget 500": ("plain", {"token_budget": 500}),
    "one preference": ("plain", {"preferences": ["short answers"]}),
    "single_user": ("plain", {"layout": 3}),
    "include_names": ("plain", {"include_names": True}),
    "explain": ("plain", {"explain": True}),
    "all of it at 1,000 tokens": (
        "both",
        {"reply": True, "token_budget": 1_000, "preferences": ["short answers"]},
    ),
    "classic": ("plain", {"profile": "classic"}),
}
"""Each case: the channel it asks about, and what of the request is its own."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", metavar="COMMIT", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=20, help="passes over all questions (20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        asyncio.run(_work())
        return
    trees = {"this tree": ROOT}
    if asked.against:
        trees = {asked.against: _checked_out(asked.against)} | trees
    least = _measured(trees, asked.rounds)
    if asked.json:
        print(json.dumps(least, indent=2))
    else:
        print("\n".join(_table(least)))


def _measured(trees: Mapping[str, Path], rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds by tree and case."""
    least: dict[str, dict[str, list[float]]] = {name: {} for name in trees}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker(tree)) for name, tree in trees.items()}
        for number in range(rounds):
            for name in reversed(trees) if number % 2 else trees:
                for case in CASES:
                    taken = _ask(workers[name], case)
                    known = least[name].setdefault(case, taken)
                    least[name][case] = list(map(min, known, taken))
    return {
        name: {case: round(median(each), 1) for case, each in of.items()}
        for name, of in least.items()
    }


def _table(least: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    names = list(least)
    base, ours = least[names[0]], least[names[-1]]
    yield f"{'µs':36}" + "".join(f"{name:>16}" for name in names) + f"{'ratio':>9}{'to plain':>10}"
    for case in CASES:
        told = "".join(f"{least[name][case]:16.1f}" for name in names)
        ratio, to_plain = ours[case] / base[case], ours[case] / ours["plain"]
        yield f"{case:36}{told}{ratio:9.2f}{to_plain:10.2f}"


def _checked_out(commit: str) -> Path:
    """A tree of the commit."""
    name = subprocess.check_output(["git", "rev-parse", "--short", commit], cwd=ROOT, text=True)
    tree = KEPT / name.strip()
    if not tree.exists():
        add = ["git", "worktree", "add", "--detach", "--quiet", str(tree), commit]
        subprocess.run(add, cwd=ROOT, check=True)
    return tree


@contextmanager
def _worker(tree: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the code of a tree, with our Python and libraries."""
    paths = (tree / part for part in ("sidecar", "scoring", "clients/python", "bench"))
    own = tree / ".pytest_cache/d/kernels"
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "NUMBA_CACHE_DIR": str(own),
        "OPENBLAS_NUM_THREADS": "1",
    }
    own.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, "--worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=tree,
    )  # fmt: skip
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _ask(process: subprocess.Popen[str], case: str) -> list[float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    taken: list[float] = json.loads(process.stdout.readline())
    return taken


async def _work() -> None:
    """Answer each case that is named on standard input with the microseconds of one pass."""
    from backscroll_sidecar.telemetry import logs
    from backscroll_sidecar.wiring import open_app

    try:
        from backscroll_sidecar.config.settings import Settings
    except ImportError:  # as it was called before
        from backscroll_sidecar.settings import Settings

    logs.configure("error")
    async with open_app(Settings(database=Path(":memory:"), embedder="none")) as app:
        for channel in {channel for channel, _ in CASES.values()}:
            await _fill(app, channel)
        build, known = _builder(app), {}
        while line := await asyncio.to_thread(sys.stdin.readline):
            case = json.loads(line)
            if case not in known:
                known[case] = _requests(*CASES[case])
                for raw in known[case] * 3:
                    await build(raw)
                    await asyncio.sleep(0)
            taken = []
            for raw in known[case]:
                await asyncio.sleep(0)
                began_ns = time.perf_counter_ns()
                await build(raw)
                taken.append((time.perf_counter_ns() - began_ns) / 1e3)
            print(json.dumps(taken), flush=True)


def _builder(app: App) -> Callable[[bytes], Awaitable[bytes]]:
    """The handler of BuildContext, from bytes to bytes."""
    try:
        from backscroll_sidecar.edge.services.context import ContextServicer
    except ImportError:  # as it was called before
        from backscroll_sidecar.rpc.context import ContextServicer

    class Call:
        tenant, time_left_s, allowed = "default", 60.0, None

    given = dict.fromkeys(signature(ContextServicer).parameters)  # their number changes
    given |= {"builder": app.builder, "server_version": "bench"}
    servicer, call = ContextServicer(**given), Call()
    return lambda raw: servicer.build_context(raw, call)


async def _fill(app: App, channel: str) -> None:
    """10,000 real messages, and what happened to the channel."""
    from backscroll_bench.speed import chats
    from backscroll_sidecar.domain import (
        Author,
        AuthorKind,
        ChannelKey,
        Message,
        Role,
        TextPart,
        ToolCallPart,
    )

    key, said = ChannelKey("default", channel), chats.said(MESSAGES)
    messages = []
    if channel in ("tool", "both"):
        bot = Author("bot", "Helper", AuthorKind.BOT)
        call = ToolCallPart("c1", "search", "{}")
        before_ms = said[0].sent_at_ms - 1
        messages.append(Message("call", channel, bot, (call,), before_ms, role=Role.ASSISTANT))
    for one in said:
        author = Author(one.line.user_id, one.line.name)
        part = TextPart(one.line.content)
        messages.append(Message(one.id, channel, author, (part,), one.sent_at_ms))
    for start in range(0, len(messages), 500):
        await app.history.append(key, messages[start : start + 500])
    if channel in ("recalled", "both"):
        history = app.history
        retract = getattr(history, "retract", None) or history.recall  # its name before
        await retract(key, said[MESSAGES // 2].id)


def _requests(channel: str, own: Mapping[str, Any]) -> list[bytes]:
    """What is said next, as questions."""
    from backscroll.v1 import context_pb2
    from backscroll_bench.speed import chats

    given = dict(own)
    is_reply = given.pop("reply", False)
    made = []
    said = chats.said(MESSAGES + QUESTIONS)
    last = said[MESSAGES - 1]
    for one in said[MESSAGES:]:
        request = context_pb2.BuildContextRequest(
            channel=channel, question=one.line.content or "?", asker=one.message().author,
            asked_at_ms=last.sent_at_ms + 10_000, payload_formats=[context_pb2.PAYLOAD_FORMAT_OPENAI_CHAT], **given,
        )  # fmt: skip
        if is_reply:
            request.reply.message_id = said[MESSAGES - 8].id
        made.append(request.SerializeToString())
    return made


if __name__ == "__main__":
    main()
