"""Reads lines of a context back: what was stored and said must be all there, and nothing more."""

import re
from dataclasses import dataclass

from backscroll_sidecar.domain import Role
from backscroll_sidecar.lines import escaping

_INDENTED = re.compile("(\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])  ")
_LINE = re.compile(
    r"(?P<time>\[[^\]\n]*\] )?(?P<name>(?:[^\\<>:\[\]]|\\.)*?)"
    r"(?: ?<(?P<id>(?:[^\\<>]|\\.)*)>(?P<bot> \[bot\])?)?: (?P<text>.*)",
    re.DOTALL,
)
_ROLES = {"User": Role.USER, "Assistant": Role.ASSISTANT, "System": Role.SYSTEM}


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """What is found in a line. `author_id` is empty in role style and on the bot's own lines."""

    role: Role
    text: str
    author_name: str = ""
    author_id: str = ""
    time_mark: str = ""


def parse_lines(block: str, *, keep_control: bool = False) -> list[ParsedLine]:
    """The messages of a block of lines, marks that were typed as they were."""
    out = []
    for raw in re.split(r"\n(?!  )", block):
        match = _LINE.fullmatch(raw)
        if match is None:
            continue
        name, author_id = match["name"], match["id"]
        tagged = author_id is not None
        if not tagged and name not in _ROLES:
            continue  # the preferences, a title
        out.append(
            ParsedLine(
                role=Role.USER if tagged else _ROLES[name],
                text=unescape(unindent(match["text"]), keep_control=keep_control),
                author_name=unescape_name(name) if tagged else "",
                author_id=unescape_name(author_id) if tagged else "",
                time_mark=(match["time"] or "")[1:-2],
            )
        )
    return out


def unindent(text: str) -> str:
    """The text that was indented."""
    return _INDENTED.sub(r"\1", text)


def unescape(text: str, *, keep_control: bool = False) -> str:
    """The text whose marks were escaped."""
    for pattern in reversed(escaping.patterns(text, keep_control=keep_control)):
        text = pattern.sub(lambda m: m["head"] + m["slashes"][1:] + m["colon"], text)
    return text


def unescape_name(name: str) -> str:
    """The name that was escaped."""
    return re.sub(
        r"\\(?:u\{([0-9a-f]+)\}|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], name
    )
