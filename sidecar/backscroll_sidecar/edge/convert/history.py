"""HistoryService's requests and answers between protobuf and domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    experiment_pb2,
    learning_pb2,
    preference_pb2,
    session_pb2,
)
from backscroll.v1 import history_pb2 as pb
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import (
    MAX_FORMER_NAMES,
    MAX_ROLE_BYTES,
    MAX_STAYS,
    AppendOutcome,
    AppendResult,
    Member,
    Stay,
    StoredMessage,
)
from backscroll_sidecar.edge.convert.fields import (
    AUTHOR_KIND_NUMBERS,
    AUTHOR_KIND_WORDS,
    OUTCOME_NUMBERS,
    REFUSAL_NUMBERS,
    WARNING_NUMBERS,
    batch_too_large,
    check_count,
    check_id,
    check_range,
    check_text,
    check_time,
    check_unit,
    enum_value,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from backscroll_sidecar.edge.limits import (
    DEFAULT_PAGE_ITEMS,
    MAX_ALIASES,
    MAX_ANSWER_BYTES,
    MAX_BATCH_ITEMS,
    MAX_NAME_BYTES,
    MAX_PAGE_ITEMS,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history import tombstones
from backscroll_sidecar.history.importing import ImportReport
from backscroll_sidecar.history.service import ALIAS_US, MEMBER_US
from backscroll_sidecar.ports import ChannelInfo, EraseReceipt, ListQuery

LimitedRequest = (
    pb.ListMessagesRequest
    | pb.ListChannelsRequest
    | pb.ListMembersRequest
    | preference_pb2.ListPreferencesRequest
    | pb.GetThreadRequest
    | pb.SearchMessagesRequest
    | admin_pb2.ListEventsRequest
    | admin_pb2.ListUsageRecordsRequest
    | admin_pb2.ListChannelSettingsRequest
    | context_pb2.ListPeriodSummariesRequest
    | learning_pb2.ListTopicLabelsRequest
    | admin_pb2.ListWeightVersionsRequest
    | experiment_pb2.ListExperimentsRequest
    | session_pb2.ListSpacesRequest
    | session_pb2.ListSessionsRequest
    | session_pb2.ListStatesRequest
)
_MEMBERS = tag(pb.ListMembersResponse, "members", LENGTH)

# --- requests --------------------------------------------------------------------------------------


def limit_of(
    request: LimitedRequest, default: int = DEFAULT_PAGE_ITEMS, most: int = MAX_PAGE_ITEMS
) -> int:
    """How many items the caller wants."""
    if not request.HasField("limit"):
        return default
    return check_range(request.limit, "limit", 1, most)


def check_list(request: pb.ListMessagesRequest) -> None:
    """Check the conditions of a page, whichever kind of page it asks for."""
    if not request.channel and not request.author_id:
        raise missing("channel")
    check_id(request.channel, "channel")
    check_id(request.author_id, "author_id")
    check_id(request.thread_id, "thread_id")
    for field in ("channels", "message_ids"):
        ids: Sequence[str] = getattr(request, field)
        check_count(len(ids), field, MAX_PAGE_ITEMS)
        for i, one in enumerate(ids):
            required_id(one, f"{field}[{i}]")
    for field in ("since_ms", "until_ms"):
        check_unit(getattr(request, field), field)
    if request.message_ids and not request.channel:
        raise missing("channel")
    if request.channel:
        return
    # Across channels there is no order of arrival to page along.
    for field in ("page_token", "thread_id", "include_recalled"):
        if getattr(request, field):
            raise invalid(field, "needs a channel")
    for field in ("since_ms", "until_ms"):
        if request.HasField(field):
            raise invalid(field, "needs a channel")


def list_query(request: pb.ListMessagesRequest, limit: int, position: int | None) -> ListQuery:
    """Translate the conditions of a page that goes on after `position`."""
    return ListQuery(
        limit=limit,
        newest_first=request.newest_first,
        before_seq=position if request.newest_first else None,
        after_seq=None if request.newest_first else position,
        since_ms=request.since_ms if request.HasField("since_ms") else None,
        until_ms=request.until_ms if request.HasField("until_ms") else None,
        author_id=request.author_id,
        thread_id=request.thread_id,
        include_recalled=request.include_recalled,
    )


async def members_from_proto(
    members: Sequence[pb.Member], *, with_former_names: bool = False
) -> list[Member]:
    """Translate people; `former_names` are the server's to tell: only an import of an export takes them."""
    if len(members) > MAX_BATCH_ITEMS:
        raise batch_too_large("members", MAX_BATCH_ITEMS, "items")
    slices = LoopSlices()
    found = []
    for i, member in enumerate(members):
        await slices.spend(MEMBER_US + ALIAS_US * (len(member.aliases) + len(member.stays)))
        one = _member(member, f"members[{i}]")
        if with_former_names:
            check_count(len(member.former_names), f"members[{i}].former_names", MAX_FORMER_NAMES)
            former = [
                check_text(name, f"members[{i}].former_names[{j}]", MAX_NAME_BYTES)
                for j, name in enumerate(member.former_names)
            ]
            one = replace(one, former_names=tuple(former))
        found.append(one)
    return found


