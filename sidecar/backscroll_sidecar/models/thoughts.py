"""Thoughts that a model writes into its answer, in ``<think>`` tags, cut off the stream. Pure.

Models do one of three things. Most write no tags. Some open a block before the answer and close it, which is cut as
it comes. Some, whose prompt ends with the opening tag, only write ``</think>`` after all thoughts. Their answer has to
be held back until then, so `ThoughtMemory` remembers which models these are. Of an unknown one the text is passed on,
and the tag on a line of its own takes it back: `ThoughtFilter.has_taken_back`.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

Mode = Literal["auto", "hold", "keep"]

MAX_HELD_CHARS = 128 * 1024
"""Most characters held back for a closing tag. More without one is the answer."""
MAX_MODELS = 1_000
"""Models that are remembered."""

_TAGS = ("think", "thinking", "thought")
_OPEN = re.compile(f"<(?:{'|'.join(_TAGS)})>", re.IGNORECASE)
_CLOSE = re.compile(f"</(?:{'|'.join(_TAGS)})>", re.IGNORECASE)
_OWN_LINE = re.compile(rf"\n[ \t]{{0,4}}{_CLOSE.pattern}[ \t]{{0,4}}\n", re.IGNORECASE)
_TAG = re.compile(f"{_OPEN.pattern}|{_CLOSE.pattern}", re.IGNORECASE)
_LINE_START = re.compile(r"\n[ \t]*\Z")
_ALL_TAGS = tuple(f"<{slash}{tag}>" for slash in ("", "/") for tag in _TAGS)
_LONGEST = max(map(len, _ALL_TAGS))
_WINDOW = _LONGEST + 12
_THINKERS = re.compile(r"\br1\b|qwq|thinking|reasoner|reasoning", re.IGNORECASE)
"""Names of models that write thoughts into their answers."""


_MAX_BLANK_CHARS = 1_024
"""Most blank characters held at the beginning of an answer."""


class _State(Enum):
    START = auto()
    THINKING = auto()
    HOLDING = auto()
    PASSING = auto()
    CLOSED = auto()


_PASSING = _State.PASSING


class ThoughtFilter:
    """Reads one answer: `feed` each piece, then `end` once. They return the answer.

    Parameters
    ----------
    holds : keep an answer that opens no block until ``</think>`` or its end.
    drops : text held when an answer broke off was thoughts.
    """

    def __init__(self, *, holds: bool = False, drops: bool = False) -> None:
        self._state = _State.START
        self._drops = drops
        self._held = ""
        self._pieces: list[str] = []
        self._held_chars = 0
        self._depth = 0
        self._is_behind_close = False
        self._last = ""
        self._watches = True
        self.is_holding = holds
        """Whether the answer is or would be held back."""
        self.opened = False
        """Whether a block was opened."""
        self.closed_alone = False
        """Whether thoughts were closed that nothing had opened."""
        self.held_in_vain = False
        """Whether a whole answer was held to its end."""
        self.has_taken_back = False
        """Whether all text so far was thoughts. The reader of it sets it back."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the model is still in a block that it opened, and said nothing behind one."""
        return self._state is _State.THINKING and not self._answer_within().strip()

    def feed(self, piece: str) -> str:
        """The text to pass on."""
        if self._state is _PASSING:  # nearly every delta of every stream
            if not self._watches:
                return piece
            window = self._last + piece
            if "<" in window:
                return self._looked_at(piece, window)
            self._last = window[-_WINDOW:]
            return piece
        if self._state is _State.START:
            return self._begun(self._held + piece)
        if self._state is _State.HOLDING:
            return self._hold(piece)
        if self._state is _State.CLOSED:
            return self._closed(piece)
        return self._think(piece)

    def let_go(self) -> str:
        """Hold nothing back any more: the server sets thoughts apart."""
        self.is_holding = False
        return self._released() if self._state is _State.HOLDING else ""

    def end(self, *, is_cut: bool) -> str:
        """What is left. `is_cut`: the answer broke off or was cut by a limit."""
        state, held = self._state, self._held
        self._held = ""
        if state is _State.HOLDING:
            self.held_in_vain = not is_cut
            return "" if is_cut and self._drops else self._released()
        if state is _State.THINKING:
            return "" if is_cut else self._answer_within(held).lstrip()
        if state is _State.START:
            return held.lstrip() if self.opened or self.closed_alone else held
        return held if state is _State.CLOSED else ""

    def _begun(self, said: str) -> str:
        body = said.lstrip()
        if found := _OPEN.match(body):
            self.opened, self.is_holding, self._held = True, False, ""
            self._state, self._depth = _State.THINKING, 1
            self._pieces, self._held_chars, self._is_behind_close = [], 0, False
            return self._think(body[found.end() :])
        if not (self.opened or self.closed_alone) and (found := _CLOSE.match(body)):
            return self._answer_follows(body[found.end() :])
        if len(said) <= _MAX_BLANK_CHARS and _may_be_tag(body):
            self._held = said
            return ""
        self._held = ""
        if self.is_holding:
            self._state = _State.HOLDING
            return self._hold(said)
        self._state = _State.PASSING
        if self.opened or self.closed_alone:
            self._watches = False
            return body
        return self.feed(said)

    def _think(self, piece: str) -> str:
        """Inside of blocks. Text after an inner end is kept, since that end may be the only one."""
        said, at = self._held + piece, 0
        for found in _TAG.finditer(said):
            self._pieces.append(said[at : found.end()])
            at = found.end()
            if not found[0].startswith("</"):
                self._depth += 1
                continue
            self._depth -= 1
            self._pieces, self._held_chars, self._is_behind_close = [], 0, True
            if not self._depth:
                self._held = ""
                self._state = _State.START
                return self._begun(said[at:])
        end = max(at, len(said) - _LONGEST)
        self._held = said[end:]
        if not self._is_behind_close:
            self._pieces = []
            return ""
        self._pieces.append(said[at:end])
        self._held_chars += end - at
        return self._released() if self._held_chars > MAX_HELD_CHARS else ""

    def _answer_within(self, held: str | None = None) -> str:
        """Text after the last closed block inside an open one: a thought mentioned the tag."""
        held = self._held if held is None else held
        return "".join(self._pieces) + held if self._is_behind_close else ""

    def _hold(self, piece: str) -> str:
        window = self._last + piece
        if found := _CLOSE.search(window):
            said = "".join(self._pieces) + piece
            before = said[: len(said) - len(window) + found.start()]
            if _OPEN.search(before) and not _LINE_START.search(
                before
            ):  # it closes what was opened in the answer
                self._pieces.append(piece)
                return self._released()
            return self._answer_follows(window[found.end() :])
        self._last = window[-_LONGEST:]
        self._pieces.append(piece)
        self._held_chars += len(piece)
        return self._released() if self._held_chars > MAX_HELD_CHARS else ""

    def _released(self) -> str:
        said = "".join(self._pieces)
        if self._state is _State.THINKING:
            said, self._held = (said + self._held).lstrip(), ""
        self.is_holding = False
        self._pieces, self._last, self._watches = [], "", False
        self._state = _State.PASSING
        return said

    def _answer_follows(self, rest: str) -> str:
        """The thoughts end here."""
        self.closed_alone, self.is_holding = True, False
        self._held, self._last, self._pieces = "", "", []
        self._state = _State.START
        return self._begun(rest)

    def _looked_at(self, piece: str, window: str) -> str:
        """A piece to pass on that may hold a tag, or end one."""
        opening, closing = _OPEN.search(window), _OWN_LINE.search(window)
        if opening and not (closing and closing.start() < opening.start()):
            self._watches = False  # whatever closes later was opened here
        elif closing:
            self._held = piece
            self._state = _State.CLOSED
            return self._closed("", window[closing.end() :])
        self._last = window[-_WINDOW:]
        return piece

    def _closed(self, piece: str, rest: str = "") -> str:
        """After a closing tag on its own line. What follows, if anything, is the answer."""
        rest += piece
        if not rest.strip():
            self._held += piece
            return ""
        self.has_taken_back = True
        return self._answer_follows(rest)


