"""Page tokens: where the next page starts, bound to the question it was made for. Opaque, versioned, not secret."""

from __future__ import annotations

import base64
import binascii
import struct
from hashlib import blake2b

from backscroll.v1 import admin_pb2, history_pb2
from backscroll_sidecar.edge.convert.checks import invalid
from backscroll_sidecar.edge.limits import MAX_PAGE_TOKEN_BYTES
from backscroll_sidecar.errors import InvalidRequest

PagedRequest = (
    history_pb2.ListMessagesRequest | history_pb2.ListChannelsRequest | admin_pb2.ListEventsRequest
)

VERSION = 1
_NUMBER = struct.Struct(">Q")
_DIGEST_BYTES = 8


def page_token(request: PagedRequest, position: int | str) -> str:
    """Make the token of the page that starts after `position`, a number or a name."""
    place = position.encode() if isinstance(position, str) else _NUMBER.pack(position)
    body = bytes([VERSION]) + place
    return base64.urlsafe_b64encode(body + _digest(request, body)).decode().rstrip("=")


def page_position(request: PagedRequest) -> int | None:
    """Read the token of a request whose pages are told by numbers; None without one.

    Raises
    ------
    InvalidRequest
        The token is none of ours, or of another question: all but `limit` must be as it was.
    """
    place = _place(request)
    if place is None:
        return None
    if len(place) != _NUMBER.size:
        raise _bad()
    return int(_NUMBER.unpack(place)[0])


def page_name(request: PagedRequest) -> str | None:
    """The same where pages are told by names."""
    place = _place(request)
    return None if place is None else place.decode()


def _place(request: PagedRequest) -> bytes | None:
    token = request.page_token
    if not token:
        return None
    if len(token) > MAX_PAGE_TOKEN_BYTES:
        raise _bad()
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _bad() from None
    body, digest = raw[:-_DIGEST_BYTES], raw[-_DIGEST_BYTES:]
    if body[:1] != bytes([VERSION]) or digest != _digest(request, body):
        raise _bad()
    return body[1:]


def _bad() -> InvalidRequest:
    return invalid("page_token", "is no token of this question")


def _digest(request: PagedRequest, body: bytes) -> bytes:
    question = type(request).FromString(request.SerializeToString())
    question.ClearField("page_token")
    question.ClearField("limit")
    return blake2b(body + question.SerializeToString(deterministic=True), digest_size=8).digest()
