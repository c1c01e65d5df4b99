"""The rim of the tools over HTTP: every request brings the token, and none is held open."""

from __future__ import annotations

import hmac
import json
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class Rim:
    """An ASGI application before another; without the token nothing is read.

    The protocol lets a client GET a stream of what the server says unasked. This server says nothing unasked, and a
    stream that stays open would hold a connection for nothing. So it answers 405, as the protocol has it for that.
    """

    def __init__(self, app: ASGIApp, path: str, token: str) -> None:
        self._app = app
        self._path = path
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401 or 405."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif not self._is_known(scope):
            told = "give the token of this server: Authorization: Bearer TOKEN"
            await _refuse(send, HTTPStatus.UNAUTHORIZED, told, (b"www-authenticate", b"Bearer"))
        elif scope.get("method") != "POST" and scope["path"] == self._path:
            told = "nothing is sent unasked here, and there are no sessions: POST each request"
            await _refuse(send, HTTPStatus.METHOD_NOT_ALLOWED, told, (b"allow", b"POST"))
        else:
            await self._app(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


async def _refuse(send: Send, status: HTTPStatus, told: str, header: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"application/json"), header]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"error": told}).encode()})
