"""What a client of Chat Completions hears where its turn cannot be stored: the answer, and that it was not."""

from typing import Any

import pytest

from backscroll_sidecar.errors import StoreReadOnly
from backscroll_sidecar.ports import AppendChange
from backscroll_sidecar.telemetry.catalogue import UNSTORED_TURNS
from tests.integration.http.test_completions import HEADERS, World, world
from tests.kit.fake_vendor import DONE, Said, chunk, streamed, whole

pytestmark = [pytest.mark.row("S5-48"), pytest.mark.injects_fault]

TOOL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def fill_disk(one: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no message can be stored."""
    apply = one.app.store.apply

    async def full(changes: Any) -> Any:
        if any(isinstance(change, AppendChange) for change in changes):
            raise StoreReadOnly("the disk is full")
        return await apply(changes)

    monkeypatch.setattr(one.app.store, "apply", full)


async def test_an_answer_at_once_says_so_in_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(answer=lambda _: whole({"content": "soup"})) as one:
        stored = await one.ask(raw=True)
        assert "x-backscroll-stored" not in stored.headers
        fill_disk(one, monkeypatch)
        raw = await one.ask("and then?", raw=True)
        assert raw.headers["x-backscroll-stored"] == "none; reason=store_read_only"
        assert "rung=" in raw.headers["x-backscroll-context"]
        assert raw.parse().choices[0].message.content == "soup"
        assert one.metric(UNSTORED_TURNS) == [(("STORE_READ_ONLY",), 1)]
        assert len(await one.rows()) == 2


async def test_a_stream_says_so_in_a_chunk_that_openais_client_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(streamed("so", "up"), streamed("so", "up")) as one:
        stream = await one.ask(stream=True)
        assert not [1 async for each in stream if "backscroll" in each.model_extra]
        fill_disk(one, monkeypatch)
        async with one.ai.chat.completions.stream(
            model="m",
            messages=[{"role": "user", "content": "and then?"}],
            extra_headers=HEADERS,
        ) as stream:
            found = [event async for event in stream]
            answer = await stream.get_final_completion()
        assert answer.choices[0].message.content == "soup"
        assert answer.choices[0].finish_reason == "stop"
        chunks = [event.chunk for event in found if event.type == "chunk"]
        assert chunks[-1].backscroll == {"stored": False, "reason": "store_read_only"}
        assert {(each.id, each.model, each.created) for each in chunks} == {
            ("chatcmpl-1", "vendor-model-2026", 1)
        }
        assert one.metric(UNSTORED_TURNS) == [(("STORE_READ_ONLY",), 1)]


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_calls_of_tools_are_an_answer_also_where_they_cannot_be_stored(
    monkeypatch: pytest.MonkeyPatch, is_streamed: bool
) -> None:
    said = (
        Said([chunk({"tool_calls": [TOOL]}), chunk({}, "tool_calls"), DONE])
        if is_streamed
        else whole({"content": None, "tool_calls": [TOOL]}, "tool_calls")
    )
    async with world(said) as one:
        fill_disk(one, monkeypatch)
        answer = await one.ask(stream=is_streamed)
        if is_streamed:
            found = [each async for each in answer]
            assert found[0].choices[0].delta.tool_calls[0].function.name == "f"
            assert found[-1].backscroll["stored"] is False
        else:
            assert answer.choices[0].message.tool_calls[0].function.name == "f"


async def test_a_vendors_refusal_stays_its_own_where_nothing_can_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(Said([chunk({"content": "so"})], breaks=True)) as one:
        fill_disk(one, monkeypatch)
        answer = await one.http.post(
            "/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "x"}], "stream": True},
            headers=HEADERS,
        )
        assert '"code":"connection"' in answer.text
