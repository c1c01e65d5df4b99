"""slack-bolt against a fake of Slack's web API, which posts signed events to the program of the guide."""

import asyncio
import hashlib
import hmac
import json
import socket
import time

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.adapters.kit import example, program, python_with, staged, web
from tests.kit.patience import patience

SECRET, CHANNEL, DIRECT = "s3cret", "slack:T1:C1", "slack:T1:D1"
BEGAN_S = 1_795_132_800
NAMES = {"U1": "Ann", "U2": "Ben"}


class Slack:
    """The calls of the web API that a bot makes."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.asked_for: list[str] = []
        self.app = Starlette(routes=[Route("/api/{method}", self._call, methods=["GET", "POST"])])

    async def _call(self, request: Request) -> JSONResponse:
        is_json = "json" in request.headers.get("content-type", "")
        given = await request.json() if is_json else dict(await request.form())
        given |= request.query_params
        match request.path_params["method"]:
            case "auth.test":
                said = {"user_id": "UB", "bot_id": "B1", "team_id": "T1", "user": "cat"}
            case "users.info":
                self.asked_for.append(given["user"])
                profile = {"display_name": NAMES[given["user"]]}
                said = {"user": {"id": given["user"], "name": given["user"], "profile": profile}}
            case "chat.postMessage":
                self.sent.append(given)
                ts = f"{BEGAN_S + 60}.00000{len(self.sent)}"
                message = {"type": "message", "user": "UB", "bot_id": "B1", "team": "T1", "ts": ts}
                message |= {"text": given["text"], "thread_ts": given["thread_ts"]}
                said = {"channel": given["channel"], "ts": ts, "message": message}
        return JSONResponse({"ok": True} | said)


async def deliver(port: int, retry: int = 0, **event: object) -> None:
    body = {"type": "event_callback", "team_id": "T1", "api_app_id": "A1", "event_id": "Ev1"}
    event = {"type": "message", "channel": "C1", "channel_type": "channel"} | event
    sent = json.dumps(body | {"event": event | {"event_ts": "1"}})
    now = str(int(time.time()))
    signed = hmac.new(SECRET.encode(), f"v0:{now}:{sent}".encode(), hashlib.sha256).hexdigest()
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": now,
        "x-slack-signature": f"v0={signed}",
    }
    if retry:
        headers |= {"x-slack-retry-num": str(retry), "x-slack-retry-reason": "http_timeout"}
    async with patience(), httpx2.AsyncClient() as client:
        while True:
            try:
                answer = await client.post(
                    f"http://127.0.0.1:{port}/slack/events", content=sent, headers=headers
                )
            except httpx2.ConnectError:  # it is still starting
                await asyncio.sleep(0.05)
            else:
                break
    assert answer.status_code == 200, answer.text


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.proof
async def test_the_program_of_the_guide(tmp_path):
    source, python = example("slack-bolt"), python_with("slack_bolt")
    platform, port = Slack(), free_port()
    async with staged() as stage, web(platform.app) as address:
        at = f'AsyncApp(client=AsyncWebClient(token="xoxb-1", base_url="http://{address}/api/"))'
        prelude = "from slack_sdk.web.async_client import AsyncWebClient\n"
        source = source.replace("AsyncApp()", at)
        stage.environment |= {"SLACK_SIGNING_SECRET": SECRET, "PORT": str(port)}
        async with program(stage, source, [python], tmp_path, prelude):
            first, second, third = (f"{BEGAN_S + number}.000100" for number in range(3))
            await deliver(port, user="U2", text="the cat eats at nine &amp; six", ts=first)
            await stage.until_stored(CHANNEL, first)
            question = {"user": "U1", "text": "<@UB> when is dinner?", "ts": second}
            await deliver(port, **question)
            await stage.until_stored(CHANNEL, f"{BEGAN_S + 60}.000001")
            await deliver(port, retry=1, **question)
            await deliver(
                port,
                subtype="message_changed",
                message={"type": "message", "user": "U2", "text": "at ten", "ts": first}
                | {"edited": {"user": "U2", "ts": f"{BEGAN_S + 9}.000000"}},
            )
            await deliver(port, user="U1", text="oh", ts=third, thread_ts=first)
            await stage.until_stored(CHANNEL, third)
            await deliver(port, subtype="message_deleted", deleted_ts=third)
            direct = {"channel": "D1", "channel_type": "im", "user": "U2", "text": "hello cat"}
            await deliver(port, ts=first, **direct)
            await stage.until_stored(DIRECT, f"{BEGAN_S + 60}.000002")
            lines = await stage.until(CHANNEL, lambda lines: "recalled" in lines[-1])
            lines = await stage.until(CHANNEL, lambda lines: lines[0].get("revision") == 1)
    assert lines == [
        {
            "id": first,
            "author": "U2",
            "name": "Ben",
            "text": "at ten",
            "sent_at_ms": BEGAN_S * 1000,
            "revision": 1,
        },
        {
            "id": second,
            "author": "U1",
            "name": "Ann",
            "text": "<@UB> when is dinner?",
            "sent_at_ms": BEGAN_S * 1000 + 1000,
            "mentions": ["UB"],
        },
        {
            "id": f"{BEGAN_S + 60}.000001",
            "author": "UB",
            "name": "Cat",
            "text": "At nine.",
            "sent_at_ms": BEGAN_S * 1000 + 60_000,
            "reply_to": second,
            "reply_kind": "thread",
            "is_own": True,
            "thread": second,
        },
        {
            "id": third,
            "author": "U1",
            "name": "Ann",
            "sent_at_ms": BEGAN_S * 1000 + 2000,
            "reply_to": first,
            "reply_kind": "thread",
            "thread": first,
            "recalled": True,
        },
    ]
    assert [one["thread_ts"] for one in platform.sent] == [second, first]
    assert sorted(platform.asked_for) == ["U1", "U2"]
    [[_, *asked], _] = stage.model.asked
    assert [one["content"] for one in asked] == [
        "Ben <U2>: the cat eats at nine & six",
        "Ann <U1>: @Cat when is dinner?",
    ]
