"""A turn: what is kept between a model's tool calls and the bot's results, as a value and as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from backscroll_sidecar import turn_ids
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.chat.companion import ALONE, Companion
from backscroll_sidecar.chat.events import EndReason
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    ChannelKey,
    NeutralMessage,
    Part,
    Role,
    TextPart,
    TokenizerName,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    result_message,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.parts_json import decode_parts, encode_parts
from backscroll_sidecar.ports import ANY_ERASURE, ANY_RETRACTION, Relay, about_message
from backscroll_sidecar.texts import NEUTRAL, Language, Wordings

FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Defaults of turns.

    Attributes
    ----------
    temperature : None: a request that names none is sent none.
    wordings : texts that the server adds.
    missing_finish_is_complete : how a stream counts that ends without a reason.
    model_api : the payload format of the interface that models are called by where a request names none.
    """

    temperature: float | None = 0.7
    max_tool_iterations: int = 10
    wordings: Wordings = NEUTRAL
    missing_finish_is_complete: bool = False
    turn_lifetime_ms: int = 3_600_000
    model_api: str = "openai_chat"


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One StreamChat or Chat call, checked by the edge. `context` is None when `turn_id` continues a turn.

    `new_turn_id` is the id that a new turn gets: then it is the caller's to know whether it was answered before.
    `self_name` is the name of the reply's author, where the caller knows it. With `relay` the model gets that request
    of a client's, and a question that was answered gets another answer in the place of that one. The turn may be of the
    channels `allowed`; None: of any.
    """

    tenant: str
    context: BuildRequest | None = None
    temperature: float | None = None
    max_tool_iterations: int | None = None
    enable_tools: bool | None = None
    max_output_tokens: int | None = None
    extra_body_json: str = ""
    model_api: str = ""
    turn_id: str = ""
    tool_results: tuple[ToolResultPart, ...] = ()
    question_message_id: str = ""
    new_turn_id: str = ""
    self_name: str = ""
    companion: Companion = ALONE
    relay: Relay | None = None
    time_left_s: float | None = None
    allowed: AllowedChannels | None = None


class Turn(msgspec.Struct, frozen=True):
    """A turn as it is kept.

    Attributes
    ----------
    messages : what the model was last sent.
    asked : what it then said, with the calls whose results are awaited.
    reply_text : what it said in the end.
    iteration : model calls so far.
    ended : set once there is a reply. The same `turn_id` then answers `reply_text` and `finish_reason` again.
    budget, reserve, tokenizer : those of the context; no budget: none is kept.
    since : for `TurnMark`, in this process only: whoever finds a turn sets it anew.
    thread_id, session_id : of what the turn stores.
    self_name : the name of the author of what it stores; empty: none is known.
    counted_tokens : what its messages and tools take by our count; None: nobody counted.
    has_summary : a summary is among what the model was sent.
    after_ms : rank time of its newest row, which what it stores must exceed; while it is continued, its calls' time.
    """

    id: str
    key: ChannelKey
    self_id: str
    model: str
    messages: tuple[NeutralMessage, ...]
    question_message_id: str = ""
    asked: tuple[Part, ...] = ()
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
    budget: int | None = None
    reserve: int = 0
    tokenizer: TokenizerName = TokenizerName.O200K
    since: int = 0
    finish_reason: str = ""
    extra_body_json: str = ""
    model_api: str = ""
    thread_id: str = ""
    session_id: str = ""
    after_ms: int = 0
    context_id: str = ""
    language: Language = Language.EN
    has_summary: bool = False
    self_name: str = ""
    counted_tokens: int | None = None

    @property
    def named_ids(self) -> tuple[str, ...]:
        """What erases it: any erasure of the channel, and the retraction of a message it holds.

        With a summary that of any message: it may be one that the summary stands for.
        """
        shown = {message_id for message in self.messages for message_id in message.message_ids}
        ids = sorted({*shown, self.question_message_id} - {""})
        any_retraction = (ANY_RETRACTION,) if self.has_summary else ()
        return (ANY_ERASURE, *any_retraction, *map(about_message, ids))

    @property
    def author(self) -> Author:
        """Of what it stores."""
        return Author(self.self_id, self.self_name, AuthorKind.BOT)

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls whose results are awaited."""
        return tuple([one for one in self.asked if isinstance(one, ToolCallPart)])

    @property
    def calls_id(self) -> str:
        """The id of the row that holds this round's calls."""
        return turn_ids.calls_id(self.id, self.iteration)

    def result_id(self, place: int) -> str:
        """The id of the row that holds the result of the round's call at `place`."""
        return turn_ids.result_id(self.id, self.iteration, place)

    @property
    def may_call_tools(self) -> bool:
        """Whether model call `iteration` may ask for tools. The one after the last must answer."""
        return bool(self.tools_json) and self.iteration <= self.max_iterations

    def in_order(self, results: Sequence[ToolResultPart]) -> tuple[ToolResultPart, ...]:
        """The results in the order of the open calls, each with the name of its tool.

        Raises
        ------
        InvalidRequest
            When they are not exactly those of the open calls.
        """
        by_id = {result.call_id: result for result in results}
        if sorted(call.id for call in self.calls) != sorted(one.call_id for one in results):
            raise InvalidRequest(
                "tool_results must answer every open call of the turn once",
                field="tool_results",
                reason=Reason.INVALID_FIELD,
            )
        return tuple(replace(by_id[call.id], name=call.name) for call in self.calls)

    def continued(self, results: Sequence[ToolResultPart]) -> Turn:
        """The turn with the results of its calls, as `in_order` gives them, for the next model call."""
        asked = assistant_message(self.asked, (self.calls_id,))
        answers = [
            result_message((one,), (self.result_id(place),)) for place, one in enumerate(results)
        ]
        return replace(
            self,
            messages=(*self.messages, asked, *answers),
            asked=(),
            after_ms=self.after_ms + 1,
            counted_tokens=None,
        )


