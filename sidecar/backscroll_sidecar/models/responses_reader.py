"""Answers of OpenAI Responses, event by event or whole. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll_sidecar.adapters.openai_responses import (
    ITEM_ID,
    REASONING,
    content_text,
    reason_of,
    usage_of,
)
from backscroll_sidecar.adapters.replies import text_of
from backscroll_sidecar.domain import Part, ProviderStatePart
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.faults import of_event
from backscroll_sidecar.ports import UsageDelta

_CALL = ("call_id", "name", "arguments")
_ENDS = {"response.completed", "response.incomplete", "response.failed"}


class ResponsesReader(AnswerReader):
    """Reads one response. Its thoughts are kept, and which item they led to."""

    def read(self, chunk: Mapping[str, Any]) -> str:
        kind = chunk.get("type")
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            self.answered = True
            self.declines = self.declines or kind == "response.refusal.delta"
            return self.say(text_of(chunk.get("delta")))
        if kind == "error":
            raise of_event(chunk)
        item = chunk.get("item")
        if kind == "response.output_item.added" and isinstance(item, Mapping):
            if item.get("type") == "message":
                self._note_id(item)
        elif kind == "response.output_item.done" and isinstance(item, Mapping):
            self._item(item, chunk.get("output_index"))
        elif kind in _ENDS:
            response = chunk.get("response")
            self._end(response if isinstance(response, Mapping) else {})
        elif chunk.get("object") == "response":
            return self._whole(chunk)
        return ""

    def _whole(self, response: Mapping[str, Any]) -> str:
        """A response that was not streamed."""
        output = response.get("output")
        if not isinstance(output, list):
            raise ValueError("not a response")
        texts: list[str] = []
        for place, item in enumerate(output):
            if isinstance(item, Mapping):
                if item.get("type") == "message":
                    self._note_id(item)
                    texts.append(self.say(content_text(item)))
                self._item(item, place)
        self.answered = True
        self._end(response)
        return "".join(texts)

    def _note_id(self, item: Mapping[str, Any]) -> None:
        if state := self.target.state(ITEM_ID, text_of(item.get("id"))):
            self.order.append(state)

    def _item(self, item: Mapping[str, Any], place: object) -> None:
        """An item that is whole; the text of a message came before."""
        self.answered = True
        if item.get("type") == "reasoning":
            self.said_chars += len(text_of(item.get("summary")))
            # Without this the vendor would have to have kept the item.
            is_readable = item.get("encrypted_content")
            if is_readable and (state := self.target.state(REASONING, dict(item))):
                self.order.append(state)
        elif item.get("type") == "function_call":
            call_id, name, arguments = map(text_of, map(item.get, _CALL))
            state = self.target.state(ITEM_ID, text_of(item.get("id")))
            states = [state] if state else ()
            self.note_call(self.calls.feed(call_id, name, arguments, place, states))

    def _end(self, response: Mapping[str, Any]) -> None:
        if error := response.get("error"):
            raise of_event({"error": error})
        self.is_whole = True
        if usage := usage_of(response):
            self.usage = UsageDelta(*usage)
        self.stop(reason_of(response))

    def parts(self) -> tuple[Part, ...]:
        """The answer in order; ids alone are of no use."""
        parts = super().parts()
        kinds = {one.kind for one in parts if isinstance(one, ProviderStatePart)}
        if REASONING in kinds:
            return parts
        return tuple([one for one in parts if not isinstance(one, ProviderStatePart)])
