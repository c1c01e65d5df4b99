"""Discord: messages and events of discord.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from backscroll.adapters.events import (
    Event,
    Recalled,
    channel_name,
    file_part,
    message_event,
    never_raises,
    read_id,
)
from backscroll.values import Author, AuthorKindName, Media, Member, Mention, Message, Reply

_SPOKEN = {"default", "reply", "chat_input_command", "context_menu_command"}
"""Types of messages; all others are lines of the platform."""
_MARK = re.compile(r"<@!?(\d+)>")


@never_raises
def event_of(given: Any, me: Any) -> Event | None:  # noqa: ANN401 - objects of discord.py
    """Read a message, or an event of ``on_raw_message_edit``, ``…_delete`` and ``on_raw_bulk_message_delete``.

    Parameters
    ----------
    given
        A `discord.Message`, the bot's own included, or the payload of such an event.
    me
        The bot: ``client.user``.
    """
    if hasattr(given, "message_ids"):
        return Recalled(
            channel_name("discord", given.channel_id),
            tuple(map(read_id, sorted(given.message_ids))),
        )
    if hasattr(given, "data"):
        return _message(given.message, me, is_edit=True)
    if hasattr(given, "message_id"):
        return Recalled(channel_name("discord", given.channel_id), (read_id(given.message_id),))
    return _message(given, me, is_edit=False)


def _message(message: Any, me: Any, *, is_edit: bool) -> Event | None:  # noqa: ANN401
    if message.type.name not in _SPOKEN or (is_edit and not message.edited_at):
        return None  # a line of the platform; a link that got its preview
    author, text = _author(message), _text(message)
    known = {str(one.id): one for one in message.mentions}
    role = getattr(message.guild, "self_role", None)
    aliases = list(filter(None, [message.author.name]))
    return message_event(
        channel_name("discord", message.channel.id),
        Message(
            read_id(message.id),
            author,
            text or None,
            message.created_at,
            parts=tuple(_media(message)),
            reply_to=_reply(message),
            mentions=[
                Mention(mark[1], known[mark[1]].display_name, mark.start(), mark.end())
                for mark in _MARK.finditer(text)
                if mark[1] in known
            ],
        ),
        str(me.id),
        is_for_bot=message.guild is None or (role is not None and role in message.role_mentions),
        members=(Member(author.id, author.name, aliases, author.kind),),
        is_edit=is_edit,
        edited_at=message.edited_at,
    )


def _author(message: Any) -> Author:  # noqa: ANN401
    kind: AuthorKindName = "bot" if message.author.bot else "human"
    return Author(read_id(message.author.id), message.author.display_name, kind)


def _text(message: Any) -> str:  # noqa: ANN401
    """What was written, or what was forwarded."""
    snapshots = getattr(message, "message_snapshots", None) or ()
    return message.content or "\n".join(one.content for one in snapshots if one.content)


def _reply(message: Any) -> Reply | None:  # noqa: ANN401
    """The edge of a reply; a forwarded message has a reference, too."""
    if message.type.name != "reply" or not (message.reference and message.reference.message_id):
        return None
    author = getattr(message.reference.resolved, "author", None)  # not there if it was deleted
    return Reply(str(message.reference.message_id), user_id=str(author.id) if author else "")


def _media(message: Any) -> Iterator[Media]:  # noqa: ANN401
    for file in message.attachments:
        yield file_part(file.description or file.filename, file.url, file.content_type or "")
    for sticker in message.stickers:
        yield Media("sticker", sticker.name, sticker.url)
    if poll := getattr(message, "poll", None):
        yield Media("poll", str(getattr(poll.question, "text", poll.question)))
    if message.author.bot:  # a person's are previews of links
        for embed in message.embeds:
            if words := " ".join(filter(None, (embed.title, embed.description))):
                yield Media("embed", words, embed.url or "")
