"""The chunks of one OpenAI chat completion, streamed or whole, to the events of an answer. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from backscroll_sidecar.analyze.sanitise import REPLACEMENT, clean_text
from backscroll_sidecar.domain import MAX_ID_BYTES, ToolCallPart
from backscroll_sidecar.models.faults import Filtered, failed, is_failure, of_event
from backscroll_sidecar.models.sse import loaded
from backscroll_sidecar.models.words import MAX_WORD_CHARS, end_of
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)

MAX_TOOL_CHARS = 1024 * 1024
"""Most characters of all calls of one answer: they are held until the answer ends."""

_CHARS_A_CALL = 2_048
"""What a call counts for, even an empty one: 512 of them at most, whose results a bot can still send in one request."""

FILTERED = Finished(FinishReason.CONTENT_FILTER)
_CUT_OFF = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)


class AnswerReader:
    """Reads one answer: `take` each chunk in turn, then `end` once. Both raise `ModelError` and nothing else.

    Text is passed on at once. Calls, usage and the ending come from `end`: a call is whole only when the model has
    said that it stopped, and the calls of an answer that was cut off are dropped with it.
    """

    def __init__(self) -> None:
        self._text = SafeText()
        self._calls = _CallAssembler()
        self._usage: UsageDelta | None = None
        self._reason = FinishReason.NONE
        self._word = ""
        self._answered = False
        self.finished = False
        """Whether the model has said why it stopped: then nothing of the answer but its usage can still fail."""

    def take(self, chunk: object) -> TextDelta | None:
        """The text of one chunk, if it has any."""
        # Every delta of every stream comes through here: no call that most of them need not make.
        if not isinstance(chunk, dict):
            raise failed(ModelFault.BAD_RESPONSE)
        if chunk.get("error") or chunk.get("object") == "error":
            raise of_event(chunk)
        if usage := chunk.get("usage"):
            self._usage = _usage(usage) or self._usage
        choice = _first(chunk.get("choices"))
        if choice is None:
            if is_failure(chunk):
                raise of_event(chunk)
            return None
        self._answered = True
        said = choice.get("delta") or choice.get("message") or {}
        if not isinstance(said, dict):
            raise failed(ModelFault.BAD_RESPONSE)
        if (calls := said.get("tool_calls")) is not None:
            for call in _mappings(calls):
                self._calls.feed(call)
        # A refusal is what the model has to say instead of a content.
        text = self._text.feed(_text(said.get("content")) or _text(said.get("refusal")))
        if reason := choice.get("finish_reason"):
            self._stop(reason)
        return TextDelta(text) if text else None

    def filter(self) -> None:
        """The vendor's filter ended the answer by an error instead of a finish reason."""
        self._answered = True
        self._reason, self._word, self.finished = FinishReason.CONTENT_FILTER, "", True

    def end(self) -> list[ModelEvent]:
        """What is left once the answer has ended cleanly. `Finished` is the last."""
        if not self._answered:
            raise failed(ModelFault.BAD_RESPONSE, "the model sent no answer")
        rest = self._text.end()
        events: list[ModelEvent] = [TextDelta(rest)] if rest else []
        calls = [] if self._reason in _CUT_OFF else self._calls.whole(stopped=self.finished)
        events += map(ToolCallDelta, calls)
        if self._usage is not None:
            events.append(self._usage)
        # Some servers say "stop" after calls; OpenAI does when a function was forced.
        asked = calls and self._reason in {FinishReason.STOP, FinishReason.UNKNOWN}
        return [*events, Finished(FinishReason.TOOL_CALLS if asked else self._reason, self._word)]

    def _stop(self, word: object) -> None:
        """The first reason counts, but one that nobody knows makes way for one that somebody does."""
        known = self._reason not in {FinishReason.NONE, FinishReason.UNKNOWN}
        if not isinstance(word, str) or known:
            return
        end = end_of(word)
        if isinstance(end, ModelFault):
            raise failed(end)
        if end is FinishReason.NONE or (self.finished and end is FinishReason.UNKNOWN):
            return
        self._reason, self._word = end, clean(word[:MAX_WORD_CHARS])
        self.finished = True


