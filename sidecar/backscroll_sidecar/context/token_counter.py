"""The tokens of a context in its layout, and of a payload. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from backscroll_scoring.layout import (
    GAP_TOKENS,
    GROUP_SUMS,
    LAST_LINE,
    LAST_TOKENS,
    LINE_TOKENS,
    LINES_TOKENS,
    NAMES_TOKENS,
    NOT_SEAMLESS,
    TURNS_TOKENS,
)
from backscroll_sidecar.adapters import speaker_of
from backscroll_sidecar.adapters.pictures import picture_tokens
from backscroll_sidecar.adapters.token_costs import message_tokens
from backscroll_sidecar.analyze import begins_anew, exact_tokens, repeated_tokens, token_counter
from backscroll_sidecar.context.budget import Counted, Frame
from backscroll_sidecar.context.layouts import GAP, Part, Parts
from backscroll_sidecar.domain import NeutralMessage, TokenizerName

_O200K = TokenizerName.O200K
_SYSTEM, _RECENT, _SEMANTIC = Part.SYSTEM, Part.RECENT, Part.SEMANTIC
_NAMES = {
    Part.SYSTEM: "system",
    Part.SYSTEM_LINE: "system",
    Part.RECENT: "recent",
    Part.SEMANTIC: "semantic",
    Part.QUESTION: "question",
    Part.LABELLED_QUESTION: "question",
    Part.PREFERENCES: "preferences",
    Part.SUMMARY: "summary",
}
_OF_LINES = {Part.RECENT, Part.SEMANTIC}
_FRAMED = {Part.SYSTEM, Part.SYSTEM_LINE, Part.QUESTION, Part.LABELLED_QUESTION}
"""They count with the framing of a message, whether they are one of their own or not."""


@lru_cache(maxsize=64)
def _without_lines(of: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts that have no lines; the same where none has."""
    return tuple(part for part in of if part not in _OF_LINES) if _OF_LINES & set(of) else of


class PartCounter:
    """Counts the contexts of one request in its layout, adding up what lines are known to have.

    By o200k_base the parts of a message and their lines count as much together as they do one by one, each with the
    line breaks behind it (`analyze.begins_anew`).
    """

    def __init__(self, frame: Frame) -> None:
        self._frame, self._framing = frame, frame.adapter.framing.message_tokens
        self._is_exact = frame.tokenizer is _O200K
        self._count = token_counter(frame.tokenizer).count
        self._literals: dict[Part, int] = {}

    def count(self, parts: Parts, asked_by: str) -> Counted:
        """Of the payload, where the asker has this name; and of its parts."""
        frame, sums, framing = self._frame, parts.lines.sums, self._framing
        bare = total = frame.fixed_tokens
        found: dict[str, int] = {}
        if frame.has_names:
            total += frame.name_tokens(asked_by)
            bare += frame.name_tokens(frame.adapter.name_alone(speaker_of(parts.asked_by)))
        for _, of in parts.plan(frame.layout, include_system=frame.include_system).payload:
            if not of:
                found["recent"] = sums[TURNS_TOKENS]
                total += sums[TURNS_TOKENS] + (sums[NAMES_TOKENS] if frame.has_names else 0)
                continue
            alone = [self._alone(parts, part) for part in of]
            for part, tokens in zip(of, alone, strict=True):
                found[_NAMES[part]] = tokens + framing if part in _FRAMED else tokens
            if Part.SYSTEM_LINE in of:  # as much as it would be by itself
                found["system"] = self._alone(parts, Part.SYSTEM) + framing
            message = framing + (alone[0] if len(of) == 1 else self._together(parts, of))
            total += message
            rest = _without_lines(of)
            bare += message if rest is of else self._message(parts, rest)
        if parts.pictures:
            linked_tokens = frame.adapter.framing.linked_picture_tokens
            of_pictures = sum(picture_tokens(one, linked_tokens) for one in parts.pictures)
            found["question"] += of_pictures
            return Counted(total + of_pictures, bare + of_pictures, found)
        return Counted(total, bare, found)

    def _message(self, parts: Parts, of: Sequence[Part]) -> int:
        """Of a message of these parts; 0 of none."""
        if len(of) < 2:
            return self._framing + self._alone(parts, of[0]) if of else 0
        return self._framing + self._together(parts, of)

    def _alone(self, parts: Parts, part: Part) -> int:
        """Of a part by itself."""
        if part is _RECENT or part is _SEMANTIC:
            found = self._of_lines(parts, part, LAST_TOKENS)
            return self._of_text(parts.text(part)) if found < 0 else found
        known = self._literals.get(part)
        if known is None:
            literal = parts.literal(part)
            is_kept = part is Part.SUMMARY  # the same for many questions
            known = (
                repeated_tokens(literal, self._frame.tokenizer)
                if is_kept
                else self._of_text(literal)
            )
            self._literals[part] = known
        return known

    def _together(self, parts: Parts, of: Sequence[Part]) -> int:
        """Of the parts of a message, with a gap between them."""
        total, last = 0, len(of) - 1
        for at, part in enumerate(of):
            if at == last:
                counted = self._alone(parts, part)
            elif part is _RECENT or part is _SEMANTIC:
                counted = self._of_lines(parts, part, GAP_TOKENS)
            else:
                counted = repeated_tokens(parts.literal(part) + GAP, _O200K)
            if counted < 0 or not self._is_exact or (at and not begins_anew(parts.literal(part))):
                return self._of_text(GAP.join(map(parts.text, of)))
            total += counted
        return total

    def _of_text(self, text: str) -> int:
        return exact_tokens(text) if self._is_exact else self._count(text)

    def _of_lines(self, parts: Parts, part: Part, behind: int) -> int:
        """Of a title with its lines, and what is in this column of the last one; -1: they must be counted together."""
        columns, sums = parts.lines.columns, parts.lines.sums
        of = GROUP_SUMS if part is _SEMANTIC else 0
        if sums[of + NOT_SEAMLESS] or not self._is_exact:
            return -1
        last = sums[of + LAST_LINE]
        tokens = repeated_tokens(parts.literal(part) + "\n", _O200K) + sums[of + LINES_TOKENS]
        return tokens + columns.item(behind, last) - columns.item(LINE_TOKENS, last)


def payload_tokens(messages: Sequence[NeutralMessage], frame: Frame) -> int:
    """Tokens of a payload of these messages, tools and reserve included."""
    counter, total = token_counter(frame.tokenizer), frame.fixed_tokens
    if frame.with_names:
        names = frame.adapter.names(list(map(speaker_of, messages)))
        total += sum(map(frame.name_tokens, names))
    framing = frame.adapter.framing
    return total + sum(message_tokens(one, counter.count, framing) for one in messages)
