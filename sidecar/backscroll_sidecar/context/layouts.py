"""Parts to neutral messages, in four layouts, by name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Protocol, overload

import msgspec

from backscroll_sidecar.context.rendering import NOTHING_SHOWN, Shown, Written
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.domain import Category, Layout, NeutralMessage, Role, SpeakerStyle
from backscroll_sidecar.lines.line_format import indent
from backscroll_sidecar.texts import ENGLISH, EVERY, Texts

SYSTEM_LABEL = "System: "
DEFAULT_LAYOUT = Layout.TURNS
QUESTION_APART = (Layout.TURNS, Layout.CONTEXT_AND_QUESTION)
"""In these the question is a message of its own."""
_TURNS, _SYSTEM_AND_USER = Layout.TURNS, Layout.SYSTEM_AND_USER
_USER, _RECENT = Role.USER, Category.RECENT
_ID: Callable[[Written], str] = attrgetter("said.message_id")
NO_LINES = Lines(NOTHING_SHOWN, [], [], [], [], {})
_LABELS = re.compile(
    rf"\A(\s*(?:{'|'.join(sorted({texts.preferences_label.strip() for texts in EVERY}))}))+"
)


class Parts(msgspec.Struct, frozen=True):
    """Everything a model is to see. Empty means absent. `question` is the question as it is to be written."""

    question: str
    lines: Lines = NO_LINES
    system: str = ""
    preferences: Sequence[str] = ()
    texts: Texts = ENGLISH
    question_label: str = ENGLISH.question_label
    question_name: str = ""
    question_author_id: str = ""
    speaker: SpeakerStyle = SpeakerStyle.ROLE

    @property
    def asked_by(self) -> NeutralMessage:
        """The question as a message of its own."""
        return NeutralMessage(
            _USER, self.question, self.question_name, author_id=self.question_author_id
        )

    def showing(self, lines: Lines, preferences: Sequence[str]) -> Parts:
        """The same with other lines and preferences."""
        return Parts(
            self.question,
            lines,
            self.system,
            preferences,
            self.texts,
            self.question_label,
            self.question_name,
            self.question_author_id,
            self.speaker,
        )


class Section(msgspec.Struct, frozen=True):
    """A piece of the context: which part it is, its text, and the stored messages in it.

    With messages the text is a title and the line of each, joined by line breaks. `is_turns`: each of them is a message
    of its own, too, and the text stands in none.
    """

    part: str
    text: str
    shown: Shown = NOTHING_SHOWN
    is_turns: bool = False


class Messages(Sequence[NeutralMessage]):
    """Neutral messages, of which some are stored ones that stand alone: those are made only for who looks at them.

    Parameters
    ----------
    before, after : the other messages.
    turns : the stored ones.
    """

    __slots__ = ("_all", "after", "before", "turns")

    def __init__(
        self,
        before: tuple[NeutralMessage, ...],
        turns: Shown = NOTHING_SHOWN,
        after: tuple[NeutralMessage, ...] = (),
    ) -> None:
        self.before, self.turns, self.after = before, turns, after
        self._all: tuple[NeutralMessage, ...] | None = None

    def forms(self, form: str, make: Callable[[NeutralMessage], bytes]) -> list[bytes]:
        """What `make` makes of each; that of a stored one stays with it under the name `form`."""
        turns = self.turns.forms(form, lambda one: make(one.turn))
        if self.before:
            turns[:0] = map(make, self.before)
        turns += map(make, self.after)
        return turns

    def behind(self, first: NeutralMessage) -> Messages:
        """The same behind another one."""
        return Messages((first, *self.before), self.turns, self.after)

    def _made(self) -> tuple[NeutralMessage, ...]:
        if self._all is None:
            turns = [one.turn for one in self.turns.written]
            self._all = (*self.before, *turns, *self.after)
        return self._all

    def __len__(self) -> int:
        return len(self.before) + len(self.turns) + len(self.after)

    @overload
    def __getitem__(self, index: int) -> NeutralMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[NeutralMessage, ...]: ...
    def __getitem__(self, index: int | slice) -> NeutralMessage | tuple[NeutralMessage, ...]:
        if index == 0 and self.before:
            return self.before[0]
        return self.after[-1] if index == -1 and self.after else self._made()[index]

    def __iter__(self) -> Iterator[NeutralMessage]:
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages | tuple) and self._made() == tuple(other)

    __hash__ = None  # type: ignore[assignment]


class Assembled(msgspec.Struct, frozen=True):
    """A context in one layout.

    `messages` is the neutral list as asked for, `payload_messages` the same with the system text wherever the
    layout lacks it, `text` the context without the question.
    """

    messages: Sequence[NeutralMessage]
    payload_messages: Sequence[NeutralMessage]
    text: str
    sections: tuple[Section, ...]


class Assembler(Protocol):
    """Puts parts together. Must be a pure function of its arguments."""

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """Neutral messages in the order system, history, question."""


class StandardAssembler:
    """The four layouts."""

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """See `Assembler`."""
        sections = context_sections(parts, has_turns=layout is _TURNS)
        text = context = _join([section.text for section in sections])
        if include_system and parts.system:
            text = _join(filter(None, (SYSTEM_LABEL + indent(parts.system), context)))
        body = LAYOUTS[layout](parts, sections, context if layout is _SYSTEM_AND_USER else text)
        if not parts.system:
            return Assembled(body, body, text, sections)
        whole = body.behind(NeutralMessage(Role.SYSTEM, parts.system))
        if layout is _SYSTEM_AND_USER or (layout is _TURNS and include_system):
            return Assembled(whole, whole, text, sections)
        return Assembled(body, body if include_system else whole, text, sections)


def context_sections(parts: Parts, *, has_turns: bool) -> tuple[Section, ...]:
    """Preferences, recent, semantic; empty ones absent."""
    sections = []
    if parts.preferences:
        sections.append(Section("preferences", preferences_line(parts.preferences, parts.texts)))
    titled = (
        ("recent", parts.texts.recent_title, _RECENT),
        ("semantic", parts.texts.semantic_title, Category.SEMANTIC),
    )
    for part, title, category in titled:
        shown = parts.lines.of_category(category)
        if not shown.written:
            continue
        text = "\n".join([title, *[one.line for one in shown.written]])
        is_turns = has_turns and category is _RECENT
        sections.append(Section(part, text, shown, is_turns))
    return tuple(sections)


def begins_with_system(text: str, system: str) -> bool:
    """Whether a message begins with the system text, as the layouts put it first."""
    return text == system or text.startswith(SYSTEM_LABEL + indent(system))


def preferences_line(preferences: Sequence[str], texts: Texts) -> str:
    """``User Preferences: …``, the prefix never doubled."""
    lines = map(bare_preference, preferences)
    return texts.preferences_label + indent("\n".join(filter(None, lines)))


def bare_preference(line: str) -> str:
    """What a line of preferences says, without the label that some bring along."""
    return _LABELS.sub("", line).strip()


def _turns(parts: Parts, sections: Sequence[Section], text: str) -> Messages:
    """Recent messages one by one with their stored role; preferences and reference; the question."""
    del text
    recent, rest = NOTHING_SHOWN, []
    for section in sections:
        if section.is_turns:
            recent = section.shown
        else:
            rest.append(section)
    if not rest:
        return Messages((), recent, (parts.asked_by,))
    reference = NeutralMessage(Role.USER, _join(s.text for s in rest), "", _ids(rest))
    return Messages((), recent, (reference, parts.asked_by))


def _context_and_question(parts: Parts, sections: Sequence[Section], text: str) -> Messages:
    """The context in one message, the question in another."""
    context = (NeutralMessage(Role.USER, text, "", _ids(sections)),) if text else ()
    return Messages((*context, NeutralMessage(Role.USER, parts.question)))


def _single_user(parts: Parts, sections: Sequence[Section], text: str) -> Messages:
    """Context, blank line, labelled question in one message."""
    question = parts.question_label + parts.question
    content = _join(filter(None, (text, question)))
    return Messages((NeutralMessage(Role.USER, content, "", _ids(sections)),))


Builder = Callable[[Parts, Sequence[Section], str], Messages]

LAYOUTS: dict[Layout, Builder] = {
    Layout.TURNS: _turns,
    Layout.CONTEXT_AND_QUESTION: _context_and_question,
    Layout.SINGLE_USER: _single_user,
    Layout.SYSTEM_AND_USER: _single_user,
}


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)


def _ids(sections: Sequence[Section]) -> tuple[str, ...]:
    return tuple([_ID(one) for section in sections for one in section.shown.written])
