"""Which conversation a request of OpenAI's API belongs to, and who asks, by its headers and metadata. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from backscroll_sidecar.domain import MAX_ID_BYTES
from backscroll_sidecar.edge.convert.fields import required_id
from backscroll_sidecar.errors import InvalidRequest

ENCODED = "b64_"
"""Begins an id as base64url of its UTF-8: for ids that no header and no metadata would take."""
OURS = "backscroll"
NAMES = ("channel", "asker", "message_id", "session", "bot")
_FLAT = {f"{OURS}_{name}": name for name in NAMES}
EXPLICIT = "x-backscroll-channel"
_OTHERS = ("x-openwebui-chat-id", "x-litellm-session-id", "x-session-id")
"""Headers of others with the id of a conversation, in the order in which they count."""
DEFAULT_ASKER = "user"


class Address(NamedTuple):
    """Where a question belongs.

    Attributes
    ----------
    channel : empty: none is named.
    is_explicit : the channel was named to us, not to anybody on the way; then it may begin with this question.
    """

    channel: str = ""
    is_explicit: bool = False
    asker_id: str = DEFAULT_ASKER
    asker_name: str = ""
    message_id: str = ""
    session: str = ""
    bot: str = ""


def address_of(headers: Mapping[str, str], body: Mapping[str, Any]) -> Address:
    """Read it. Headers count before metadata, those to us before those of others.

    Raises
    ------
    InvalidRequest
        An id is none.
    """
    told = _told(body)

    def named(name: str, *others: str) -> str:
        header = f"x-backscroll-{name.replace('_', '-')}"
        if value := headers.get(header):
            return _id(value, header)
        if value := told.get(name):
            return _id(value, f"metadata.{OURS}.{name}")
        return next((_id(headers[one], one) for one in others if headers.get(one)), "")

    channel = named("channel", *_OTHERS)
    asker = named("asker", "x-openwebui-user-id") or DEFAULT_ASKER
    return Address(
        channel,
        bool(headers.get(EXPLICIT) or told.get("channel")),
        asker,
        _name(headers.get("x-openwebui-user-name", "")),
        named("message_id"),
        named("session"),
        named("bot"),
    )


def tells_address(header: str) -> bool:
    """Whether a header, by its lower-case name, tells a conversation or who asks in it."""
    return header.startswith(("x-backscroll-", "x-openwebui-user-")) or header in _OTHERS


def without_address(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without what was meant for us, which the vendor would refuse or keep."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return dict(body)
    left = {name: one for name, one in metadata.items() if name != OURS and name not in _FLAT}
    if len(left) == len(metadata):
        return dict(body)
    if left:
        return {**body, "metadata": left}
    return {name: one for name, one in body.items() if name != "metadata"}


def _told(body: Mapping[str, Any]) -> dict[str, str]:
    """What metadata says to us: an object, the same as a JSON string, or flat names, since values must be strings."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    ours = metadata.get(OURS)
    if isinstance(ours, str):
        try:
            ours = orjson.loads(ours)
        except orjson.JSONDecodeError:
            raise InvalidRequest("is no JSON", field=f"metadata.{OURS}") from None
    if not isinstance(ours, dict | None):
        raise InvalidRequest("is no object", field=f"metadata.{OURS}")
    found = dict(_texts(ours or {}, {name: name for name in NAMES}, f"metadata.{OURS}"))
    return found | dict(_texts(metadata, _FLAT, "metadata"))


def _texts(
    values: Mapping[str, Any], names: Mapping[str, str], field: str
) -> Iterator[tuple[str, str]]:
    """Those of the values that are named, by our names. An id that is a number is refused, not passed over."""
    for given, name in names.items():
        value = values.get(given)
        if not isinstance(value, str | None):
            raise InvalidRequest("is no text", field=f"{field}.{given}")
        if value:
            yield name, value


def _id(value: str, field: str) -> str:
    """An id, decoded where it says that it is encoded."""
    if value.startswith(ENCODED):
        packed = value.removeprefix(ENCODED)
        try:
            padded = (packed + "=" * (-len(packed) % 4)).encode("ascii")
            value = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            raise InvalidRequest(f"is no base64url behind {ENCODED}", field=field) from None
    return required_id(value, field)


def _name(quoted: str) -> str:
    """A name that is only shown, as one line: what is too long or cannot be stored is left out."""
    line = " ".join(unquote(quoted).replace("\0", "").split())
    return line.encode()[:MAX_ID_BYTES].decode(errors="ignore")
