"""Summaries of conversations."""

from __future__ import annotations

from backscroll._calls.plan import Call, Plan
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
