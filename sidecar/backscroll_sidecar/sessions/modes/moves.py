"""What modes of moves share: a move as a line of a message, and names as players write and read them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from backscroll_sidecar.sessions.modes.base import Table
from backscroll_sidecar.sessions.participants import name_key
from backscroll_sidecar.texts import Language

_MOVE = re.compile(r"\s*[/／](\w+)(?![/／-]|\.\w)[:：]?(.*)")
"""A slash, a word, the rest of the line. Paths such as ``/start/here`` and ``/start.sh`` are none."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_AROUND_A_NAME = " \t.,;:!?\"'`*“”‘’「」《》。，；：！？…"


def read_move(text: str, names: Mapping[str, str]) -> tuple[str, str] | None:
    """The first move in a message, and what stands behind it in the line; None: there is none.

    `names` holds the name of a move by the words it is written with, each as `name_key` makes it. Lines of fenced code
    are passed over.
    """
    for line in _lines_outside_code(text):
        found = _MOVE.fullmatch(line)
        name = names.get(name_key(found[1])) if found else None
        if found and name is not None:
            return name, found[2].strip()
    return None


def find_seat(table: Table, argument: str, ids: Iterable[str] = ()) -> str:
    """The id of whom an argument names, by name or else by id; empty: nobody.

    `ids` are of those who may be named by their id, besides those at the table.
    """
    known = {one.id for one in table.seats} | set(ids)
    whole = argument.strip()
    for name in (whole, whole.strip(_AROUND_A_NAME)):
        for bare in (name[1:].strip(), name) if name.startswith(("@", "＠")) else (name,):
            found = table.ids_by_name.get(name_key(bare), bare if bare in known else "")
            if found:
                return found
    return ""


def shown_name(table: Table, seat_id: str) -> str:
    """What somebody is called, in one line whatever the name holds."""
    return " ".join(table.name_of(seat_id).split()) or seat_id


def shown_names(table: Table, ids: Iterable[str]) -> str:
    """What several are called, one behind the other."""
    return join(table.language, (shown_name(table, one) for one in ids))


def join(language: Language, words: Iterable[str]) -> str:
    """Words in a row, as the language writes them."""
    return ("、" if language is Language.ZH else ", ").join(words)


def _lines_outside_code(text: str) -> Iterator[str]:
    """The lines of a text but those of fenced code; a fence that nothing closes goes on to the end."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            yield line
