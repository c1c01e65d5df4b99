"""From the chunks of an OpenAI chat completion, streamed or whole, to model events. Pure, no SDK."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from backscroll_sidecar.adapters import OpenAIChat
from backscroll_sidecar.adapters.arguments import MAX_REPAIRED_CHARS, object_json, objects_in
from backscroll_sidecar.adapters.openai_reply import (
    answer_text,
    call_fields,
    calls_of,
    choice_of,
    is_refused,
    thoughts_apart,
    usage_of,
)
from backscroll_sidecar.analyze.sanitise import REPLACEMENT, clean_text
from backscroll_sidecar.domain import MAX_ID_BYTES, TextPart, ToolCallPart
from backscroll_sidecar.models.faults import failed, is_failure, of_event
from backscroll_sidecar.models.thoughts import ThoughtFilter
from backscroll_sidecar.models.vendor_words import MAX_WORD_CHARS, end_of, is_flagged
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from backscroll_sidecar.texts import FAULTS

MAX_TOOL_CHARS = 1024 * 1024
"""Most characters of an answer's calls, which are held until it ends."""

_CHARS_A_CALL = 2_048
"""What a call counts for at least: 512 calls at most, whose results still fit one request."""

FILTERED = Finished(FinishReason.CONTENT_FILTER)
_ADAPTER = OpenAIChat()
_CUT_OFF = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
_BROKEN_OFF = (*_CUT_OFF, FinishReason.INTERRUPTED)


class AnswerReader:
    """Reads one answer: `take` each chunk in turn, then `end` once. Both raise `ModelError` and nothing else.

    Text is passed on at once, without the `thoughts` in it. Calls, usage and the ending come from `end`. A call is
    whole only when the model has stopped. The calls of an answer that was cut off are dropped.
    """

    def __init__(self, thoughts: ThoughtFilter | None = None) -> None:
        self._text = SafeText()
        self._thoughts = thoughts
        self._calls = _CallAssembler()
        self._usage: UsageDelta | None = None
        self._reason = FinishReason.NONE
        self._word = ""
        self._index: object = None
        self.has_taken_back = False
        """Whether all text so far was thoughts. The reader of it sets it back."""
        self.thinks_apart = False
        """Whether the server has sent thoughts outside of the answer."""
        self.answered = False
        """Whether anything came of an answer."""
        self.is_whole = False
        """Whether the answer ended by ``[DONE]`` or a whole body."""
        self._declines = False
        self.said_chars = 0
        """Characters of text and thoughts so far."""
        self.finished = False
        """Whether the model has said why it stopped. After that only usage can still fail."""

    def take(self, chunk: object) -> str:
        """The text of one chunk to pass on. Earlier text may be taken back: see `has_taken_back`."""
        # Hot: every delta of every stream comes through here.
        if isinstance(chunk, list) and len(chunk) == 1:
            chunk = chunk[0]
        if not isinstance(chunk, dict):
            raise failed(ModelFault.BAD_RESPONSE)
        if chunk.get("error") or chunk.get("object") == "error":
            raise of_event(chunk)
        try:
            return self._take(chunk)
        except ValueError:
            raise failed(ModelFault.BAD_RESPONSE) from None

    def _take(self, chunk: Mapping[str, Any]) -> str:
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
            self._stop("content_filter" if is_flagged(chunk) else reason)
        return text

    def _delta(self, said: object) -> str:
        if not isinstance(said, dict):
            raise ValueError("not a chat completion: a delta of another shape")
        if "tool_calls" in said or "function_call" in said:
            for call in calls_of(said):
                self._calls.feed(*call_fields(call), call.get("index"))
        content = said.get("content")
        text = self._text.feed(
            content if isinstance(content, str) and content else self._other_text(said)
        )
        self.said_chars += len(text or thoughts_apart(said))
        thoughts = self._thoughts
        if thoughts is None:
            return text
        if text:
            text = thoughts.feed(text)
        if thoughts.has_taken_back or thoughts.is_holding:
            text += self._heeded(thoughts, said)
        return text

    def _other_text(self, said: Mapping[str, Any]) -> str:
        """The text of a delta or a message without plain content."""
        self._declines = self._declines or is_refused(said)
        return answer_text(said)

    def _whole(self, completion: Mapping[str, Any], message: object) -> str:
        """A completion that was not streamed."""
        self.is_whole = True
        if isinstance(message, Mapping):
            self._declines = is_refused(message)
        reply = _ADAPTER.parse_reply(completion)
        text = ""
        for place, part in enumerate(reply.parts):
            if isinstance(part, TextPart):
                text = self._text.feed(part.text) + self._text.end()
            elif isinstance(part, ToolCallPart):
                self._calls.feed(part.id, part.name, part.arguments_json, place)
        if self._thoughts is not None:
            text = self._thoughts.feed(text) if text else ""
            text += self._heeded(self._thoughts, {})
        if reply.finish_reason or is_flagged(completion):
            self._stop("content_filter" if is_flagged(completion) else reply.finish_reason)
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            self._usage = UsageDelta(reply.prompt_tokens, reply.completion_tokens)
        return text

    def _heeded(self, thoughts: ThoughtFilter, said: Mapping[str, Any]) -> str:
        """Text that is released because the server sets thoughts apart. Notes what was taken back."""
        self.has_taken_back = self.has_taken_back or thoughts.has_taken_back
        thoughts.has_taken_back = False
        if thoughts.is_holding and thoughts_apart(said):
            self.thinks_apart = True
            return thoughts.let_go()
        return ""

    def cut_off(self) -> None:
        """End the answer here: it is too long."""
        self._stop("length")

    def filter(self) -> None:
        """The vendor's filter ended the answer by an error instead of a finish reason."""
        self.answered = True
        self._reason, self._word, self.finished = FinishReason.CONTENT_FILTER, "", True

    def rest(self, *, is_cut: bool) -> str:
        """Text that was held back. `is_cut`: the answer did not end by itself."""
        left = self._text.end()
        if self._thoughts is None:
            return left
        return (self._thoughts.feed(left) if left else "") + self._thoughts.end(is_cut=is_cut)

    def end(self) -> list[ModelEvent]:
        """The last events of an answer that ended cleanly. `Finished` is the last."""
        if not self.answered:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["no_answer"][0])
        if self._reason is FinishReason.NONE and self.is_whole:
            self._reason = FinishReason.STOP
        if self._reason is FinishReason.STOP and self._declines:
            self._reason = FinishReason.CONTENT_FILTER
        is_cut = self._reason in _BROKEN_OFF
        calls = [] if self._reason in _CUT_OFF else self._calls.whole(stopped=self.finished)
        thinks = self._thoughts is not None and self._thoughts.is_unfinished
        if thinks and not is_cut and not calls:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["only_thoughts"][0])
        rest = self.rest(is_cut=is_cut)
        events: list[ModelEvent] = [TextDelta(rest)] if rest else []
        events += map(ToolCallDelta, calls)
        if self._usage is not None:
            events.append(self._usage)
        # Some servers say "stop" after calls; OpenAI does when a function was forced.
        asked = calls and self._reason in {FinishReason.STOP, FinishReason.UNKNOWN}
        return [*events, Finished(FinishReason.TOOL_CALLS if asked else self._reason, self._word)]

    def _count(self, usage: object) -> None:
        if counted := usage_of(usage):
            self._usage = UsageDelta(*counted)

    def _stop(self, word: object) -> None:
        """Take a finish reason. The first one counts, but a known one replaces an unknown."""
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


