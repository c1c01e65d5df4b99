"""Parts to neutral messages, in the layouts of design S1, by name (S1-10, S1-13 to S1-16, S1-22). Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from backscroll_sidecar.context.lines import indent
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.context.writing import Written
from backscroll_sidecar.domain import Category, Layout, NeutralMessage, Role, SpeakerStyle
from backscroll_sidecar.values import quick

RECENT_TITLE = "Conversation (recent):"
SEMANTIC_TITLE = "Relevant reference (semantic):"
PREFERENCES_LABEL = "User Preferences: "
SYSTEM_LABEL = "System: "
QUESTION_LABEL = "用户提问: "
DEFAULT_LAYOUT = Layout.TURNS
_ID: Callable[[Written], str] = attrgetter("said.message_id")
NO_LINES = Lines([], [], [], [], [], {})
_TITLED = (
    ("recent", RECENT_TITLE, Category.RECENT),
    ("semantic", SEMANTIC_TITLE, Category.SEMANTIC),
)
_LABELS = re.compile(rf"\A(\s*{PREFERENCES_LABEL.strip()})+")


@quick
@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a model is to see. Empty means absent. `question` is the question as it is to be written."""

    question: str
    lines: Lines = NO_LINES
    system: str = ""
    preferences: Sequence[str] = ()
    question_label: str = QUESTION_LABEL
    question_name: str = ""
    speaker: SpeakerStyle = SpeakerStyle.ROLE

    def showing(self, lines: Lines, preferences: Sequence[str]) -> Parts:
        """The same with other lines and preferences."""
        return Parts(
            self.question,
            lines,
            self.system,
            preferences,
            self.question_label,
            self.question_name,
            self.speaker,
        )


@quick
@dataclass(frozen=True, slots=True)
class Section:
    """A piece of the context: which part it is, its text, and the stored messages in it.

    `turns` are the messages that show it, where they show nothing else; they name the stored ones then.
    """

    part: str
    text: str
    message_ids: tuple[str, ...] = ()
    turns: tuple[NeutralMessage, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Assembled:
    """A context in one layout.

    `messages` is the neutral list as asked for, `payload_messages` the same with the system text wherever the
    layout lacks it, `text` the context without the question (S1-20).
    """

    messages: tuple[NeutralMessage, ...]
    payload_messages: tuple[NeutralMessage, ...]
    text: str
    sections: tuple[Section, ...]


class Assembler(Protocol):
    """Puts parts together. Must be a pure function of its arguments (S3-06)."""

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """Neutral messages in the order system, history, question (S3-13)."""


class StandardAssembler:
    """The four layouts."""

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """See `Assembler`."""
        sections = context_sections(parts, has_turns=layout is Layout.TURNS)
        text = context = _join([section.text for section in sections])
        if include_system and parts.system:
            text = _join(filter(None, (SYSTEM_LABEL + indent(parts.system), context)))
        body = LAYOUTS[layout](
            parts, sections, context if layout is Layout.SYSTEM_AND_USER else text
        )
        if not parts.system:
            return Assembled(body, body, text, sections)
        whole = (*_message(Role.SYSTEM, parts.system), *body)
        if layout is Layout.SYSTEM_AND_USER or (layout is Layout.TURNS and include_system):
            return Assembled(whole, whole, text, sections)
        return Assembled(body, body if include_system else whole, text, sections)


def context_sections(parts: Parts, *, has_turns: bool) -> tuple[Section, ...]:
    """Preferences, recent, semantic; empty ones absent (S1-10)."""
    sections = []
    if parts.preferences:
        sections.append(Section("preferences", preferences_line(parts.preferences)))
    for part, title, category in _TITLED:
        written = parts.lines.of_category(category)
        if not written:
            continue
        text = "\n".join([title, *[one.line for one in written]])
        if has_turns and category is Category.RECENT:
            sections.append(Section(part, text, turns=tuple([one.turn for one in written])))
        else:
            sections.append(Section(part, text, tuple(map(_ID, written))))
    return tuple(sections)


def preferences_line(preferences: Sequence[str]) -> str:
    """``User Preferences: …``, the prefix never doubled (S1-08)."""
    lines = [_LABELS.sub("", line).strip() for line in preferences]
    return PREFERENCES_LABEL + indent("\n".join(filter(None, lines)))


def _turns(parts: Parts, sections: Sequence[Section], text: str) -> tuple[NeutralMessage, ...]:
    """S1-13: recent messages one by one with their stored role; preferences and reference; the question."""
    del text
    recent = next((section.turns for section in sections if section.turns), ())
    rest = [section for section in sections if not section.turns]
    reference = _message(Role.USER, _join(s.text for s in rest), _ids(rest)) if rest else ()
    question = NeutralMessage(Role.USER, parts.question, parts.question_name)
    return (*recent, *reference, question)


def _context_and_question(
    parts: Parts, sections: Sequence[Section], text: str
) -> tuple[NeutralMessage, ...]:
    """S1-14: the context in one message, the question in another."""
    context = _message(Role.USER, text, _ids(sections)) if text else ()
    return (*context, NeutralMessage(Role.USER, parts.question))


def _single_user(
    parts: Parts, sections: Sequence[Section], text: str
) -> tuple[NeutralMessage, ...]:
    """S1-15: context, blank line, labelled question in one message."""
    question = parts.question_label + parts.question
    return _message(Role.USER, _join(filter(None, (text, question))), _ids(sections))


Builder = Callable[[Parts, Sequence[Section], str], tuple[NeutralMessage, ...]]

LAYOUTS: dict[Layout, Builder] = {
    Layout.TURNS: _turns,
    Layout.CONTEXT_AND_QUESTION: _context_and_question,
    Layout.SINGLE_USER: _single_user,
    Layout.SYSTEM_AND_USER: _single_user,
}


def _message(
    role: Role, content: str, message_ids: tuple[str, ...] = ()
) -> tuple[NeutralMessage, ...]:
    return (NeutralMessage(role, content, "", message_ids),)


def _join(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)


def _ids(sections: Sequence[Section]) -> tuple[str, ...]:
    return tuple(message_id for section in sections for message_id in section.message_ids)
