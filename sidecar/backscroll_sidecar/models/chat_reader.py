"""Answers of OpenAI Chat Completions and compatible servers, chunk by chunk. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backscroll_sidecar.adapters import OPENAI_CHAT
from backscroll_sidecar.adapters.openai_chat import CALL_FIELDS, THOUGHT_FIELDS
from backscroll_sidecar.adapters.openai_reply import (
    answer_text,
    call_fields,
    calls_of,
    choice_of,
    is_refused,
    thoughts_apart,
    usage_of,
)
from backscroll_sidecar.adapters.target import Target
from backscroll_sidecar.domain import ProviderStatePart, TextPart, ToolCallPart
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.faults import is_failure, of_event
from backscroll_sidecar.models.thoughts import ThoughtFilter
from backscroll_sidecar.models.vendor_words import is_flagged
from backscroll_sidecar.ports import UsageDelta

_NOWHERE = Target("", OPENAI_CHAT.name, "")
_GROWING = ("text", "summary", "data", "signature")
"""Fields of a detail that come in pieces."""


class ChatReader(AnswerReader):
    """Reads one completion. What its server thinks apart is kept for it beside calls of tools alone."""

    def __init__(self, target: Target = _NOWHERE, thoughts: ThoughtFilter | None = None) -> None:
        super().__init__(target, thoughts)
        self._index: object = None
        self._thought: dict[str, list[Any]] = {}

    def read(self, chunk: Mapping[str, Any]) -> str:
        text = self._text_of(chunk)
        if self.has_taken_back:
            self.order = [one for one in self.order if not isinstance(one, list)]
        self.note_text(text)
        return text

    def _text_of(self, chunk: Mapping[str, Any]) -> str:
        if usage := chunk.get("usage"):
            self._count(usage)
        choice = choice_of(chunk, self._index)
        if choice is None:
            if is_failure(chunk):
                raise of_event(chunk)
            return ""
        if self._index is None:  # the first choice is the answer
            self._index = choice.get("index") or 0
        self.answered = True
        if usage := choice.get("usage"):
            self._count(usage)
        said = choice.get("delta")
        if not said and choice.get("message"):
            return self._whole(chunk, choice["message"])
        text = self._delta(said) if said else ""
        if reason := choice.get("finish_reason"):
            self.stop("content_filter" if is_flagged(chunk) else reason)
        return text

    def _delta(self, said: object) -> str:
        if not isinstance(said, dict):
            raise ValueError("not a chat completion: a delta of another shape")
        if "tool_calls" in said or "function_call" in said:
            for call in calls_of(said):
                states = self._call_states(call)
                self.note_call(self.calls.feed(*call_fields(call), call.get("index"), states))
        content = said.get("content")
        text = self.text.feed(
            content if isinstance(content, str) and content else self._other_text(said)
        )
        apart = self._think_apart(said)
        self.said_chars += len(text or apart)
        thoughts = self.thoughts
        if thoughts is None:
            return text
        if text:
            text = thoughts.feed(text)
        if thoughts.has_taken_back or thoughts.is_holding:
            text += self._heeded(thoughts, said)
        return text

    def _other_text(self, said: Mapping[str, Any]) -> str:
        """The text of a delta or a message without plain content."""
        self.declines = self.declines or is_refused(said)
        return answer_text(said)

    def _think_apart(self, said: Mapping[str, Any]) -> str:
        """The thoughts in a delta or a message, which are noted."""
        for name in THOUGHT_FIELDS:
            value = said.get(name)
            if isinstance(value, str) and value:
                self._thought.setdefault(name, []).append(value)
            elif isinstance(value, list):
                self._thought.setdefault(name, []).extend(value)
        return thoughts_apart(said)

    def _call_states(self, call: Mapping[str, Any]) -> Iterator[ProviderStatePart]:
        """What only the server can read of a call."""
        for name in CALL_FIELDS:
            if (value := call.get(name)) and (state := self.target.state(name, value)):
                yield state

    def leading_states(self) -> list[ProviderStatePart]:
        """The thoughts: servers want those back that led to calls, and some refuse all others."""
        if not self.calls:
            return []
        found = (self.target.state(name, _joined(said)) for name, said in self._thought.items())
        return [one for one in found if one is not None]

    def _whole(self, completion: Mapping[str, Any], message: object) -> str:
        """A completion that was not streamed."""
        self.is_whole = True
        if isinstance(message, Mapping):
            self.declines = is_refused(message)
            self._think_apart(message)
        reply = OPENAI_CHAT.parse_reply(completion)
        text = ""
        calls = calls_of(message) if isinstance(message, Mapping) else ()
        states = [list(self._call_states(call)) for call in calls]
        for part in reply.parts:
            if isinstance(part, TextPart):
                text = self.text.feed(part.text) + self.text.end()
        for place, call in enumerate(
            [part for part in reply.parts if isinstance(part, ToolCallPart)]
        ):
            fields = call.id, call.name, call.arguments_json
            self.note_call(self.calls.feed(*fields, place, states[place]))
        if self.thoughts is not None:
            text = self.thoughts.feed(text) if text else ""
            text += self._heeded(self.thoughts, {})
        if reply.finish_reason or is_flagged(completion):
            self.stop("content_filter" if is_flagged(completion) else reply.finish_reason)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            self.usage = UsageDelta(reply.prompt_tokens, reply.completion_tokens)
        return text

    def _heeded(self, thoughts: ThoughtFilter, said: Mapping[str, Any]) -> str:
        """Text that is released because the server sets thoughts apart. Notes what was taken back."""
        self.has_taken_back = self.has_taken_back or thoughts.has_taken_back
        thoughts.has_taken_back = False
        if thoughts.is_holding and thoughts_apart(said):
            self.thinks_apart = True
            return thoughts.let_go()
        return ""

    def _count(self, usage: object) -> None:
        if counted := usage_of(usage):
            self.usage = UsageDelta(*counted)


def _joined(said: list[Any]) -> object:
    """Pieces of a text as one; of details those with the same type and index."""
    if all(isinstance(one, str) for one in said):
        return "".join(said)
    details: dict[tuple[object, object], dict[str, Any]] = {}
    for at, one in enumerate(said):
        if not isinstance(one, dict):
            continue
        index = one.get("index")
        key = (one.get("type"), index if isinstance(index, int) else f"at {at}")
        known = details.setdefault(key, {})
        for name, value in one.items():
            grows = name in _GROWING and isinstance(value, str) and isinstance(known.get(name), str)
            known[name] = known[name] + value if grows else value
    return list(details.values())
