"""The compressor and the assembler of a build: the profile's own, and the plain ones where these break."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

import structlog

from backscroll_sidecar.context.budget import Fitted, Frame, StageFailed, fit, fit_us
from backscroll_sidecar.context.compress import Compressed, Compressor, Limits, SimpleCompressor
from backscroll_sidecar.context.deadline import Deadline
from backscroll_sidecar.context.layouts import (
    Assembled,
    Assembler,
    Parts,
    Section,
    StandardAssembler,
)
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import INLINE_US
from backscroll_sidecar.context.selected import Lines
from backscroll_sidecar.domain import Degradation, Fate, Layout, NeutralMessage

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
        if not made.payload_messages:
            raise TypeError("assemble gave no payload_messages, at least the question is wanted")
        if not isinstance(made.text, str):
            raise TypeError(f"assemble gave {_kind(made.text)} for text, a str is wanted")
        return made


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
        is_long = fit_us(parts, limits, frame) > INLINE_US
        fitted = await asyncio.to_thread(fit_plainly) if is_long else fit_plainly()
    if fitted.preferences_dropped:
        lost.append(Degradation("compress", "BUDGET", "preferences"))
    if fitted.answered_dropped:
        lost.append(Degradation("compress", "BUDGET", "chain"))
    return fitted, tuple(lost)


async def _fitted_by_own(
    profile: Profile, fit_with: partial[Fitted], deadline: Deadline
) -> tuple[Fitted | None, list[Degradation]]:
    """In a thread, whatever anybody's code costs; None where it broke."""
    compressor, assembler = profile.compressor or _PLAIN[0], profile.assembler or _PLAIN[1]
    try:
        work = asyncio.to_thread(fit_with, compressor, assembler)
        return await deadline.bound(work), []
    except StageFailed as failed:
        log.warning("fitting failed", stage=failed.stage, exc_info=True)
        return None, [Degradation(failed.stage, "ERROR")]
    except TimeoutError:
        return None, [Degradation("compress", "TIMEOUT")]
