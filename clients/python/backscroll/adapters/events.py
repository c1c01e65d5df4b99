"""What a platform tells, the same for all platforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from backscroll.values import Member, Message, When


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody said something, the bot included.

    Parameters
    ----------
    channel
        The chat. It begins with the platform's name, so that no two platforms share one.
    message
        What was said, under the platform's id.
    self_id
        The bot's own user id there.
    is_for_bot
        A person wrote it to the bot: in a private chat, as a reply to it, or with a mention of it.
    members
        People of whom the platform tells more than a name, such as the name they are called with.
    """

    channel: str
    message: Message
    self_id: str = ""
    is_for_bot: bool = False
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Edited:
    """A message has new content; `message` is it as it stands, with the time of the first sending."""

    channel: str
    message: Message
    edited_at: When | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """Messages were deleted on the platform."""

    channel: str
    message_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """People came or went."""

    channel: str
    members: tuple[Member, ...]


Event: TypeAlias = Said | Edited | Recalled | Members


def read_json(value: object, *path: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Read what stands at a path of decoded JSON; None where something on the way is missing."""
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def has_content(message: Message) -> bool:
    """Whether a message holds anything that could be stored."""
    return bool(message.text or message.parts)


def said_or_edited(said: Said, edited_at: When | None, is_edit: bool) -> Said | Edited | None:
    """The event of a message; None of one without any content."""
    if not has_content(said.message):
        return None
    return Edited(said.channel, said.message, edited_at) if is_edit else said


def code_points(text: str, utf16_offset: int) -> int:
    """Offset in code points of one in UTF-16 units, as JavaScript and Telegram count."""
    return len(
        text.encode("utf-16-le", "surrogatepass")[: 2 * utf16_offset].decode("utf-16-le", "ignore")
    )