def encode_turn(turn: Turn) -> bytes:
    """The turn as bytes for the store."""
    fields = msgspec.structs.asdict(turn)
    fields["key"] = turn.key._asdict()
    fields["asked"] = encode_parts(turn.asked)
    fields["messages"] = [
        msgspec.structs.asdict(one) | {"parts": encode_parts(one.parts)} for one in turn.messages
    ]
    return orjson.dumps({"version": FORMAT_VERSION, "turn": fields})


def decode_turn(body: bytes) -> Turn:
    """The turn `encode_turn` was given, or a release before this one."""
    kept: dict[str, Any] = orjson.loads(body)
    raw: dict[str, Any] = kept["turn"]
    if kept["version"] == 1:
        raw = _from_version_1(raw)
    raw["key"] = ChannelKey(**raw["key"])
    raw["asked"] = decode_parts(raw["asked"])
    raw["messages"] = tuple(_message(one) for one in raw["messages"])
    raw["ended"] = EndReason(raw["ended"]) if raw["ended"] else None
    raw["language"] = Language(raw.get("language", Language.EN))
    raw["tokenizer"] = TokenizerName(raw["tokenizer"])
    return Turn(**raw)


def _message(raw: dict[str, Any]) -> NeutralMessage:
    fields = raw | {
        "role": Role(raw["role"]),
        "message_ids": tuple(raw["message_ids"]),
        "parts": decode_parts(raw["parts"]),
    }
    return NeutralMessage(**fields)


def _from_version_1(raw: dict[str, Any]) -> dict[str, Any]:
    """A turn whose calls stood beside the texts: such turns live for an hour, also over an update."""
    calls = raw.pop("calls")
    raw["asked"] = _parts_1(raw["reply_text"], calls) if calls else []
    if calls:
        raw["reply_text"] = ""
    for message in raw["messages"]:
        made, answered = message.pop("tool_calls"), message.pop("tool_call_id")
        message["parts"] = _parts_1(message["content"], made) if made else []
        if answered:
            message["parts"] = encode_parts([ToolResultPart(answered, "", message["content"])])
    return raw


def _parts_1(text: str, calls: list[dict[str, str]]) -> list[list[Any]]:
    said = [TextPart(text)] if text else []
    return encode_parts([*said, *(ToolCallPart(**call) for call in calls)])


@dataclass(slots=True)
class ModelReply:
    """The answer so far. `parts`: all of it in the vendor's order, where only the vendor can read some of it."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCallPart] = field(default_factory=list)
    parts: tuple[Part, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""

    @property
    def text(self) -> str:
        """All deltas together."""
        return "".join(self.texts)

    @property
    def whole(self) -> tuple[Part, ...]:
        """Its parts."""
        said = (TextPart(self.text),) if self.text else ()
        return self.parts or (*said, *self.calls)
