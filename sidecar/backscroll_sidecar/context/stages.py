"""The compressor and the assembler of a build: the profile's own, and the plain ones where these break."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from msgspec.structs import replace

from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context.budget import Fitted, Frame, StageFailed, fit, fit_us
from backscroll_sidecar.context.compress import (
    CUT_MARK,
    Compressed,
    Compressor,
    Limits,
    SimpleCompressor,
)
from backscroll_sidecar.context.layouts import (
    Assembled,
    Assembler,
    Parts,
    Section,
    StandardAssembler,
)
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.selected import Line, Lines
from backscroll_sidecar.domain import Degradation, Fate, Layout, NeutralMessage, Role
from backscroll_sidecar.lines.escaping import escape_new
from backscroll_sidecar.scripts import shows_nothing

log = structlog.get_logger(__name__)
PARTS = frozenset(("preferences", "recent", "semantic"))
"""What a section may be: the parts that tokens are counted by."""
_PLAIN = SimpleCompressor(), StandardAssembler()


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
        kept = Lines.of(made.lines)
        left = iter(lines.places)
        if not all(place in left for place in kept.places):
            raise TypeError("compress gave other lines than it got, or in another order")
        for line in kept:
            _check_text(line.said.text, "a line")
        given = dict(zip(lines.places, lines.shown.written, strict=True))
        kept = Lines.of([_without_marks(line, given[line.place].said.text) for line in kept])
        for place, fate in made.dropped.items():
            if not isinstance(fate, Fate):
                raise TypeError(f"compress gave {_kind(fate)} for the fate of line {place}")
        return Compressed(kept, len(lines), made.dropped)


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


def _without_marks(line: Line, given: str) -> Line:
    """The line as it was cut; what else it came to say may not look like a mark of the server's either."""
    text = line.said.text
    if text == given or (text[-1:] == CUT_MARK and given.startswith(text[:-1])):
        return line
    safe = escape_new(text, keep_control=line.written.pen.keep_control)
    return line if safe == text else line.with_text(safe)


def _check_message(message: NeutralMessage) -> None:
    """Raises `TypeError` for what no payload can hold."""
    if not isinstance(message.role, Role):
        raise TypeError(f"assemble gave {_kind(message.role)} for a role, a Role is wanted")
    if message.role is Role.TOOL and not message.tool_call_id:
        raise TypeError(
            "assemble gave a message of a tool without tool_call_id, which is no answer"
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
    blank = [one for one in messages if not one.tool_calls and shows_nothing(one.content)]
    return [one for one in messages if one not in blank] if blank else messages


def _all_are(kind: type, given: Iterable[object], name: str) -> None:
    if not isinstance(given, Sequence):
        raise TypeError(f"assemble gave {_kind(given)} for {name}, a tuple is wanted")
    for one in given:
        if not isinstance(one, kind):
            raise TypeError(f"assemble gave {_kind(one)} in {name}, a {kind.__name__} is wanted")


def _kind(value: object) -> str:
    return type(value).__name__


async def fit_in_stages(
    request: BuildRequest, profile: Profile, parts: Parts, deadline: Deadline
) -> tuple[Fitted, tuple[Degradation, ...]]:
    """Inside the budget; a compressor or assembler that breaks, or takes too long, is replaced by the plain one.

    Raises `BudgetTooSmall`.
    """
    limits = Limits(profile.max_messages, profile.max_chars_per_message)
    frame = Frame(
        budget=profile.token_budget if request.token_budget is None else request.token_budget,
        reserve=request.reserve_tokens,
        tools_json=request.tools_json,
        layout=request.layout,
        include_system=request.include_system,
        with_names=request.include_names,
        tokenizer=request.tokenizer,
    )
    fit_with = partial(fit, parts, limits, frame)
    fitted, lost = None, list[Degradation]()
    if profile.has_own_stages:
        fitted, lost = await _fitted_by_own(profile, fit_with, deadline)
    if fitted is None:
        fit_plainly = partial(fit_with, *_PLAIN)
        fitted = await run(fit_us(parts, limits, frame), fit_plainly)
    if fitted.preferences_dropped:
        lost.append(Degradation("compress", "BUDGET", "preferences"))
    if fitted.answered_dropped:
        lost.append(Degradation("compress", "BUDGET", "chain"))
    return fitted, tuple(lost)


async def _fitted_by_own(
    profile: Profile, fit_with: partial[Fitted], deadline: Deadline
) -> tuple[Fitted | None, list[Degradation]]:
    """In a thread, whatever anybody's code costs; None where it broke."""
    both = _Both(profile.compressor or _PLAIN[0], profile.assembler or _PLAIN[1])
    try:
        work = asyncio.to_thread(fit_with, both, both)
        return await deadline.bound(work), []
    except StageFailed as failed:
        log.warning("fitting failed", stage=failed.stage, exc_info=True)
        return None, [Degradation(failed.stage, "ERROR")]
    except TimeoutError:
        return None, [Degradation(both.asked, "TIMEOUT")]


@dataclass(slots=True)
class _Both:
    """Both stages, and which of them was asked last: of one that takes too long nothing else tells."""

    compressor: Compressor
    assembler: Assembler
    asked: str = "compress"

    def compress(self, lines: Lines, limits: Limits) -> Compressed:
        self.asked = "compress"
        return self.compressor.compress(lines, limits)

    def assemble(self, parts: Parts, layout: Layout, *, include_system: bool) -> Assembled:
        self.asked = "assemble"
        return self.assembler.assemble(parts, layout, include_system=include_system)
