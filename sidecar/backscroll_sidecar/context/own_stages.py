"""Compressors and assemblers of the operator's own, and the plain ones where these break."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

import structlog
from msgspec.structs import replace

from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.concurrency.deadline import OWN_FAULTS, Deadline
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context.budget import (
    Counted,
    Fitted,
    Frame,
    fit,
    fit_us,
)
from backscroll_sidecar.context.compress import (
    Compressed,
    Compressor,
    Limits,
    SimpleCompressor,
)
from backscroll_sidecar.context.layouts import (
    QUESTION_APART,
    Assembled,
    Assembler,
    Part,
    Parts,
    Section,
    begins_with_system,
)
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.selected_lines import Lines
from backscroll_sidecar.context.token_counter import PartCounter, payload_tokens
from backscroll_sidecar.domain import (
    CUT_MARK,
    Degradation,
    Fate,
    Layout,
    NeutralMessage,
    Role,
)
from backscroll_sidecar.lines.escaping import escape_new
from backscroll_sidecar.lines.rendering import RenderedLine
from backscroll_sidecar.scripts import shows_nothing

log = structlog.get_logger(__name__)
_PLAIN = SimpleCompressor()
STEP_MESSAGES = 32
"""Where a window is fuller than was reckoned it moves on by so many messages."""
PARTS = frozenset(("summary", "preferences", "recent", "semantic"))
"""What a section may be: the parts that tokens are counted by."""


class CheckedCompressor:
    """Anybody's compressor, held to its protocol: what it gives is whole or an error."""

    def __init__(self, inner: Compressor) -> None:
        self._inner = inner

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        """What it keeps of `lines`. Raises `TypeError` for what is no part of them in their order."""
        made = self._inner.compress(lines, limits)
        if not isinstance(made, Compressed):
            raise TypeError(f"compress gave {_kind(made)}, a Compressed is wanted")
        if made.lines is lines:
            return Compressed(lines, len(lines))
        left, index_of = iter(lines.places), {place: i for i, place in enumerate(lines.places)}
        kept, changed = list[int](), dict[int, RenderedLine]()
        for line in made.lines:
            if line.place not in left:
                raise TypeError("compress gave other lines than it got, or in another order")
            _check_text(line.said.text, "a line")
            kept.append(index_of[line.place])
            given = lines.rendered(kept[-1])
            if line.written != given:
                changed[kept[-1]] = _without_marks(line.written, given.said.text)
        for place, fate in made.dropped.items():
            if not isinstance(fate, Fate):
                raise TypeError(f"compress gave {_kind(fate)} for the fate of line {place}")
        return Compressed(lines.take(kept, changed), len(lines), made.dropped)


class CheckedAssembler:
    """Anybody's assembler, held to its protocol."""

    def __init__(self, inner: Assembler) -> None:
        self._inner = inner

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        """What it made. Raises `TypeError` for what is no context."""
        made = self._inner.assemble(parts, layout, include_system=include_system)
        if not isinstance(made, Assembled):
            raise TypeError(f"assemble gave {_kind(made)}, an Assembled is wanted")
        _all_are(NeutralMessage, made.messages, "messages")
        _all_are(NeutralMessage, made.payload_messages, "payload_messages")
        _all_are(Section, made.sections, "sections")
        if unknown := {one.part for one in made.sections} - PARTS:
            raise TypeError(f"assemble gave a section {min(unknown)!r}, there are {sorted(PARTS)}")
        for one in (*made.messages, *made.payload_messages):
            _check_message(one)
        _check_text(made.text, "text")
        for section in made.sections:
            _check_text(section.text, "a section")
        payload = _without_blank(made.payload_messages)
        if not payload:
            raise TypeError("assemble gave no payload_messages, at least the question is wanted")
        return replace(made, messages=_without_blank(made.messages), payload_messages=payload)


def _without_marks(line: RenderedLine, given: str) -> RenderedLine:
    """The line as it was cut; what else it came to say may not look like a mark of the server's either."""
    text = line.said.text
    if text == given or (text[-1:] == CUT_MARK and given.startswith(text[:-1])):
        return line
    safe = escape_new(text, keep_control=line.style.keep_control)
    return line if safe == text else line.telling(replace(line.said, text=safe, truncated=True))


def _check_message(message: NeutralMessage) -> None:
    """Raises `TypeError` for what no payload can hold."""
    if not isinstance(message.role, Role):
        raise TypeError(f"assemble gave {_kind(message.role)} for a role, a Role is wanted")
    if message.role is Role.TOOL and not message.tool_results:
        raise TypeError(
            "assemble gave a message of a tool without a ToolResultPart among its parts"
        )
    for text in (message.content, message.name, message.author_id, *message.message_ids):
        _check_text(text, "a message")


