"""The parts about BuildContext where what is meant counts: a query vector given, or a question embedded by the server.

A vector is used where the gate lets the history be looked through (`context/gate.py`): the questions of these parts are
those messages behind the history whose answer holds something found by meaning. One about the last lines costs with a
vector what it costs without.
"""

from __future__ import annotations

import asyncio
import time
from statistics import median

from backscroll.v1 import context_pb2
from backscroll_bench.speed import chats, vectors
from backscroll_bench.speed.builds import by_one_caller
from backscroll_bench.speed.fixture import BUILD, Bench, Questions, Served, channel_of
from backscroll_bench.speed.load import Call, Load, closed_loop
from backscroll_bench.speed.reading import Reading, Readings, rates
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.stats import Rounds, Wrong

KIND = "meaning"
LOOK_AHEAD, QUESTIONS = 400, 8
WHOLE_S, LOOK_S = 600.0, 1.0


async def build(bench: Bench, count: int) -> Readings:
    """Builds with a query vector given, beside R0. Readings: p50, p99, stages."""
    served, given, _ = await asked(bench, count)
    return await by_one_caller(bench, served.call(BUILD), given)


async def throughput(bench: Bench, count: int, concurrency: int) -> Readings:
    """The same by many callers at once: calls a second against R0's. Reading: rate."""
    served, given, _ = await asked(bench, count)
    rounds = await bench.beside_r0(
        served.call(BUILD), given, calls=bench.sizes.many, concurrency=concurrency
    )
    return {"rate": rates(rounds)}


async def as_text(bench: Bench, count: int) -> Readings:
    """The same questions without a vector, against R0 and the bare embedder one after the other. Reading: p50."""
    served, _, plain = await asked(bench, count)
    call, r0 = served.call(BUILD), await bench.r0_to(plain)
    calls = max(1, bench.sizes.calls // 4)  # some milliseconds each
    texts = [context_pb2.BuildContextRequest.FromString(one).question for one in plain.requests]

    async def measured() -> Load:
        return await closed_loop(call, plain.requests, calls, longest_s=bench.sizes.seconds)

    async def base() -> tuple[float, float]:
        empty = await closed_loop(r0, plain.requests, calls, longest_s=bench.sizes.seconds)
        return empty.p50_s, median(_encode_s(texts[n % len(texts)]) for n in range(calls))

    await measured(), await base()
    pairs = await bench.interleaved(measured, base)
    rounds = Rounds(tuple(load.p50_s for load, _ in pairs), tuple(a + b for _, (a, b) in pairs))
    details = {
        "p50_ms": rounds.value * 1e3,
        "p99_ms": median(load.p99_s for load, _ in pairs) * 1e3,
        "r0_p50_ms": median(a for _, (a, _) in pairs) * 1e3,
        "encode_ms": median(b for _, (_, b) in pairs) * 1e3,
    }
    return {"p50": Reading(rounds.ratio, details, rounds)}


def _encode_s(text: str) -> float:
    began = time.perf_counter()
    vectors.bare_model().encode([text])
    return time.perf_counter() - began


async def asked(bench: Bench, count: int) -> tuple[Served, Questions, Questions]:
    """The server, and questions to a channel of `count` messages with vectors, with one of their own and without."""
    served = await bench.served(KIND)

    async def filled() -> tuple[Questions, Questions]:
        vectors.embed_stream(count)
        with_vectors = chats.messages(count, vector_of=vectors.embedding_of)
        await bench.fill(served, channel_of(count), with_vectors)
        await settled(served.running.pid)
        return await far_questions(served.call(BUILD), channel_of(count), count)

    return served, *await bench.once((KIND, count), filled)


async def far_questions(call: Call, channel: str, count: int) -> tuple[Questions, Questions]:
    """The first messages behind the history whose answers hold what was found by meaning; with vectors, and as texts.

    Raises
    ------
    Wrong
        There is none.
    """
    given, plain = Questions([], []), Questions([], [])
    for said in chats.said(LOOK_AHEAD, skip=count):
        request = chats.build_request(channel, said, "balanced")
        without = request.SerializeToString()
        request.query_embedding.CopyFrom(vectors.embedding_of(said.line.content))
        with_vector = request.SerializeToString()
        answer = await _whole(call, with_vector)
        if not _is_by_meaning(answer):
            continue
        other = await _whole(call, without)
        if _is_by_meaning(other):
            for kept, sent, came in ((given, with_vector, answer), (plain, without, other)):
                kept.requests.append(sent)
                kept.replies.append(len(came))
        if len(given.requests) == QUESTIONS:
            break
    if not given.requests:
        raise Wrong(f"no question of {LOOK_AHEAD} was answered by meaning")
    return given, plain


async def _whole(call: Call, request: bytes) -> bytes:
    """The answer once it has lost nothing: embedder and vectors are loaded behind the first ones."""
    end_s = time.monotonic() + WHOLE_S
    while True:
        answer = await call(request)
        lost = context_pb2.BuildContextResponse.FromString(answer).degradations
        if not lost:
            return answer
        if time.monotonic() > end_s:
            raise Wrong(f"balanced degraded: {[f'{one.source} {one.reason}' for one in lost]}")
        await asyncio.sleep(LOOK_S)


def _is_by_meaning(answer: bytes) -> bool:
    built = context_pb2.BuildContextResponse.FromString(answer)
    return any(context_pb2.SOURCE_SEMANTIC in item.sources for item in built.items)