def _member(member: pb.Member, field: str) -> Member:
    required_id(member.user_id, f"{field}.user_id")
    check_text(member.name, f"{field}.name", MAX_NAME_BYTES)
    check_count(len(member.aliases), f"{field}.aliases", MAX_ALIASES)
    for i, alias in enumerate(member.aliases):
        check_text(alias, f"{field}.aliases[{i}]", MAX_NAME_BYTES)
    check_count(len(member.stays), f"{field}.stays", MAX_STAYS)
    stays = tuple(_stay(one, f"{field}.stays[{i}]") for i, one in enumerate(member.stays))
    last = told = _stay(member, field)
    if stays:
        last = stays[-1]
        for name, one, other in zip(Stay._fields, told, last, strict=True):
            if one is not None and one != other:
                raise invalid(f"{field}.{name}", "is not that of the last one of stays")
    return Member(
        user_id=member.user_id,
        name=member.name,
        aliases=tuple(member.aliases),
        kind=enum_value(AUTHOR_KIND_WORDS, member.kind, f"{field}.kind"),
        joined_at_ms=last.joined_at_ms,
        left_at_ms=last.left_at_ms,
        earlier_stays=stays[:-1],
        role=check_text(member.role, f"{field}.role", MAX_ROLE_BYTES),
        has_all_stays=bool(stays),
    )


def _stay(told: pb.Member | pb.Stay, field: str) -> Stay:
    """When somebody joined and left; times nobody told are None."""
    return Stay(
        *(
            check_time(getattr(told, name), f"{field}.{name}") if told.HasField(name) else None
            for name in Stay._fields
        )
    )


def check_erase(request: pb.EraseRequest) -> None:
    """Check what is to be erased, and that it is said once."""
    check_id(request.channel, "channel")
    check_id(request.user_id, "user_id")
    if len(request.message_ids) > MAX_BATCH_ITEMS:
        raise batch_too_large("message_ids", MAX_BATCH_ITEMS, "items")
    for i, message_id in enumerate(request.message_ids):
        required_id(message_id, f"message_ids[{i}]")
    tombstones.check(
        tombstones.Erasure(
            tenant="",
            channel=request.channel,
            user_id=request.user_id,
            message_ids=tuple(request.message_ids),
            all_channels=request.all_channels,
            whole_tenant=request.whole_tenant,
            erased_at_ms=0,
        )
    )
    named = bool(request.message_ids) + bool(request.user_id) + request.whole_channel
    if request.all_channels or request.whole_tenant:
        if request.whole_channel:
            raise invalid("whole_channel", "does not go with all_channels or whole_tenant")
    elif not named:
        raise InvalidRequest(
            "one of message_ids, user_id and whole_channel is required",
            field="message_ids",
            reason=Reason.MISSING_FIELD,
        )
    elif named > 1:
        raise invalid("message_ids", "excludes user_id and whole_channel, and these each other")


# --- answers ---------------------------------------------------------------------------------------


def result_fields(result: AppendResult) -> dict[str, Any]:
    """The answer to one item as fields of `pb.AppendResult`: those that say something."""
    fields: dict[str, Any] = {
        "message_id": result.message_id,
        "outcome": OUTCOME_NUMBERS[result.outcome],
        "sequence": result.seq,
    }
    if result.warnings:
        fields["warnings"] = [WARNING_NUMBERS[warning] for warning in result.warnings]
    if result.refusal is not None:
        fields["refusal"] = REFUSAL_NUMBERS[result.refusal]
    if result.field:
        fields["field"] = result.field
    if result.duplicate_of:
        fields["duplicate_of"] = result.duplicate_of
    return fields


