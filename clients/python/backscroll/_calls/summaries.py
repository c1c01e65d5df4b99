"""Summaries of conversations."""

from __future__ import annotations

from backscroll._calls.plan import Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import context_pb2

_TIMEOUT_S = 300.0


def compact(
    channel: str,
    *,
    thread_id: str = "",
    focus: str = "",
    without_model: bool = False,
    timeout_s: float | None = _TIMEOUT_S,
) -> Plan[context_pb2.CompactResponse]:
    """Summarise what a conversation holds before its newest part, and wait for that.

    Parameters
    ----------
    channel
        The conversation.
    thread_id
        One thread of it, for contexts of that thread. "": the whole channel.
    focus
        What the summary shall heed above all.
    without_model
        Take the people's own words, whatever the server is set to.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    NotFound
        If the channel was never heard of.
    Gone
        If messages were taken back while it was made, twice.

    Examples
    --------
    >>> client.compact("room").message_count
    0
    """
    request = encode(
        context_pb2.CompactRequest,
        channel=channel,
        thread_id=thread_id,
        focus=focus,
        without_model=without_model,
    )
    response: context_pb2.CompactResponse = yield Call("Compact", request, timeout_s)
    return response


def list_period_summaries(
    channel: str,
    *,
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[context_pb2.PeriodSummary]:
    """Iterate over the summaries of a channel's past periods, in the order in which they were made.

    Examples
    --------
    >>> _ = client.set_channel_settings("room", summary_hours=24)
    >>> [one.text for one in client.list_period_summaries("room")]
    []
    """
    request = encode(context_pb2.ListPeriodSummariesRequest, channel=channel, limit=page_size)
    yield from pages("ListPeriodSummaries", request, "summaries", timeout_s, limit)


def delete_period_summary(
    channel: str, summary_id: str, *, timeout_s: float | None = None
) -> Plan[bool]:
    """Empty the summary of a period, and say whether there was one.

    Examples
    --------
    >>> client.delete_period_summary("room", "24:0")
    False
    """
    request = encode(context_pb2.DeletePeriodSummaryRequest, channel=channel, id=summary_id)
    response: context_pb2.DeletePeriodSummaryResponse = yield Call(
        "DeletePeriodSummary", request, timeout_s
    )
    return response.was_there