def _may_be_tag(body: str) -> bool:
    start = body[:_LONGEST].lower()
    return len(body) < _LONGEST and any(tag.startswith(start) for tag in _ALL_TAGS)


@dataclass(slots=True)
class _Habit:
    """How often answers may still be held back in vain."""

    closes: bool
    patience: int


class ThoughtMemory:
    """How each model of one endpoint thinks, as its answers have shown. Belongs to one event loop.

    A model that only closes blocks is held back until two answers in a row were held in vain. One that opens its
    blocks, or is named as a thinker, until one was.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._habits: dict[str, _Habit] = {}

    def filter_for(self, model: str) -> ThoughtFilter | None:
        """What reads this model's next answer; None where nothing is cut."""
        if self._mode == "keep":
            return None
        if self._mode == "hold":
            return ThoughtFilter(holds=True, drops=True)
        habit = self._habits.get(model)
        if habit is None:
            return ThoughtFilter(holds=_THINKERS.search(model) is not None)
        return ThoughtFilter(holds=habit.patience > 0, drops=habit.closes)

    def learn(self, model: str, read: ThoughtFilter, *, is_set_apart: bool) -> None:
        """Remember what an answer showed; `is_set_apart`: its server sent thoughts outside of the answer."""
        habit = self._habits.get(model)
        if is_set_apart:
            habit = _Habit(closes=False, patience=0)
        elif read.closed_alone:
            habit = _Habit(closes=True, patience=2)
        elif read.opened:
            habit = habit or _Habit(closes=False, patience=1)
        elif read.held_in_vain:
            closes, left = (habit.closes, habit.patience - 1) if habit else (False, 0)
            habit = _Habit(closes, max(left, 0))
        if habit is not None:
            self._habits.pop(model, None)
            self._habits[model] = habit
            if len(self._habits) > MAX_MODELS:
                del self._habits[next(iter(self._habits))]
