"""Chat Completions before vendors that break off, answer oddly, or are hostile."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from backscroll_sidecar.edge.http.answer_pieces import MOST_HELD_BYTES
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import AppendChange
from tests.integration.http.test_completions import HEADERS, world
from tests.kit.fake_vendor import Said, chunk, of_json, streamed, whole

pytestmark = pytest.mark.row("S5-48")

PATH = "/v1/chat/completions"
BOTH = pytest.mark.parametrize("headers", [HEADERS, {}], ids=["stored", "passed on"])


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "when is dinner?"}], **more}


@BOTH
async def test_a_stream_that_breaks_inside_a_line_ends_with_an_event_that_can_be_read(
    headers: dict[str, str],
) -> None:
    said = Said([chunk({"content": "At ni"}), b'data: {"choices": [{"del'], breaks=True)
    async with world(said) as one:
        answer = await one.http.post(PATH, json=asked(stream=True), headers=headers)
        lines = [line for line in answer.text.split("\n") if line]
        first, last = (json.loads(line.removeprefix("data: ")) for line in lines)
        assert first["choices"][0]["delta"]["content"] == "At ni"
        assert last["error"]["code"] == "connection"


@BOTH
async def test_half_an_answer_is_never_taken_for_a_whole_one(headers: dict[str, str]) -> None:
    json_type = {"content-type": "application/json"}
    async with world(
        answer=lambda _: Said([b'{"id": "x", "cho', *more], headers=json_type, breaks=True)
    ) as one:
        more: list[bytes] = []
        for _ in range(2):
            answer = await one.http.post(PATH, json=asked(), headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "connection")
        more.append(b"x" * (MOST_HELD_BYTES + 1))  # then its head has gone
        for _ in range(2):
            with pytest.raises(httpx2.RemoteProtocolError):
                await one.http.post(PATH, json=asked(), headers=headers)
        assert (await one.http.get("/healthz")).status_code == 200


@BOTH
async def test_headers_of_a_vendor_may_be_of_any_text(headers: dict[str, str]) -> None:
    told = {"content-type": "text/event-stream", "openai-organization": "组织"}
    async with world(Said(streamed("x").steps, headers=told)) as one:
        answer = await one.http.post(PATH, json=asked(stream=True), headers=headers)
        assert answer.status_code == 200
        raw = dict(answer.headers.raw)
        assert raw[b"openai-organization"].decode() == "组织"


@BOTH
@pytest.mark.parametrize("status", [302, 304, 700])
async def test_a_status_that_is_no_answer_is_502(headers: dict[str, str], status: int) -> None:
    page = {"content-type": "text/html", "location": "http://127.0.0.1:1/"}
    async with world(Said([b"" if status == 304 else b"<p>hi"], status, page)) as one:
        answer = await one.http.post(PATH, json=asked(), headers=headers)
        assert answer.status_code == 502
        assert answer.json()["error"]["type"] == "upstream_error"


async def test_what_a_vendor_says_is_no_page_of_ours() -> None:
    page = Said([b"<script>alert(1)</script>"], headers={"content-type": "text/html"})
    async with world(page) as one:
        answer = await one.http.get("/v1/models")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "sandbox"


async def test_a_body_that_cannot_be_passed_on_is_refused_before_it_is_stored() -> None:
    async with world() as one:
        deep = {"content-type": "application/json", **HEADERS}
        body = json.dumps(asked()).encode()[:-1] + b', "x": ' + b"[" * 300 + b"]" * 300 + b"}"
        answer = await one.http.post(PATH, content=body, headers=deep)
        assert answer.status_code == 400
        roles = b'{"message": "x", "role_config": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}"
        answer = await one.http.post("/api/chat", content=roles, headers=deep)
        assert answer.status_code == 400
        assert await one.call("HistoryService/ListChannels") == {}


async def test_headers_are_read_as_utf8_and_none_that_counts_may_be_there_twice() -> None:
    async with world(answer=lambda _: whole({"content": "x"})) as one:
        raw = [
            (b"x-backscroll-channel", "群:9".encode()),
            (b"x-openwebui-user-name", "安".encode()),
        ]
        await one.http.post(PATH, json=asked(), headers=raw)
        assert (await one.messages("群:9"))[0]["author"]["name"] == "安"
        for name in ("x-backscroll-channel", "x-backscroll-asker", "x-session-id"):
            twice = [("x-backscroll-channel", "a")] * (name != "x-backscroll-channel")
            answer = await one.http.post(
                PATH, json=asked(), headers=[*twice, (name, "a"), (name, "b")]
            )
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)


@pytest.mark.parametrize("name", ["x-backscroll-asker", "x-backscroll-bot", "x-backscroll-session"])
async def test_an_id_that_cannot_be_stored_is_refused_and_a_name_is_made_to_fit(name: str) -> None:
    async with world(answer=lambda _: whole({"content": "x"})) as one:
        headers = {**HEADERS, name: "b64_AA"}
        answer = await one.http.post(PATH, json=asked(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, name)
        named = {**HEADERS, "x-openwebui-user-name": "A%0A%00b" + "%E4%BD%A0" * 400}
        await one.http.post(PATH, json=asked(), headers=named)
        stored = (await one.messages())[0]["author"]["name"]
        assert stored.startswith("A b你")
        assert 500 < len(stored.encode()) <= 512


async def test_a_long_history_is_taken_over_in_the_time_of_its_length() -> None:
    """Each message's id is of all before it: made anew each time, 8,000 would hash 6 GB while all others wait."""
    said = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} " + "w" * 200}
        for at in range(8_001)
    ]
    async with world(answer=lambda _: whole({"content": "x"})) as one:
        for _ in range(2):
            answer = await one.http.post(PATH, json=asked(messages=said), headers=HEADERS)
            assert answer.status_code == 200
        info = await one.call("HistoryService/ListChannels")
        assert info["channels"][0]["messageCount"] == "8002"


