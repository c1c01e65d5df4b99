"""What a call is before somebody makes it, and how a method is made of its description."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from google.protobuf.message import Message as ProtoMessage

from backscroll._tools import ToolRun, ToolTable

T = TypeVar("T")

BULK_TIMEOUT_S = 600.0
CHAT_TIMEOUT_S = 120.0
SERVERS_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class Call:
    """One RPC with one response. No timeout_s: the client's; extra_s is time the server may wait.

    `request` is an iterator of requests where the RPC takes a stream of them.
    """

    rpc: str
    request: ProtoMessage | Iterator[ProtoMessage]
    timeout_s: float | None = None
    extra_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """One RPC with many responses, each of which holds some items."""

    call: Call
    unpack: Callable[[Any], Iterable[T]]


def deadline_s(default_s: float, timeout_s: float | None, extra_s: float = 0.0) -> float | None:
    """Seconds a call may take; None: as long as it wants."""
    own_s = default_s if timeout_s is None else timeout_s
    return None if math.isinf(own_s) else own_s + extra_s


Plan: TypeAlias = Generator[Call | ToolRun | ToolTable, Any, T]
Listing: TypeAlias = Generator[Call | Sequence[T], Any, None]
Conversation: TypeAlias = Generator[Stream[T] | Call | ToolRun | ToolTable, Any, None]


def pages(
    rpc: str,
    request: Any,  # noqa: ANN401 - every kind of request that asks for a page
    items: str,
    timeout_s: float | None,
    limit: int | None = None,
) -> Listing[Any]:
    """Ask for page after page and yield what each holds in its field `items`; at most `limit` in all.

    `request.limit` is the page size; unset: the server's, or `limit` where that is less.
    """
    page_size = request.limit or SERVERS_PAGE_SIZE
    left = limit
    while left is None or left > 0:
        if left is not None:
            request.limit = min(left, page_size)
        page = yield Call(rpc, request, timeout_s)
        found: Sequence[Any] = getattr(page, items)
        yield found[:left]
        if not page.next_page_token:
            return
        left = None if left is None else left - len(found)
        request.page_token = page.next_page_token


def gathered(
    rpc: str,
    request: Any,  # noqa: ANN401 - every kind of request that asks for a page
    items: str,
    timeout_s: float | None,
) -> Plan[Sequence[Any]]:
    """Ask for page after page and return what all of them hold in their field `items`."""
    found: list[Any] = []
    while True:
        page = yield Call(rpc, request, timeout_s)
        found += getattr(page, items)
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def present(
    method: Callable[..., Any], description: Callable[..., Any], returns: str, given: int = 0
) -> None:
    """Give a client's method the name, signature and documentation of its description.

    The first `given` parameters are the object's own.
    """
    method.__name__ = description.__name__
    method.__doc__ = description.__doc__
    signature = inspect.signature(description)
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    result = signature.return_annotation.partition("[")[2].removesuffix("]")
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[myself, *list(signature.parameters.values())[given:]],
        return_annotation=returns.format(result),
    )


def present_waited(
    method: Callable[..., Any], description: Callable[..., Any], returns: str
) -> None:
    """As `present`, for the call of a room that waits for the whole round."""
    present(method, description, returns, 1)
    method.__name__ = "ask"
    method.__doc__ = _ASK


_ASK = """Say something in the room, wait for all the answers, and return the round; otherwise as `say`.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom")])
    >>> room.ask("hello", "u1").replies["Tom"]
    'Tom says: hello'
    """
