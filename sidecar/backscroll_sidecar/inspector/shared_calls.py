"""Calls that several pages make: a build, and messages by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import explained
from backscroll_sidecar.inspector.question_fields import TRIGGER, Pairs, question_of
from backscroll_sidecar.inspector.said import SHOWN_CHARS, Said, stored
from backscroll_sidecar.inspector.visits import Visit

MOST_IDS = 1_000


async def built_of(
    visit: Visit, pairs: Iterable[tuple[str, str]], *, explain: bool = True
) -> tuple[pb.BuildContextRequest, pb.BuildContextResponse]:
    """What fields of an address ask for, built. Raises `BadField`, `Refused`."""
    request = question_of(pairs)
    request.explain = explain
    built = await visit.asked.ask("ContextService/BuildContext", request, pb.BuildContextResponse)
    return request, built


def with_moment(
    pairs: Pairs, request: pb.BuildContextRequest, built: pb.BuildContextResponse
) -> Pairs:
    """The question with its moment: what is asked of it next sees the same messages."""
    if request.HasField("asked_at_ms") or request.HasField(TRIGGER):
        return pairs
    return [*pairs, ("asked_at_ms", str(built.asked_at_ms))]


async def explained_with_texts(
    visit: Visit,
    request: pb.BuildContextRequest,
    built: pb.BuildContextResponse,
    shown: explained.Shown,
    recorded_fates: Mapping[str, str] | None = None,
) -> explained.Explained:
    """The page of a build with its texts. Made beside the event loop: thousands of candidates take a while."""
    wanted = await visit.beside.run(explained.wanted_keys, built, shown)
    texts = await texts_of_lines(visit, request.channel, wanted)
    return await visit.beside.run(explained.explained, request, built, texts, shown, recorded_fates)


async def texts_of_lines(
    visit: Visit, channel: str, keys: Sequence[explained.Key], most_chars: int = SHOWN_CHARS
) -> dict[explained.Key, Said]:
    """What candidates say, whatever channel they are of; nothing of one that the caller's key may not read."""
    found: dict[explained.Key, Said] = {}
    for of in dict.fromkeys(of for of, _ in keys):
        ids = [message_id for at, message_id in keys if at == of]
        try:
            here = await messages_of(visit, of or channel, ids)
        except Refused as refused:
            if refused.code is not Code.PERMISSION_DENIED or not of:
                raise
            continue
        found.update(((of, one.message.id), stored(one, most_chars)) for one in here)
    return found


async def messages_of(
    visit: Visit, channel: str, ids: Sequence[str]
) -> list[history_pb2.StoredMessage]:
    """Messages of a channel by their ids, as many as are there."""
    found: list[history_pb2.StoredMessage] = []
    wanted = list(dict.fromkeys(filter(None, ids)))
    for at in range(0, len(wanted), MOST_IDS) if channel else ():
        request = history_pb2.ListMessagesRequest(
            channel=channel, message_ids=wanted[at : at + MOST_IDS], limit=MOST_IDS
        )
        found += await listed(visit, request, MOST_IDS)
    return found


async def listed(
    visit: Visit, request: history_pb2.ListMessagesRequest, most: int
) -> list[history_pb2.StoredMessage]:
    """Messages by as many calls as they need: an answer holds no more than some MiB."""
    found: list[history_pb2.StoredMessage] = []
    while True:
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        found += answer.messages
        if not answer.next_page_token or len(found) >= most:
            return found[:most]
        following = history_pb2.ListMessagesRequest()
        following.CopyFrom(request)
        following.page_token = answer.next_page_token
        request = following
