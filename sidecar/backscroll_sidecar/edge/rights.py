"""Which right each RPC needs, and which channels a request names: the one place that decides both.

What no channel is named for is decided below, by `Call.allowed`: a list holds the channels allowed and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.edge.keys import Key, Right
from backscroll_sidecar.errors import NotAllowed

Named = tuple[str, str]
"""A field of a request and the channel in it; an empty one names none."""


def _names_none(request: Any) -> Iterable[Named]:  # noqa: ANN401, ARG001 - any request
    return ()


def _names_channel(request: Any) -> Iterable[Named]:  # noqa: ANN401 - any request with a channel
    return (("channel", request.channel),)


@dataclass(frozen=True, slots=True)
class Need:
    """What one RPC needs.

    Attributes
    ----------
    channels : which channels a request names, field by field. It is called with what the method's parser makes.
    also : a right that a request needs beside; None: no other.
    for_tenant : it is about the whole tenant, so a key that is limited to channels never may.
    unset_is_all : a request that names no channel is about all of them: such a key must name one.
    """

    right: Right
    channels: Callable[[Any], Iterable[Named]] = _names_channel
    also: Callable[[Any], Right | None] | None = None
    for_tenant: bool = False
    unset_is_all: bool = False

    def check_key(self, key: Key) -> None:
        """Refuse a key that may not make such calls at all. Raises `NotAllowed`."""
        if key.rights is not None and self.right not in key.rights:
            raise _lacks(self.right)
        if self.for_tenant and key.channels is not None:
            raise NotAllowed(
                "this is about the whole tenant, and the key is limited to channels",
                metadata={"right": self.right.value},
            )

    def check_request(self, key: Key, request: Any) -> None:  # noqa: ANN401 - what the method's parser makes
        """Refuse what the request asks for beyond the key. Raises `NotAllowed`."""
        if key.rights is not None and self.also is not None:
            right = self.also(request)
            if right is not None and right not in key.rights:
                raise _lacks(right)
        if key.channels is not None:
            self._check_channels(key.channels, request)

    def _check_channels(self, allowed: AllowedChannels, request: Any) -> None:  # noqa: ANN401
        for field, channel in self.channels(request):
            if (channel or self.unset_is_all) and channel not in allowed:
                raise NotAllowed("the key does not permit this channel", field=field)


def need_of(full_name: str) -> Need | None:
    """What an RPC needs, by its name in the contract; None: it is none of the contract's."""
    return NEEDS.get(full_name.removeprefix(_PACKAGE))


def check_known(key: Key) -> None:
    """What there is no need for is for keys without limits alone. Raises `NotAllowed`."""
    if key.rights is not None or key.channels is not None:
        raise NotAllowed("the key is limited, and this call is none that a limit is known for")


def _lacks(right: Right) -> NotAllowed:
    return NotAllowed(
        f"the key does not permit this: it lacks the right {right.value!r}",
        metadata={"right": right.value},
    )


def _of_messages(batch: Any) -> Iterator[Named]:  # noqa: ANN401 - a `Batch`
    """The channel of an import, and those of its messages."""
    yield "channel", batch.channel
    for place, one in enumerate(batch.items):
        # What was refused while it was parsed has no channel, and is stored nowhere.
        yield f"messages[{place}].channel", getattr(one, "channel", "")


def _of_list(request: Any) -> Iterator[Named]:  # noqa: ANN401
    yield "channel", request.channel
    for place, one in enumerate(request.channels):
        yield f"channels[{place}]", one


def _erases_messages(request: Any) -> Right | None:  # noqa: ANN401
    return Right.ERASE if request.erase_messages else None


_PACKAGE = "backscroll.v1."
_read = Need(Right.READ)
_write = Need(Right.WRITE)
_admin = Need(Right.ADMIN)
_read_session = Need(Right.READ, _names_none)
_write_session = Need(Right.WRITE, _names_none)
_chat_session = Need(Right.CHAT, _names_none)
_admin_of_tenant = Need(Right.ADMIN, _names_none, for_tenant=True)

