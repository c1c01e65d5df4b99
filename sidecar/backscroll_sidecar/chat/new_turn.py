"""How a turn begins: its question, and the turn made of a request and a built context. Pure."""

from typing import TypeVar

from msgspec.structs import replace

from backscroll_sidecar.analyze import is_same_question
from backscroll_sidecar.chat.turns import ChatRequest, ChatSettings, Turn
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import Message, StoredMessage, TextPart
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history.validate import rank_time
from backscroll_sidecar.turn_ids import question_id

T = TypeVar("T")

DEFAULT_SELF_ID = "assistant"
"""The author of replies where the caller names no id of its bot."""


def checked_context(request: ChatRequest, settings: ChatSettings) -> BuildRequest:
    """The context that a new turn asks for; its payload is the one the model will get, unless others are wanted.

    Raises
    ------
    InvalidRequest
        There is no context, or nobody asks.
    """
    context = request.context
    if context is None:
        raise InvalidRequest(
            "context and turn_id are both unset", field="context", reason=Reason.MISSING_FIELD
        )
    has_asker = bool(context.trigger_message_id or request.new_turn_id or context.asker)
    if context.key.channel and not has_asker:
        raise InvalidRequest(
            "context.asker is needed to store a question without a trigger",
            field="context.asker",
            reason=Reason.MISSING_FIELD,
        )
    if context.payload_formats is None:
        return replace(context, payload_formats=(request.model_api or settings.model_api,))
    return context


def self_id_of(context: BuildRequest) -> str:
    """The author of the reply."""
    return context.self_ids[0] if context.self_ids else DEFAULT_SELF_ID


def asked_id(request: ChatRequest, context: BuildRequest) -> str:
    """The id that tells a question asked twice; empty where it has none."""
    if not context.key.channel:
        return ""
    return context.trigger_message_id or request.question_message_id


def asked_text(context: BuildRequest, trigger: StoredMessage | None) -> str:
    """The question's text: the trigger's where the request has none, or the same one; else its own."""
    text = context.question
    if trigger is None:
        return text
    stored = trigger.message.text
    names = [one.name for one in trigger.message.mentions]
    return stored if not text.strip() or is_same_question(stored, text, names) else text


def question_to_store(request: ChatRequest, context: BuildRequest, turn_id: str) -> Message | None:
    """The question as a message without a time; None where it is stored already, or nobody asks."""
    if context.trigger_message_id or context.own_question_id or context.asker is None:
        return None
    if not context.key.channel or not context.question.strip():
        return None
    return Message(
        request.question_message_id or question_id(turn_id),
        context.key.channel,
        context.asker,
        (TextPart(context.question),),
        0,
        thread_id=context.thread_id or "",
        session_id=context.session_id,
        reply=context.reply,
        mentions=context.mentions,
    )


def turn_begun(
    request: ChatRequest,
    context: BuildRequest,
    built: BuiltContext,
    settings: ChatSettings,
    *,
    turn_id: str,
    trigger: StoredMessage | None,
    question: Message | None,
    now_ms: int,
    since: int,
    self_name: str = "",
) -> Turn:
    """The turn that begins with this context, in the thread of the request or of its question.

    Parameters
    ----------
    trigger : the stored message that is the question, if there is one.
    question : the question that is stored now, if there is one.
    since : where the turn stands among its channel's erasures.
    self_name : the name of the reply's author.
    """
    asked = trigger.message if trigger else question
    after_ms = trigger.rank_time_ms if trigger else 0
    if question is not None:
        after_ms, _ = rank_time(built.asked_at_ms, now_ms)
    return Turn(
        id=turn_id,
        key=context.key,
        self_id=self_id_of(context),
        model=built.model,
        messages=built.payload_messages,
        counted_tokens=counted_tokens(built),
        question_message_id=asked.id
        if asked
        else context.trigger_message_id or context.own_question_id,
        max_iterations=_or(request.max_tool_iterations, settings.max_tool_iterations),
        temperature=_or(request.temperature, settings.temperature),
        tools_json=context.tools_json,
        max_output_tokens=request.max_output_tokens,
        extra_body_json=request.extra_body_json,
        model_api=request.model_api or settings.model_api,
        with_names=context.include_names,
        budget=built.tokens.budget,
        reserve=built.tokens.reserve,
        tokenizer=built.tokens.tokenizer,
        since=since,
        thread_id=context.thread_id or (asked.thread_id if asked else ""),
        session_id=context.session_id or (asked.session_id if asked else ""),
        after_ms=after_ms,
        context_id=built.context_id,
        language=built.language,
        has_summary=built.summary is not None,
        self_name=self_name,
    )


def counted_tokens(built: BuiltContext) -> int:
    """What the request of a model with this context takes by our count."""
    return built.tokens.total - built.tokens.reserve


def _or(value: T | None, default: T) -> T:
    return default if value is None else value
