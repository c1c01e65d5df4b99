"""Reading what the server has recorded of its own work, and what it counts."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll._calls.plan import Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import admin_pb2


def list_events(
    channel: str,
    *,
    context_id: str = "",
    types: Sequence[str] = (),
    newest_first: bool = False,
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[admin_pb2.RecordedEvent]:
    """Iterate over the recorded events of a channel, oldest first, page by page as needed.

    Of every turn there are "agent.started", "turn.started", "context.compressed" where something was
    cut, "model.called" and "turn.ended". They are recorded a moment after the answer they belong to.

    Parameters
    ----------
    channel
        Which to read.
    context_id
        Only what belongs to this build and what followed it.
    types
        Only events of these types.
    newest_first
        Begin at the end.
    limit
        Stop after this many. None: all.
    page_size
        Events a call, 1 to 1,000. None: the server's 100, or `limit` where that is less.
    timeout_s
        Deadline of each page. None: the client's.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [recorded.event.type for recorded in client.list_events("room", limit=2)]
    ['agent.started', 'turn.started']
    """
    request = encode(
        admin_pb2.ListEventsRequest,
        channel=channel,
        context_id=context_id,
        types=types,
        limit=page_size,
        newest_first=newest_first,
    )
    yield from pages("ListEvents", request, "events", timeout_s, limit)


def get_metrics(
    *names: str, timeout_s: float | None = None
) -> Plan[Sequence[admin_pb2.MetricSample]]:
    """What a scrape of the server would tell: name, labels, value, unit and period of every number.

    Of what there is no data for there is nothing.

    Parameters
    ----------
    names
        Only these metrics. None: all.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        If no metric has one of the names.
    PermissionDenied
        If the server has several tenants: the numbers are those of all.

    Examples
    --------
    >>> sample = client.get_metrics("backscroll_contexts_built_per_hour")[0]
    >>> sample.value, sample.unit, sample.period
    (3.0, 'contexts/h', 'start')
    """
    request = encode(admin_pb2.GetMetricsRequest, names=names)
    response: admin_pb2.GetMetricsResponse = yield Call("GetMetrics", request, timeout_s)
    return response.samples


def get_metric_minutes(
    *names: str, minutes: int = 60, timeout_s: float | None = None
) -> Plan[Sequence[admin_pb2.MetricMinute]]:
    """What the counters of builds grew by in each of the last minutes, the oldest first.

    Parameters
    ----------
    names
        Only these metrics. None: all.
    minutes
        How many, 1 to 60, the running one included.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        If no metric has one of the names.
    PermissionDenied
        If the server has several tenants: the numbers are those of all.

    Examples
    --------
    >>> len(client.get_metric_minutes("backscroll_context_builds", minutes=5))
    5
    """
    request = encode(admin_pb2.GetMetricsRequest, names=names, minutes=minutes)
    response: admin_pb2.GetMetricsResponse = yield Call("GetMetrics", request, timeout_s)
    return response.minutes