def whole_answer(body: object) -> list[ModelEvent]:
    """The events of an answer that was not streamed: its JSON, loaded or as bytes."""
    reader = AnswerReader()
    try:
        delta = reader.take(loaded(body) if isinstance(body, bytes) else body)
    except Filtered:
        return [FILTERED]
    return [*([delta] if delta else []), *reader.end()]


class SafeText:
    """Text of deltas as the store takes it: halves of a character joined across deltas, no lone ones, no NUL."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """The next piece of clean text; it may be empty."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return clean(piece)

    def end(self) -> str:
        """A half that never got its other half."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def clean(text: str) -> str:
    """`text` without lone surrogates and NUL."""
    if not text.isascii():
        text = clean_text(text)[0]
    return text.replace("\0", REPLACEMENT) if "\0" in text else text


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)


class _CallAssembler:
    """Puts calls together from pieces. Also where a server leaves `index` out, or sends 0 for all of them."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._chars = 0

    def feed(self, piece: Mapping[str, Any]) -> None:
        """Take one entry of ``tool_calls``."""
        function = piece.get("function")
        said: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
        id, name = _text(piece.get("id")), _text(said.get("name"))
        call = self._current(piece.get("index"), id, name)
        call.id, call.name = call.id or id, call.name or name
        arguments = said.get("arguments")
        text = arguments if isinstance(arguments, str) else _dumped(arguments)
        call.pieces.append(text)
        self._chars += len(text) + len(id) + len(name)
        if self._chars > MAX_TOOL_CHARS:
            raise failed(ModelFault.BAD_RESPONSE, "the model's tool calls are too large")

    def _current(self, index: object, id: str, name: str) -> _Call:
        place = index if isinstance(index, int) else None
        if place is None:
            known = self._calls[-1] if self._calls else None
            fresh = known is not None and bool(name and known.name and not id)
        else:
            known, fresh = self._by_index.get(place), False
        if known is None or fresh or (id and known.id and id != known.id):
            known = _Call()
            self._calls.append(known)
            self._chars += _CHARS_A_CALL
        if place is not None:
            self._by_index[place] = known
        return known

    def whole(self, *, stopped: bool) -> list[ToolCallPart]:
        """All calls. Unless the model has said that it stopped, each one's arguments must be whole JSON.

        An id that is none, used before, or longer than the bot may send back (gateways keep signatures in theirs) is
        replaced: results find their calls by it.
        """
        parts: list[ToolCallPart] = []
        used: set[str] = set()
        for call in self._calls:
            arguments = clean("".join(call.pieces)).strip() or "{}"
            if not call.name or not (stopped or _is_json(arguments)):
                raise failed(ModelFault.BAD_RESPONSE, "the model's answer ended inside a tool call")
            id, name = clean(call.id), clean(call.name)
            if len(name.encode()) > MAX_ID_BYTES:
                raise failed(ModelFault.BAD_RESPONSE, "the model's tool calls are too large")
            if not id or id in used or len(id.encode()) > MAX_ID_BYTES:
                id = f"call_{uuid4().hex[:24]}"
            used.add(id)
            parts.append(ToolCallPart(id, name, arguments))
        return parts


def _first(choices: object) -> Mapping[str, Any] | None:
    """The choice with index 0; none when the chunk is about something else."""
    for one in _mappings(choices):
        if not one.get("index"):
            return one
    return None


def _mappings(values: object) -> list[Mapping[str, Any]]:
    if values is None:
        return []
    if not isinstance(values, list):
        raise failed(ModelFault.BAD_RESPONSE)
    for value in values:
        if not isinstance(value, dict):
            raise failed(ModelFault.BAD_RESPONSE)
    return values


def _text(value: object) -> str:
    """A text, or the texts of a list of parts; anything else is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(one.get("text")) for one in value if isinstance(one, Mapping))
    return ""


def _usage(value: object) -> UsageDelta | None:
    if not isinstance(value, Mapping):
        return None
    prompt, completion = (value.get(f"{name}_tokens") for name in ("prompt", "completion"))
    if not isinstance(prompt, int) and not isinstance(completion, int):
        return None
    return UsageDelta(*(max(n, 0) if isinstance(n, int) else 0 for n in (prompt, completion)))


def _dumped(arguments: object) -> str:
    try:
        return "" if arguments is None else orjson.dumps(arguments).decode()
    except TypeError:
        raise failed(ModelFault.BAD_RESPONSE) from None


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
