"""Stored messages as pages and runs: bounded in rows and in bytes, and never long on the event loop.

A page token is where the next page starts, bound to the question it was made for: opaque, versioned, not secret.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from hashlib import blake2b
from itertools import repeat

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    experiment_pb2,
    learning_pb2,
    preference_pb2,
    session_pb2,
)
from backscroll.v1 import history_pb2 as pb
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.edge.convert.codec import encode_stored
from backscroll_sidecar.edge.convert.fields import invalid
from backscroll_sidecar.edge.convert.history import check_list, limit_of, list_query
from backscroll_sidecar.edge.convert.wire import FIXED64, LENGTH, lengthed, tag
from backscroll_sidecar.edge.limits import (
    MAX_ANSWER_BYTES,
    MAX_EXPORT_ITEMS,
    MAX_PAGE_ITEMS,
    MAX_PAGE_TOKEN_BYTES,
)
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.history.service import HistoryService

CHUNK_ROWS = 200
ROW_US = 20
_LISTED = tag(pb.ListMessagesResponse, "messages", LENGTH)
_HITS = tag(pb.SearchMessagesResponse, "hits", LENGTH)
_HIT_MESSAGE = tag(pb.SearchHit, "message", LENGTH)
_SCORE = tag(pb.SearchHit, "score", FIXED64)
_double = struct.Struct("<d").pack
_EXPORTED = tag(pb.ExportMessagesResponse, "messages", LENGTH)


class Rows:
    """Encoded rows of one answer, until it is full; the first row always fits."""

    def __init__(self, key: bytes, most_rows: int, most_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._key = key
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._slices = LoopSlices()
        self.pieces: list[bytes] = []
        self.size = 0

    async def add(self, row: StoredMessage) -> bool:
        """Take a row; False when there is no room for it."""
        if len(self.pieces) >= self._most_rows:
            return False
        await self._slices.spend(ROW_US + len(row.analysis.text) / 500)
        piece = lengthed(self._key, encode_stored(row))
        if self.pieces and self.size + len(piece) > self._most_bytes:
            return False
        self.pieces.append(piece)
        self.size += len(piece)
        return True

    async def add_all(self, rows: Iterable[StoredMessage]) -> Rows:
        """Take rows until one finds no room."""
        for row in rows:
            if not await self.add(row):
                break
        return self

    def take(self) -> bytes:
        """Hand over what was taken and start again."""
        body = b"".join(self.pieces)
        self.pieces, self.size = [], 0
        return body


async def list_page(
    history: HistoryService,
    request: pb.ListMessagesRequest,
    tenant: str,
    allowed: AllowedChannels | None = None,
) -> bytes:
    """Answer one page: named messages, an author's across channels, or a channel in order of arrival."""
    check_list(request)
    if request.message_ids:
        return await _named(history, request, ChannelKey(tenant, request.channel))
    if not request.channel:
        return await _of_author(history, request, tenant, allowed)
    return await _in_order(history, request, ChannelKey(tenant, request.channel))


async def encode_hits(
    rows: Sequence[StoredMessage], scores: Sequence[float] | None = None, *, exhaustive: bool
) -> bytes:
    """Serialise the answer to a search. Without scores a hit has all the words, so all are equally good."""
    page = await Rows(_HIT_MESSAGE, len(rows)).add_all(rows)
    given = repeat(1.0) if scores is None else scores
    hits = b"".join(
        lengthed(_HITS, piece + _SCORE + _double(score))
        for piece, score in zip(page.pieces, given, strict=False)
    )
    return hits + pb.SearchMessagesResponse(exhaustive=exhaustive).SerializeToString()


async def export_runs(rows: AsyncIterable[StoredMessage]) -> AsyncGenerator[bytes, None]:
    """Cut an export into runs that every client's default limits take."""
    run = Rows(_EXPORTED, MAX_EXPORT_ITEMS)
    async for row in rows:
        if not await run.add(row):
            yield run.take()
            await run.add(row)
    if run.pieces:
        yield run.take()


async def _in_order(
    history: HistoryService, request: pb.ListMessagesRequest, key: ChannelKey
) -> bytes:
    limit = limit_of(request)
    position = page_position(request)
    page = Rows(_LISTED, limit)
    while True:
        # At the end one row more than fits: it tells whether there is a next page.
        asked = min(limit - len(page.pieces) + 1, CHUNK_ROWS)
        rows = await history.list_messages(key, list_query(request, asked, position))
        for row in rows:
            if not await page.add(row):
                assert position is not None
                return _finish(page, page_token(request, position))
            position = row.seq
        if len(rows) < asked:
            return _finish(page)


async def _named(
    history: HistoryService, request: pb.ListMessagesRequest, key: ChannelKey
) -> bytes:
    ids = list(dict.fromkeys(request.message_ids))
    start = page_position(request) or 0
    told: set[str] = set()
    page = Rows(_LISTED, limit_of(request, default=MAX_PAGE_ITEMS))
    for chunk_start in range(start, len(ids), CHUNK_ROWS):
        chunk = ids[chunk_start : chunk_start + CHUNK_ROWS]
        found = await history.get_messages(key, chunk)
        for i, message_id in enumerate(chunk, chunk_start):
            row = found.get(message_id)
            if row is None or row.message.id in told:  # none of that id, or told by another one
                continue
            told.add(row.message.id)
            if not await page.add(row):
                return _finish(page, page_token(request, i))
    return _finish(page)


async def _of_author(
    history: HistoryService,
    request: pb.ListMessagesRequest,
    tenant: str,
    allowed: AllowedChannels | None,
) -> bytes:
    rows = await history.latest_of_user(
        tenant, request.author_id, list(request.channels), limit_of(request), allowed
    )
    page = await Rows(_LISTED, len(rows)).add_all(reversed(rows))
    if not request.newest_first:
        page.pieces.reverse()
    return _finish(page)


def _finish(page: Rows, next_page_token: str = "") -> bytes:
    last = pb.ListMessagesResponse(next_page_token=next_page_token)
    return page.take() + last.SerializeToString()


# --- page tokens ------------------------------------------------------------------------------------

PagedRequest = (
    pb.ListMessagesRequest
    | pb.ListChannelsRequest
    | pb.ListMembersRequest
    | preference_pb2.ListPreferencesRequest
    | admin_pb2.ListEventsRequest
    | admin_pb2.ListUsageRecordsRequest
    | admin_pb2.ListChannelSettingsRequest
    | context_pb2.ListPeriodSummariesRequest
    | learning_pb2.ListTopicLabelsRequest
    | admin_pb2.ListWeightVersionsRequest
    | experiment_pb2.ListExperimentsRequest
    | session_pb2.ListSpacesRequest
    | session_pb2.ListSessionsRequest
    | session_pb2.ListStatesRequest
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


def place_of(name: str) -> tuple[int, int]:
    """The time and the number that a name holds."""
    at_ms, number = name.split()
    return int(at_ms), int(number)


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
