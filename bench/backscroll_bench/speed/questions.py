"""What the parts ask BuildContext, and the channels they ask about.

Near questions are about the last lines alone. Far ones hold something that was found by meaning: only those cost more
with a vector than without.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from backscroll.v1 import context_pb2
from backscroll.v1.context_pb2 import BuildContextRequest as Request
from backscroll.v1.context_pb2 import BuildContextResponse as Response
from backscroll_bench.speed import chats, lived_in, vectors
from backscroll_bench.speed.fixture import BUILD, COMPACT, Bench, channel_of
from backscroll_bench.speed.load import Call, Questions
from backscroll_bench.speed.resting import settled
from backscroll_bench.speed.stats import Wrong

Asking: TypeAlias = Callable[[Bench], Awaitable[Questions]]
"""Makes questions, and before them the channel they are about."""

KINDS = {"balanced": "plain", "classic": "plain", "classic_full": "full_classic"}
"""Which server answers for a profile: `classic_full` needs a source of the bench's, which proposes to any profile."""
QUESTIONS = 8
NEAR_LOOK_AHEAD, FAR_LOOK_AHEAD = 200, 400
"""Messages behind the history that may be questions; the first `QUESTIONS` that fit are."""
CUT_TOKENS = 1_000
PATIENCE_S, LOOK_S = 600.0, 0.5
"""A million rows that no segment holds yet take over a minute to load."""


class NoQuestion(Wrong):
    """A channel ends where a profile has nothing to say: `classic` in the Chinese chats."""


async def near(bench: Bench, profile: str, count: int, kind: str | None = None) -> Questions:
    """About the last lines of a channel of `count` messages; `kind`: of server."""
    kind = kind or KINDS[profile]

    async def made() -> Questions:
        served, channel = await bench.filled(kind, count)
        asked = await near_questions(served.call(BUILD), channel, profile, count)
        await settled(served.running.pid)
        return asked

    return await bench.once(("near", kind, profile, count), made)


async def far(bench: Bench, count: int, *, as_text: bool = False) -> Questions:
    """About a channel of `count` messages with vectors; each brings its vector, or `as_text` none."""

    async def made() -> tuple[Questions, Questions]:
        served = await bench.served("semantic")
        vectors.embed_stream(count)
        with_vectors = chats.messages(count, vector_of=vectors.embedding_of)
        await bench.fill(served, channel_of(count), with_vectors)
        await settled(served.running.pid)
        return await far_questions(served.call(BUILD), channel_of(count), count)

    given, plain = await bench.once(("far", count), made)
    return plain if as_text else given


async def lived(bench: Bench, count: int, *, is_cut: bool = False) -> Questions:
    """Near ones about a channel that has lived, every second one a reply to one of the last lines.

    `is_cut`: the answers have `CUT_TOKENS`, and each asker has a preference.
    """

    async def made() -> Questions:
        served, channel = await bench.served(), bench.new_name("lived-in")
        await bench.fill(served, channel, lived_in.lines(count))
        for method, request in lived_in.changes(channel):
            await served.call(method)(request)
        asked = await near_questions(served.call(BUILD), channel, "balanced", count)
        if is_cut:
            askers = {Request.FromString(one).asker.id for one in asked.requests}
            for method, request in lived_in.preferences(channel, askers):
                await served.call(method)(request)
        await settled(served.running.pid)
        return await changed(asked, change)

    def change(number: int, request: Request) -> None:
        if number % 2:
            (line,) = chats.said(1, skip=count - number)
            request.reply.message_id = line.id
        if is_cut:
            request.token_budget = CUT_TOKENS

    return await bench.once(("lived in", count, is_cut), made)


async def steady(bench: Bench, count: int) -> Questions:
    """Near ones about a channel of `count` messages, answered by the profile `steady` in its own budget."""

    def change(_number: int, request: Request) -> None:
        request.profile = "steady"

    return await changed(await near(bench, "balanced", count), change)


async def summarised(bench: Bench, count: int) -> tuple[Questions, Questions]:
    """Those about a channel that has lived, once there is a summary of it: answered with it, and without."""

    async def made() -> tuple[Questions, Questions]:
        served = await bench.served()
        asked = await lived(bench, count)
        channel = Request.FromString(asked.requests[0]).channel
        compact = context_pb2.CompactRequest(channel=channel, without_model=True)
        await served.call(COMPACT)(compact.SerializeToString())
        await settled(served.running.pid)
        for request in asked.requests:
            if not Response.FromString(await asked.call(request)).summary:
                raise Wrong("an answer has no summary")
        return await changed(asked, _as_it_is), await changed(asked, _without_summary)

    return await bench.once(("summarised", count), made)


def _as_it_is(_number: int, _request: Request) -> None:
    """Change nothing."""


def _without_summary(_number: int, request: Request) -> None:
    request.without_summary = True


async def explained(bench: Bench, count: int) -> Questions:
    """The near ones of `balanced`, with explain."""

    def change(_number: int, request: Request) -> None:
        request.explain = True

    return await changed(await near(bench, "balanced", count), change)