def import_to_proto(
    report: ImportReport, refused_count: int, problems: Iterable[AppendResult]
) -> pb.ImportMessagesResponse:
    """Translate the sum of an import; `refused_count` counts what the edge refused itself."""
    outcomes = report.outcomes
    return pb.ImportMessagesResponse(
        stored_count=outcomes[AppendOutcome.STORED],
        duplicate_count=outcomes[AppendOutcome.DUPLICATE],
        conflict_count=outcomes[AppendOutcome.CONFLICT],
        gone_count=outcomes[AppendOutcome.GONE],
        refused_count=outcomes[AppendOutcome.REFUSED] + refused_count,
        warning_count=report.warned_count,
        warning_count_by_kind={
            warning.name: count for warning, count in sorted(report.warnings.items())
        },
        problems=[pb.AppendResult(**result_fields(one)) for one in problems],
    )


def channel_to_proto(info: ChannelInfo) -> pb.GetChannelResponse:
    """Translate where a channel stands."""
    return pb.GetChannelResponse(
        channel=info.key.channel,
        newest_message_id=info.newest_message_id,
        newest_sent_at_ms=info.newest_sent_at_ms,
        message_count=info.message_count,
        last_sequence=info.last_seq,
        unembedded_count=info.unembedded_count,
    )


def summary_to_proto(info: ChannelInfo) -> pb.ChannelSummary:
    """Translate a channel in a list."""
    return pb.ChannelSummary(
        channel=info.key.channel,
        message_count=info.message_count,
        newest_sent_at_ms=info.newest_sent_at_ms,
    )


async def encode_members(members: Sequence[Member], limit: int) -> tuple[bytes, int]:
    """Serialise people of a channel, so many and as much as one answer may hold; how many there was room for."""
    slices = LoopSlices()
    pieces: list[bytes] = []
    size = 0
    for member in members[:limit]:
        await slices.spend(MEMBER_US + ALIAS_US * len(member.earlier_stays))
        piece = lengthed(_MEMBERS, _member_to_proto(member).SerializeToString())
        size += len(piece)
        if pieces and size > MAX_ANSWER_BYTES:
            break
        pieces.append(piece)
    return b"".join(pieces), len(pieces)


def _member_to_proto(member: Member) -> pb.Member:
    """Translate one person; times nobody told stay unset."""
    return pb.Member(
        user_id=member.user_id,
        name=member.name,
        aliases=member.aliases,
        kind=AUTHOR_KIND_NUMBERS[member.kind],
        joined_at_ms=member.joined_at_ms,
        left_at_ms=member.left_at_ms,
        former_names=member.former_names,
        stays=[pb.Stay(joined_at_ms=joined, left_at_ms=left) for joined, left in member.stays],
        role=member.role,
    )


def receipt_to_proto(tenant: str, receipt: EraseReceipt) -> pb.EraseResponse:
    """Translate the receipt of an erasure."""
    clean_by_ms = receipt.files_clean_by_ms
    return pb.EraseResponse(
        erased_count_by_store=receipt.counts,
        tenant=tenant,
        erased_at_ms=receipt.at_ms,
        files=pb.FILES_STATE_CLEAN if clean_by_ms is None else pb.FILES_STATE_SCHEDULED,
        files_clean_by_ms=clean_by_ms or 0,
        dry_run=receipt.is_dry_run,
    )


def root_of(tree: Sequence[StoredMessage], message_id: str) -> str:
    """The message a reply tree starts with, seen from one of its messages.

    Follows the edges as sent, not the inferred ones, to the last message that is stored. A circle ends where it
    would close.
    """
    parents = {
        row.message.id: row.message.reply.message_id
        for row in tree
        if row.message.reply is not None and not row.message.reply.inferred
    }
    known = {row.message.id for row in tree}
    named = (row.message.id for row in tree if message_id in (row.message.id, *row.alias_ids))
    root = next(named, tree[0].message.id)
    seen = {root}
    while (parent := parents.get(root)) in known and parent not in seen:
        assert parent is not None
        seen.add(parent)
        root = parent
    return root
