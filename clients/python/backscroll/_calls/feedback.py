"""What people say of answers, and what is recorded of the builds behind them."""

from __future__ import annotations

from backscroll._calls.plan import Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import admin_pb2, feedback_pb2
from backscroll.values import When


def record_feedback(
    context_id: str = "",
    *,
    channel: str = "",
    reply_message_id: str = "",
    user_id: str = "",
    rating: int | None = None,
    success: float | None = None,
    text: str = "",
    timeout_s: float | None = None,
) -> Plan[feedback_pb2.RecordFeedbackResponse]:
    """Keep what somebody says of an answer, in the place of what they said before.

    Name the answer by the context_id of its build, or by its channel and message id.

    Parameters
    ----------
    context_id
        The build behind the answer.
    channel, reply_message_id
        The stored answer, instead.
    user_id
        Who says it. Empty: unknown.
    rating
        1, of no use, to 5.
    success
        0 to 1. None with a rating: what that comes to.
    text
        In the user's words, at most 4,000 bytes.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    NotFound
        If no such build is recorded (builds are recorded a moment after their answer, where the
        server collects data), or none has this answer.

    Examples
    --------
    >>> context = client.build_context("room", "when do we meet?")
    >>> client.record_feedback(context.id, user_id="ann", rating=5).success_indicator
    1.0
    """
    request = encode(
        feedback_pb2.RecordFeedbackRequest,
        context_id=context_id,
        channel=channel,
        reply_message_id=reply_message_id,
        user_id=user_id,
        rating=rating,
        success=success,
        text=text,
    )
    response: feedback_pb2.RecordFeedbackResponse = yield Call("RecordFeedback", request, timeout_s)
    return response


def get_usage_record(
    context_id: str, *, timeout_s: float | None = None
) -> Plan[admin_pb2.UsageRecord]:
    """Return what is recorded of a build: what it chose from, its answer, what was said of that.

    Raises
    ------
    NotFound
        If no such build is recorded.

    Examples
    --------
    >>> context = client.build_context("room", "when do we meet?")
    >>> client.get_usage_record(context.id).profile
    'balanced'
    """
    response: admin_pb2.GetUsageRecordResponse = yield Call(
        "GetUsageRecord",
        encode(admin_pb2.GetUsageRecordRequest, context_id=context_id),
        timeout_s,
    )
    return response.record


def list_usage_records(
    channel: str = "",
    *,
    user_id: str = "",
    trigger_message_id: str = "",
    since: When | None = None,
    until: When | None = None,
    with_candidates: bool = False,
    experiment_id: str = "",
    arm: str = "",
    with_shadows: bool = False,
    newest_first: bool = False,
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[admin_pb2.UsageRecord]:
    """Iterate over recorded builds, oldest first, page by page as needed.

    Parameters
    ----------
    channel
        Only its builds. Empty: those of all channels.
    user_id
        Only those this user asked for.
    trigger_message_id
        Only those for this message of the channel.
    since, until
        Only those from then on, and before then.
    with_candidates
        With all messages that were scored.
    experiment_id, arm
        Only those that were part of this experiment, or built by this arm of it.
    with_shadows
        With those that were built behind the answers.
    newest_first
        Begin at the end.
    limit
        Stop after this many. None: all.
    page_size
        Records a call, 1 to 1,000. None: the server's 100, or `limit` where that is less.
    timeout_s
        Deadline of each page. None: the client's.

    Examples
    --------
    >>> _ = client.build_context("room", "when do we meet?")
    >>> [one.channel for one in client.list_usage_records("room", limit=1)]
    ['room']
    """
    request = encode(
        admin_pb2.ListUsageRecordsRequest,
        channel=channel,
        user_id=user_id,
        trigger_message_id=trigger_message_id,
        experiment_id=experiment_id,
        arm=arm,
        with_shadows=with_shadows,
        since_ms=since,
        until_ms=until,
        with_candidates=with_candidates,
        newest_first=newest_first,
        limit=page_size,
    )
    yield from pages("ListUsageRecords", request, "records", timeout_s, limit)
