"""Chat text as `backscroll mcp` hands it to a model: between two marks that nothing in it can forge. Pure.

Every line of a message begins with one bracket that we write, or with two spaces. Names and ids have their brackets
escaped, and a text's own line breaks are indented, as in every prompt of the server's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll_sidecar.cli.console import shown
from backscroll_sidecar.cli.mcp.words import BEGIN, END, Words
from backscroll_sidecar.cli.render import FATES, SOURCES
from backscroll_sidecar.domain import MediaPart, Part, TextPart, ToolCallPart, ToolResultPart
from backscroll_sidecar.lines.escaping import shown_parts
from backscroll_sidecar.lines.line_safety import escape_name, indent

MAX_ANSWER_CHARS = 40_000
"""Of one answer, frame and all: some 10,000 tokens of English."""
MAX_MESSAGE_CHARS, MAX_CANDIDATE_CHARS, MAX_NAME_CHARS = 2_000, 240, 64
_HIDDEN = re.compile("[\U000e0000-\U000e007f]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}")
"""What people do not see and models read: tags, and selectors that follow each other."""
_OUR_MARK = re.compile(r"(?<=\[)\[(?=\s*(?:end\s+of\s+)?chat\s+text\b)", re.IGNORECASE)
"""The second bracket of a mark that somebody wrote: it gets a backslash, as in names."""


@dataclass(frozen=True, slots=True)
class Style:
    """How lines are written: the words beside them, and of which zone their times are."""

    words: Words
    zone: tzinfo = UTC


def visible(text: str) -> str:
    """A text without controls, marks of direction and what nobody sees, which become U+FFFD, and without our marks."""
    return _OUR_MARK.sub(r"\\[", shown(_HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)))


def framed(words: Words, head: str, body: str, *more: str) -> str:
    """The chat's text between the two marks, the warning before it; what is ours stands outside."""
    return "\n".join([head, words.warning, BEGIN, body, END, *filter(None, more)])


def within_bounds(words: Words, lines: Sequence[str], room: int = MAX_ANSWER_CHARS) -> list[str]:
    """The first lines that fit into an answer, and how many do not."""
    used = 0
    for at, line in enumerate(lines):
        used += len(line) + 1
        if used > room:
            return [*lines[:at], words.left_out.format(count=len(lines) - at)]
    return list(lines)


def message_line(
    message: message_pb2.Message, style: Style, *, note: str = "", most: int = MAX_MESSAGE_CHARS
) -> str:
    """``[2026-11-20 13:04 m17] Ann <u1>: text``; `note` stands first in the bracket."""
    text = shown_parts(filter(None, map(_part, message.parts)))
    if len(text) > most:
        text = text[:most] + style.words.cut.format(count=len(text) - most)
    name = escape_name(message.author.name[:MAX_NAME_CHARS])
    who = (
        f"{name} <{escape_name(message.author.id)}>"
        if name
        else f"<{escape_name(message.author.id)}>"
    )
    return f"{_mark(message.id, message.sent_at_ms, style, note)} {who}: {visible(indent(text))}"


def candidate_note(
    one: context_pb2.CandidateExplanation, words: Words, *, tells_fate: bool = True
) -> str:
    """Why a candidate is in or out, by what, and who proposed it: our words alone, but for names of own sources."""
    if one.fate == context_pb2.FATE_SELECTED:
        why = words.kept.get(one.decided_by, words.taken)
        fate = f"{one.rank}. {why}"
    else:
        fate = words.fates.get(FATES.get(one.fate, ""), FATES.get(one.fate, ""))
    sources = [
        SOURCES[each] for each in one.sources if each in SOURCES and each != context_pb2.SOURCE_OWN
    ]
    found_by = ", ".join([*sources, *map(escape_name, one.own_sources)])
    by = words.by.format(score=f"{one.score:.3f}", kind=one.scored_by, sources=found_by or "–")
    return f"{fate}; {by}" if tells_fate else by


def candidate_line(
    message_id: str,
    note: str,
    said: Mapping[str, message_pb2.Message],
    style: Style,
) -> str:
    """A candidate with what it says, where that may be read here."""
    message = said.get(message_id)
    if message is None:
        return f"{_mark(message_id, 0, style, note)} {style.words.text_not_read}"
    return message_line(message, style, note=note, most=MAX_CANDIDATE_CHARS)


def member_line(member: history_pb2.Member) -> str:
    """``[u17] Ann; also: Annie; person``."""
    names = [member.name, *member.aliases]
    shown_names = ", ".join(escape_name(one[:MAX_NAME_CHARS]) for one in names if one)
    kind = message_pb2.AuthorKind.Name(member.kind).removeprefix("AUTHOR_KIND_").lower()
    return f"[{escape_name(member.user_id)}] {shown_names or '–'}; {kind}"


def for_everybody(rows: Iterable[history_pb2.StoredMessage]) -> list[history_pb2.StoredMessage]:
    """Those that are for everybody in the channel: as in a context that nobody in particular sees."""
    return [one for one in rows if not one.message.audience and not one.recalled]


def _mark(message_id: str, sent_at_ms: int, style: Style, note: str) -> str:
    pieces = (note and f"{note};", _time(sent_at_ms, style), escape_name(message_id))
    return f"[{' '.join(filter(None, pieces))}]"


def _time(sent_at_ms: int, style: Style) -> str:
    if sent_at_ms <= 0:
        return style.words.no_time
    try:
        return datetime.fromtimestamp(sent_at_ms / 1_000, style.zone).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return style.words.no_time


def _part(part: message_pb2.Part) -> Part | None:
    """A part as the server's rendering takes it; what concerns a provider alone is left out."""
    match part.WhichOneof("content"):
        case "text":
            return TextPart(part.text.text)
        case "media":
            return MediaPart(part.media.kind, part.media.uri, alt_text=part.media.alt_text)
        case "tool_call":
            call = part.tool_call
            return ToolCallPart(call.id, call.name, call.arguments_json)
        case "tool_result":
            result = part.tool_result
            return ToolResultPart(result.call_id, result.name, result.text, result.is_error)
    return None
