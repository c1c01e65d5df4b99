"""Appending, editing, recalling, erasing, and telling of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backscroll._calls.batches import BATCH_ITEMS, AnyMessage, batches, each_message, refusal_of
from backscroll._calls.plan import Call, Plan
from backscroll._encode import encode
from backscroll.results import AppendReport, EraseReceipt
from backscroll.v1 import history_pb2, message_pb2
from backscroll.values import Member, Mention, Part, When, mentions_of, parts_of


def append(
    channel: str,
    messages: AnyMessage | Iterable[AnyMessage],
    *,
    context_id: str = "",
    timeout_s: float | None = None,
) -> Plan[AppendReport]:
    """Store messages of one channel, durably, before it answers.

    It is safe to repeat: what is already there is a duplicate. One bad message never harms the
    others. More than 1,000 messages or 3.5 MiB go out as several calls, in order, each with its
    own deadline; if one fails, those before it are stored: append the same again.

    Parameters
    ----------
    channel
        Where all of them belong.
    messages
        One message or any number.
    context_id
        The build that the last message of the assistant's among them answers: what is recorded of it
        gets this answer. Empty: an answer is known by the message it replies to.
    timeout_s
        Deadline of each call. None: the client's.

    Raises
    ------
    Unavailable
        If the store cannot be written now, with reason STORE_READ_ONLY or STORE_UNAVAILABLE.
    Overloaded
        If the server's queue is full.

    Examples
    --------
    >>> client.append("room", Message("m1", "ann", "we meet at six", 1795132800000))
    <AppendReport: 1 messages, 1 stored, 0 duplicates, 0 problems>
    """
    results: list[history_pb2.AppendResult] = []
    for batch in batches(each_message(messages)):
        if refused := refusal_of(batch[0]):
            results.append(refused)
            continue
        request = encode(history_pb2.AppendMessagesRequest, channel=channel, context_id=context_id)
        request.messages.extend(batch)
        response: history_pb2.AppendMessagesResponse = yield Call(
            "AppendMessages", request, timeout_s
        )
        results.extend(response.results)
    return AppendReport(tuple(results))


def edit_message(
    channel: str,
    message_id: str,
    text: str | None = None,
    *,
    parts: Sequence[Part] = (),
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    edited_at: When | None = None,
    timeout_s: float | None = None,
) -> Plan[history_pb2.StoredMessage]:
    """Give a message new content; author and time stay. Returns it as it now stands.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was recalled or erased.

    Examples
    --------
    >>> client.edit_message("room", "m1", "we meet at seven").revision
    1
    """
    response: history_pb2.EditMessageResponse = yield Call(
        "EditMessage",
        encode(
            history_pb2.EditMessageRequest,
            channel=channel,
            message_id=message_id,
            parts=parts_of(text, parts),
            mentions=mentions_of(mentions),
            edited_at_ms=edited_at,
        ),
        timeout_s,
    )
    return response.message


def alias_message(
    channel: str, message_id: str, alias_id: str, *, timeout_s: float | None = None
) -> Plan[None]:
    """Tell under which other id the platform shows a stored message. Safe to repeat.

    What answers that id answers the message, and a message that comes under it is a duplicate. Use it for a reply that
    `stream_chat` or `chat` stored, once the platform has given it an id; a message with several gets several calls.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was recalled or erased.
    Conflict
        If the other id is that of another message.

    Examples
    --------
    >>> client.alias_message("room", "m1", "telegram:4711")
    """
    yield Call(
        "AliasMessage",
        encode(
            history_pb2.AliasMessageRequest,
            channel=channel,
            message_id=message_id,
            alias_id=alias_id,
        ),
        timeout_s,
    )


def recall_message(channel: str, message_id: str, *, timeout_s: float | None = None) -> Plan[None]:
    """Take a message back: its text is deleted; its id stays taken. Twice is no error.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was erased.

    Examples
    --------
    >>> client.recall_message("room", "m1")
    """
    yield Call(
        "RecallMessage",
        encode(history_pb2.RecallMessageRequest, channel=channel, message_id=message_id),
        timeout_s,
    )


def pin_message(channel: str, message_id: str, *, timeout_s: float | None = None) -> Plan[None]:
    """Show a message in every context of the channel, whatever is asked. Twice is no error.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was recalled or erased.
    Conflict
        If 50 others are pinned.

    Examples
    --------
    >>> client.pin_message("room", "m1")
    """
    yield Call(
        "PinMessage",
        encode(history_pb2.PinMessageRequest, channel=channel, message_id=message_id),
        timeout_s,
    )


def unpin_message(channel: str, message_id: str, *, timeout_s: float | None = None) -> Plan[None]:
    """Undo `pin_message`; a message that is not pinned is no error.

    Examples
    --------
    >>> client.unpin_message("room", "m1")
    """
    yield Call(
        "UnpinMessage",
        encode(history_pb2.UnpinMessageRequest, channel=channel, message_id=message_id),
        timeout_s,
    )


def upsert_members(
    channel: str,
    members: Member | history_pb2.Member | Iterable[Member | history_pb2.Member],
    *,
    timeout_s: float | None = None,
) -> Plan[None]:
    """Tell names, aliases, joins and leaves. A rename keeps the old name findable.

    Examples
    --------
    >>> client.upsert_members("room", [Member("u1", "Ann", aliases=["Annie"])])
    """
    given = (members,) if isinstance(members, Member | history_pb2.Member) else tuple(members)
    for start in range(0, len(given), BATCH_ITEMS):
        yield Call(
            "UpsertMembers",
            encode(
                history_pb2.UpsertMembersRequest,
                channel=channel,
                members=given[start : start + BATCH_ITEMS],
            ),
            timeout_s,
        )


def erase(
    channel: str = "",
    *,
    message_ids: Sequence[str] = (),
    user_id: str = "",
    whole_channel: bool = False,
    all_channels: bool = False,
    whole_tenant: bool = False,
    dry_run: bool = False,
    timeout_s: float | None = None,
) -> Plan[EraseReceipt]:
    """Delete for good: in a channel some messages, a user or all of it; a user in all channels; the whole tenant.

    With a channel exactly one of `message_ids`, `user_id` and `whole_channel`; else `all_channels` with `user_id`, or
    `whole_tenant`. Never retried by itself; to repeat it is safe. What is not there is no error.

    Parameters
    ----------
    dry_run
        Count what would go, and change nothing.

    Returns
    -------
    EraseReceipt
        How many went from each store. Only zeros: nothing was there, or a name is mistyped.

    Examples
    --------
    >>> receipt = client.erase(user_id="u1", all_channels=True)
    >>> receipt["messages"], receipt.is_dry_run
    (0, False)
    """
    response: history_pb2.EraseResponse = yield Call(
        "Erase",
        encode(
            history_pb2.EraseRequest,
            channel=channel,
            message_ids=message_ids,
            user_id=user_id,
            whole_channel=whole_channel,
            all_channels=all_channels,
            whole_tenant=whole_tenant,
            dry_run=dry_run,
        ),
        timeout_s,
    )
    return EraseReceipt(response)
