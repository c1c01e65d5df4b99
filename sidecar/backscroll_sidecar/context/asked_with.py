"""What a build was asked with, as it is kept in its record, and the request that asks the same again. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import both
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.domain import (
    Author,
    ChannelKey,
    ChannelSettings,
    Layout,
    Overrides,
    Reply,
    SearchScope,
    SpeakerStyle,
    StoredSystemRows,
    TimeStyle,
    TokenizerName,
)
from backscroll_sidecar.ports import ArmSettings, AskedWith, UsageRecord

NO_TOOLS = "[]"
"""Stands for the tools of a request: only whether there are any says how lines are written."""
FLAGS = (
    "include_system",
    "include_names",
    "visible_since_membership",
)
STYLES = {
    "tokenizer": TokenizerName,
    "speaker_style": SpeakerStyle,
    "time_style": TimeStyle,
    "stored_system_rows": StoredSystemRows,
    "semantic_scope": SearchScope,
}
_TOOLS = "tools"
_PLAIN = BuildRequest(ChannelKey("", ""))
_NOT_KEPT = (
    "mentions", "own_message_ids", "query_embedding", "pictures", "include_pictures", "tool_outputs",
    "tool_output_chars", "catch_up", "viewer_id", "author_visibility", "allowed_author_ids", "language",
)  # fmt: skip
"""Fields that say something of the lines and are not kept: they name people or hold texts, or are rare."""


class Asking(NamedTuple):
    """What was set where a build was asked for, the payload that its tokens were counted for, and the zone of times."""

    channel: ChannelSettings
    arm: ArmSettings
    payload_format: str
    time_zone: str


def asked_with(
    request: BuildRequest, asking: Asking, view: ChannelView, question: Question, fitted: Fitted
) -> AskedWith:
    """What is kept of a request."""
    channel = asking.channel
    answered = question.explicit_parent_row if request.reply is not None else -1
    tokens = fitted.tokens
    flags = [name for name in FLAGS if getattr(request, name)]
    return AskedWith(
        view.last_seq if request.seen_until_seq is None else request.seen_until_seq,
        request.asked_at_ms,
        both(channel.overrides, both(asking.arm.overrides, request.overrides)),
        request.layout,
        asking.payload_format,
        tokens.system + tokens.tools + tokens.preferences + tokens.summary + tokens.reserve,
        asking.time_zone,
        request.thread_id,
        request.session_id,
        request.self_ids,
        {
            name: getattr(request, name)
            for name in STYLES
            if getattr(request, name) != getattr(_PLAIN, name)
        },
        (*flags, _TOOLS) if request.tools_json else tuple(flags),
        view.seq.item(answered) if answered >= 0 else 0,
        tuple(_lost(request, question, channel)),
    )


def _lost(request: BuildRequest, question: Question, channel: ChannelSettings) -> list[str]:
    lost = [name for name in _NOT_KEPT if getattr(request, name) != getattr(_PLAIN, name)]
    if request.reply is not None and question.explicit_parent_row < 0:
        lost.append("reply")
    if channel.sharing is not None:
        lost.append("sharing")
    text, row = request.question.strip(), question.trigger_row
    if text and row >= 0 and question.view.texts[row].strip() != text:
        lost.append("question")
    return lost


def asked_again(
    key: ChannelKey, record: UsageRecord, asked: AskedWith, asker_name: str, answered_id: str
) -> BuildRequest:
    """The request that asks the same again; `answered_id`: of the message at `answered_seq`, empty: none."""
    styles: dict[str, Any] = {name: STYLES[name](value) for name, value in asked.styles.items()}
    request = BuildRequest(
        key,
        asker=Author(record.user_id, asker_name) if record.user_id else None,
        trigger_message_id=record.trigger_message_id,
        asked_at_ms=asked.asked_at_ms,
        reply=Reply(answered_id) if answered_id else None,
        thread_id=asked.thread_id,
        session_id=asked.session_id,
        self_ids=asked.self_ids,
        profile=record.profile,
        overrides=asked.overrides,
        layout=asked.layout,
        time_zone=asked.time_zone,
        reserve_tokens=asked.fixed_tokens,
        token_budget=record.token_budget,
        payload_formats=(asked.payload_format,),
        without_summary=True,
        exploration_seed=None if record.exploration is None else record.exploration.seed,
    )
    request = _changed(request, styles | {name: True for name in FLAGS if name in asked.flags})
    if _TOOLS not in asked.flags:
        return request
    tools_tokens = repeated_tokens(NO_TOOLS, request.tokenizer)
    reserve = max(asked.fixed_tokens - tools_tokens, 0)
    return replace(request, tools_json=NO_TOOLS, reserve_tokens=reserve)


def _changed(request: BuildRequest, fields: dict[str, Any]) -> BuildRequest:
    return replace(request, **fields)


def changed(
    request: BuildRequest,
    profile: str = "",
    overrides: Overrides = _PLAIN.overrides,
    layout: Layout | None = None,
    token_budget: int | None = None,
) -> BuildRequest:
    """The request with something else: what is named here comes before what it was asked with."""
    return replace(
        request,
        profile=profile or request.profile,
        overrides=both(request.overrides, overrides),
        layout=request.layout if layout is None else layout,
        token_budget=request.token_budget if token_budget is None else token_budget,
    )
