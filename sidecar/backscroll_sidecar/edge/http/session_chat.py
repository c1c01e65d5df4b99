"""``POST /api/chat`` and ``POST /chat/sse``: one message said in a session, its answers at once or as they come.

Both are a round of SessionService, told in the words of the design documents.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import orjson
from google.protobuf import json_format
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from backscroll.v1 import message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.edge.http.calls import Calls, HttpCaller
from backscroll_sidecar.edge.http.errors import connect_error
from backscroll_sidecar.edge.http.json_messages import json_object
from backscroll_sidecar.edge.http.requests import Streamed, content_type, while_connected
from backscroll_sidecar.edge.status import Code, Refused, refusal_for
from backscroll_sidecar.errors import InvalidRequest, Reason

ROUND = "backscroll.v1.SessionService/StartRound"
JSON, EVENTS = "application/json", "text/event-stream"
SPEAKER = "user"
"""Who says a message that nobody is named for."""
_TEXTS = {
    "thread_id",
    "thread_slug",
    "project_id",
    "mode",
    "request_id",
    "message_id",
    "user_id",
    "user_name",
}
_FIELDS = {*_TEXTS, "message", "role_config", "participants"}
_ROLES = {message_pb2.ROLE_ASSISTANT: "assistant", message_pb2.ROLE_SYSTEM: "system"}


def session_routes(calls: Calls) -> list[Route]:
    """Both."""

    async def whole(request: Request) -> Response:
        caller, asked = await _asked(calls, request)
        async with (
            while_connected(request.receive),
            aclosing(calls.stream(ROUND, asked, caller)) as events,
        ):
            said = [one async for one in _told(events)]
        answer = {name: value for one in said for name, value in one.items() if name in _WHOLE}
        return Response(orjson.dumps(answer), media_type=JSON)

    async def streamed(request: Request) -> Response:
        caller, asked = await _asked(calls, request)
        return Streamed(_events(calls.stream(ROUND, asked, caller)), EVENTS)

    return [
        Route("/api/chat", whole, methods=["POST"]),
        Route("/chat/sse", streamed, methods=["POST"]),
    ]


_WHOLE = ("thread_id", "mode", "user_message", "responses", "failed_ids", "reason", "mode_state")


async def _asked(calls: Calls, request: Request) -> tuple[HttpCaller, pb.StartRoundRequest]:
    """Who asks, and the round. Raises `Refused`."""
    if content_type(request) != JSON:
        raise Refused(Code.INVALID_ARGUMENT, "send content-type: application/json")
    caller = HttpCaller.of(request.headers.raw)
    if not calls.knows(caller):
        return caller, pb.StartRoundRequest()
    return caller, round_of(json_object(await calls.bodies.read(request)))


def round_of(body: Mapping[str, Any]) -> pb.StartRoundRequest:
    """The round that a request of the designs asks for. Raises `Refused`."""
    for name in body:
        if name not in _FIELDS:
            raise _wrong(name, "is no field of this request")
    texts = {name: _text(body, name) for name in (*_TEXTS, "message")}
    if not texts["message"].strip():
        raise _wrong("message", "is missing", Reason.MISSING_FIELD)
    role_config = body.get("role_config")
    if not isinstance(role_config, dict | None):
        raise _wrong("role_config", "is no object")
    made = pb.StartRoundRequest(
        request_id=texts["request_id"],
        session=pb.SessionRef(
            session_id=texts["thread_id"],
            space=texts["thread_slug"],
            project_id=texts["project_id"],
        ),
        message=message_pb2.Message(
            id=texts["message_id"],
            author=message_pb2.Author(id=texts["user_id"] or SPEAKER, name=texts["user_name"]),
            parts=[message_pb2.Part(text=message_pb2.TextPart(text=texts["message"]))],
        ),
        mode=texts["mode"],
        role_config_json=orjson.dumps(role_config).decode() if role_config else "",
    )
    try:
        json_format.ParseDict({"participants": body.get("participants") or []}, made)
    except json_format.ParseError as error:
        raise _wrong("participants", str(error).splitlines()[0]) from None
    return made


async def _events(events: AsyncGenerator[Any]) -> AsyncGenerator[bytes]:
    """Server-sent events: a word for what happened, and what belongs to it."""
    try:
        async with aclosing(events):
            async for one in _told(events):
                word = one.pop("event")
                yield f"event: {word}\ndata: ".encode() + orjson.dumps(one) + b"\n\n"
    except Refused as refused:
        yield b"event: error\ndata: " + orjson.dumps(connect_error(refused)) + b"\n\n"


async def _told(events: AsyncGenerator[Any]) -> AsyncGenerator[dict[str, Any]]:
    """A round's events as these two tell them; what they have no word for is left out."""
    async for said in events:
        event = said.event
        match event.WhichOneof("event"):
            case "round_started":
                started = event.round_started
                yield {
                    "event": "started",
                    "thread_id": started.session.session_id,
                    "mode": started.session.mode,
                    "user_message": _message(started.user_message),
                }
            case "target_started":
                target = event.target_started.target
                yield {"event": "speaker", "id": event.target_id, "name": target.name}
            case "delta":
                delta = {"event": "delta", "id": event.target_id, "content": event.delta.text}
                yield {**delta, "whole": True} if event.delta.whole else delta
            case "target_ended" if event.target_ended.HasField("message"):
                yield {
                    "event": "message",
                    "id": event.target_id,
                    "message": _message(event.target_ended.message),
                }
            case "target_ended" if event.target_ended.HasField("error"):
                yield {
                    "event": "failed",
                    "id": event.target_id,
                    "error": event.target_ended.error.message,
                }
            case "state_changed":
                yield {
                    "event": "state",
                    "mode_state": orjson.loads(event.state_changed.mode_state_json),
                }
            case "round_ended":
                ended = event.round_ended
                reason = pb.RoundEndReason.Name(ended.reason).removeprefix("ROUND_END_REASON_")
                yield {
                    "event": "end",
                    "responses": list(map(_message, ended.responses)),
                    "failed_ids": list(ended.failed_ids),
                    "reason": reason.lower(),
                }
            case _:
                pass


def _message(message: message_pb2.Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": _ROLES.get(message.role, "user"),
        "author": {"id": message.author.id, "name": message.author.name},
        "content": "\n".join(part.text.text for part in message.parts if part.HasField("text")),
        "sent_at_ms": message.sent_at_ms,
        "thread_id": message.session_id,
    }


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _wrong(name, "is no text")
    return value


def _wrong(field: str, said: str, reason: Reason = Reason.INVALID_FIELD) -> Refused:
    return refusal_for(InvalidRequest(f"{field} {said}", field=field, reason=reason))
