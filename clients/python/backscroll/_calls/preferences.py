"""What is known of how people like to be talked to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backscroll._calls.plan import Call, Plan, gathered
from backscroll._encode import encode
from backscroll.v1 import preference_pb2


def set_preference(
    user_id: str,
    text: str = "",
    *,
    channel: str = "",
    preference_id: str = "",
    topic: str = "",
    value: str = "",
    valid_from: datetime | int | None = None,
    valid_until: datetime | int | None = None,
    timeout_s: float | None = None,
) -> Plan[preference_pb2.Preference]:
    """Store a line about a person; every context for a question of theirs has it while it holds. Safe to repeat.

    Parameters
    ----------
    user_id
        Whose it is.
    text
        As a model reads it, at most 2,000 bytes. Empty with a value: made from topic and value.
    channel
        Where it holds. Empty: everywhere.
    preference_id
        What replaces it later. Empty: made from what it says, so that the same again is the same line. The id of one
        that was read from a message takes its place.
    topic
        What it is about, such as "language"; `list_preference_topics` has those that are known. Another value of a
        topic that has one only takes its place from now on.
    value
        Within the topic, such as "English". Empty: the text.
    valid_from, valid_until
        When it holds, the end exclusive. None: from always, or from now on where it takes another's place; for good.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    Conflict
        If there are 100 others of this user and channel.

    Examples
    --------
    >>> client.set_preference("ann", "likes short answers", preference_id="length").id
    'length'
    >>> client.set_preference("ann", topic="likes", value="tea").text
    'The user likes tea.'
    """
    preference = encode(
        preference_pb2.Preference,
        id=preference_id,
        user_id=user_id,
        channel=channel,
        text=text,
        topic=topic,
        value=value,
        valid_from_ms=valid_from,
        valid_until_ms=valid_until,
    )
    response: preference_pb2.SetPreferenceResponse = yield Call(
        "SetPreference",
        preference_pb2.SetPreferenceRequest(preference=preference),
        timeout_s,
    )
    return response.preference


def list_preferences(
    user_id: str,
    *,
    channel: str = "",
    include_past: bool = False,
    topic: str = "",
    at: datetime | int | None = None,
    timeout_s: float | None = None,
) -> Plan[Sequence[preference_pb2.Preference]]:
    """Return what is stored of a person, what holds everywhere first.

    Parameters
    ----------
    user_id
        Whose.
    channel
        Keeps what holds there, its own and what holds everywhere. Empty: all.
    include_past
        With those whose time is over, or in whose place another one stands.
    topic
        Keeps those of this topic. Empty: all.
    at
        The moment that their status refers to. None: now.
    timeout_s
        Deadline of each page. None: the client's.

    Examples
    --------
    >>> _ = client.set_preference("ann", "likes short answers")
    >>> [one.text for one in client.list_preferences("ann")]
    ['likes short answers']
    """
    request = encode(
        preference_pb2.ListPreferencesRequest,
        user_id=user_id,
        channel=channel,
        include_past=include_past,
        topic=topic,
        at_ms=at,
    )
    return (yield from gathered("ListPreferences", request, "preferences", timeout_s))


def list_preference_topics(
    *, timeout_s: float | None = None
) -> Plan[Sequence[preference_pb2.PreferenceTopic]]:
    """Return the topics that the server knows, the built-in ones first.

    Examples
    --------
    >>> "language" in [one.name for one in client.list_preference_topics()]
    True
    """
    response: preference_pb2.ListPreferenceTopicsResponse = yield Call(
        "ListPreferenceTopics", preference_pb2.ListPreferenceTopicsRequest(), timeout_s
    )
    return response.topics


def delete_preference(
    user_id: str,
    preference_id: str,
    *,
    channel: str = "",
    all_channels: bool = False,
    timeout_s: float | None = None,
) -> Plan[int]:
    """Delete a line about a person for good, and return how many went: what is not there is no error.

    An empty `preference_id` deletes all of this user and channel; an empty `channel` means those
    that hold everywhere, and `all_channels` all of the user. What was read from a message is not read from it again.
    It is not retried: the answer of a repetition would be 0.

    Examples
    --------
    >>> _ = client.set_preference("ann", "likes short answers", preference_id="length")
    >>> client.delete_preference("ann", "length")
    1
    """
    request = encode(
        preference_pb2.DeletePreferenceRequest,
        user_id=user_id,
        channel=channel,
        id=preference_id,
        all_channels=all_channels,
    )
    response: preference_pb2.DeletePreferenceResponse = yield Call(
        "DeletePreference", request, timeout_s
    )
    return int(response.deleted_count)
