"""A turn as a value and as bytes; endings as a table."""

from dataclasses import replace

import msgspec
import orjson
import pytest

from backscroll_sidecar.chat.events import EndReason
from backscroll_sidecar.chat.finish_reasons import ending_of, error_text, notice_of
from backscroll_sidecar.chat.turns import Turn, decode_turn, encode_turn
from backscroll_sidecar.domain import (
    ChannelKey,
    NeutralMessage,
    ProviderStatePart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    result_message,
)
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import FinishReason, ModelFault
from backscroll_sidecar.texts import DESIGNS

STATE = ProviderStatePart("host/v1", "openai_chat", "m", "extra_content", b'{"a":"\xc3\xa9"}')
ASKED = (
    TextPart("看看…"),
    STATE,
    ToolCallPart("c1", "weather", '{"city": "北京"}'),
    ToolCallPart("c2", "now"),
)
TURN = Turn(
    id="t1",
    key=ChannelKey("acme", "房间"),
    self_id="bot",
    model="gpt-4o-mini",
    messages=(
        NeutralMessage(Role.SYSTEM, "You are a cat. 🐈"),
        NeutralMessage(Role.USER, "天气?\n", "Ann", ("m1", "m2")),
    ),
    question_message_id="m9",
    asked=ASKED,
    iteration=1,
    max_iterations=3,
    temperature=0.7,
    tools_json="[{}]",
    max_output_tokens=9,
    expires_at_ms=5,
)


def result(id: str, text: str = "ok") -> ToolResultPart:
    return ToolResultPart(id, "", text)


@pytest.mark.parametrize(
    "turn",
    [
        TURN,
        msgspec.structs.replace(
            TURN, temperature=None, max_output_tokens=None, asked=(), messages=()
        ),
        msgspec.structs.replace(TURN, ended=EndReason.LENGTH, reply_message_id="t1:reply"),
        TURN.continued(TURN.in_order((result("c2"), result("c1")))),
    ],
)
def test_bytes_and_back(turn: Turn) -> None:
    """A kept turn is the turn it was, in any state, also after a restart."""
    assert decode_turn(encode_turn(turn)) == turn


def test_results_stand_behind_their_calls_in_the_order_of_the_calls() -> None:
    """S5-30: what the model said with its calls stays with them."""
    following = TURN.continued(
        TURN.in_order((ToolResultPart("c2", "", "noon", is_error=True), result("c1", "25°")))
    )
    assert following.messages[:2] == TURN.messages
    assert following.messages[2:] == (
        assistant_message(ASKED, ("t1:calls:1",)),
        result_message((ToolResultPart("c1", "weather", "25°"),), ("t1:result:1:0",)),
        result_message((ToolResultPart("c2", "now", "noon", is_error=True),), ("t1:result:1:1",)),
    )
    assert following.asked == ()


def test_a_turn_of_the_release_before_goes_on() -> None:
    """Kept before an update, continued after it: calls stood beside the texts then."""
    call = {"id": "c0", "name": "now", "arguments_json": "{}"}
    plain = {"name": "", "message_ids": [], "tool_calls": [], "tool_call_id": "", "author_id": ""}
    body = orjson.loads(encode_turn(msgspec.structs.replace(TURN, asked=(), messages=())))
    del body["turn"]["asked"]
    body["version"] = 1
    body["turn"] |= {
        "calls": [{"id": "c1", "name": "now", "arguments_json": "{}"}],
        "reply_text": "one more",
        "messages": [
            plain | {"role": 1, "content": "when?"},
            plain | {"role": 2, "content": "", "tool_calls": [call]},
            plain | {"role": 4, "content": "noon", "tool_call_id": "c0"},
        ],
    }
    turn = decode_turn(orjson.dumps(body))
    assert (turn.asked, turn.reply_text) == ((TextPart("one more"), ToolCallPart("c1", "now")), "")
    assert turn.messages == (
        NeutralMessage(Role.USER, "when?"),
        assistant_message((ToolCallPart("c0", "now"),)),
        result_message((ToolResultPart("c0", "", "noon"),)),
    )


@pytest.mark.parametrize("ids", [[], ["c1"], ["c1", "c1"], ["c1", "c2", "c2"], ["c1", "c3"]])
def test_any_other_results_are_refused(ids: list[str]) -> None:
    """P-10: a call is never sent to the model without its result, nor a result without its call."""
    with pytest.raises(InvalidRequest) as refused:
        TURN.in_order(tuple(map(result, ids)))
    assert refused.value.field == "tool_results"


@pytest.mark.parametrize(
    ("iteration", "tools_json", "allowed"),
    [(1, "[{}]", True), (3, "[{}]", True), (4, "[{}]", False), (1, "", False)],
)
def test_who_may_call_tools(iteration: int, tools_json: str, *, allowed: bool) -> None:
    """S5-30: the calls up to max_iterations; the one after must answer."""
    assert (
        msgspec.structs.replace(TURN, iteration=iteration, tools_json=tools_json).may_call_tools
        == allowed
    )


@pytest.mark.parametrize(
    ("finish", "reason", "notice", "whole"),
    [
        (FinishReason.STOP, EndReason.COMPLETE, "", True),
        (FinishReason.LENGTH, EndReason.LENGTH, "(后续内容被截断)", True),
        (
            FinishReason.CONTENT_FILTER,
            EndReason.CONTENT_FILTER,
            "赤尾有点不想讨论这个话题呢~",
            True,
        ),
        (FinishReason.TOOL_CALLS, EndReason.TOOL_CALLS, "", True),
        (FinishReason.UNKNOWN, EndReason.COMPLETE, "", True),
        (FinishReason.INTERRUPTED, EndReason.INCOMPLETE, "", False),
        (FinishReason.NONE, EndReason.INCOMPLETE, "", False),
    ],
)
def test_endings(finish: FinishReason, reason: EndReason, notice: str, *, whole: bool) -> None:
    """Law 8, S5-31: each of the model's ends has one of ours; an empty notice is none."""
    ending = ending_of(finish, DESIGNS, missing_is_complete=False)
    assert (ending.reason, ending.is_whole) == (reason, whole)
    assert (ending.notice.text if ending.notice else "") == notice
    silent = replace(DESIGNS, length_notice="", content_filter_notice="")
    assert ending_of(finish, silent, missing_is_complete=False).notice is None


def test_a_missing_reason_may_count_as_complete() -> None:
    ending = ending_of(FinishReason.NONE, DESIGNS, missing_is_complete=True)
    assert (ending.reason, ending.is_whole) == (EndReason.COMPLETE, True)


def test_only_two_endings_have_a_notice() -> None:
    """S5-31: stops unless tool_calls, and says why for two of the reasons."""
    told = {reason for reason in EndReason if notice_of(reason, DESIGNS)}
    assert told == {EndReason.LENGTH, EndReason.CONTENT_FILTER}


@pytest.mark.parametrize("fault", [*ModelFault])
def test_error_texts(fault: ModelFault) -> None:
    """S5-32: the exact prefix and a safe reason."""
    error = failed(fault)
    assert error_text(error, DESIGNS) == f"生成回复时出现错误: {error.safe_reason}"
    assert error_text(error, replace(DESIGNS, error_prefix="")) == error.safe_reason
