"""Discord: messages and events of discord.py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from backscroll.adapters.events import Event, Recalled, Said, said_or_edited
from backscroll.values import Author, AuthorKindName, Media, Member, Mention, Message, Reply

_SPOKEN = {"default", "reply", "chat_input_command", "context_menu_command"}
"""Types of messages; all others are lines of the platform."""
_MARK = re.compile(r"<@!?(\d+)>")


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
        return Recalled(f"discord:{given.channel_id}", tuple(map(str, sorted(given.message_ids))))
    if hasattr(
        given, "data"
    ):  # links that Discord shows a preview of are told as edits, without a time
        message = given.message
        return _message(message, me, is_edit=True) if message.edited_at else None
    if hasattr(given, "message_id"):
        return Recalled(f"discord:{given.channel_id}", (str(given.message_id),))
    return _message(given, me, is_edit=False)


def _message(message: Any, me: Any, *, is_edit: bool) -> Event | None:  # noqa: ANN401
    if message.type.name not in _SPOKEN:
        return None
    author, text, reply = _author(message), _text(message), _reply(message)
    known = {str(one.id): one for one in message.mentions}
    mentions = tuple(
        Mention(mark[1], known[mark[1]].display_name, mark.start(), mark.end())
        for mark in _MARK.finditer(text)
        if mark[1] in known
    )
    stored = Message(
        str(message.id),
        author,
        text or None,
        message.created_at,
        parts=tuple(_media(message)),
        reply_to=reply,
        mentions=mentions,
        role="assistant" if message.author.id == me.id else "user",
    )
    role = getattr(message.guild, "self_role", None)
    is_for_bot = message.guild is None or str(me.id) in {one.user_id for one in mentions}
    is_for_bot |= reply is not None and reply.user_id == str(me.id)
    is_for_bot |= role is not None and role in message.role_mentions
    said = Said(
        f"discord:{message.channel.id}",
        stored,
        str(me.id),
        is_for_bot and author.kind == "human",
        (Member(author.id, author.name, aliases=[message.author.name], kind=author.kind),),
    )
    return said_or_edited(said, message.edited_at, is_edit)


def _author(message: Any) -> Author:  # noqa: ANN401
    kind: AuthorKindName = "bot" if message.author.bot else "human"
    return Author(str(message.author.id), message.author.display_name, kind)


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
        mime = file.content_type or ""
        kind = mime.partition("/")[0]
        kind = kind if kind in {"image", "audio", "video"} else "file"
        yield Media(kind, file.description or file.filename, file.url, mime)
    for sticker in message.stickers:
        yield Media("sticker", sticker.name, sticker.url)
    if poll := getattr(message, "poll", None):
        yield Media("poll", str(getattr(poll.question, "text", poll.question)))
    if message.author.bot:  # a person's are previews of links
        for embed in message.embeds:
            if words := " ".join(filter(None, (embed.title, embed.description))):
                yield Media("embed", words, embed.url or "")
