"""Answers of Gemini generateContent, chunk by chunk or whole. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll_sidecar.adapters.gemini_contents import (
    SIGNATURE,
    candidate_of,
    parts_of,
    parts_of_part,
    usage_of,
)
from backscroll_sidecar.adapters.replies import text_of
from backscroll_sidecar.domain import TextPart, ToolCallPart
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.faults import is_failure, of_event
from backscroll_sidecar.ports import UsageDelta


class ContentsReader(AnswerReader):
    """Reads one answer. A signature stands beside the part that it came with."""

    def read(self, chunk: Mapping[str, Any]) -> str:
        if usage := usage_of(chunk):
            self.usage = UsageDelta(*usage)
        candidate = candidate_of(chunk)
        if candidate is None:
            if is_failure(chunk):
                raise of_event(chunk)
            return ""
        self.answered = True
        text = "".join([self._part(one) for one in parts_of(candidate)])
        if reason := candidate.get("finishReason"):
            self.is_whole = True
            self.stop(reason)
        return text

    def _part(self, said: Mapping[str, Any]) -> str:
        state = self.target.state(SIGNATURE, text_of(said.get("thoughtSignature")))
        if said.get("thought") is True:
            self.said_chars += len(text_of(said.get("text")))
            return ""
        found = parts_of_part(said)
        for part in found:
            if isinstance(part, ToolCallPart):
                fields = part.id, part.name, part.arguments_json
                self.note_call(self.calls.feed(*fields, len(self.order), [state] if state else ()))
                return ""
        if state:
            self.order.append(state)
        return "".join([self.say(one.text) for one in found if isinstance(one, TextPart)])