NEEDS: Mapping[str, Need] = {
    "AdminService/DeleteChannelSettings": _admin,
    "AdminService/DeleteExperiment": _admin_of_tenant,
    "AdminService/GetChannelSettings": _admin,
    "AdminService/GetExperiment": _admin_of_tenant,
    "AdminService/GetExperimentReport": _admin_of_tenant,
    "AdminService/GetMetrics": _admin_of_tenant,
    "AdminService/GetUsageRecord": Need(Right.ADMIN, _names_none),
    "AdminService/ListChannelSettings": Need(Right.ADMIN, _names_none),
    "AdminService/ListEvents": _admin,
    "AdminService/ListExperiments": _admin_of_tenant,
    "AdminService/ListUsageRecords": _admin,
    "AdminService/ListWeightVersions": _admin,
    "AdminService/PutExperiment": _admin_of_tenant,
    "AdminService/RollBackWeights": _admin,
    "AdminService/StopExperiment": _admin_of_tenant,
    "AdminService/TuneChannel": _admin,
    "AdminService/SetChannelSettings": Need(
        Right.ADMIN, lambda request: (("settings.channel", request.settings.channel),)
    ),
    "ContextService/BuildContext": _read,
    "ContextService/Chat": Need(
        Right.CHAT, lambda request: (("turn.context.channel", request.turn.context.channel),)
    ),
    "ContextService/Compact": Need(Right.CHAT),
    "ContextService/DeletePeriodSummary": _write,
    "ContextService/ListPeriodSummaries": _read,
    "ContextService/StreamChat": Need(
        Right.CHAT, lambda request: (("context.channel", request.context.channel),)
    ),
    "FeedbackService/RecordFeedback": _write,
    "HistoryService/AliasMessage": _write,
    "HistoryService/AppendMessages": _write,
    "HistoryService/EditMessage": _write,
    "HistoryService/Erase": Need(Right.ERASE, unset_is_all=True),
    "HistoryService/ExportMessages": _read,
    "HistoryService/GetChannel": _read,
    "HistoryService/GetThread": _read,
    "HistoryService/ImportMessages": Need(Right.WRITE, _of_messages),
    "HistoryService/ListChannels": Need(Right.READ, _names_none),
    "HistoryService/ListMembers": _read,
    "HistoryService/ListMessages": Need(Right.READ, _of_list),
    "HistoryService/ListPinnedMessages": _read,
    "HistoryService/PinMessage": _write,
    "HistoryService/RecallMessage": _write,
    "HistoryService/SearchMessages": _read,
    "HistoryService/UnpinMessage": _write,
    "HistoryService/UpsertMembers": _write,
    "HistoryService/WaitForIndex": _read,
    "LearningService/DeleteTopicLabels": _write,
    "LearningService/ExportUsageRecords": _admin,
    "LearningService/GetUsageConsent": _admin_of_tenant,
    "LearningService/ListTopicLabels": _read,
    "LearningService/ReplayBuilds": _admin,
    "LearningService/SetTopicLabels": _write,
    "LearningService/SetUsageConsent": _admin_of_tenant,
    "PreferenceService/DeletePreference": Need(Right.WRITE, unset_is_all=True),
    "PreferenceService/ListPreferenceTopics": Need(Right.READ, _names_none),
    "PreferenceService/ListPreferences": _read,
    "PreferenceService/SetPreference": Need(
        Right.WRITE,
        lambda request: (("preference.channel", request.preference.channel),),
        unset_is_all=True,
    ),
    "SessionService/Act": _write_session,
    "SessionService/CreateSession": Need(
        Right.WRITE, lambda request: (("session.channel", request.session.channel),)
    ),
    "SessionService/DeleteSession": Need(Right.WRITE, _names_none, also=_erases_messages),
    "SessionService/DeleteSpace": Need(Right.WRITE, _names_none, for_tenant=True),
    "SessionService/ExportSession": _read_session,
    "SessionService/ForkSession": _write_session,
    "SessionService/GetSession": _read_session,
    "SessionService/GetSpace": Need(Right.READ, _names_none, for_tenant=True),
    "SessionService/ImportSession": _write,
    "SessionService/ListModes": _read_session,
    "SessionService/ListSessions": _read,
    "SessionService/ListSpaces": Need(Right.READ, _names_none, for_tenant=True),
    "SessionService/ListStates": _read_session,
    "SessionService/PrepareRound": Need(
        Right.READ, lambda request: (("round.channel", request.round.channel),)
    ),
    "SessionService/PutParticipants": _write_session,
    "SessionService/PutSpace": Need(Right.WRITE, _names_none, for_tenant=True),
    "SessionService/RemoveParticipants": _write_session,
    "SessionService/ResumeRound": _chat_session,
    "SessionService/RouteMessage": _read_session,
    "SessionService/StartRound": Need(Right.CHAT),
    "SessionService/UpdateSession": _write_session,
}
"""By service and name. A test holds it against the contract: an RPC without a line here fails it."""
