"""What a persona is told before a round: the template of its mode, filled. Pure.

Placeholders are ``{{name}}``, ``{{nickname}}``, ``{{persona}}``, ``{{colleagues}}``, ``{{memory}}`` and those that the
caller gives besides, such as ``{{mode}}``. What is put in is not read for placeholders again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from backscroll_sidecar.sessions.participants import Participant, ParticipantKind, name_key
from backscroll_sidecar.texts import Language

MAX_OTHER_NAMES = 5
"""Of one colleague, besides the name that is shown."""

LINES = 1_024
"""Lines of colleagues that are kept; they are the same from round to round."""

_PLACEHOLDER = re.compile(r"\{\{[ \t]*(\w+)[ \t]*\}\}")
_LISTS = frozenset(("colleagues", "memory"))
_MARK = re.compile(r"[\\<>:：\[\]]|[(（](?=(?:person|bot|人类|机器人)[)）])", re.IGNORECASE)
_JOINERS = "\u200c\u200d"


class _Words(msgspec.Struct, frozen=True):
    """How a colleague is written down in one language."""

    other_names: str
    between_names: str
    summary: str
    kinds: Mapping[ParticipantKind, str]


_ENGLISH = _Words(
    " (also: {})",
    ", ",
    ": {}",
    {ParticipantKind.HUMAN: " (person)", ParticipantKind.BOT: " (bot)"},
)
_CHINESE = _Words(
    "（{}）",
    "、",
    "：{}",
    {ParticipantKind.HUMAN: "（人类）", ParticipantKind.BOT: "（机器人）"},
)


def persona_prompt(
    template: str,
    persona: Participant,
    colleagues: Sequence[Participant],
    memory: Sequence[str],
    language: Language,
    *,
    more: Mapping[str, str] | None = None,
) -> str:
    """The template with everything put in; an unknown placeholder stays.

    A line goes whose placeholders are all empty. So does the line directly before it, where that ends in a colon and
    has no placeholder. Blank lines of the template go at the ends, and where there are two.

    Parameters
    ----------
    colleagues : everybody in the room; the persona itself and those who are away are left out.
    memory : a line each.
    more : placeholders besides. They win over ``nickname``, and over no other.
    """
    values = {
        "nickname": _in_one_line(persona.nickname),
        **(more or {}),
        "name": _in_one_line(persona.name),
        "persona": persona.persona,
        "colleagues": _colleague_lines(persona, colleagues, language),
        "memory": "\n".join(line.strip() for line in memory if line.strip()),
    }
    values = {name: value.strip() for name, value in values.items()}
    lines: list[str] = []
    is_before_heading = False
    for line in template.splitlines():
        names = _PLACEHOLDER.findall(line)
        is_empty = bool(names) and not any(values.get(name, "?") for name in names)
        if is_empty and is_before_heading:
            lines.pop()
        is_before_heading = not names and line.rstrip(" \t*_").endswith((":", "："))
        is_doubled = not line.strip() and (not lines or not lines[-1])
        if not is_empty and not is_doubled:
            lines.append(_filled(line, values) if line.strip() else "")
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines)


def _filled(line: str, values: Mapping[str, str]) -> str:
    """A line of the template. A list that would share its line with words begins on a new one."""
    filled, done = "", 0
    for found in _PLACEHOLDER.finditer(line):
        name = found[1]
        value = values.get(name)
        if value is None:
            continue
        filled += line[done : found.start()]
        done = found.end()
        is_list = name in _LISTS and ("\n" in value or value.startswith("- "))
        if is_list and (before := filled.rstrip()):
            filled = before + "\n"
        filled += value
        if is_list and line[done:].strip():
            filled += "\n"
    return filled + line[done:]


def _colleague_lines(
    persona: Participant, colleagues: Sequence[Participant], language: Language
) -> str:
    there = (one for one in colleagues if one.id != persona.id and one.is_present)
    return "\n".join(
        _colleague_line(tuple(one.names()) or (one.id,), one.kind, one.summary, language)
        for one in there
    )


@lru_cache(maxsize=LINES)
def _colleague_line(
    called: tuple[str, ...], kind: ParticipantKind, summary: str, language: Language
) -> str:
    words = _CHINESE if language is Language.ZH else _ENGLISH
    names: dict[str, str] = {}
    for name in called:
        names.setdefault(name_key(name), name)
    shown, *others = names.values()
    line = f"- {_escaped(shown)}"
    if others:
        told = words.between_names.join(map(_escaped, others[:MAX_OTHER_NAMES]))
        line += words.other_names.format(told)
    line += words.kinds.get(kind, "")
    summary = _in_one_line(summary)
    return line + words.summary.format(summary) if summary else line


def _escaped(name: str) -> str:
    """A name that cannot pass for more than one: no line of its own, no summary, no mark of a person."""
    return _MARK.sub(r"\\\g<0>", _in_one_line(name))


def _in_one_line(text: str) -> str:
    """The text without line breaks and without what cannot be seen. Joiners stay, which emoji are made with."""
    seen = (
        char
        for char in " ".join(text.split())
        if char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
    )
    return " ".join("".join(seen).split())
