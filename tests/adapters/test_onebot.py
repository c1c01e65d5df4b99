"""nonebot2 and Koishi against a fake OneBot v11: a websocket on which events come and actions go."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.adapters.kit import example, node_with, program, python_with, staged, web
from tests.kit.patience import patience

BEGAN_S = 1_795_132_800


class OneBot:
    """The program that holds the account."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.connected: asyncio.Future[WebSocket] = asyncio.get_running_loop().create_future()
        self.app = Starlette(routes=[WebSocketRoute("/", self._serve)])

    async def _serve(self, socket: WebSocket) -> None:
        await socket.accept()
        self.connected.set_result(socket)
        try:
            while True:
                action = await socket.receive_json()
                data = getattr(self, action["action"], dict)(**action["params"])
                answer = {"status": "ok", "retcode": 0, "data": data, "echo": action["echo"]}
                await socket.send_json(answer)
        except WebSocketDisconnect:
            pass

    def send_msg(self, **given: object) -> dict:
        self.sent.append(given)
        return {"message_id": -100 - len(self.sent)}

    def send_group_msg(self, **given: object) -> dict:
        return self.send_msg(message_type="group", **given)

    def send_private_msg(self, **given: object) -> dict:
        return self.send_msg(message_type="private", **given)

    def get_login_info(self) -> dict:
        return {"user_id": 900, "nickname": "Cat"}

    def get_msg(self, message_id: int | str) -> dict:
        message_id = int(message_id)
        known = message_id > -100
        sender = {"user_id": 2, "nickname": "Ben"} if known else {"user_id": 900, "nickname": "Cat"}
        return {
            "time": BEGAN_S + 60,
            "message_type": "group",
            "group_id": 5,
            "message_id": message_id,
            "real_id": 1,
            "sender": sender,
            "message": [] if known else self.sent[-message_id - 101]["message"],
        }

    async def deliver(self, **told: object) -> None:
        about = {"self_id": 900, "time": BEGAN_S}
        async with patience():
            await (await self.connected).send_json(about | told)

    async def message(self, number: int, user: int, *segments: dict, **more: object) -> None:
        await self.deliver(
            **{
                "post_type": "message",
                "message_type": "group",
                "sub_type": "normal",
                "time": BEGAN_S + number,
                "message_id": -number,
                "user_id": user,
                "message": list(segments),
                "raw_message": "",
                "font": 0,
                "sender": {"user_id": user, "nickname": "ann" if user == 1 else "Ben"},
                "group_id": 5,
            }
            | more
        )


def segment(kind: str, **data: str) -> dict:
    return {"type": kind, "data": data}


@pytest.mark.proof
async def test_nonebot(tmp_path):
    platform = OneBot()
    async with staged() as stage, web(platform.app) as address:
        stage.environment |= {"DRIVER": "~websockets", "ONEBOT_WS_URLS": f'["ws://{address}/"]'}
        command = [python_with("nonebot")]
        async with program(stage, example("nonebot2"), command, tmp_path):
            await play(
                stage,
                platform,
                "onebot:900:group:5",
                "onebot:900:private:2",
                "[CQ:at,qq=900]",
            )


KOISHI = """
import { createRequire } from "node:module";
import * as cat from "./cat.mjs";

const require = createRequire(import.meta.url);
const { App } = require("koishi");
const app = new App();
app.plugin(require("@koishijs/plugin-http").default);
const { default: OneBot } = require("koishi-plugin-adapter-onebot");
app.plugin(OneBot, { protocol: "ws", endpoint: "ws://ADDRESS/", selfId: "900" });
app.plugin(cat);
await app.start();
"""


@pytest.mark.proof
async def test_koishi(tmp_path):
    platform = OneBot()
    async with staged() as stage, web(platform.app) as address:
        plugin = example("Koishi", "js").replace("127.0.0.1:7171", stage.environment["SERVER"])
        (tmp_path / "cat.mjs").write_text(plugin, "utf-8")
        source = KOISHI.replace("ADDRESS", address)
        async with program(stage, source, [node_with("koishi")], tmp_path):
            await play(
                stage, platform, "koishi:onebot:900:5", "koishi:onebot:900:private:2", "<@900>"
            )


async def play(stage, platform, channel, private_channel, mark):
    """One message in and one reply out, a deletion, something delivered again, another chat."""
    await platform.deliver(post_type="meta_event", meta_event_type="lifecycle", sub_type="connect")
    await platform.message(1, 2, segment("text", text="the cat eats at nine"))
    await stage.until_stored(channel, "-1")
    question = (
        segment("reply", id="-1"),
        segment("at", qq="900"),
        segment("text", text=" when is dinner?"),
    )
    card = {"sender": {"user_id": 1, "nickname": "ann", "card": "Ann"}}
    await platform.message(2, 1, *question, **card)
    await stage.until_stored(channel, "-101")
    await platform.message(2, 1, *question, **card)
    await platform.message(3, 2, segment("image", file="a.jpg", url="https://i.example/a"))
    await stage.until_stored(channel, "-3")
    notice = {"post_type": "notice", "group_id": 5, "user_id": 2, "operator_id": 2}
    await platform.deliver(notice_type="group_recall", message_id=-3, **notice)
    private = {"message_type": "private", "sub_type": "friend", "group_id": None}
    await platform.message(4, 2, segment("text", text="hello cat"), **private)
    await stage.until_stored(private_channel, "-102")
    lines = await stage.until(channel, lambda lines: "recalled" in lines[-1])
    if mark == "<@900>":  # Koishi is given nothing but an id of what was sent
        assert lines[2]["sent_at_ms"] > BEGAN_S * 1000 + 60_000
        lines[2]["sent_at_ms"] = BEGAN_S * 1000 + 60_000
    assert lines == [
        {
            "id": "-1",
            "author": "2",
            "name": "Ben",
            "text": "the cat eats at nine",
            "sent_at_ms": BEGAN_S * 1000 + 1000,
        },
        {
            "id": "-2",
            "author": "1",
            "name": "Ann",
            "text": f"{mark} when is dinner?",
            "sent_at_ms": BEGAN_S * 1000 + 2000,
            "reply_to": "-1",
            "reply_kind": "quote",
            "mentions": ["900"],
        },
        {
            "id": "-101",
            "author": "900",
            "name": "Cat",
            "text": "At nine.",
            "sent_at_ms": BEGAN_S * 1000 + 60_000,
            "reply_to": "-2",
            "reply_kind": "quote",
            "is_own": True,
        },
        {
            "id": "-3",
            "author": "2",
            "name": "Ben",
            "sent_at_ms": BEGAN_S * 1000 + 3000,
            "recalled": True,
        },
    ]
    assert [one["message_type"] for one in platform.sent] == ["group", "private"]
    [[_, *asked], _] = stage.model.asked
    assert asked[-1]["content"] == "Ann <1>: @Cat when is dinner?"
