"""python-telegram-bot and grammY against a fake Bot API: the programs of the guide, long polling and all."""

import asyncio
import json

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from backscroll import AsyncClient, ToolCall
from backscroll.testing import serve
from tests.adapters.kit import Model, Stage, example, node_with, program, python_with, staged, web

CAT = {"id": 900, "is_bot": True, "first_name": "Cat", "username": "catbot"}
ANN = {"id": 1, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "username": "ann_l"}
BEN = {"id": 2, "is_bot": False, "first_name": "Ben"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Cats"}
CHANNEL = "telegram:-1001"
BEGAN_S = 1_795_132_800


class Telegram:
    """The Bot API, of one bot: `getUpdates` waits for what the test delivers."""

    def __init__(self) -> None:
        self.updates: list[dict] = []
        self.sent: list[dict] = []
        self.app = Starlette(
            routes=[
                Route("/bot{token}/{method}", self._call, methods=["POST"]),
            ]
        )

    def deliver(self, **update: dict) -> None:
        """Tell of something under a new number; Telegram delivers again what was not confirmed."""
        self.updates.append({"update_id": 10 + len(self.updates), **update})

    async def _call(self, request: Request) -> JSONResponse:
        is_json = "json" in request.headers.get("content-type", "")
        form = await request.json() if is_json else dict(await request.form())
        result = await getattr(self, request.path_params["method"], self._fine)(form)
        return JSONResponse({"ok": True, "result": result})

    async def _fine(self, form: dict) -> object:
        return True

    async def getMe(self, form: dict) -> object:  # noqa: N802 - the API's name
        return CAT | {"can_join_groups": True}

    async def getUpdates(self, form: dict) -> object:  # noqa: N802
        for _ in range(25):
            if new := [
                one for one in self.updates if one["update_id"] >= int(form.get("offset", 0))
            ]:
                return new
            await asyncio.sleep(0.02)
        return []

    async def sendMessage(self, form: dict) -> object:  # noqa: N802
        given = form["reply_parameters"]
        answers = (json.loads(given) if isinstance(given, str) else given)["message_id"]
        messages = [one["message"] for one in self.updates if "message" in one]
        [original, *_] = [
            one
            for one in messages
            if (one["message_id"], str(one["chat"]["id"])) == (answers, str(form["chat_id"]))
        ]
        self.sent.append(form)
        return {
            "message_id": 500 + len(self.sent),
            "date": BEGAN_S + 60,
            "chat": original["chat"],
            "from": CAT,
            "text": form["text"],
            "reply_to_message": original,
        }


def message(number: int, sender: dict, text: str = "", **more: object) -> dict:
    content = {"text": text} if text else {}
    when = {"message_id": number, "date": BEGAN_S + number, "chat": GROUP, "from": sender}
    return when | content | more


@pytest.mark.proof
async def test_python_telegram_bot(tmp_path):
    def source(address):
        at = f'Application.builder().base_url("http://{address}/bot")'
        return example("python-telegram-bot").replace("Application.builder()", at)

    await play(source, [python_with("telegram")], tmp_path)


@pytest.mark.proof
async def test_grammy(tmp_path):
    def source(address):
        at = f'TELEGRAM_TOKEN, {{ client: {{ apiRoot: "http://{address}" }} }}'
        return example("grammY", "js").replace("TELEGRAM_TOKEN", at)

    await play(source, [node_with("grammy")], tmp_path)


@pytest.mark.proof
async def test_grammy_when_the_server_calls_the_model(tmp_path):
    """A tool is called in the bot, and the stored answer gets the id that Telegram gave it."""
    node, platform = node_with("grammy"), Telegram()
    call = ToolCall("c1", "menu", '{"day":"friday"}')
    at = 'TELEGRAM_TOKEN, {{ client: {{ apiRoot: "http://{}" }} }}'
    with serve(replies=[call, "Fish, says the menu."]) as server:
        async with web(platform.app) as address, AsyncClient(server.address) as client:
            environment = {"SERVER": server.address, "TELEGRAM_TOKEN": "900:AA"}
            stage = Stage(client, Model(), environment)
            source = example("Node, when the server calls the model", "js")
            source = source.replace("TELEGRAM_TOKEN", at.format(address))
            async with program(stage, source, [node], tmp_path):
                mention = [{"type": "mention", "offset": 0, "length": 7}]
                platform.deliver(
                    message=message(1, ANN, "@catbot what is there?", entities=mention)
                )
                lines = await stage.until(CHANNEL, lambda lines: "aliases" in (lines or [{}])[-1])
    shown = [(one["author"], one["text"], one.get("aliases", [])) for one in lines if "text" in one]
    assert shown == [("1", "@catbot what is there?", []), ("900", "Fish, says the menu.", ["501"])]
    assert [one["text"] for one in platform.sent] == ["Fish, says the menu."]
    _, after_the_tool, *_ = server.calls_of("model")
    assert "fish on friday" in str(after_the_tool)


async def play(source_at, command, tmp_path):
    """One message in and one reply out, an edit, something delivered again, another chat."""
    platform = Telegram()
    async with staged() as stage, web(platform.app) as address:
        stage.environment["TELEGRAM_TOKEN"] = "900:AA"
        async with program(stage, source_at(address), command, tmp_path):
            first = message(1, BEN, "the cat eats at nine, @ann_l")
            platform.deliver(message=message(0, ANN, "hello"))
            platform.deliver(message=first)
            question = message(
                2,
                ANN,
                "@CatBot when is dinner?",
                entities=[{"type": "mention", "offset": 0, "length": 7}],
                reply_to_message=first,
            )
            platform.deliver(message=question)
            await stage.until_stored(CHANNEL, "501")
            platform.deliver(message=question)  # again, as after a webhook that timed out
            platform.deliver(
                edited_message=first | {"text": "at ten for @ann_l", "edit_date": BEGAN_S + 99}
            )
            picture = {"file_id": "f1", "file_unique_id": "q1", "width": 9, "height": 9}
            platform.deliver(message=message(3, BEN, caption="look", photo=[picture]))
            private = message(1, BEN, "hello cat", chat=BEN | {"type": "private"})
            platform.deliver(message=private)
            await stage.until_stored("telegram:900:2", "502")
            lines = await stage.until_stored(CHANNEL, "3")
    assert lines == [
        {
            "id": "0",
            "author": "1",
            "name": "Ann Lee",
            "text": "hello",
            "sent_at_ms": BEGAN_S * 1000,
        },
        {
            "id": "1",
            "author": "2",
            "name": "Ben",
            "text": "at ten for @ann_l",
            "mentions": ["1"],
            "sent_at_ms": BEGAN_S * 1000 + 1000,
            "revision": 1,
        },
        {
            "id": "2",
            "author": "1",
            "name": "Ann Lee",
            "text": "@CatBot when is dinner?",
            "sent_at_ms": BEGAN_S * 1000 + 2000,
            "reply_to": "1",
            "reply_kind": "quote",
            "mentions": ["900"],
        },
        {
            "id": "501",
            "author": "900",
            "name": "Cat",
            "text": "At nine.",
            "sent_at_ms": BEGAN_S * 1000 + 60_000,
            "reply_to": "2",
            "reply_kind": "quote",
            "is_own": True,
        },
        {
            "id": "3",
            "author": "2",
            "name": "Ben",
            "text": "look",
            "media": [{"kind": "image", "uri": "telegram:f1"}],
            "sent_at_ms": BEGAN_S * 1000 + 3000,
        },
    ]
    assert [one["text"] for one in platform.sent] == ["At nine.", "At nine."]
    [[system, *asked], _] = stage.model.asked
    assert system["content"] == "You are Cat, a house cat."
    assert [one["content"] for one in asked] == [
        "Ann Lee <1>: hello",
        "Ben <2>: the cat eats at nine, @ann_l",
        "Ann Lee <1>: @CatBot when is dinner?",
    ]
