"""``/v1/chat/completions`` and ``/v1/models``: OpenAI's API over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from backscroll_sidecar.edge.call_pipeline import Endpoint
from backscroll_sidecar.edge.http.addressing import tells_address
from backscroll_sidecar.edge.http.calls import Calls, HttpCaller
from backscroll_sidecar.edge.http.completions import Posted
from backscroll_sidecar.edge.http.errors import headers_of
from backscroll_sidecar.edge.http.openai_errors import error_body, refused_body
from backscroll_sidecar.edge.http.passing import EVENTS
from backscroll_sidecar.edge.http.requests import (
    BrokenOff,
    Streamed,
    content_type,
    while_connected,
)
from backscroll_sidecar.edge.limits import MIB
from backscroll_sidecar.edge.status import Refused, refusal_for
from backscroll_sidecar.errors import InvalidRequest

JSON = "application/json"
MAX_BODY_BYTES = 64 * MIB
"""Of a request, whose pictures are in it."""


def openai_routes(calls: Calls, complete: Endpoint, models: Endpoint) -> list[Route]:
    """The routes; those of OpenAI's API that there are not are told as it would."""

    async def completions(request: Request) -> Response:
        if content_type(request) != JSON:
            text, kind = "send content-type: application/json", "invalid_request_error"
            said = error_body(text, "content_type", kind=kind)
            return Response(said, 415, media_type=JSON)
        return await _answer(calls, complete, request, MAX_BODY_BYTES)

    async def listed(request: Request) -> Response:
        return await _answer(calls, models, request, 0)

    async def unknown(request: Request) -> Response:
        said = f"{request.method} {request.url.path} is not passed on: only chat/completions and models are"
        return Response(error_body(said, "not_found", kind="not_found_error"), 404, media_type=JSON)

    return [
        Route("/v1/chat/completions", completions, methods=["POST"]),
        Route("/v1/models", listed, methods=["GET"]),
        Route("/v1/{path:path}", unknown, methods=["GET", "POST", "DELETE"]),
    ]


async def _answer(calls: Calls, endpoint: Endpoint, request: Request, most: int) -> Response:
    try:
        caller = HttpCaller.of(request.headers.raw)
        body = await calls.bodies.read(request, most) if most and calls.knows(caller) else b""
        answers = calls.answers(endpoint, Posted.of(body, _headers(caller)), caller)
        async with while_connected(request.receive):
            head = orjson.loads(await anext(answers))
    except Refused as refused:
        status, said = refused_body(refused)
        return Response(said, status, headers_of(refused), media_type=JSON)
    told = {**head["headers"], **_INERT}
    media_type = told.pop("content-type", JSON)
    pieces = _broken_off(answers, has_events=media_type.lower().startswith(EVENTS))
    return Streamed(pieces, media_type, told, head["status"])


_INERT = {"content-security-policy": "sandbox", "x-content-type-options": "nosniff"}
"""What a vendor says is no page of ours, also where a browser was sent to it."""


def _headers(caller: HttpCaller) -> dict[str, str]:
    """The request's headers. Raises `Refused` where one is there twice that tells a conversation or who asks."""
    found: dict[str, str] = {}
    for name, value in caller.metadata:
        if name in found and tells_address(name):
            raise refusal_for(InvalidRequest("is there twice", field=name))
        found.setdefault(name, str(value))
    return found


async def _broken_off(answers: AsyncGenerator[bytes], *, has_events: bool) -> AsyncGenerator[bytes]:
    """The pieces; where our own part fails behind them, an event says so, or the connection breaks."""
    try:
        async for piece in answers:
            yield piece
    except Refused as refused:
        if not has_events:
            raise BrokenOff from None
        yield b"\n\ndata: " + refused_body(refused)[1] + b"\n\n"
    finally:
        await answers.aclose()