class SafeText:
    """Joins surrogate halves across deltas, and replaces lone ones and NUL."""

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
        """A replacement for a half that is left."""
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
    """Puts calls together from pieces, also where a server leaves `index` out or sends 0 for all."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._chars = 0

    def feed(self, id: str, name: str, arguments: str, index: object) -> None:
        """Take one entry of ``tool_calls``, whole or a piece."""
        call = self._current(index, id, name)
        call.id, call.name = call.id or id, call.name or name
        call.pieces.append(arguments)
        self._count(len(arguments) + len(id) + len(name))

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > MAX_TOOL_CHARS:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["calls_too_large"][0])

    def _current(self, index: object, id: str, name: str) -> _Call:
        place = _place(index)
        if place is None:
            known = self._calls[-1] if self._calls else None
            fresh = known is not None and bool(name and known.name and not id)
        else:
            known = self._by_index.get(place)
            # A name for one that has another, and arguments: a call of its own on the same index.
            fresh = known is not None and bool(
                name and known.name and name != known.name and any(known.pieces)
            )
        if known is None or fresh or (id and known.id and id != known.id):
            known = _Call()
            self._calls.append(known)
            self._count(_CHARS_A_CALL)
        if place is not None:
            self._by_index[place] = known
        return known

    def whole(self, *, stopped: bool) -> list[ToolCallPart]:
        """All calls. Unless the model has said that it stopped, each one's arguments must be whole JSON.

        Two whole objects in one call are two calls, since some servers send all on one index. Arguments that are no
        object are repaired or quoted. An id that is missing, used before or too long to be sent back is replaced.
        """
        parts: list[ToolCallPart] = []
        used: set[str] = set()
        repairable_chars = MAX_REPAIRED_CHARS
        for call in self._calls:
            text, name = clean("".join(call.pieces)).strip(), clean(call.name)
            if not name:
                raise failed(ModelFault.BAD_RESPONSE, FAULTS["cut_call"][0])
            if len(name.encode()) > MAX_ID_BYTES:
                raise failed(ModelFault.BAD_RESPONSE, FAULTS["calls_too_large"][0])
            for n, one in enumerate(objects_in(text or "{}")):
                if not stopped and not _is_json(one):
                    raise failed(ModelFault.BAD_RESPONSE, FAULTS["cut_call"][0])
                if n:
                    self._count(_CHARS_A_CALL)
                id = clean(call.id)
                if not id or id in used or len(id.encode()) > MAX_ID_BYTES:
                    id = f"call_{uuid4().hex[:24]}"
                used.add(id)
                arguments = object_json(one, repairable_chars)
                if arguments != one:
                    repairable_chars -= len(one)
                parts.append(ToolCallPart(id, name, arguments))
        return parts


def _place(index: object) -> int | None:
    """The index of a call, which some servers write as text; None where there is none."""
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) else None


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
