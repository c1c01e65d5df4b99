"""Reading history back, and asking how the server is."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from google.protobuf.wrappers_pb2 import StringValue

from backscroll._calls.plan import BULK_TIMEOUT_S, Call, Listing, Plan, Stream, gathered, pages
from backscroll._encode import encode
from backscroll.results import SearchHits
from backscroll.v1 import history_pb2
from backscroll.values import When

_WAIT_S = 10.0
_NEAR = 3
_COMPARED = 10_000
_PAGE = 1_000
_HEALTH = ("unknown", "serving", "not_serving", "service_unknown")


def get_channel(
    channel: str, *, timeout_s: float | None = None
) -> Plan[history_pb2.GetChannelResponse]:
    """Say where a channel stands, so that a bot that was down appends only what is missing.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> client.get_channel("room").newest_message_id
    'm1'
    """
    response: history_pb2.GetChannelResponse = yield Call(
        "GetChannel", encode(history_pb2.GetChannelRequest, channel=channel), timeout_s
    )
    return response


def list_channels(
    *,
    name_contains: str = "",
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[history_pb2.ChannelSummary]:
    """Iterate over the channels that hold messages, by name, page by page as needed.

    Parameters
    ----------
    name_contains
        Only channels with this in their name, letter case aside.
    page_size
        Channels a call, 1 to 1,000. None: the server's 100.
    timeout_s
        Deadline of each page. None: the client's.

    Examples
    --------
    >>> [channel.channel for channel in client.list_channels(name_contains="ROO")]
    ['room']
    """
    request = encode(history_pb2.ListChannelsRequest, limit=page_size, name_contains=name_contains)
    yield from pages("ListChannels", request, "channels", timeout_s)


def near_channels(channel: str, *, timeout_s: float | None = None) -> Plan[list[str]]:
    """Names of channels like one that is unknown, the most alike first: it may be mistyped.

    At most three, of the first 10,000 channels; letter case aside. A name that is known comes first.

    Parameters
    ----------
    channel
        The name, as it was asked for.
    timeout_s
        Deadline of each page of names. None: the client's.

    Examples
    --------
    >>> context = client.build_context("rom", "when do we meet?", asker="ann")
    >>> context.channel_known or client.near_channels("rom")
    ['room']
    """
    encode(history_pb2.GetChannelRequest, channel=channel)  # raises where it can be no name
    wanted = channel.casefold()
    spellings: dict[str, list[str]] = {}
    alike: list[str] = []
    request = history_pb2.ListChannelsRequest(limit=_PAGE)
    for _ in range(_COMPARED // _PAGE):
        page: history_pb2.ListChannelsResponse = yield Call("ListChannels", request, timeout_s)
        names = dict.fromkeys(one.channel.casefold() for one in page.channels)
        for one in page.channels:
            spellings.setdefault(one.channel.casefold(), []).append(one.channel)
        # Page by page: between two of them an event loop gets its turn.
        alike = get_close_matches(wanted, dict.fromkeys([*alike, *names]), _NEAR)
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    holding = [name for name in spellings if wanted and wanted in name and name not in alike]
    return [name for one in (*alike, *holding) for name in spellings[one]][:_NEAR]


def list_messages(
    channel: str = "",
    *,
    author_id: str = "",
    thread_id: str = "",
    since: When | None = None,
    until: When | None = None,
    newest_first: bool = False,
    include_recalled: bool = False,
    channels: Sequence[str] = (),
    message_ids: Sequence[str] = (),
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[history_pb2.StoredMessage]:
    """Iterate over a channel in order of arrival, page by page as needed.

    All conditions given must hold. Pages are fetched while iterating, so errors of the server
    come up there.

    Parameters
    ----------
    channel
        Which to read. May be empty with `author_id`: then all channels, or those in `channels`.
    author_id, thread_id
        Only this author's, only this thread's.
    since, until
        Only messages sent at or after `since` and before `until`.
    newest_first
        Begin at the end.
    include_recalled
        Recalled ones too, without content.
    channels
        What `author_id` is looked for in, where `channel` is empty.
    message_ids
        Exactly these, those that exist; the conditions but `channel` are ignored.
    limit
        Stop after this many. None: all.
    page_size
        Messages a call, 1 to 1,000. None: the server's 100, or `limit` where that is less.
    timeout_s
        Deadline of each page. None: the client's.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [stored.message.id for stored in client.list_messages("room", newest_first=True, limit=10)]
    ['m1']
    """
    request = encode(
        history_pb2.ListMessagesRequest,
        channel=channel,
        limit=page_size,
        newest_first=newest_first,
        author_id=author_id,
        thread_id=thread_id,
        since_ms=since,
        until_ms=until,
        include_recalled=include_recalled,
        channels=channels,
        message_ids=message_ids,
    )
    yield from pages("ListMessages", request, "messages", timeout_s, limit)


def get_thread(
    channel: str,
    message_id: str,
    *,
    limit: int | None = None,
    timeout_s: float | None = None,
) -> Plan[history_pb2.GetThreadResponse]:
    """Return the reply tree a message belongs to, in order of arrival.

    Raises
    ------
    NotFound
        If the channel has no such message.

    Examples
    --------
    >>> client.get_thread("room", "m1").root_message_id
    'm1'
    """
    response: history_pb2.GetThreadResponse = yield Call(
        "GetThread",
        encode(history_pb2.GetThreadRequest, channel=channel, message_id=message_id, limit=limit),
        timeout_s,
    )
    return response


def search(
    channel: str,
    query: str,
    *,
    limit: int | None = None,
    scope: str | None = None,
    user_id: str | None = None,
    timeout_s: float | None = None,
) -> Plan[SearchHits]:
    """Find messages of a channel that hold all words; with a wider `scope`, of many channels by meaning.

    By words those stored last come first, by meaning the most similar.

    Parameters
    ----------
    scope : "channel", "user" or "tenant"
        "user": the channels `user_id` has written in, "tenant": all of them; then `channel` is empty. The server's
        operator must have allowed it.

    Raises
    ------
    NotFound
        If the channel was never heard of.
    PermissionDenied
        If the scope is not allowed.

    Examples
    --------
    >>> [hit.message.message.id for hit in client.search("room", "meet", limit=5)]
    ['m1']
    """
    response: history_pb2.SearchMessagesResponse = yield Call(
        "SearchMessages",
        encode(
            history_pb2.SearchMessagesRequest,
            channel=channel,
            query=query,
            limit=limit,
            scope=scope,
            user_id=user_id,
        ),
        timeout_s,
    )
    return SearchHits(response.hits, exhaustive=response.exhaustive)


def list_members(
    channel: str, *, timeout_s: float | None = None
) -> Plan[Sequence[history_pb2.Member]]:
    """Return everybody known in a channel, authors seen included, ordered by id.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [member.user_id for member in client.list_members("room")]
    ['ann']
    """
    request = encode(history_pb2.ListMembersRequest, channel=channel)
    return (yield from gathered("ListMembers", request, "members", timeout_s))


def list_pinned_messages(
    channel: str, *, timeout_s: float | None = None
) -> Plan[Sequence[history_pb2.StoredMessage]]:
    """Return what is pinned in a channel, in the order in which it was pinned.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> client.pin_message("room", "m1")
    >>> [row.message.id for row in client.list_pinned_messages("room")]
    ['m1']
    """
    response: history_pb2.ListPinnedMessagesResponse = yield Call(
        "ListPinnedMessages",
        encode(history_pb2.ListPinnedMessagesRequest, channel=channel),
        timeout_s,
    )
    return response.messages


def wait_for_index(
    channel: str, *, wait_s: float | None = None, timeout_s: float | None = None
) -> Plan[history_pb2.WaitForIndexResponse]:
    """Wait until everything stored before the call can be found by meaning.

    Parameters
    ----------
    channel
        Which to wait for.
    wait_s
        How long the server may wait, up to 600; then it answers with `ready` false. None: 10.
    timeout_s
        Time for the call itself, on top of `wait_s`. None: the client's.

    Examples
    --------
    >>> client.wait_for_index("room", wait_s=30).ready
    True
    """
    response: history_pb2.WaitForIndexResponse = yield Call(
        "WaitForIndex",
        encode(
            history_pb2.WaitForIndexRequest,
            channel=channel,
            timeout_ms=None if wait_s is None else round(wait_s * 1000),
        ),
        timeout_s,
        extra_s=_WAIT_S if wait_s is None else wait_s,
    )
    return response


def export_messages(
    channel: str, *, timeout_s: float | None = BULK_TIMEOUT_S
) -> Stream[history_pb2.StoredMessage]:
    """Iterate over a whole channel in order of arrival, recalled ones included without content.

    Leaving the loop early ends the call. The deadline, ten minutes, is that of the whole stream.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [text_of(stored.message) for stored in client.export_messages("room")]
    ['we meet at six']
    """
    request = encode(history_pb2.ExportMessagesRequest, channel=channel)
    return Stream(Call("ExportMessages", request, timeout_s), lambda response: response.messages)


def health(service: str = "", *, timeout_s: float | None = None) -> Plan[str]:
    """Ask whether the server takes calls: "serving" or "not_serving". No server is `Unavailable`.

    Examples
    --------
    >>> client.health()
    'serving'
    """
    response = yield Call("Check", encode(StringValue, value=service), timeout_s)
    return _HEALTH[response.value] if response.value < len(_HEALTH) else "unknown"
