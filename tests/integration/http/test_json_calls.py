"""Calls as JSON over a real socket: what they answer, what is wrong, who may, and who leaves."""

import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from google.protobuf import json_format
from google.rpc import error_details_pb2

from backscroll.v1 import history_pb2
from backscroll_sidecar.edge.http import extra
from backscroll_sidecar.errors import StartRefused
from tests.kit.fake_model import FakeModel, Wait, always
from tests.kit.over_http import OverHttp, over_http

JSON = {"content-type": "application/json"}
BATCH: dict[str, Any] = {
    "channel": "群:1",
    "messages": [
        {
            "id": "m1",
            "author": {"id": "u1", "name": "Ann"},
            "parts": [{"text": {"text": "the roof leaks 屋顶漏水"}}],
            "sentAtMs": "1700000000000",
        }
    ],
}


@pytest.fixture
async def served() -> AsyncIterator[OverHttp]:
    async with over_http(model=always("hello", " there")) as one:
        yield one


def info_of(error: dict[str, Any]) -> error_details_pb2.ErrorInfo:
    value = error["details"][0]["value"]
    raw = base64.b64decode(value + "=" * (-len(value) % 4))
    return error_details_pb2.ErrorInfo.FromString(raw)


async def test_what_is_appended_as_json_is_in_the_context_that_is_built(served: OverHttp) -> None:
    stored = await served.call("HistoryService/AppendMessages", BATCH)
    assert stored.status_code == 200, stored.text
    assert stored.json()["results"][0]["messageId"] == "m1"
    asked = {"channel": "群:1", "question": "what leaks?"}
    built = await served.http.post("/v1/context", json=asked)
    assert built.headers["content-type"] == "application/json"
    assert [one["message"]["id"] for one in built.json()["items"]] == ["m1"]
    same = await served.call("ContextService/BuildContext", asked)
    assert same.json()["messages"] == built.json()["messages"]


async def test_protobuf_own_bytes_are_taken_as_well(served: OverHttp) -> None:
    request = json_format.ParseDict(BATCH, history_pb2.AppendMessagesRequest())
    answer = await served.http.post(
        "/backscroll.v1.HistoryService/AppendMessages",
        content=request.SerializeToString(),
        headers={"content-type": "application/proto"},
    )
    told = history_pb2.AppendMessagesResponse.FromString(answer.content)
    assert [one.message_id for one in told.results] == ["m1"]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ('{"question": "x", "timeZone": "Mars"}', "time_zone", "INVALID_FIELD"),
        ('{"question": " "}', "question", "QUESTION_MISSING"),
        ('{"question": "x", "nope": 1}', "nope", "MALFORMED_REQUEST"),
        ('{"overrides": {"max": 1}}', "overrides.max", "MALFORMED_REQUEST"),
        ('{"overrides": {"maxContext": "x"}}', "overrides.max_context", "MALFORMED_REQUEST"),
        ('{"preferences": ["a", 3]}', "preferences[1]", "MALFORMED_REQUEST"),
        ('{"asker": {"id": 3}}', "asker.id", "MALFORMED_REQUEST"),
        ('{"layout": "X"}', "layout", "MALFORMED_REQUEST"),
        ('{"question": "\\ud800"}', "", "MALFORMED_REQUEST"),
        ("{", "", "MALFORMED_REQUEST"),
        ("[1]", "", "MALFORMED_REQUEST"),
        ("[" * 100_000, "", "MALFORMED_REQUEST"),
    ],
)
async def test_what_is_wrong_is_told_with_its_field(
    served: OverHttp, body: str, field: str, reason: str
) -> None:
    answer = await served.http.post("/v1/context", content=body, headers=JSON)
    error = answer.json()
    assert (answer.status_code, error["code"]) == (400, "invalid_argument"), error
    info = info_of(error)
    assert (info.reason, info.metadata.get("field", "")) == (reason, field), error
    assert error["message"]


async def test_a_body_has_a_bound_and_a_type(served: OverHttp) -> None:
    long = b'{"question": "' + b"x" * (9 * 2**20) + b'"}'
    answer = await served.http.post("/v1/context", content=long, headers=JSON)
    assert (answer.status_code, info_of(answer.json()).reason) == (400, "TOO_LARGE")
    answer = await served.http.post("/v1/context", content=b"{}", headers={"content-type": "text/plain"})  # fmt: skip
    assert answer.status_code == 415
    zipped = {**JSON, "content-encoding": "gzip"}
    answer = await served.http.post("/v1/context", content=b"{}", headers=zipped)
    assert answer.status_code == 501


async def test_there_are_only_the_calls_of_the_contract(served: OverHttp) -> None:
    assert (await served.call("HistoryService/Nope", {})).json()["code"] == "unimplemented"
    assert (await served.http.get("/nope")).status_code == 404


async def test_a_stream_comes_as_events_and_in_envelopes(served: OverHttp) -> None:
    turn = {"context": {"question": "hi"}}
    path = "/backscroll.v1.ContextService/StreamChat"
    answer = await served.http.post(path, json=turn)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [orjson.loads(line[6:]) for line in answer.text.split("\n\n") if line]
    assert "".join(one.get("delta", "") for one in events) == "hello there"
    assert events[-1]["end"]["turnId"]

    body = orjson.dumps(turn)
    enveloped = await served.http.post(
        path,
        content=struct.pack(">BI", 0, len(body)) + body,
        headers={"content-type": "application/connect+json"},
    )
    found, rest = [], enveloped.content
    while rest:
        flags, size = struct.unpack_from(">BI", rest)
        found.append((flags, orjson.loads(rest[5 : 5 + size])))
        rest = rest[5 + size :]
    assert [flags for flags, _ in found[-2:]] == [0, 2]
    assert found[-1][1] == {}
    assert "".join(one.get("delta", "") for _, one in found) == "hello there"


