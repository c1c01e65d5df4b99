"""Questions as bots ask them: each once, a few lines after the last one, in a room that has been quiet for a moment.

The other parts ask the same questions again and again, with everything in the processor's caches and every line
written. R0 is called after a rest as long.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats
from backscroll_bench.speed.fixture import APPEND, BUILD, Bench, stages_of
from backscroll_bench.speed.questions import answered, is_loaded
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.stats import Rounds, Wrong

if TYPE_CHECKING:
    from backscroll_bench.speed.load import Call

HISTORY, NEW_LINES = 10_000, 12
REST_S = 0.8
"""Longer than the server waits before it makes ready what the next question needs."""
QUESTIONS_A_ROUND, QUICK_QUESTIONS = 5, 1


async def fresh(bench: Bench) -> Readings:
    """One question after another, each once. Reading: p50 (x R0)."""
    served, channel = await bench.served("plain"), bench.new_name("fresh")
    call, append = served.call(BUILD), served.call(APPEND)
    await bench.fill(served, channel, chats.messages(HISTORY))
    a_round = QUICK_QUESTIONS if bench.sizes.quick else QUESTIONS_A_ROUND
    count = bench.sizes.rounds * a_round + 1
    said = iter(chats.said(count * (NEW_LINES + 1), skip=HISTORY))
    request = await _next_question(append, channel, said)
    await answered(call, request, is_loaded)
    await settled(served.running.pid)
    values, bases, stages = [], [], []
    for _ in range(bench.sizes.rounds):
        ours, theirs = [], []
        for n in range(a_round):
            request = await _next_question(append, channel, said)
            await asyncio.sleep(REST_S)
            taken_s, answer = await _timed(call, request)
            built = context_pb2.BuildContextResponse.FromString(answer)
            if built.degradations or not built.items:
                raise Wrong(f"question {n} of the room was not answered: {built.degradations}")
            ours.append(taken_s)
            stages.append(stages_of(answer))
            await asyncio.sleep(REST_S)
            theirs.append((await _timed(await bench.r0(len(answer)), request))[0])
        values.append(median(ours))
        bases.append(median(theirs))
    rounds = Rounds(tuple(values), tuple(bases))
    details = {"p50_ms": rounds.value * 1e3, "r0_p50_ms": rounds.base * 1e3}
    details |= {f"{name}_us": median(one.get(name, 0) for one in stages) for name in stages[0]}
    return {"p50": Reading(rounds.ratio, details, rounds)}


async def _next_question(append: Call, channel: str, said: Iterator[chats.Said]) -> bytes:
    """Append the next lines; what is said behind them, as a question."""
    lines = (one.message() for one in islice(said, NEW_LINES))
    (request,) = chats.append_requests(channel, lines, NEW_LINES)
    await append(request)
    return chats.build_request(channel, next(said), "balanced").SerializeToString()


async def _timed(call: Call, request: bytes) -> tuple[float, bytes]:
    began = time.perf_counter()
    answer = await call(request)
    return time.perf_counter() - began, answer