async def changed(asked: Questions, change: Callable[[int, Request], None]) -> Questions:
    """The same with something changed in each.

    Raises
    ------
    Wrong
        One of them is not answered whole.
    """
    found = Questions(asked.call, [], [])
    for number, raw in enumerate(asked.requests):
        request = Request.FromString(raw)
        change(number, request)
        answer = await asked.call(request.SerializeToString())
        built = Response.FromString(answer)
        if built.degradations or built.rung != context_pb2.RUNG_RANKED or not built.items:
            raise Wrong(f"question {number} was not answered whole: {lost(built)}")
        found.add(request.SerializeToString(), answer)
    return found


def elsewhere(asked: Questions, channels: Sequence[str]) -> Questions:
    """The questions by turns, each to the next channel; all channels hold the same."""
    made = Questions(asked.call, [], [])
    for n, channel in enumerate(channels):
        at = n % len(asked.requests)
        request = Request.FromString(asked.requests[at])
        request.channel = channel
        made.requests.append(request.SerializeToString())
        made.replies.append(asked.replies[at])
    return made


async def near_questions(call: Call, channel: str, profile: str, count: int) -> Questions:
    """The first messages behind the history that are about its last lines, as questions.

    Raises
    ------
    NoQuestion
        None is about the last lines, or nothing was taken for any.
    Wrong
        A build degraded.
    """
    found = Questions(call, [], [])
    said = chats.said(count) if profile == "classic_full" else []
    scored = sum(bool(one.line.content.strip()) for one in said)  # blank ones are no candidates
    for asked in chats.said(NEAR_LOOK_AHEAD, skip=count):
        request = chats.build_request(channel, asked, profile).SerializeToString()
        answer = await answered(call, request, is_loaded)
        built = Response.FromString(answer)
        if _is_far(built):
            continue
        if built.degradations or built.rung != context_pb2.RUNG_RANKED:
            raise Wrong(f"{profile} degraded: {lost(built) or context_pb2.Rung.Name(built.rung)}")
        if said and built.diagnostics.candidate_count < scored - 1:
            raise Wrong(
                f"only {built.diagnostics.candidate_count} of {scored} messages were scored"
            )
        if built.items:
            found.add(request, answer)
        if len(found.requests) == QUESTIONS:
            break
    if not found.requests:
        raise NoQuestion(f"no question about the last lines of {count} messages for {profile}")
    return found


def _is_far(built: Response) -> bool:
    """Whether the history was looked through; of a server without an embedder the degradation says so."""
    sources = {context_pb2.SOURCE_LEXICAL, context_pb2.SOURCE_SEMANTIC}
    return any(sources & set(item.sources) for item in built.items) or any(
        one.source == "semantic" for one in built.degradations
    )


async def far_questions(call: Call, channel: str, count: int) -> tuple[Questions, Questions]:
    """The first messages behind the history whose answers hold what was found by meaning; with vectors, and as texts.

    Raises
    ------
    Wrong
        There is none.
    """
    given, plain = Questions(call, [], []), Questions(call, [], [])
    for said in chats.said(FAR_LOOK_AHEAD, skip=count):
        request = chats.build_request(channel, said, "balanced")
        without = request.SerializeToString()
        request.query_embedding.CopyFrom(vectors.embedding_of(said.line.content))
        with_vector = request.SerializeToString()
        answer = await answered(call, with_vector, is_whole)
        if not is_by_meaning(Response.FromString(answer)):
            continue
        other = await answered(call, without, is_whole)
        if is_by_meaning(Response.FromString(other)):
            given.add(with_vector, answer)
            plain.add(without, other)
        if len(given.requests) == QUESTIONS:
            break
    if not given.requests:
        raise Wrong(f"no question of {FAR_LOOK_AHEAD} was answered by meaning")
    return given, plain


async def answered(
    call: Call, request: bytes, is_ready: Callable[[Response], bool], look_s: float = LOOK_S
) -> bytes:
    """The first answer that is as wanted: channels, embedder and vectors are loaded behind the first ones.

    Raises
    ------
    Wrong
        None is within `PATIENCE_S`.
    """
    end_s = time.monotonic() + PATIENCE_S
    while True:
        answer = await call(request)
        built = Response.FromString(answer)
        if is_ready(built):
            return answer
        if time.monotonic() > end_s:
            raise Wrong(f"no answer was whole within {PATIENCE_S:.0f} s: {lost(built)}")
        await asyncio.sleep(look_s)


def is_loaded(built: Response) -> bool:
    """Whether the channel is in memory: a cold one may take longer than a build waits, or leave it no time."""
    return not any(
        one.source == "history" or one.reason == "DEADLINE" for one in built.degradations
    )


def is_whole(built: Response) -> bool:
    """Whether nothing is missing in an answer."""
    return not built.degradations


def is_by_meaning(built: Response) -> bool:
    """Whether something of an answer was found by meaning."""
    return any(context_pb2.SOURCE_SEMANTIC in item.sources for item in built.items)


def lost(built: Response) -> list[str]:
    """What an answer lacks, for people."""
    return [f"{one.stage} {one.source} {one.reason}" for one in built.degradations]