@pytest.mark.parametrize(
    "worse",
    [
        of_json({"error": {"message": "busy"}}, 503),
        Said([chunk({"content": "At te"})], breaks=True),
    ],
    ids=["refused", "broken off"],
)
async def test_an_answer_stays_until_there_is_another_and_is_no_context_of_that(
    worse: Said,
) -> None:
    """A client whose line broke asks again; the vendor is down by then: what was said is not lost."""
    before = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    body = asked(messages=[*before, *asked()["messages"]], stream=True)
    async with world(streamed("At nine."), worse, streamed("At eight.")) as one:
        for wanted in (["At nine."], ["At nine.", "At te"], ["At te", "At eight."]):
            await one.http.post(PATH, json=body, headers=HEADERS)
            said = [text for _, text in await one.rows()][3:]
            assert said == [text for text in wanted if text != "At te" or worse.breaks]
        assert all("At nine." not in text for sent in one.vendor.sent for text in sent.texts)
        assert all("when is dinner?" in sent.texts[-1] for sent in one.vendor.sent)


async def test_an_answer_stays_where_the_next_one_cannot_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The old one goes in the commit that stores the new one: nothing can come between."""
    before = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    body = asked(messages=[*before, *asked()["messages"]])
    async with world(whole({"content": "At nine."}), whole({"content": "At ten."})) as one:
        await one.http.post(PATH, json=body, headers=HEADERS)
        store = one.app.store
        apply = store.apply

        async def fails(changes: Any) -> Any:
            if any(isinstance(change, AppendChange) and change.turn for change in changes):
                raise StoreUnavailable("the disk is gone")
            return await apply(changes)

        monkeypatch.setattr(store, "apply", fails)
        answer = await one.http.post(PATH, json=body, headers=HEADERS)
        assert answer.headers["x-backscroll-stored"] == "none; reason=store_unavailable"
        monkeypatch.undo()
        assert [text for _, text in await one.rows()][3:] == ["At nine."]


async def test_the_same_request_twice_at_once_is_one_question_with_one_reply() -> None:
    before = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    body = asked(messages=[*before, *asked()["messages"]])
    async with world(answer=lambda _: of_json(json.loads(whole({"content": "x"}).steps[0]))) as one:
        sent = (one.http.post(PATH, json=body, headers=HEADERS) for _ in range(4))
        assert {answer.status_code for answer in await asyncio.gather(*sent)} == {200}
        assert [text for _, text in await one.rows()] == ["hi", "hello", "when is dinner?", "x"]
