"""The application over HTTP: routes of rooms, and what holds for all of them."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Sequence

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from backscroll_sidecar.edge.http.json_calls import refusal_response
from backscroll_sidecar.edge.http.requests import GONE, CallerLeft
from backscroll_sidecar.edge.status import Code, Refused, internal_refusal

log = structlog.get_logger("backscroll.http")


def http_app(routes: Sequence[BaseRoute], *, needs_token: bool) -> Starlette:
    """Answer these routes, the first that fits first.

    `needs_token`: callers prove who they are, so that whose page sends a browser here does not matter.
    """
    return Starlette(
        routes=routes,
        middleware=[] if needs_token else [Middleware(OwnHosts)],
        exception_handlers={
            Refused: _refused,
            CallerLeft: _left,
            HTTPException: _of_http,
            Exception: _failed,
        },
    )


class OwnHosts:
    """Turns away requests whose host is not this machine, where nobody needs a token.

    A page may make its name point here (DNS rebinding); then a browser lets it read what we answer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_own(scope):
            text = "without tokens, requests are taken for localhost and 127.0.0.1 alone: set tokens_file"
            refused = refusal_response(Refused(Code.PERMISSION_DENIED, text))
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_own(scope: Scope) -> bool:
    server = scope.get("server")
    if server is None or server[1] is None:  # a unix socket, which no page reaches
        return True
    named = next((value for name, value in scope["headers"] if name == b"host"), b"").decode(
        "latin-1"
    )
    host = named.rpartition(":")[0] if named.rpartition(":")[2].isdigit() else named
    host = host.removeprefix("[").removesuffix("]").lower()
    if host in {"", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _refused(_: Request, refused: Exception) -> Response:
    if not isinstance(refused, Refused):
        raise refused
    return refusal_response(refused)


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=GONE)


async def _of_http(_: Request, error: Exception) -> Response:
    """No such page, or not by this method."""
    if not isinstance(error, HTTPException):
        raise error
    code = Code.NOT_FOUND if error.status_code == 404 else Code.UNIMPLEMENTED
    answer = refusal_response(Refused(code, error.detail))
    answer.status_code = error.status_code
    return answer


async def _failed(_: Request, error: Exception) -> Response:
    incident = secrets.token_hex(8)
    log.error("http.failed", incident=incident, exc_info=error)
    return refusal_response(internal_refusal(incident))
