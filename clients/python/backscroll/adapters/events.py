"""What a platform tells, the same for all platforms, and what their mappings have in common."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, TypeAlias

from backscroll._encode import encode
from backscroll.v1 import history_pb2
from backscroll.values import Author, Media, Member, Mention, Message, Reply, When

Json: TypeAlias = Mapping[str, Any]
_P = ParamSpec("_P")
_log = logging.getLogger("backscroll")


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


def never_raises(read: Callable[_P, Event | None]) -> Callable[_P, Event | None]:
    """An adapter's `event_of`: what it cannot read is logged and is no event, so that nothing reaches the framework."""

    @wraps(read)
    def event_of(*args: _P.args, **kwargs: _P.kwargs) -> Event | None:
        try:
            event = read(*args, **kwargs)
            _try_to_encode(event)
        except Exception:  # noqa: BLE001 - platforms send what they like
            _log.warning("%s: an event could not be read", read.__module__, exc_info=True)
            return None
        return event

    return event_of


def _try_to_encode(event: Event | None) -> None:
    """Raise where a call could not hold it: a number may be too large for its field."""
    match event:
        case Said(_, message, members=members):
            message.to_proto()
            for one in members:
                one.to_proto()
        case Edited(_, message, edited_at):
            message.to_proto()
            encode(history_pb2.EditMessageRequest, edited_at_ms=edited_at)
        case Members(_, members):
            for one in members:
                one.to_proto()


def message_event(
    channel: str,
    message: Message,
    self_id: str,
    *,
    is_for_bot: bool = False,
    members: tuple[Member, ...] = (),
    is_edit: bool = False,
    edited_at: When | None = None,
) -> Said | Edited | None:
    """The event of a message; None of one without any content.

    A message that names the bot or replies to it is for the bot as well; one of a bot never is.
    """
    author, reply = message.author, message.reply_to
    if not (message.text or message.parts) or not isinstance(author, Author):
        return None
    if author.id == self_id:
        message = replace(message, role="assistant")
    if is_edit:
        return Edited(channel, message, edited_at)
    is_for_bot |= any(
        isinstance(one, Mention) and one.user_id == self_id for one in message.mentions
    )
    is_for_bot |= isinstance(reply, Reply) and reply.user_id == self_id
    return Said(channel, message, self_id, is_for_bot and author.kind == "human", members)


@dataclass(slots=True)
class Words:
    """A text that grows piece by piece, and who is named where in it."""

    text: str = ""
    mentions: list[Mention] = field(default_factory=list)

    def name(self, mark: str, user_id: str, name: str = "") -> None:
        """Add a mark that names somebody."""
        start = len(self.text)
        self.text += mark
        self.mentions.append(Mention(user_id, name, start, len(self.text)))


def file_part(words: str, uri: str, mime: str) -> Media:
    """A file, under what its MIME type says that it is."""
    kind = mime.partition("/")[0]
    return Media(kind if kind in {"image", "audio", "video"} else "file", words, uri, mime)


def read_json(value: object, *path: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Read what stands at a path of decoded JSON; None where something on the way is missing."""
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def read_id(value: object) -> str:
    """Read an id, a number on some platforms; one that is missing would make messages the same."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise TypeError(f"an id must be text or a number, not {type(value).__name__}")
    return str(value)


def channel_name(*parts: object) -> str:
    """Name a chat by ids, the platform's name first."""
    return ":".join(map(read_id, parts))


def code_points(text: str, utf16_offset: int) -> int:
    """Offset in code points of one in UTF-16 units, as JavaScript and Telegram count."""
    return len(
        text.encode("utf-16-le", "surrogatepass")[: 2 * utf16_offset].decode("utf-16-le", "ignore")
    )
