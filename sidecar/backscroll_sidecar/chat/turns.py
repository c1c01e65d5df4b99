"""A turn: what must be remembered between a model's tool calls and the bot's results, as a value and as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from backscroll_sidecar.chat.events import EndReason
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import (
    ChannelKey,
    NeutralMessage,
    Role,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.errors import InvalidRequest, Reason

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One StreamChat or Chat call, checked by the edge. `context` is None when `turn_id` continues a turn."""

    tenant: str
    context: BuildRequest | None = None
    temperature: float | None = None
    max_tool_iterations: int | None = None
    enable_tools: bool | None = None
    max_output_tokens: int | None = None
    turn_id: str = ""
    tool_results: tuple[ToolResultPart, ...] = ()
    question_message_id: str = ""
    time_left_s: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn as it is kept.

    `messages` is what the model was last sent, frozen; `calls` what it then asked for, `reply_text` what it said with
    them. `ended` is set once there is a reply: the same `turn_id` then answers `reply_text` again. `iteration` counts
    model calls.
    """

    id: str
    key: ChannelKey
    self_id: str
    model: str
    messages: tuple[NeutralMessage, ...]
    question_message_id: str = ""
    calls: tuple[ToolCallPart, ...] = ()
    iteration: int = 0
    max_iterations: int = 10
    temperature: float | None = None
    tools_json: str = ""
    max_output_tokens: int | None = None
    reply_text: str = ""
    reply_message_id: str = ""
    ended: EndReason | None = None
    expires_at_ms: int = 0
    with_names: bool = False

    @property
    def may_call_tools(self) -> bool:
        """Whether model call `iteration` may ask for tools; the one after the last allowed must answer."""
        return bool(self.tools_json) and self.iteration <= self.max_iterations

    def continued(self, results: tuple[ToolResultPart, ...]) -> Turn:
        """The turn with the results of its calls, ready for the next model call.

        Raises
        ------
        InvalidRequest
            When the results are not exactly those of the open calls.
        """
        by_id = {result.call_id: result for result in results}
        wanted = [call.id for call in self.calls]
        if sorted(wanted) != sorted(result.call_id for result in results):
            raise InvalidRequest(
                "tool_results must answer every open call of the turn once",
                field="tool_results",
                reason=Reason.INVALID_FIELD,
            )
        asked = NeutralMessage(Role.ASSISTANT, self.reply_text, tool_calls=self.calls)
        answers = tuple(
            NeutralMessage(Role.TOOL, by_id[call_id].text, tool_call_id=call_id)
            for call_id in wanted
        )
        return replace(self, messages=(*self.messages, asked, *answers), calls=(), reply_text="")


def encode_turn(turn: Turn) -> bytes:
    """The turn as bytes for the store."""
    return orjson.dumps({"version": FORMAT_VERSION, "turn": turn})


def decode_turn(body: bytes) -> Turn:
    """The turn `encode_turn` was given."""
    raw: dict[str, Any] = orjson.loads(body)["turn"]
    raw["key"] = ChannelKey(**raw["key"])
    raw["calls"] = _calls(raw["calls"])
    raw["messages"] = tuple(_message(one) for one in raw["messages"])
    raw["ended"] = EndReason(raw["ended"]) if raw["ended"] else None
    return Turn(**raw)


def _message(raw: dict[str, Any]) -> NeutralMessage:
    return NeutralMessage(
        Role(raw["role"]),
        raw["content"],
        raw["name"],
        tuple(raw["message_ids"]),
        _calls(raw["tool_calls"]),
        raw["tool_call_id"],
    )


def _calls(raw: list[dict[str, str]]) -> tuple[ToolCallPart, ...]:
    return tuple(ToolCallPart(**call) for call in raw)


@dataclass(slots=True)
class Reply:
    """What has come of the answer so far."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def text(self) -> str:
        """All deltas together."""
        return "".join(self.texts)
