"""lark-oapi against a fake of Lark's long connection (frames on a websocket) and of its API."""

import asyncio
import json

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.adapters.kit import example, program, python_with, staged, web
from tests.kit.patience import patience

CHANNEL, BEGAN_MS = "lark:cli_1:oc_1", 1_795_132_800_000
CAT = {"key": "@_user_1", "id": {"open_id": "ou_cat"}, "name": "Cat", "tenant_key": "t"}


def frames():
    """The message that frames of the long connection are, and its header."""
    file = descriptor_pb2.FileDescriptorProto(name="lark_frames.proto", package="lark_test")
    header, frame = file.message_type.add(name="Header"), file.message_type.add(name="Frame")
    for number, name in enumerate(("key", "value"), 1):
        header.field.add(name=name, number=number, type="TYPE_STRING", label="LABEL_REQUIRED")
    for number, name in enumerate(("SeqID", "LogID"), 1):
        frame.field.add(name=name, number=number, type="TYPE_UINT64", label="LABEL_REQUIRED")
    for number, name in enumerate(("service", "method"), 3):
        frame.field.add(name=name, number=number, type="TYPE_INT32", label="LABEL_REQUIRED")
    frame.field.add(
        name="headers",
        number=5,
        type="TYPE_MESSAGE",
        type_name=".lark_test.Header",
        label="LABEL_REPEATED",
    )
    frame.field.add(name="payload", number=8, type="TYPE_BYTES", label="LABEL_OPTIONAL")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("lark_test.Frame"))


class Lark:
    """The long connection, and the API that the bot replies by."""

    def __init__(self) -> None:
        self.frame = frames()
        self.address = ""
        self.sent: list[dict] = []
        self.answered: list[dict] = []
        self.connected: asyncio.Future[WebSocket] = asyncio.get_running_loop().create_future()
        auth = "/open-apis/auth/v3/tenant_access_token/internal"
        self.app = Starlette(
            routes=[
                Route("/callback/ws/endpoint", self._endpoint, methods=["POST"]),
                Route(auth, self._token, methods=["POST"]),
                Route("/open-apis/im/v1/messages/{id}/reply", self._reply, methods=["POST"]),
                WebSocketRoute("/ws", self._serve),
            ]
        )

    async def _endpoint(self, request: Request) -> JSONResponse:
        url = f"ws://{self.address}/ws?device_id=d1&service_id=1"
        config = {"PingInterval": 120, "ReconnectCount": 0}
        return JSONResponse({"code": 0, "data": {"URL": url, "ClientConfig": config}})

    async def _token(self, request: Request) -> JSONResponse:
        return JSONResponse({"code": 0, "tenant_access_token": "t", "expire": 7200})

    async def _reply(self, request: Request) -> JSONResponse:
        given, answered = await request.json(), request.path_params["id"]
        self.sent.append(given | {"to": answered})
        data = {
            "message_id": f"om_cat{len(self.sent)}",
            "root_id": answered,
            "parent_id": answered,
            "msg_type": given["msg_type"],
            "create_time": str(BEGAN_MS + 60_000),
            "chat_id": "oc_2" if answered == "om_9" else "oc_1",
            "sender": {"id": "cli_1", "id_type": "app_id", "sender_type": "app"},
            "body": {"content": given["content"]},
        }
        return JSONResponse({"code": 0, "msg": "success", "data": data})

    async def _serve(self, socket: WebSocket) -> None:
        await socket.accept()
        self.connected.set_result(socket)
        try:
            while True:
                answer = self.frame.FromString(await socket.receive_bytes())
                if answer.method == 1:
                    self.answered.append(json.loads(answer.payload))
        except WebSocketDisconnect:
            pass

    async def deliver(self, kind: str, event: dict) -> None:
        header = {"event_id": "e1", "event_type": kind, "create_time": "1", "app_id": "cli_1"}
        payload = json.dumps({"schema": "2.0", "header": header, "event": event})
        frame = self.frame(SeqID=1, LogID=1, service=1, method=1, payload=payload.encode())
        about = {"type": "event", "message_id": "1", "trace_id": "1", "sum": "1", "seq": "0"}
        for key, value in about.items():
            frame.headers.add(key=key, value=value)
        async with patience():
            await (await self.connected).send_bytes(frame.SerializeToString())

    async def message(self, number: int, user: str, text: str, **more: object) -> None:
        message = {
            "message_id": f"om_{number}",
            "chat_id": "oc_1",
            "chat_type": "group",
            "message_type": "text",
            "create_time": str(BEGAN_MS + number),
            "content": json.dumps({"text": text}),
        }
        sender = {"sender_id": {"open_id": user}, "sender_type": "user", "tenant_key": "t"}
        await self.deliver("im.message.receive_v1", {"sender": sender, "message": message | more})


@pytest.mark.proof
async def test_the_program_of_the_guide(tmp_path):
    source, python, platform = example("lark-oapi"), python_with("lark_oapi"), Lark()
    async with staged() as stage, web(platform.app) as platform.address:
        domain = f'"http://{platform.address}"'
        source = source.replace(".builder().app_id(", f".builder().domain({domain}).app_id(")
        source = source.replace("event_handler=", f"domain={domain}, event_handler=")
        stage.environment |= {"LARK_APP": "cli_1", "LARK_SECRET": "s", "LARK_BOT": "ou_cat"}
        async with program(stage, source, [python], tmp_path):
            await platform.message(1, "ou_ben", "the cat eats at nine")
            question = {"mentions": [CAT], "parent_id": "om_1", "root_id": "om_1"}
            await platform.message(2, "ou_ann", "@_user_1 when is dinner?", **question)
            await stage.until_stored(CHANNEL, "om_cat1")
            await platform.message(2, "ou_ann", "@_user_1 when is dinner?", **question)
            await platform.message(3, "ou_ben", "oh", thread_id="omt_1")
            await stage.until_stored(CHANNEL, "om_3")
            await platform.deliver(
                "im.message.recalled_v1", {"message_id": "om_3", "chat_id": "oc_1"}
            )
            await platform.message(9, "ou_ben", "hello cat", chat_id="oc_2", chat_type="p2p")
            await stage.until_stored("lark:cli_1:oc_2", "om_cat2")
            lines = await stage.until(CHANNEL, lambda lines: "recalled" in lines[-1])
    assert lines == [
        {"id": "om_1", "author": "ou_ben", "text": "the cat eats at nine", "sent_at_ms": BEGAN_MS + 1},
        {
            "id": "om_2",
            "author": "ou_ann",
            "text": "@Cat when is dinner?",
            "sent_at_ms": BEGAN_MS + 2,
            "reply_to": "om_1",
            "reply_kind": "quote",
            "mentions": ["ou_cat"],
        },
        {
            "id": "om_cat1",
            "author": "ou_cat",
            "text": "At nine.",
            "sent_at_ms": BEGAN_MS + 60_000,
            "reply_to": "om_2",
            "reply_kind": "quote",
            "is_own": True,
        },
        {
            "id": "om_3",
            "author": "ou_ben",
            "sent_at_ms": BEGAN_MS + 3,
            "thread": "omt_1",
            "recalled": True,
        },
    ]  # fmt: skip
    assert [one["to"] for one in platform.sent] == ["om_2", "om_9"]
    assert {one["code"] for one in platform.answered} == {200}
    [[_, *asked], _] = stage.model.asked
    assert [one["content"] for one in asked] == [
        "<ou_ben>: the cat eats at nine",
        "<ou_ann>: @Cat when is dinner?",
    ]
