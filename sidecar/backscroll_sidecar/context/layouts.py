"""The layouts, as data: which messages a payload has, and which parts of the context stand in each.

Everything that puts a context together reads them: the program that assembles an answer (`assembly`), the count of its
tokens (`budget`), and `StandardAssembler`, for who wants messages as values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

import msgspec

from backscroll_scoring.layout import COUNT, GROUP_SUMS, IS_REFERENCE, TURNS_TOKENS
from backscroll_sidecar.context.selected_lines import Lines
from backscroll_sidecar.domain import (
    Layout,
    MediaPart,
    NeutralMessage,
    Role,
    SpeakerStyle,
    TextPart,
)
from backscroll_sidecar.lines.line_safety import indent
from backscroll_sidecar.texts import ENGLISH, EVERY, Texts

SYSTEM_LABEL = "System: "
QUESTION_APART = (Layout.TURNS, Layout.CONTEXT_AND_QUESTION)
"""In these the question is a message of its own."""
GAP = "\n\n"
"""Between the parts of a message."""
NO_LINES = Lines.of(())
_TURNS, _SYSTEM, _USER = Layout.TURNS, Role.SYSTEM, Role.USER
_LABELS = re.compile(
    rf"\A(\s*(?:{'|'.join(sorted({texts.preferences_label.strip() for texts in EVERY}))}))+"
)


class Part(IntEnum):
    """What a message is made of. RECENT and SEMANTIC are a title with the lines of the talk, or of the references,
    behind it.
    """

    SYSTEM, SYSTEM_LINE, RECENT, SEMANTIC, QUESTION, LABELLED_QUESTION, PREFERENCES, SUMMARY = (
        range(8)
    )


_ASKS = {Part.QUESTION, Part.LABELLED_QUESTION}


class Block(NamedTuple):
    """A message: its role and its parts. Without parts: all lines of the talk, each a message of its own."""

    role: Role
    parts: tuple[Part, ...] = ()


TALK = Block(_USER)


class Plan(NamedTuple):
    """Which messages an answer has, and a payload; and the parts of the context as one text."""

    messages: tuple[Block, ...]
    payload: tuple[Block, ...]
    text: tuple[Part, ...]


@lru_cache(maxsize=256)
def plan_of(
    layout: Layout,
    *,
    has_system: bool,
    include_system: bool,
    has_preferences: bool,
    has_talk: bool,
    has_references: bool,
    has_summary: bool = False,
) -> Plan:
    """A layout, of what there is. What changes least comes first: vendors keep what requests begin with."""
    there = (
        (has_summary, Part.SUMMARY),
        (has_preferences, Part.PREFERENCES),
        (has_talk, Part.RECENT),
        (has_references, Part.SEMANTIC),
    )
    context = tuple(part for is_there, part in there if is_there)
    text = (Part.SYSTEM_LINE, *context) if include_system and has_system else context
    asked, alone = (Part.QUESTION,), (Part.LABELLED_QUESTION,)
    body: tuple[Block, ...]
    if layout is _TURNS:
        beside = tuple(part for part in context if part not in {Part.RECENT, Part.SUMMARY})
        body = (Block(_USER, (Part.SUMMARY,)),) if has_summary else ()
        body += (TALK,) if has_talk else ()
        body += (Block(_USER, beside),) if beside else ()
        body += (Block(_USER, asked),)
    elif layout is Layout.CONTEXT_AND_QUESTION:
        body = (Block(_USER, text),) if text else ()
        body += (Block(_USER, asked),)
    elif layout is Layout.SINGLE_USER:
        body = (Block(_USER, text + alone),)
    else:
        body = (Block(_USER, context + alone),)
    if not has_system:
        return Plan(body, body, text)
    whole = Block(_SYSTEM, (Part.SYSTEM,)), *body
    if layout is Layout.SYSTEM_AND_USER or (layout is _TURNS and include_system):
        return Plan(whole, whole, text)
    return Plan(body, body if include_system else whole, text)


class Parts(msgspec.Struct, frozen=True):
    """Everything a model is to see. Empty means absent. `question` and `summary` are as they are to be written."""

    question: str
    lines: Lines = NO_LINES
    system: str = ""
    preferences: Sequence[str] = ()
    summary: str = ""
    summary_title: str = ENGLISH.summary_title
    texts: Texts = ENGLISH
    question_label: str = ENGLISH.question_label
    question_name: str = ""
    question_author_id: str = ""
    pictures: tuple[MediaPart, ...] = ()
    speaker: SpeakerStyle = SpeakerStyle.ROLE

    @property
    def asked_by(self) -> NeutralMessage:
        """The question as a message of its own."""
        asked = NeutralMessage(
            _USER, self.question, self.question_name, author_id=self.question_author_id
        )
        return self.with_pictures(asked)

    def with_pictures(self, asking: NeutralMessage) -> NeutralMessage:
        """The message that holds the question with the pictures that were shown with it."""
        if not self.pictures:
            return asking
        return msgspec.structs.replace(asking, parts=(TextPart(asking.content), *self.pictures))

    @property
    def has_parts(self) -> bool:
        """Whether a message consists of more than a text."""
        return bool(self.pictures) or self.lines.has_parts

    def showing(self, lines: Lines, preferences: Sequence[str]) -> Parts:
        """The same with other lines and preferences."""
        return msgspec.structs.replace(self, lines=lines, preferences=preferences)

    def literal(self, part: Part) -> str:
        """The text of a part, the title alone of those with lines."""
        match part:
            case Part.SYSTEM:
                return self.system
            case Part.SYSTEM_LINE:
                return system_line(self.system)
            case Part.RECENT:
                return self.texts.recent_title
            case Part.SEMANTIC:
                return self.texts.semantic_title
            case Part.PREFERENCES:
                return preferences_line(self.preferences, self.texts)
            case Part.SUMMARY:
                return _summary(self.summary_title, self.summary)
            case Part.QUESTION:
                return self.question
            case _:
                return self.question_label + self.question

    def text(self, part: Part) -> str:
        """The text of a part."""
        return "\n".join((self.literal(part), *map(self.lines.line, self.shown_in(part))))

    def shown_in(self, part: Part) -> Sequence[int]:
        """The indices of the lines in a part."""
        if part not in (Part.RECENT, Part.SEMANTIC):
            return ()
        there: list[int] = (
            (self.lines.columns[IS_REFERENCE] == (part is Part.SEMANTIC)).nonzero()[0].tolist()
        )
        return there

    def plan(self, layout: Layout, *, include_system: bool) -> Plan:
        """What a layout makes of them."""
        sums = self.lines.sums
        return plan_of(
            layout,
            has_system=bool(self.system),
            include_system=include_system,
            has_preferences=bool(self.preferences),
            has_talk=sums[COUNT] > 0,
            has_references=sums[COUNT + GROUP_SUMS] > 0,
            has_summary=bool(self.summary),
        )


class Section(msgspec.Struct, frozen=True):
    """A piece of the context: which part it is (summary, preferences, recent, semantic), its text, and its tokens where
    they are not those of the text.
    """

    part: str
    text: str
    tokens: int | None = None


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
    """The four layouts, as values."""

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """See `Assembler`."""
        plan = parts.plan(layout, include_system=include_system)
        sections = []
        for part in plan.text:
            if part is not Part.SYSTEM_LINE:
                turns = part is Part.RECENT and layout is _TURNS
                tokens = parts.lines.sums[TURNS_TOKENS] if turns else None
                sections.append(Section(part.name.lower(), parts.text(part), tokens))
        return Assembled(
            tuple(messages_of(parts, plan.messages, layout)),
            tuple(messages_of(parts, plan.payload, layout)),
            GAP.join(map(parts.text, plan.text)),
            tuple(sections),
        )


def messages_of(parts: Parts, blocks: Sequence[Block], layout: Layout) -> Iterator[NeutralMessage]:
    """Messages of a plan as values."""
    for role, of in blocks:
        if not of:
            yield from map(parts.lines.turn, parts.shown_in(Part.RECENT))
        elif of == (Part.QUESTION,) and layout is _TURNS:
            yield parts.asked_by
        else:
            ids = tuple(parts.lines.message_id(i) for part in of for i in parts.shown_in(part))
            made = NeutralMessage(role, GAP.join(map(parts.text, of)), "", ids)
            yield parts.with_pictures(made) if _ASKS & set(of) else made


@lru_cache(maxsize=256)
def _summary(title: str, summary: str) -> str:
    """A summary under its title; the same for many questions."""
    return indent(f"{title}\n{summary}")


def begins_with_system(text: str, system: str) -> bool:
    """Whether a message begins with the system text, as the layouts put it first."""
    return text == system or text.startswith(system_line(system))


def system_line(system: str) -> str:
    """The system text where it stands before the context in one message."""
    return SYSTEM_LABEL + indent(system)


def preferences_line(preferences: Sequence[str], texts: Texts) -> str:
    """``User Preferences: …``, the prefix never doubled."""
    lines = map(bare_preference, preferences)
    return texts.preferences_label + indent("\n".join(filter(None, lines)))


def bare_preference(line: str) -> str:
    """What a line of preferences says, without the label that some bring along."""
    return _LABELS.sub("", line).strip()
