"""Replays on the wire."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll.v1 import context_pb2
from backscroll.v1 import learning_pb2 as pb
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.context.replayed import Line, Place, Replayed, ReplaySummary
from backscroll_sidecar.context.replaying import ReplayRequest
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.convert.context import overrides_from_proto
from backscroll_sidecar.edge.convert.fields import (
    FATE_NUMBERS,
    LAYOUT_WORDS,
    check_id,
    check_time,
    enum_value,
    invalid,
    required_id,
)


def replay_request(
    request: pb.ReplayBuildsRequest, tenant: str, allowed: AllowedChannels | None
) -> ReplayRequest:
    """Which builds, and what is to be otherwise, checked."""
    has_budget = request.HasField("token_budget")
    if has_budget and not request.token_budget:
        raise invalid("token_budget", "is zero")
    since = request.since_ms if request.HasField("since_ms") else None
    until = request.until_ms if request.HasField("until_ms") else None
    return ReplayRequest(
        ChannelKey(tenant, required_id(request.channel, "channel")),
        check_id(request.context_id, "context_id"),
        None if since is None else check_time(since, "since_ms"),
        None if until is None else check_time(until, "until_ms"),
        check_id(request.profile, "profile"),
        overrides_from_proto(request.overrides, "overrides"),
        enum_value(LAYOUT_WORDS, request.layout, "layout") if request.layout else None,
        request.token_budget if has_budget else None,
        allowed,
    )


def replayed_to_proto(one: Replayed, ids: Mapping[Place, str]) -> pb.ReplayedBuild:
    """A build and its replay as callers read them; `ids`: those of its lines that are still there."""
    before, after = one.before, one.after
    asked = before.asked_with
    return pb.ReplayedBuild(
        context_id=before.context_id,
        trigger_message_id=before.trigger_message_id,
        created_at_ms=before.created_at_ms,
        left_out=one.left_out,
        policy_before=before.policy_id,
        policy_after="" if after is None else after.policy_id,
        came=[_line(line, ids) for line in one.came],
        went=[_line(line, ids) for line in one.went],
        kept_count=one.kept_count,
        tokens_before=before.tokens,
        tokens_after=0 if after is None else after.tokens,
        erased_count=one.gone_count,
        recalled_count=one.recalled_count,
        edited_count=one.edited_count,
        not_kept=() if asked is None else asked.lost,
    )


def _line(line: Line, ids: Mapping[Place, str]) -> pb.ReplayedLine:
    before, after = line.fate_before, line.fate_after
    none = context_pb2.FATE_UNSPECIFIED
    return pb.ReplayedLine(
        message_id=ids.get(line.place, ""),
        channel=line.place[0],
        score_before=line.score_before,
        score_after=line.score_after,
        fate_before=none if before is None else FATE_NUMBERS[before],
        fate_after=none if after is None else FATE_NUMBERS[after],
    )


def replay_summary_to_proto(summary: ReplaySummary) -> pb.ReplaySummary:
    """The totals."""
    return pb.ReplaySummary(
        replayed_count=summary.replayed,
        same_count=summary.same,
        came_count=summary.came,
        went_count=summary.went,
        kept_count=summary.kept,
        tokens_before=summary.tokens_before,
        tokens_after=summary.tokens_after,
        left_out_count=summary.left_out,
    )
