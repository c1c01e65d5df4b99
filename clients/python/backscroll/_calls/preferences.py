"""What is known of how people like to be talked to."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll._calls.plan import Call, Plan
from backscroll._encode import encode
from backscroll.v1 import preference_pb2


def set_preference(
    user_id: str,
    text: str,
    *,
    channel: str = "",
    preference_id: str = "",
    timeout_s: float | None = None,
) -> Plan[preference_pb2.Preference]:
    """Store a line about a person; every context for a question of theirs has it. Safe to repeat.

    Parameters
    ----------
    user_id
        Whose it is.
    text
        As a model reads it, at most 2,000 bytes.
    channel
        Where it holds. Empty: everywhere.
    preference_id
        What replaces it later. Empty: made from the text, so that the same text is the same line.
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
    """
    preference = encode(
        preference_pb2.Preference, id=preference_id, user_id=user_id, channel=channel, text=text
    )
    response: preference_pb2.SetPreferenceResponse = yield Call(
        "SetPreference",
        preference_pb2.SetPreferenceRequest(preference=preference),
        timeout_s,
    )
    return response.preference


def list_preferences(
    user_id: str, *, channel: str = "", timeout_s: float | None = None
) -> Plan[Sequence[preference_pb2.Preference]]:
    """Return what is stored of a person, what holds everywhere first.

    With `channel`: what holds there, its own and what holds everywhere.

    Examples
    --------
    >>> _ = client.set_preference("ann", "likes short answers")
    >>> [one.text for one in client.list_preferences("ann")]
    ['likes short answers']
    """
    response: preference_pb2.ListPreferencesResponse = yield Call(
        "ListPreferences",
        encode(preference_pb2.ListPreferencesRequest, user_id=user_id, channel=channel),
        timeout_s,
    )
    return response.preferences


def delete_preference(
    user_id: str, preference_id: str, *, channel: str = "", timeout_s: float | None = None
) -> Plan[int]:
    """Delete a line about a person for good, and return how many went: what is not there is no error.

    An empty `preference_id` deletes all of this user and channel; an empty `channel` means those
    that hold everywhere. It is not retried: the answer of a repetition would be 0.

    Examples
    --------
    >>> _ = client.set_preference("ann", "likes short answers", preference_id="length")
    >>> client.delete_preference("ann", "length")
    1
    """
    request = encode(
        preference_pb2.DeletePreferenceRequest, user_id=user_id, channel=channel, id=preference_id
    )
    response: preference_pb2.DeletePreferenceResponse = yield Call(
        "DeletePreference", request, timeout_s
    )
    return int(response.deleted_count)
