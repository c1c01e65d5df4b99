"""Answers of Anthropic Messages, event by event or whole. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from backscroll_sidecar.adapters.anthropic_messages import THOUGHT_BLOCKS, usage_of
from backscroll_sidecar.adapters.replies import text_of
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.ports import UsageDelta

_GROWING = {"thinking_delta": "thinking", "signature_delta": "signature"}


class MessagesReader(AnswerReader):
    """Reads one message. Its thoughts are kept as they are signed."""

    _block: dict[str, Any] | None = None
    """The thoughts that are coming."""

    def read(self, chunk: Mapping[str, Any]) -> str:
        match chunk.get("type"):
            case "content_block_delta":
                return self._delta(_mapping(chunk.get("delta")), chunk.get("index"))
            case "content_block_start":
                return self._begin(_mapping(chunk.get("content_block")), chunk.get("index"))
            case "content_block_stop":
                self._close()
            case "message_start":
                self.answered = True
                self._count(_mapping(chunk.get("message")))
            case "message_delta":
                self._count(chunk)
                self.stop(_mapping(chunk.get("delta")).get("stop_reason"))
            case "message_stop":
                self.is_whole = True
            case "message":
                return self._whole(chunk)
        return ""

    def _begin(self, block: Mapping[str, Any], index: object) -> str:
        self.answered = True
        kind = block.get("type")
        if kind in THOUGHT_BLOCKS:
            self._block = dict(block)
        elif kind == "tool_use":
            arguments = orjson.dumps(block["input"]).decode() if block.get("input") else ""
            words = text_of(block.get("id")), text_of(block.get("name"))
            self.note_call(self.calls.feed(*words, arguments, index))
        elif kind == "text":
            return self.say(text_of(block.get("text")))
        return ""

    def _delta(self, delta: Mapping[str, Any], index: object) -> str:
        kind = delta.get("type")
        if kind == "text_delta":
            return self.say(text_of(delta.get("text")))
        if kind == "input_json_delta":
            self.calls.feed("", "", text_of(delta.get("partial_json")), index)
        elif kind in _GROWING and self._block is not None:
            name = _GROWING[kind]
            piece = text_of(delta.get(name))
            self.said_chars += len(piece)
            self._block[name] = text_of(self._block.get(name)) + piece
        return ""

    def _close(self) -> None:
        """A block is whole. Thoughts without a signature cannot be given back."""
        block, self._block = self._block, None
        if block is None or not (block.get("signature") or block.get("data")):
            return
        if state := self.target.state(block["type"], block):
            self.order.append(state)

    def _whole(self, message: Mapping[str, Any]) -> str:
        """A message that was not streamed."""
        content = message.get("content")
        if not isinstance(content, list):
            raise ValueError("not a message")
        self.answered = self.is_whole = True
        texts: list[str] = []
        for place, block in enumerate(content):
            texts.append(self._begin(_mapping(block), place))
            self._close()
        self._count(message)
        self.stop(message.get("stop_reason"))
        return "".join(texts)

    def _count(self, said: Mapping[str, Any]) -> None:
        """What came first of the prompt stays; the last word on the answer counts."""
        if usage := usage_of(said):
            known = self.usage or UsageDelta(0, 0)
            self.usage = UsageDelta(
                usage.prompt_tokens or known.prompt_tokens, usage.completion_tokens
            )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
