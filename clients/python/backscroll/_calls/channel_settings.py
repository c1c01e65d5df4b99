"""What is set for channels while the server runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from backscroll._calls.plan import Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.v1 import admin_pb2, context_pb2
from backscroll.values import Overrides

PreferenceExtractionName: TypeAlias = Literal["off", "rules", "model"]
RedactionName: TypeAlias = Literal["email", "phone", "card", "id_number", "secret"]


def get_channel_settings(
    channel: str, *, timeout_s: float | None = None
) -> Plan[admin_pb2.ChannelSettings]:
    """Return what is set for a channel.

    Raises
    ------
    NotFound
        If nothing is set for it, with reason CHANNEL_SETTINGS_NOT_FOUND.

    Examples
    --------
    >>> _ = client.set_channel_settings("room", profile="classic")
    >>> client.get_channel_settings("room").profile
    'classic'
    """
    response: admin_pb2.GetChannelSettingsResponse = yield Call(
        "GetChannelSettings",
        encode(admin_pb2.GetChannelSettingsRequest, channel=channel),
        timeout_s,
    )
    return response.settings


def set_channel_settings(
    channel: str | admin_pb2.ChannelSettings,
    *,
    profile: str = "",
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None = None,
    collect_usage: bool | None = None,
    redaction: Sequence[RedactionName] | None = None,
    sharing: Mapping[str, Any] | admin_pb2.Sharing | None = None,
    preference_extraction: PreferenceExtractionName | None = None,
    summary_hours: int | None = None,
    retention_days: int | None = None,
    retention_messages: int | None = None,
    timeout_s: float | None = None,
) -> Plan[admin_pb2.ChannelSettings]:
    """Set what holds in a channel, in the place of what was set before. Builds that begin later go by it.

    Parameters
    ----------
    channel
        Where it holds. Or settings as they were read, changed by you: then these alone are set.
    profile
        Where a request and its bot name none. Empty: what the server's configuration says.
    overrides
        Settings of the profile; those of a request come before them, one by one.
    collect_usage
        False: builds of the channel are not recorded. None: they are.
    redaction
        What is kept out of messages stored from now on: "email", "phone", "card", "id_number", "secret".
        None: what the server's configuration says.
    sharing
        Whose lines its builds may show, and whose may show its own: a mapping with any of "groups", "shares_with",
        "reads_from" and "max_messages". Both channels must want it. None: nobody's.
    preference_extraction
        What reads preferences from messages that come from now on: "off", "rules", or "model" for rules and the
        configured model. None: what the server's configuration says.
    summary_hours
        Length of periods that are summarised, 24 for days; 0: none. None: what the server's configuration says.
    retention_days, retention_messages
        Days that messages are kept, and how many of the newest; 0: for good, any number. Pinned ones stay.
        None: what the server's configuration says.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        With reason UNKNOWN_PROFILE, or for a value out of its range.

    Examples
    --------
    >>> client.set_channel_settings("room", overrides=Overrides(max_context=5)).channel
    'room'
    >>> client.set_channel_settings("room", sharing={"groups": ["guild-42"]}).sharing.groups
    ['guild-42']
    """
    settings = (
        channel
        if isinstance(channel, admin_pb2.ChannelSettings)
        else encode(
            admin_pb2.ChannelSettings,
            channel=channel,
            profile=profile,
            overrides=Overrides(**overrides) if isinstance(overrides, Mapping) else overrides,
            collect_usage=collect_usage,
            redaction=None if redaction is None else encode(admin_pb2.Redaction, kinds=redaction),
            preference_extraction=preference_extraction,
            sharing=encode(admin_pb2.Sharing, **sharing)
            if isinstance(sharing, Mapping)
            else sharing,
            summary_hours=summary_hours,
            retention=_retention(retention_days, retention_messages),
        )
    )
    response: admin_pb2.SetChannelSettingsResponse = yield Call(
        "SetChannelSettings", admin_pb2.SetChannelSettingsRequest(settings=settings), timeout_s
    )
    return response.settings


def _retention(days: int | None, messages: int | None) -> admin_pb2.Retention | None:
    if days is None and messages is None:
        return None
    return encode(admin_pb2.Retention, days=days, messages=messages)


def list_channel_settings(
    *, limit: int | None = None, page_size: int | None = None, timeout_s: float | None = None
) -> Listing[admin_pb2.ChannelSettings]:
    """Iterate over the channels for which something is set, what was set last first.

    Examples
    --------
    >>> _ = client.set_channel_settings("room", profile="classic")
    >>> [one.channel for one in client.list_channel_settings(limit=1)]
    ['room']
    """
    request = encode(admin_pb2.ListChannelSettingsRequest, limit=page_size)
    yield from pages("ListChannelSettings", request, "settings", timeout_s, limit)


def delete_channel_settings(channel: str, *, timeout_s: float | None = None) -> Plan[bool]:
    """Leave a channel to the server's settings, and say whether anything was set.

    Examples
    --------
    >>> client.delete_channel_settings("room")
    False
    """
    response: admin_pb2.DeleteChannelSettingsResponse = yield Call(
        "DeleteChannelSettings",
        encode(admin_pb2.DeleteChannelSettingsRequest, channel=channel),
        timeout_s,
    )
    return response.was_set