def _check_text(text: object, where: str) -> None:
    """Raises `TypeError` for what is no text, or none that can be sent."""
    if not isinstance(text, str):
        raise TypeError(f"a stage gave {_kind(text)} in {where}, a str is wanted")
    if "\0" in text or not _can_be_sent(text):
        raise TypeError(
            f"a stage gave a text in {where} that cannot be sent: U+0000 or half a character"
        )


def _can_be_sent(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_blank(messages: Sequence[NeutralMessage]) -> Sequence[NeutralMessage]:
    """The messages but for those that vendors refuse: nothing in them can be seen, and no tool is called."""
    blank = [one for one in messages if not one.parts and shows_nothing(one.content)]
    return [one for one in messages if one not in blank] if blank else messages


def _all_are(kind: type, given: Iterable[object], name: str) -> None:
    if not isinstance(given, Sequence):
        raise TypeError(f"assemble gave {_kind(given)} for {name}, a tuple is wanted")
    for one in given:
        if not isinstance(one, kind):
            raise TypeError(f"assemble gave {_kind(one)} in {name}, a {kind.__name__} is wanted")


def _kind(value: object) -> str:
    return type(value).__name__


class StageFailed(Exception):
    """A compressor or an assembler raised; `stage` says which."""

    def __init__(self, stage: str) -> None:
        super().__init__(stage)
        self.stage = stage


class _Stages:
    """The stages of a profile, checked, and which of them was asked last: of one that takes too long nothing else
    tells.
    """

    def __init__(
        self, frame: Frame, compressor: Compressor, assembler: Assembler | None = None
    ) -> None:
        self._frame, self._counter = frame, PartCounter(frame)
        self._compressor, self._assembler = compressor, assembler
        self.has_assembler = assembler is not None
        self.asked = "compress"

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        self.asked = "compress"
        try:
            return self._compressor.compress(lines, limits)
        except OWN_FAULTS as error:
            raise StageFailed(self.asked) from error

    def count(self, parts: Parts, asked_by: str) -> Counted:
        frame = self._frame
        if self._assembler is None:
            return self._counter.count(parts, asked_by)
        self.asked = "assemble"
        try:
            made = self._assembler.assemble(
                parts, frame.layout, include_system=frame.include_system
            )
        except OWN_FAULTS as error:
            raise StageFailed(self.asked) from error
        return _count_assembled(made, parts, frame)


def _count_assembled(made: Assembled, parts: Parts, frame: Frame) -> Counted:
    """Tokens of what an assembler made, counted as text."""
    count, framing = token_counter(frame.tokenizer).count, frame.adapter.framing.message_tokens
    found = {
        one.part: count(one.text) if one.tokens is None else one.tokens for one in made.sections
    }
    has_own = frame.layout in QUESTION_APART
    asked = made.payload_messages[-1].content if has_own else parts.literal(Part.LABELLED_QUESTION)
    found["question"] = count(asked) + framing
    if parts.system and begins_with_system(made.payload_messages[0].content, parts.system):
        found["system"] = count(parts.system) + framing
    total = payload_tokens(made.payload_messages, frame)
    return Counted(total, total, found, made)


async def fit_in_stages(
    parts: Parts, frame: Frame, profile: Profile, deadline: Deadline
) -> tuple[Fitted, tuple[Degradation, ...]]:
    """Inside the budget; a compressor or assembler that breaks, or takes too long, is replaced by the plain one.

    Raises `BudgetTooSmall`.
    """
    limits = Limits(profile.max_messages, profile.max_chars_per_message)
    if profile.is_steady:
        limits = replace(limits, step_messages=STEP_MESSAGES)
    fitted: Fitted | None = None
    lost: list[Degradation] = []
    if profile.has_own_stages:
        own = _Stages(frame, profile.compressor or _PLAIN, profile.assembler)
        work = asyncio.to_thread(fit, parts, limits, frame, own)  # whatever anybody's code costs
        try:
            fitted = await deadline.bound(work)
        except StageFailed as failed:
            log.warning("fitting failed", stage=failed.stage, exc_info=True)
            lost = [Degradation(failed.stage, "ERROR")]
        except TimeoutError:
            lost = [Degradation(own.asked, "TIMEOUT")]
    if fitted is None:
        plain = partial(fit, parts, limits, frame, _Stages(frame, _PLAIN))
        fitted = await run(fit_us(parts, limits, frame), plain)
    if fitted.preferences_dropped:
        lost.append(Degradation("compress", "BUDGET", "preferences"))
    if fitted.summary_dropped:
        lost.append(Degradation("compress", "BUDGET", "summary"))
    if fitted.pictures_dropped:
        lost.append(Degradation("compress", "BUDGET", "pictures"))
    if fitted.answered_dropped:
        lost.append(Degradation("compress", "BUDGET", "chain"))
    return fitted, tuple(lost)
