"""From the chunks of a vendor's answer, streamed or whole, to model events: what all vendors share. Pure, no SDK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from backscroll_sidecar.adapters.target import Target
from backscroll_sidecar.domain import Part, ProviderStatePart, TextPart
from backscroll_sidecar.models.faults import failed, of_event
from backscroll_sidecar.models.thoughts import ThoughtFilter
from backscroll_sidecar.models.tool_calls import Call, CallAssembler, SafeText, clean
from backscroll_sidecar.models.vendor_words import MAX_WORD_CHARS, end_of
from backscroll_sidecar.ports import (
    AnswerParts,
    Finished,
    FinishReason,
    ModelEvent,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from backscroll_sidecar.texts import FAULTS

FILTERED = Finished(FinishReason.CONTENT_FILTER)
_CUT_OFF = (FinishReason.LENGTH, FinishReason.CONTENT_FILTER)
_BROKEN_OFF = (*_CUT_OFF, FinishReason.INTERRUPTED)


class AnswerReader(ABC):
    """Reads one answer: `take` each chunk in turn, then `end` once. Both raise `ModelError` and nothing else.

    Text is passed on at once, without the `thoughts` in it. Calls, usage and the ending come from `end`. A call is
    whole only when the model has stopped. The calls of an answer that was cut off are dropped.
    """

    def __init__(self, target: Target, thoughts: ThoughtFilter | None = None) -> None:
        self.target = target
        self.text = SafeText()
        self.thoughts = thoughts
        self.calls = CallAssembler()
        self.order: list[list[str] | ProviderStatePart | Call] = []
        """What the answer consists of so far: runs of text, states, calls."""
        self.usage: UsageDelta | None = None
        self._reason = FinishReason.NONE
        self._word = ""
        self.has_taken_back = False
        """Whether all text so far was thoughts. The reader of it sets it back."""
        self.thinks_apart = False
        """Whether the server has sent thoughts outside of the answer."""
        self.answered = False
        """Whether anything came of an answer."""
        self.is_whole = False
        """Whether the answer ended by the vendor's own sign of that, or as a whole body."""
        self.declines = False
        """Whether the model says that it will not answer."""
        self.said_chars = 0
        """Characters of text and thoughts so far."""
        self.finished = False
        """Whether the model has said why it stopped. After that only usage can still fail."""

    def take(self, chunk: object) -> str:
        """The text of one chunk to pass on. Earlier text may be taken back: see `has_taken_back`."""
        # Hot: every delta of every stream comes through here.
        if isinstance(chunk, list) and chunk:  # some servers put everything into a list
            return "".join(map(self._take, chunk))
        return self._take(chunk)

    def _take(self, chunk: object) -> str:
        if not isinstance(chunk, dict):
            raise failed(ModelFault.BAD_RESPONSE)
        if chunk.get("error") or chunk.get("object") == "error":
            raise of_event(chunk)
        try:
            return self.read(chunk)
        except ValueError:
            raise failed(ModelFault.BAD_RESPONSE) from None

    @abstractmethod
    def read(self, chunk: Mapping[str, Any]) -> str:
        """The text of one chunk, without thoughts; all of it is noted. Raises ValueError for what is no answer."""

    def say(self, piece: str) -> str:
        """A piece of the answer's text, fit to be passed on."""
        text = self.text.feed(piece)
        self.said_chars += len(text)
        self.note_text(text)
        return text

    def note_text(self, text: str) -> None:
        """Text stands behind what came before it."""
        if not text:
            return
        if self.order and isinstance(run := self.order[-1], list):
            run.append(text)
        else:
            self.order.append([text])

    def note_call(self, call: Call) -> None:
        """A call stands where its first piece came."""
        if not any(one is call for one in self.order):
            self.order.append(call)

    def cut_off(self) -> None:
        """End the answer here: it is too long."""
        self.stop("length")

    def filter(self) -> None:
        """The vendor's filter ended the answer by an error instead of a finish reason."""
        self.answered = True
        self._reason, self._word, self.finished = FinishReason.CONTENT_FILTER, "", True

    def rest(self, *, is_cut: bool) -> str:
        """Text that was held back. `is_cut`: the answer did not end by itself."""
        left = self.text.end()
        if self.thoughts is None:
            return left
        return (self.thoughts.feed(left) if left else "") + self.thoughts.end(is_cut=is_cut)

    def end(self) -> list[ModelEvent]:
        """The last events of an answer that ended cleanly. `Finished` is the last."""
        if not self.answered:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["no_answer"][0])
        if self._reason is FinishReason.NONE and self.is_whole:
            self._reason = FinishReason.STOP
        if self._reason is FinishReason.STOP and self.declines:
            self._reason = FinishReason.CONTENT_FILTER
        is_cut = self._reason in _BROKEN_OFF
        calls = [] if self._reason in _CUT_OFF else self.calls.whole(stopped=self.finished)
        thinks = self.thoughts is not None and self.thoughts.is_unfinished
        if thinks and not is_cut and not calls:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["only_thoughts"][0])
        events: list[ModelEvent] = []
        if rest := self.rest(is_cut=is_cut):
            self.note_text(rest)
            events.append(TextDelta(rest))
        events += map(ToolCallDelta, calls)
        if self.usage is not None:
            events.append(self.usage)
        parts = () if is_cut else self.parts()
        if any(isinstance(one, ProviderStatePart) for one in parts):
            events.append(AnswerParts(parts))
        # Some servers say "stop" after calls; OpenAI does when a function was forced.
        asked = calls and self._reason in {FinishReason.STOP, FinishReason.UNKNOWN}
        return [*events, Finished(FinishReason.TOOL_CALLS if asked else self._reason, self._word)]

    def leading_states(self) -> list[ProviderStatePart]:
        """What stands before the whole answer."""
        return []

    def parts(self) -> tuple[Part, ...]:
        """The answer in the vendor's order."""
        parts: list[Part] = [*self.leading_states()]
        for one in self.order:
            if isinstance(one, Call):
                parts += (*one.states.values(), *one.parts)
            elif isinstance(one, ProviderStatePart):
                parts.append(one)
            else:
                parts.append(TextPart("".join(one)))
        return tuple(parts)

    def stop(self, word: object) -> None:
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
