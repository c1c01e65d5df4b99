"""Topic labels, consent, and recorded builds as data to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from backscroll._calls.plan import BULK_TIMEOUT_S, Call, Listing, Plan, Stream, pages
from backscroll._encode import encode
from backscroll.v1 import context_pb2, learning_pb2
from backscroll.values import LayoutName, Overrides, When

Exported: TypeAlias = learning_pb2.ExportedUsage | learning_pb2.ExportSummary
Replay: TypeAlias = learning_pb2.ReplayedBuild | learning_pb2.ReplaySummary


def set_topic_labels(
    channel: str,
    label: str,
    message_ids: Sequence[str] | str,
    *,
    set_by: str = "",
    timeout_s: float | None = None,
) -> Plan[Sequence[learning_pb2.TopicLabel]]:
    """Say of messages that they are about a topic; all of them are labelled, or none. Labels go with their messages.

    Parameters
    ----------
    channel
        Where the messages are.
    label
        What they are about. A message may have several labels.
    message_ids
        One id, or up to 1,000.
    set_by
        The user who says so. Empty: unknown.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    NotFound
        If one of the messages is not there.
    Gone
        If one of them was recalled.

    Examples
    --------
    >>> client.set_topic_labels("room", "meeting", "m1", set_by="ann")[0].label
    'meeting'
    """
    request = encode(
        learning_pb2.SetTopicLabelsRequest,
        channel=channel,
        label=label,
        message_ids=_ids(message_ids),
        set_by=set_by,
    )
    response: learning_pb2.SetTopicLabelsResponse = yield Call("SetTopicLabels", request, timeout_s)
    return response.labels


def list_topic_labels(
    channel: str,
    label: str = "",
    *,
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[learning_pb2.TopicLabel]:
    """Iterate over the labels of a channel in the order in which they were set, page by page as needed.

    Parameters
    ----------
    channel
        Which to look at.
    label
        Only this one. Empty: all.
    limit
        Stop after this many. None: all.
    page_size
        Labels a call, 1 to 1,000. None: the server's 100, or `limit` where that is less.
    timeout_s
        Deadline of each page. None: the client's.

    Examples
    --------
    >>> _ = client.set_topic_labels("room", "meeting", "m1")
    >>> [one.message_id for one in client.list_topic_labels("room", "meeting")]
    ['m1']
    """
    request = encode(
        learning_pb2.ListTopicLabelsRequest, channel=channel, label=label, limit=page_size
    )
    yield from pages("ListTopicLabels", request, "labels", timeout_s, limit)


def delete_topic_labels(
    channel: str,
    label: str,
    message_ids: Sequence[str] | str = (),
    *,
    timeout_s: float | None = None,
) -> Plan[int]:
    """Take a label from these messages, or from all of the channel; how many had it.

    Examples
    --------
    >>> _ = client.set_topic_labels("room", "meeting", "m1")
    >>> client.delete_topic_labels("room", "meeting")
    1
    """
    request = encode(
        learning_pb2.DeleteTopicLabelsRequest,
        channel=channel,
        label=label,
        message_ids=_ids(message_ids),
    )
    response: learning_pb2.DeleteTopicLabelsResponse = yield Call(
        "DeleteTopicLabels", request, timeout_s
    )
    return response.deleted_count


def set_usage_consent(
    user_id: str, *, collect_usage: bool, timeout_s: float | None = None
) -> Plan[None]:
    """Say whether a person's part may be learnt from.

    Without consent builds they ask for are not recorded from then on, and exports have nothing of theirs.

    Examples
    --------
    >>> client.set_usage_consent("ann", collect_usage=False)
    >>> client.get_usage_consent("ann")
    False
    """
    request = encode(
        learning_pb2.SetUsageConsentRequest, user_id=user_id, collect_usage=collect_usage
    )
    yield Call("SetUsageConsent", request, timeout_s)


def get_usage_consent(user_id: str, *, timeout_s: float | None = None) -> Plan[bool]:
    """Whether a person's part may be learnt from: yes, where nothing was said.

    Examples
    --------
    >>> client.get_usage_consent("ann")
    True
    """
    request = encode(learning_pb2.GetUsageConsentRequest, user_id=user_id)
    response: learning_pb2.GetUsageConsentResponse = yield Call(
        "GetUsageConsent", request, timeout_s
    )
    return response.collect_usage


def export_usage_records(
    channel: str = "",
    *,
    user_id: str = "",
    since: When | None = None,
    until: When | None = None,
    with_texts: bool = False,
    timeout_s: float | None = BULK_TIMEOUT_S,
) -> Stream[Exported]:
    """Iterate over recorded builds, oldest first, with all they chose from and what came of it; last an ExportSummary.

    Leaving the loop early ends the call. The deadline, ten minutes, is that of the whole stream.

    Parameters
    ----------
    channel
        Only its builds. Empty: those of all channels.
    user_id
        Only those this user asked for.
    since, until
        Only those from then on, and before then.
    with_texts
        With the texts of messages, answers and feedback. False: ids, numbers and labels alone.
    timeout_s
        Deadline of the whole stream.

    Examples
    --------
    >>> _ = client.build_context("room", "when do we meet?")
    >>> *builds, summary = client.export_usage_records("room")
    >>> builds[0].record.channel, summary.build_count == len(builds)
    ('room', True)
    """
    request = encode(
        learning_pb2.ExportUsageRecordsRequest,
        channel=channel,
        user_id=user_id,
        since_ms=since,
        until_ms=until,
        with_texts=with_texts,
    )
    return Stream(Call("ExportUsageRecords", request, timeout_s), _items)


def replay_builds(
    channel: str,
    context_id: str = "",
    *,
    since: When | None = None,
    until: When | None = None,
    profile: str = "",
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None = None,
    layout: LayoutName | None = None,
    token_budget: int | None = None,
    timeout_s: float | None = BULK_TIMEOUT_S,
) -> Stream[Replay]:
    """Ask recorded builds again with something else, and iterate over what came and what went; last a ReplaySummary.

    They are asked on the messages that were there then, oldest first. Nothing of it is recorded or counted.
    Leaving the loop early ends it. The deadline, ten minutes, is that of the whole stream.

    Parameters
    ----------
    channel
        Whose builds.
    context_id
        The one build to replay. Empty: all that `since` and `until` leave.
    since, until
        Only builds from then on, and before then.
    profile
        To choose with. Empty: that of each build.
    overrides
        Of the profile, weights among them. Those of the build hold where these say nothing.
    layout
        Of the messages. None: that of each build.
    token_budget
        Of the payload. None: that of each build.
    timeout_s
        Deadline of the whole stream.

    Raises
    ------
    NotFound
        If there is no such build.
    InvalidRequest
        If there is no such profile.

    Examples
    --------
    >>> *builds, summary = client.replay_builds("room", profile="classic")
    >>> summary.replayed_count == len(builds)
    True
    """
    request = encode(
        learning_pb2.ReplayBuildsRequest,
        channel=channel,
        context_id=context_id,
        since_ms=since,
        until_ms=until,
        profile=profile,
        overrides=overrides,
        layout=layout,
        token_budget=token_budget,
    )
    return Stream(Call("ReplayBuilds", request, timeout_s), _replays)


def _replays(response: learning_pb2.ReplayBuildsResponse) -> Sequence[Replay]:
    return [response.summary if response.HasField("summary") else response.build]


def _items(response: learning_pb2.ExportUsageRecordsResponse) -> Sequence[Exported]:
    end = [response.summary] if response.HasField("summary") else []
    return [*response.builds, *end]


def _ids(given: Sequence[str] | str) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
