"""The parts about one long channel: questions about long ago in a million messages, against the same in 10,000.

The long channel is a million messages of the stream, the small one its first 10,000; the lines that are asked are in
neither. A word in `EXCHANGED` is another one of the stream, and each of 512 numbers of a vector has noise of `SIGMA`.
Where the chats come again more than `MOST_TURNS` times, as those that ship do, each message is half of a line and half
of another one drawn by lot, its vector the sum of both: so many copies would be told apart by noise alone. The server
has room for both channels (`SETTINGS`): with less it would drop one for the other, and load it again within the time
limit, or name what is missing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import mean

import numpy as np

from backscroll.v1 import context_pb2, message_pb2
from backscroll.v1.context_pb2 import BuildContextRequest as Request
from backscroll_bench.speed import chats, vectors
from backscroll_bench.speed.fixture import APPEND, BUILD, Bench, Served
from backscroll_bench.speed.load import Call, Load, Questions, closed_loop, open_channel
from backscroll_bench.speed.questions import (
    FAR_LOOK_AHEAD,
    QUESTIONS,
    answered,
    is_by_meaning,
    is_whole,
)
from backscroll_bench.speed.reading import Reading, Readings
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.starts import resident_bytes
from backscroll_bench.speed.stats import Rounds, Wrong
from backscroll_scoring.index import normalised
from backscroll_sidecar.channels import Channels
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.models.bundled_model import BUNDLED_DIMS, BUNDLED_ID
from backscroll_sidecar.store.opening import open_store
from backscroll_sidecar.strategies.memory import MemoryQuestion, rank_memory, seek
from backscroll_sidecar.vectors.files import IndexFiles
from backscroll_sidecar.vectors.service import GRAPH_ROWS, Vectors

SMALL, COUNT = 10_000, 1_000_000
QUICK_SMALL, QUICK_COUNT = 1_000, 3_000
EXCHANGED, SIGMA, MOST_TURNS = 10, 0.02, 10
SETTINGS = "hot_channel_bytes = 4_000_000_000\nvector_bytes = 6_000_000_000\n"
SEED = 5
CALLERS, BATCH = 16, 50
CHOSEN = 20
"""Lines of an answer."""
ENOUGH = 0.98
SCORE_ROUNDING = 1e-6
ROOM, LONG = "small", "long"


@dataclass(frozen=True, slots=True)
class Long:
    """What was measured of both channels.

    Attributes
    ----------
    given, plain : rounds of (the long channel, the small one), seconds a build, with the vector and as text.
    recall : share of chosen lines that score as much as the last of the best by a look at every row.
    rss_bytes : resident memory of the server with both channels.
    append_rate : messages a second that came into other channels while the graph was made.
    """

    given: Rounds
    plain: Rounds
    recall: float
    rss_bytes: int
    append_rate: float


async def with_vector(bench: Bench) -> Readings:
    """Questions that bring their vector. Readings: p50 (x of the small channel), append (1/s)."""
    found = await _measured(bench)
    rate = Reading(found.append_rate)
    return {"p50": _reading(found, found.given), "append": rate}


async def as_text(bench: Bench) -> Readings:
    """The same questions as text, embedded by the server. Reading: p50."""
    found = await _measured(bench)
    return {"p50": _reading(found, found.plain)}


def _reading(found: Long, rounds: Rounds) -> Reading:
    details = {
        "p50_ms": rounds.value * 1e3,
        "small_p50_ms": rounds.base * 1e3,
        "recall": found.recall,
        "rss_bytes": float(found.rss_bytes),
    }
    low = found.recall < ENOUGH
    fails = f"only {found.recall:.3f} of the lines are as good as the best" if low else ""
    return Reading(rounds.ratio, details, rounds, fails=fails)


async def _measured(bench: Bench) -> Long:
    return await bench.once("million", lambda: _measure(bench))


async def _measure(bench: Bench) -> Long:
    small, count = (QUICK_SMALL, QUICK_COUNT) if bench.sizes.quick else (SMALL, COUNT)
    database = f"{bench.new_name('million')}.db"
    flags = bench.flags(database, durability="normal", embedder="local", settings=SETTINGS)
    vectors.embed_chats()
    with bench.start(flags) as running:
        async with open_channel(running.address) as connection:
            served = Served(running, connection)
            await bench.fill(served, ROOM, messages(small, small))
            await bench.fill(served, LONG, messages(small, count))
            # Their answers bring the vectors into memory: the graph begins.
            questions = await _questions(served.call(BUILD), small, count)
            rate = await _append_rate(bench, served)
            await settled(running.pid)
            if count >= GRAPH_ROWS and not _has_graph(bench.directory / database):
                raise Wrong("no graph was made of the long channel")
            given, plain = [await _rounds(bench, each) for each in questions]
            rss = resident_bytes(running.pid)
    recall = await _recall(bench.directory / database, questions[0][0])
    return Long(given, plain, recall, rss, rate)


def messages(small: int, count: int) -> Iterator[message_pb2.Message]:
    """The first `count` messages of the stream without the lines that are asked, changed as the module says."""
    lines = [line for group in chats.groups() for line in group]
    words = [word for line in lines for word in line.content.split()]
    draw, noise = random.Random(SEED), np.random.default_rng(SEED)
    is_mixed = count > MOST_TURNS * len(lines)
    for one in _stream(small, count):
        message, texts = one.message(), [one.line.content]
        if is_mixed:
            texts.append(draw.choice(lines).content)
        message.parts[0].text.text = " ".join(
            word if draw.randrange(EXCHANGED) else draw.choice(words)
            for word in _mixed(*texts).split(" ")
        )
        message.embeddings.append(_near(texts, noise))
        yield message


def _stream(small: int, count: int) -> Iterator[chats.Said]:
    asked = {one.line.message_id for one in chats.said(FAR_LOOK_AHEAD, skip=small)}
    return islice((one for one in chats.stream() if one.line.message_id not in asked), count)


def _last_ms(small: int, count: int) -> int:
    """When the last of so many messages was sent."""
    last = 0
    for one in _stream(small, count):
        last = one.sent_at_ms
    return last


def _mixed(first: str, second: str = "") -> str:
    """The first half of one text and the second half of another, of words where both have some."""
    if not second:
        return first
    if " " in first.strip() and " " in second.strip():
        one, other = first.split(), second.split()
        return " ".join((*one[: (len(one) + 1) // 2], *other[len(other) // 2 :]))
    return first[: (len(first) + 1) // 2] + second[len(second) // 2 :]


def _near(texts: list[str], noise: np.random.Generator) -> message_pb2.Embedding:
    """The vectors of the texts together, and noise."""
    total = vectors.vectors_of(texts).sum(axis=0)
    made = normalised((total + noise.normal(0, SIGMA, total.shape))[None].astype(np.float32))
    return message_pb2.Embedding(embedder_id=BUNDLED_ID, values=made[0].tobytes())


def _asked(channel: str, small: int, last_ms: int, number: int) -> Request:
    """A line behind the small channel, asked of a channel whose last message was sent then."""
    last, said = chats.said(1, skip=small - 1)[0], chats.said(1, skip=small + number)[0]
    request = chats.build_request(channel, said, "balanced")
    request.asked_at_ms = last_ms + max(0, said.sent_at_ms - last.sent_at_ms)
    return request


def _has_graph(database: Path) -> bool:
    """Whether a graph was made and saved."""
    return any(Path(f"{database}-indexes").glob("*"))


async def _questions(call: Call, small: int, count: int) -> list[tuple[Questions, Questions]]:
    """The first ones that both channels answer by meaning, to the long one and to the small; with vectors, as texts.

    Raises
    ------
    Wrong
        There is none.
    """
    made = [(Questions(call, [], []), Questions(call, [], [])) for _ in range(2)]
    rooms = [(channel, _last_ms(small, size)) for channel, size in ((LONG, count), (ROOM, small))]
    for number in range(FAR_LOOK_AHEAD):
        pair = [_asked(channel, small, last_ms, number) for channel, last_ms in rooms]
        texts = [request.SerializeToString() for request in pair]
        for request in pair:
            request.query_embedding.CopyFrom(vectors.embedding_of(request.question))
        both = [request.SerializeToString() for request in pair], texts
        answers = [[await answered(call, one, is_whole) for one in kind] for kind in both]
        built = [context_pb2.BuildContextResponse.FromString(one) for one in answers[0]]
        if not all(map(is_by_meaning, built)):
            continue
        for kind, raws, replies in zip(made, both, answers, strict=True):
            for asked, raw, reply in zip(kind, raws, replies, strict=True):
                asked.add(raw, reply)
        if len(made[0][0].requests) == QUESTIONS:
            break
    if not made[0][0].requests:
        raise Wrong(f"no question of {FAR_LOOK_AHEAD} was answered by meaning")
    return made


async def _rounds(bench: Bench, pair: tuple[Questions, Questions]) -> Rounds:
    """Seconds a build of both channels, by turns."""

    async def load(asked: Questions) -> Load:
        calls, longest_s = bench.sizes.calls, bench.sizes.seconds
        return await closed_loop(asked.call, asked.requests, calls, longest_s=longest_s)

    for asked in pair:
        await load(asked)
    found = await bench.interleaved(lambda: load(pair[0]), lambda: load(pair[1]))
    return Rounds(tuple(a.p50_s for a, _ in found), tuple(b.p50_s for _, b in found))


async def _append_rate(bench: Bench, served: Served) -> float:
    """Messages a second into another channel, while the graph is made."""
    said = list(chats.messages(bench.sizes.appended))
    requests = list(chats.append_requests(bench.new_name("beside"), said, BATCH))
    load = await closed_loop(served.call(APPEND), requests, len(requests), concurrency=CALLERS)
    return len(said) / load.elapsed_s


async def _recall(database: Path, asked: Questions) -> float:
    """Share of the lines chosen of the long channel that are as good as the best by every row, over the questions.

    In this process, over what the server wrote: its rows, its vectors and its graph.
    """
    store = await open_store(f"sqlite:///{database}")
    key = ChannelKey("default", LONG)
    found = Vectors(store, BUNDLED_ID, files=IndexFiles(Path(f"{database}-indexes")))
    try:
        view = await Channels(store, WireCodec(), max_bytes=1 << 40).view(key)
        assert view is not None
        shares = []
        eligible = np.ones(view.count, np.bool_)
        every = np.arange(view.count, dtype=np.int32)
        for raw in asked.requests:
            request = Request.FromString(raw)
            vector = np.frombuffer(request.query_embedding.values, np.float32)
            assert len(vector) == BUNDLED_DIMS
            meant = MemoryQuestion(
                request.question, request.asked_at_ms, request.asker.id, request.asker.name
            )
            sought = replace(seek(view, meant, eligible), is_long=True)
            nearby = (await found.compare(key, view.seq, vector)).nearby
            assert nearby is not None
            chosen = rank_memory(view, sought, nearby, limit=CHOSEN).rows
            scan, cosines = replace(sought, is_long=False), nearby.cosines(every)
            least = rank_memory(view, scan, cosines, limit=CHOSEN).scores[-1]
            scores = rank_memory(view, scan, cosines, rows=chosen).scores
            shares.append((scores >= least - SCORE_ROUNDING).mean())
        return float(mean(shares))
    finally:
        await found.close()
        await store.close()
