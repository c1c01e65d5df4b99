"""Long bodies that come at once: together they hold no more than so much, and who is turned away may come again."""

import asyncio
import json
from typing import Any

import openai
import pytest

from backscroll_sidecar.edge.http import bodies
from tests.integration.http.test_completions import world
from tests.integration.http.test_slow_callers import head, opened
from tests.kit.fake_vendor import whole
from tests.kit.over_http import over_http

MIB = 1024 * 1024
COMPLETIONS = "/v1/chat/completions"


def asked(size: int) -> bytes:
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": "x" * size}]}
    ).encode()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[bodies.Bodies]:
    """All that read bodies, with room for 4 MiB."""
    monkeypatch.setattr(bodies, "MOST_AT_ONCE_BYTES", 4 * MIB)
    found: list[bodies.Bodies] = []
    make = bodies.Bodies.__init__

    def kept(self: bodies.Bodies) -> None:
        make(self)
        found.append(self)

    monkeypatch.setattr(bodies.Bodies, "__init__", kept)
    return found


async def holds(held: list[bodies.Bodies], least: int, most: int) -> None:
    """Wait until the server holds so much of bodies that are not whole."""
    async with asyncio.timeout(30):
        while not least <= sum(one.bytes_held for one in held) <= most:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)


async def test_long_bodies_share_a_room_and_short_ones_always_come_in(
    held: list[bodies.Bodies],
) -> None:
    async with world(answer=lambda _: whole({"content": "hi"})) as one:
        body = asked(3 * MIB)
        first = await opened(one.served)
        first[1].write(head(COMPLETIONS, len(body)) + body[: 3 * MIB])
        await holds(held, 2 * MIB, 4 * MIB)
        long = [{"role": "user", "content": "y" * 3 * MIB}]
        with pytest.raises(openai.RateLimitError) as refused:  # by its length, before it is read
            await one.ask(messages=long, headers={})
        assert refused.value.code == "overloaded"
        assert refused.value.response.headers["retry-after"] == "1"
        chunks = [body[at : at + MIB // 4] for at in range(0, len(body), MIB // 4)]
        answer = await one.http.post(  # one that does not tell its length, midway
            COMPLETIONS, content=slowly(chunks), headers={"content-type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["type"]) == (429, "rate_limit_error")
        told = await one.http.post("/v1/context", content=body)
        assert told.status_code == 415
        told = await one.http.post(
            "/v1/context", content=body, headers={"content-type": "application/json"}
        )
        assert (told.status_code, told.json()["code"]) == (429, "resource_exhausted")
        assert told.headers["retry-after"] == "1"
        await one.ask("short?", headers={})
        first[1].write(body[3 * MIB :])
        assert b" 200 " in await first[0].readline()
        first[1].close()
        await holds(held, 0, 0)
        await one.ask(messages=long, headers={})
        assert len(one.vendor.sent) == 3


async def slowly(chunks: list[bytes]) -> Any:
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


async def test_what_breaks_off_or_is_refused_leaves_its_room_to_others(
    held: list[bodies.Bodies], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "SLOW_S", 0.5)
    async with over_http() as served:
        body = asked(3 * MIB)
        leaver = await opened(served)
        leaver[1].write(head(COMPLETIONS, len(body)) + body[: 2 * MIB])
        await holds(held, MIB, 4 * MIB)
        leaver[1].transport.abort()
        await holds(held, 0, 0)
        monkeypatch.setattr(bodies, "LEAST_BYTES_A_SECOND", 100 * MIB)
        slow = await opened(served)
        slow[1].write(head(COMPLETIONS, len(body)) + body[: 2 * MIB])
        assert b" 504 " in await slow[0].readline()
        slow[1].close()
        await holds(held, 0, 0)


async def test_many_long_bodies_at_once_are_all_answered_by_clients_that_try_again(
    held: list[bodies.Bodies],
) -> None:
    """OpenAI's client waits as it is told, and comes again."""
    async with world(answer=lambda _: whole({"content": "hi"})) as one:
        ai = one.ai.with_options(max_retries=20)
        long = [{"role": "user", "content": "y" * 2 * MIB}]
        asking = (ai.chat.completions.create(model="m", messages=long) for _ in range(6))
        answers = await asyncio.gather(*asking)
        assert {each.choices[0].message.content for each in answers} == {"hi"}
        await holds(held, 0, 0)
