"""``/api/chat`` and ``/chat/sse`` of the designs over a real socket: sessions new and old."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from backscroll_sidecar.ports import ModelRequest
from tests.kit.fake_model import STOP, FakeModel, Script
from tests.kit.over_http import OverHttp, over_http

pytestmark = pytest.mark.row("S4-33")

CATS = [
    {"id": "tom", "name": "Tom", "kind": "PARTICIPANT_KIND_PERSONA", "persona": "a lazy cat"},
    {"id": "kit", "name": "凯特", "kind": "PARTICIPANT_KIND_PERSONA", "persona": "a strict cat"},
]


@pytest.fixture
async def served() -> AsyncIterator[OverHttp]:
    def answer(request: ModelRequest) -> Script:
        is_tom = "lazy" in str(request.messages[0])
        return ("five more ", "minutes", STOP) if is_tom else ("late", "!", STOP)

    async with over_http(model=FakeModel(answer=answer)) as one:
        space = {"space": {"slug": "cafe", "projectId": "p1", "participants": CATS}}
        assert (await one.call("SessionService/PutSpace", space)).status_code == 200
        yield one


async def chat(served: OverHttp, **body: Any) -> dict[str, Any]:
    answer = await served.http.post("/api/chat", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_new_session_and_then_the_same(served: OverHttp) -> None:
    """The request and the answer of the designs."""
    first = await chat(
        served,
        message="早上好",
        thread_slug="cafe",
        project_id="p1",
        mode="free_chat",
        user_id="u1",
        user_name="Ann",
    )
    assert first["user_message"]["content"] == "早上好"
    assert first["user_message"]["author"] == {"id": "u1", "name": "Ann"}
    assert {one["author"]["id"] for one in first["responses"]} == {"tom", "kit"}
    assert {one["role"] for one in first["responses"]} == {"assistant"}
    assert (first["reason"], first["failed_ids"]) == ("complete", [])
    thread = first["thread_id"]
    second = await chat(served, message="@凯特 again?", thread_id=thread, thread_slug="cafe")
    assert second["thread_id"] == thread
    assert [one["content"] for one in second["responses"]] == ["late!"]
    stored = await served.call("SessionService/GetSession", {"session": {"sessionId": thread}})
    assert stored.json()["session"]["space"] == "cafe"
    channel = stored.json()["session"]["channel"]
    listed = await served.call("HistoryService/ListMessages", {"channel": channel})
    assert len(listed.json()["messages"]) == 5


async def test_a_mode_with_its_roles(served: OverHttp) -> None:
    roles = {"nodes": ["writer", "reviewer"], "role_map": {"writer": "tom", "reviewer": "kit"}}
    said = await chat(
        served, message="a line about fish", mode="workflow", role_config=roles, participants=CATS
    )
    assert said["mode"] == "workflow"
    assert [one["author"]["id"] for one in said["responses"]] == ["tom", "kit"]
    assert said["mode_state"]["status"] == "done"


async def test_the_same_as_it_happens(served: OverHttp) -> None:
    body = {"message": "@Tom up?", "thread_slug": "cafe"}
    answer = await served.http.post("/chat/sse", json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = []
    for block in filter(None, answer.text.split("\n\n")):
        word, data = block.split("\n")
        events.append((word.removeprefix("event: "), orjson.loads(data.removeprefix("data: "))))
    words = [word for word, _ in events]
    assert words[:2] == ["started", "speaker"]
    assert words[-2:] == ["message", "end"]
    assert (
        "".join(data["content"] for word, data in events if word == "delta") == "five more minutes"
    )
    assert [one["content"] for one in events[-1][1]["responses"]] == ["five more minutes"]


async def test_a_retry_is_no_second_message(served: OverHttp) -> None:
    first = await chat(served, message="@Tom up?", thread_slug="cafe")
    again = {"message": "@Tom really?", "thread_id": first["thread_id"], "request_id": "r1"}
    one, two = [await chat(served, **again) for _ in range(2)]
    assert one["user_message"] == two["user_message"]
    assert one["responses"] == two["responses"]


@pytest.mark.parametrize("path", ["/api/chat", "/chat/sse"])
@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"message": " "}, 400, "message"),
        ({"message": 3}, 400, "message"),
        ({"message": "x", "nope": 1}, 400, "nope"),
        ({"message": "x", "role_config": "{}"}, 400, "role_config"),
        ({"message": "x", "participants": [{"no": 1}]}, 400, "participants"),
    ],
)
async def test_what_is_wrong_is_named(
    served: OverHttp, path: str, body: dict[str, Any], status: int, field: str
) -> None:
    answer = await served.http.post(path, json=body)
    assert answer.status_code == status
    assert answer.json()["details"][0]["debug"]["metadata"]["field"] == field


async def test_another_space_and_a_session_that_is_none_are_refused(served: OverHttp) -> None:
    first = await chat(served, message="hi", thread_slug="cafe")
    wrong = {"message": "x", "thread_id": first["thread_id"], "thread_slug": "bar"}
    for body, status in ((wrong, 403), ({"message": "x", "thread_id": "none"}, 404)):
        answer = await served.http.post("/api/chat", json=body)
        assert answer.status_code == status, answer.text
        told = await served.http.post("/chat/sse", json=body)
        assert told.text.startswith("event: error\n")
