"""Every call of the contract as JSON over HTTP: ``POST /backscroll.v1.HistoryService/AppendMessages``.

This is the Connect protocol, so that its clients work; a plain `curl` does as well. Streams come in Connect's
envelopes to who asks in them, and to others as server-sent events.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from backscroll_sidecar.edge.http.calls import Calls, HttpCaller, Kind
from backscroll_sidecar.edge.http.errors import STATUSES, connect_error, headers_of
from backscroll_sidecar.edge.http.json_messages import json_of, parse_json
from backscroll_sidecar.edge.http.requests import (
    Streamed,
    content_type,
    while_connected,
)
from backscroll_sidecar.edge.status import Code, Refused, refusal_for
from backscroll_sidecar.errors import InvalidRequest, Reason

JSON, EVENTS = "application/json", "text/event-stream"
UNARY = {JSON: False, "application/proto": True}
ENVELOPED = {"application/connect+json": False, "application/connect+proto": True}
"""Media types, and whether their messages are protobuf's own bytes."""
_HEAD = struct.Struct(">BI")
_LAST = 2
"""Connect's flag of the envelope that ends a stream."""


def json_routes(calls: Calls, is_serving: Callable[[], bool]) -> list[Route]:
    """All calls, BuildContext by a name of its own, and health."""

    async def build(request: Request) -> Response:
        return await _answer(calls, "backscroll.v1.ContextService/BuildContext", request)

    async def call(request: Request) -> Response:
        name = "backscroll.v1.{service}/{method}".format_map(request.path_params)
        return await _answer(calls, name, request)

    async def health(_: Request) -> Response:
        serving = is_serving()
        said = {"status": "SERVING" if serving else "NOT_SERVING"}
        return Response(orjson.dumps(said), 200 if serving else 503, media_type=JSON)

    return [
        Route("/healthz", health, methods=["GET"]),
        Route("/v1/context", build, methods=["POST"]),
        Route("/backscroll.v1.{service}/{method}", call, methods=["POST"]),
    ]


async def _answer(calls: Calls, name: str, request: Request) -> Response:
    kind = calls.kinds.get(name)
    if kind is None:
        raise Refused(Code.UNIMPLEMENTED, "there is no such call")
    caller = HttpCaller.of(request.headers.raw)
    media_type = content_type(request)
    if media_type in ENVELOPED:
        return await _enveloped(calls, kind, request, caller, binary=ENVELOPED[media_type])
    if media_type not in UNARY:
        return _unsupported()
    if kind.endpoint.client_streaming:
        raise Refused(
            Code.UNIMPLEMENTED, "this call takes a stream: content-type: application/connect+json"
        )
    binary = UNARY[media_type]
    body = await _read(calls, kind, request, calls.knows(caller), binary=binary)
    if kind.endpoint.server_streaming:
        return Streamed(_events(calls.answers(kind.endpoint, body, caller), kind), EVENTS)
    async with while_connected(request.receive):
        answer = await calls.answer(kind.endpoint, body, caller)
        told = answer if binary else await json_of(kind.response.FromString(answer))
    return Response(told, media_type=media_type)


async def _read(
    calls: Calls, kind: Kind, request: Request, is_known: bool, *, binary: bool
) -> bytes:
    """The request's bytes; of who has no credential nothing is read, and the pipeline refuses them."""
    if not is_known:
        return b""
    body = await calls.bodies.read(request)
    if binary:
        return body
    return (await parse_json(kind.request, body)).SerializeToString()


async def _events(answers: AsyncGenerator[bytes], kind: Kind) -> AsyncGenerator[bytes]:
    """One server-sent event an answer; a refusal is an event `error`."""
    try:
        async with aclosing(answers):
            async for one in answers:
                told = await json_of(kind.response.FromString(one))
                yield b"data: " + told + b"\n\n"
    except Refused as refused:
        yield b"event: error\ndata: " + orjson.dumps(connect_error(refused)) + b"\n\n"


# --- Connect's envelopes ---------------------------------------------------------------------------


async def _enveloped(
    calls: Calls, kind: Kind, request: Request, caller: HttpCaller, *, binary: bool
) -> Response:
    """A stream to or from who speaks Connect. The requests are read whole, then answered."""
    given: list[bytes] = []
    if calls.knows(caller):
        for one in _messages(await calls.bodies.read(request)):
            made = one if binary else (await parse_json(kind.request, one)).SerializeToString()
            given.append(made)
    answers = _all_answers(calls, kind, given, caller)
    media_type = "application/connect+proto" if binary else "application/connect+json"
    return Streamed(_envelopes(answers, kind, binary=binary), media_type)


async def _all_answers(
    calls: Calls, kind: Kind, given: list[bytes], caller: HttpCaller
) -> AsyncGenerator[bytes]:
    """The answers of a call of any shape."""
    if not kind.endpoint.client_streaming and len(given) > 1:
        raise refusal_for(
            InvalidRequest("the call takes one message", reason=Reason.MALFORMED_REQUEST)
        )
    sent: Any = _each(given) if kind.endpoint.client_streaming else b"".join(given)
    if not kind.endpoint.server_streaming:
        yield await calls.answer(kind.endpoint, sent, caller)
        return
    async with aclosing(calls.answers(kind.endpoint, sent, caller)) as answers:
        async for one in answers:
            yield one


async def _envelopes(
    answers: AsyncGenerator[bytes], kind: Kind, *, binary: bool
) -> AsyncGenerator[bytes]:
    end: dict[str, Any] = {}
    try:
        async with aclosing(answers):
            async for one in answers:
                told = one if binary else await json_of(kind.response.FromString(one))
                yield _HEAD.pack(0, len(told)) + told
    except Refused as refused:
        end = {"error": connect_error(refused)}
    last = orjson.dumps(end)
    yield _HEAD.pack(_LAST, len(last)) + last


def _messages(body: bytes) -> list[bytes]:
    """What the envelopes of a body hold. Raises `Refused`."""
    found: list[bytes] = []
    at = 0
    while at < len(body):
        flags, size = _HEAD.unpack_from(body, at) if at + _HEAD.size <= len(body) else (0, -1)
        begin = at + _HEAD.size
        if size < 0 or flags or begin + size > len(body):
            raise refusal_for(
                InvalidRequest(
                    "the body is no sequence of envelopes, uncompressed and whole",
                    reason=Reason.MALFORMED_REQUEST,
                )
            )
        found.append(body[begin : begin + size])
        at = begin + size
    return found


async def _each(given: list[bytes]) -> AsyncIterator[bytes]:
    for one in given:
        yield one


# --- errors ----------------------------------------------------------------------------------------


def refusal_response(refused: Refused) -> Response:
    """A refusal as Connect's unary protocol tells it."""
    body = orjson.dumps(connect_error(refused))
    return Response(body, STATUSES[refused.code], headers_of(refused), media_type=JSON)


def _unsupported() -> Response:
    """Also what keeps pages of browsers away: they may post nothing but JSON, and that they may not without leave."""
    headers = {"accept-post": ", ".join((*UNARY, *ENVELOPED))}
    refused = Refused(Code.UNKNOWN, "send content-type: application/json")
    return Response(orjson.dumps(connect_error(refused)), 415, headers, media_type=JSON)