async def test_a_stream_that_is_refused_says_so_at_its_end(served: OverHttp) -> None:
    path = "/backscroll.v1.ContextService/StreamChat"
    answer = await served.http.post(path, json={"turnId": "none"})
    assert answer.text.startswith("event: error\ndata: ")
    error = orjson.loads(answer.text.removeprefix("event: error\ndata: "))
    assert info_of(error).reason == "TURN_NOT_FOUND"


async def test_who_needs_a_token_is_told_before_the_body_is_read() -> None:
    async with over_http(tokens={"t-one": "one", "t-two": "two"}) as served:
        answer = await served.http.post("/v1/context", content=b"{" * 100, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
        one, two = ({"authorization": told} for told in ("bearer t-one", "BEARER t-two"))
        await served.call("HistoryService/AppendMessages", BATCH, **one)
        found = await served.call("HistoryService/ListChannels", {}, **one)
        assert [each["channel"] for each in found.json()["channels"]] == ["群:1"]
        assert (await served.call("HistoryService/ListChannels", {}, **two)).json() == {}


async def test_a_callers_time_is_kept(served: OverHttp) -> None:
    answer = await served.http.post("/v1/context", json={}, headers={"connect-timeout-ms": "x"})
    assert (answer.status_code, info_of(answer.json()).metadata["field"]) == (
        400,
        "connect-timeout-ms",
    )
    async with over_http(model=always(Wait())) as slow:
        turn = {"turn": {"context": {"question": "hi"}}}
        answer = await slow.call("ContextService/Chat", turn, **{"connect-timeout-ms": "300"})
        assert answer.json().get("end", {}).get("reason") == "END_REASON_DEADLINE", answer.text


async def test_who_leaves_ends_the_models_call() -> None:
    model = FakeModel(["a", Wait()], ["b", Wait()])
    async with over_http(model=model) as served:
        turn = {"context": {"question": "hi"}}
        path = "/backscroll.v1.ContextService/StreamChat"
        async with served.http.stream("POST", path, json=turn) as answer:
            async for piece in answer.aiter_text():
                if "delta" in piece:
                    break
        with pytest.raises(httpx2.ReadTimeout):
            await served.http.post(
                "/backscroll.v1.ContextService/Chat", json={"turn": turn}, timeout=0.3
            )
        async with asyncio.timeout(30):
            while len(model.calls) < 2 or model.open_calls:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.005)


async def test_pages_of_other_hosts_get_nothing_where_nobody_needs_a_token(
    served: OverHttp,
) -> None:
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example"):
        answer = await served.http.get("/healthz", headers={"host": host})
        assert answer.status_code == 403
    for host in ("localhost", "localhost:8080", "127.0.0.1:1", "[::1]:1", "[::1]"):
        assert (await served.http.get("/healthz", headers={"host": host})).status_code == 200


async def test_health_says_whether_it_serves(served: OverHttp) -> None:
    answer = await served.http.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "SERVING"})


async def test_a_unix_socket_serves_as_well(tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    async with over_http(listen=f"unix:{path}") as served:
        assert served.url == f"unix:{path}"
        assert path.stat().st_mode & 0o077 == 0
        transport = httpx2.AsyncHTTPTransport(uds=str(path))
        async with httpx2.AsyncClient(transport=transport, base_url="http://any.host") as http:
            assert (await http.get("/healthz")).status_code == 200
    assert not path.exists()


async def test_running_requests_end_before_the_server_does() -> None:
    async with over_http(model=always("a", Wait(0.3), "b")) as served:
        path = "/backscroll.v1.ContextService/StreamChat"
        asking = asyncio.create_task(served.http.post(path, json={"context": {"question": "hi"}}))
        await asyncio.sleep(0.15)
        await served.server.stop(10)
        assert '"end"' in (await asking).text
        with pytest.raises(httpx2.ConnectError):
            await served.http.get("/healthz")


@pytest.mark.parametrize(
    ("listen", "setting"),
    [("0.0.0.0:0", "tls_cert"), ("nonsense", "http_listen"), ("example.com:1", "tls_cert")],
)
async def test_addresses_are_held_to_the_rules_of_listen(listen: str, setting: str) -> None:
    with pytest.raises(StartRefused) as refused:
        async with over_http(listen=listen):
            pass
    assert refused.value.setting == setting


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(StartRefused, match=r"pip install \"\.\[http\]\""):
        async with over_http():
            pass


async def test_a_long_batch_is_stored_whole(served: OverHttp) -> None:
    one = BATCH["messages"][0]
    many = [{**one, "id": f"m{n}", "parts": [{"text": {"text": "x" * 500}}]} for n in range(400)]
    answer = await served.call("HistoryService/AppendMessages", {**BATCH, "messages": many})
    assert len(answer.json()["results"]) == 400
    listed = await served.call("HistoryService/ListMessages", {"channel": "群:1", "limit": 400})
    assert len(listed.json()["messages"]) == 400
