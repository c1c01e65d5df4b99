"""What messages say, as a page shows it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from backscroll.v1 import history_pb2, message_pb2

SHOWN_CHARS = 480
"""Of a message in a list; its own page has all of it."""
WHOLE_TEXT = 65_536
"""Characters, of which no message has more."""
UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""What draws nothing and a model reads all the same, or what turns the direction of what stands behind it.

Joiners stay, and one selector behind a character: emoji and many scripts are written with them.
"""


@dataclass(frozen=True, slots=True)
class Said:
    """Who said what, and when; `more_chars` is what a list leaves out of the text."""

    message_id: str
    who: str
    who_id: str
    text: str
    sent_at_ms: int
    more_chars: int = 0
    tokens: int = 0
    reply_to: str = ""
    is_bot: bool = False


def text_of(message: message_pb2.Message) -> str:
    """All its parts as one text; what is none stands in brackets."""
    return " ".join(filter(None, map(_part, message.parts)))


def _part(part: message_pb2.Part) -> str:
    kind = part.WhichOneof("content")
    if kind == "text":
        return part.text.text
    if kind == "media":
        words = part.media.alt_text or part.media.uri.partition(",")[0]
        return f"[{part.media.kind or 'media'}{': ' if words else ''}{words}]"
    if kind == "tool_call":
        return f"[call {part.tool_call.name}({part.tool_call.arguments_json})]"
    if kind == "tool_result":
        return f"[result of {part.tool_result.name}: {part.tool_result.text}]"
    return ""


def said(message: message_pb2.Message, most_chars: int = SHOWN_CHARS) -> Said:
    """A message in a list."""
    text = text_of(message)
    return Said(
        message.id,
        message.author.name or message.author.id,
        message.author.id,
        text[:most_chars],
        message.sent_at_ms,
        max(len(text) - most_chars, 0),
        reply_to=message.reply.message_id if message.HasField("reply") else "",
        is_bot=message.role == message_pb2.ROLE_ASSISTANT
        or message.author.kind == message_pb2.AUTHOR_KIND_BOT,
    )


def stored(message: history_pb2.StoredMessage, most_chars: int = SHOWN_CHARS) -> Said:
    """The same of a stored message, with its tokens and the edge that holds."""
    one = said(message.message, most_chars)
    return Said(
        one.message_id,
        one.who,
        one.who_id,
        one.text,
        message.rank_time_ms or one.sent_at_ms,
        one.more_chars,
        message.token_count,
        message.reply.message_id if message.HasField("reply") else "",
        one.is_bot,
    )


def shown(text: str) -> Markup:
    """A text with what nobody sees made visible, so that no name and no line can turn the page around."""
    pieces = re.split(f"({UNSEEN.pattern})", text)
    return Markup("").join(
        Markup('<span class="unseen">U+{}</span>').format(f"{ord(one):04X}")
        if at % 2
        else escape(one)
        for at, one in enumerate(pieces)
    )
