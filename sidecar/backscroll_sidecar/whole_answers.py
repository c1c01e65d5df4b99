"""An answer of a model for the server's own use: all of it, or why it may not be used."""

from __future__ import annotations

import asyncio

from backscroll_sidecar.ports import (
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelRequest,
    TextDelta,
    TextTakenBack,
    ToolCallDelta,
)

_WHOLE = {FinishReason.STOP, FinishReason.UNKNOWN}
_WORDS = {
    FinishReason.LENGTH: "length",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.TOOL_CALLS: "tool_call",
}


class NoAnswer(Exception):
    """A model gave no answer that may be used. `word` says why: a fault, or how its answer ended."""

    def __init__(self, word: str, *, is_overflow: bool = False) -> None:
        super().__init__(word)
        self.word = word
        self.is_overflow = is_overflow


async def whole_answer(model: ChatModel, request: ModelRequest, timeout_s: float) -> str:
    """The text of an answer that ended by itself, says something and calls no tool. Raises `NoAnswer`."""
    texts: list[str] = []
    ending = FinishReason.NONE
    try:
        async with asyncio.timeout(timeout_s), model.stream(request) as events:
            async for event in events:
                match event:
                    case TextDelta(text):
                        texts.append(text)
                    case TextTakenBack():
                        texts.clear()
                    case ToolCallDelta():
                        raise NoAnswer("tool_call")
                    case Finished(reason):
                        ending = reason
    except ModelError as failed:
        raise NoAnswer(failed.fault.value, is_overflow=failed.is_overflow) from None
    except TimeoutError:
        raise NoAnswer("timeout") from None
    if ending not in _WHOLE:
        raise NoAnswer(_WORDS.get(ending, "incomplete"))
    answer = "".join(texts).strip()
    if not answer:
        raise NoAnswer("empty")
    return answer
