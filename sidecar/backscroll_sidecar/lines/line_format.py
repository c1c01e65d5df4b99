"""One message as one line. Pure.

A line begins with who speaks and ends before the next line; a text can forge neither. Line breaks inside a text are
followed by two spaces, so only a real line begins in the first column; names and ids are escaped, so that a name
cannot look like an id, a role or a time.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import msgspec

from backscroll_sidecar.domain import AuthorKind, Part, Role, SpeakerStyle, TimeStyle
from backscroll_sidecar.lines.line_safety import escape_name
from backscroll_sidecar.lines.names import shown_name
from backscroll_sidecar.texts import ENGLISH, Texts

MS_PER_DAY = 86_400_000
ROLE_LABEL = {
    Role.USER: "User",
    Role.ASSISTANT: "Assistant",
    Role.SYSTEM: "System",
    Role.TOOL: "User",
}
BOT_MARK = " [bot]"
_USER, _ASSISTANT, _SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
_ROLE, _BOT = SpeakerStyle.ROLE, AuthorKind.BOT
_NO_TIME, _ISO_DATE, _RELATIVE = TimeStyle.NONE, TimeStyle.ISO_DATE, TimeStyle.RELATIVE


class Said(msgspec.Struct, frozen=True):
    """What a line tells of one stored message. `is_own`: it is by the bot the context is for.

    `addition` is written behind the text and never cut. `token_count` counts both and a line break, in o200k_base;
    0: not counted yet. `truncated`: `text` is not all of it. `is_exchange`: it tells in words what a tool was asked, or
    gave. `parts`: what it consists of, where a message of its own is made of them and not of `text`.
    """

    message_id: str
    role: Role
    is_own: bool
    author_id: str
    author_name: str
    kind: AuthorKind
    text: str
    sent_at_ms: int
    addition: str = ""
    token_count: int = 0
    truncated: bool = False
    is_exchange: bool = False
    parts: tuple[Part, ...] = ()

    @property
    def whole(self) -> str:
        """The text with its addition."""
        return self.text + self.addition

    @property
    def rendered_role(self) -> Role:
        """The role it has for the model: another bot's line is not the model's own."""
        if self.role is _SYSTEM:
            return _SYSTEM
        return _ASSISTANT if self.is_own else _USER

    @property
    def turn_role(self) -> Role:
        """The role of a message of its own. A call in the model's own words would teach it to write calls."""
        return _USER if self.is_exchange else self.rendered_role


class LineStyle(msgspec.Struct, frozen=True):
    """How lines are written. `time` None: the date on lines more than 24 h before `asked_at_ms`."""

    speaker: SpeakerStyle = SpeakerStyle.ROLE
    time: TimeStyle | None = TimeStyle.NONE
    asked_at_ms: int = 0
    zone: tzinfo = UTC
    texts: Texts = ENGLISH


def outside(said: Said, style: SpeakerStyle) -> bool:
    """Whether the role says all there is to say about the speaker, so that a message of its own needs no prefix."""
    return style is _ROLE or said.is_own or said.role is _SYSTEM


def speaker(said: Said, style: SpeakerStyle) -> str:
    """Who speaks, without the colon."""
    if outside(said, style):
        return ROLE_LABEL[said.rendered_role]
    name = shown_name(said.author_name)
    mark = BOT_MARK if said.kind is _BOT else ""
    return (
        f"{name} <{escape_name(said.author_id)}>{mark}"
        if name
        else f"<{escape_name(said.author_id)}>{mark}"
    )


def time_mark(sent_at_ms: int, style: LineStyle) -> str:
    """``[2026-11-20] ``, ``[5 minutes ago] `` or nothing."""
    age_ms = style.asked_at_ms - sent_at_ms
    kind = style.time or (_ISO_DATE if age_ms > MS_PER_DAY else _NO_TIME)
    if kind is _NO_TIME:
        return ""
    if kind is _RELATIVE:
        return f"[{relative(age_ms, style.texts)}] "
    return f"[{iso_date(sent_at_ms, style.zone)}] "


def channel_mark(channel: str) -> str:
    """``[#other-channel] ``: where a line was said."""
    return f"[#{escape_name(channel)}] "


def iso_date(at_ms: int, zone: tzinfo) -> str:
    """The calendar day of a moment in a time zone; out of the calendar's range: the nearest end."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, zone).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "9999-12-31" if at_ms > 0 else "0001-01-01"


def relative(age_ms: int, texts: Texts = ENGLISH) -> str:
    """How long ago, in the largest unit that fits."""
    units = (
        (texts.day_ago, MS_PER_DAY), (texts.hour_ago, 3_600_000), (texts.minute_ago, 60_000),
    )  # fmt: skip
    for words, unit_ms in units:
        count = age_ms // unit_ms
        if count >= 1:
            return words[count > 1].format(n=count)
    return texts.just_now


def line_prefix(said: Said, style: SpeakerStyle, mark: str = "") -> str:
    """What a line has before its text: time and speaker."""
    return f"{mark}{speaker(said, style)}: "
