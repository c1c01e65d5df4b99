"""Telegram: updates of the Bot API, as python-telegram-bot or any other library hands them over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backscroll.adapters.events import (
    Event,
    Json,
    Members,
    Recalled,
    channel_name,
    code_points,
    message_event,
    never_raises,
    read_id,
)
from backscroll.values import Author, AuthorKindName, Media, Member, Mention, Message, Reply

_NEW = ("message", "channel_post", "business_message")
_EDITED = ("edited_message", "edited_channel_post", "edited_business_message")
_MEDIA = {
    "animation": "file_name",
    "audio": "title",
    "document": "file_name",
    "sticker": "emoji",
    "video": "file_name",
    "video_note": "",
    "voice": "",
}
"""Kinds of media, and which of their fields says something of the content."""
_WORDS = {
    "contact": ("first_name", "last_name", "phone_number"),
    "dice": ("emoji", "value"),
    "location": ("latitude", "longitude"),
    "poll": ("question",),
    "venue": ("title", "address"),
}
"""What is no file, and the fields that say what it is."""


@never_raises
def event_of(given: Any, bot: Any) -> Event | None:  # noqa: ANN401 - of the framework, or JSON
    """Read an update, or a message that the bot has sent.

    Parameters
    ----------
    given
        An `Update` or a `Message` of python-telegram-bot, or the JSON of one.
    bot
        The bot: anything with ``id``, ``username`` and ``first_name``, such as `telegram.Bot`.
    """
    update: Json = given if isinstance(given, Mapping) else given.to_dict()
    if "message_id" in update:
        return _message(update, bot, is_edit=False)
    for name in (*_NEW, *_EDITED):
        if name in update:
            return _message(update[name], bot, is_edit=name in _EDITED)
    if deleted := update.get("deleted_business_messages"):
        return Recalled(channel_of(deleted, bot), tuple(map(read_id, deleted["message_ids"])))
    return None


def channel_of(message: Json, bot: Any) -> str:  # noqa: ANN401
    """Name a chat. Ids of messages are the chat's own in supergroups and channels, elsewhere the account's."""
    chat = message["chat"]
    if business := message.get("business_connection_id"):
        return channel_name("telegram", business, chat["id"])
    is_shared = chat["type"] in {"supergroup", "channel"}
    return channel_name("telegram", *([] if is_shared else [bot.id]), chat["id"])


def _message(message: Json, bot: Any, *, is_edit: bool) -> Event | None:  # noqa: ANN401
    channel, chat = channel_of(message, bot), message["chat"]
    if moved := tuple(_moved(message)):
        return Members(channel, moved)
    author, text = _author(message), message.get("text") or message.get("caption") or ""
    mentions, is_called = _called(message, text, bot)
    me, sender = str(bot.id), message.get("from") or {}
    members = [_member(me, bot.first_name, bot.username, "bot")]
    if author.id == str(sender.get("id")) != me:
        members.append(_member(author.id, author.name, sender.get("username"), author.kind))
    is_private = chat["type"] == "private" and author.id == str(chat["id"])  # not its owner's lines
    edited_at = message.get("edit_date")
    return message_event(
        channel,
        Message(
            read_id(message["message_id"]),
            author,
            text or None,
            message["date"] * 1000,
            parts=tuple(_media(message)),
            reply_to=_reply(message),
            mentions=mentions,
            thread_id=read_id(message["message_thread_id"])
            if message.get("is_topic_message")
            else None,
        ),
        me,
        is_for_bot=is_private or is_called,
        members=tuple(one for one in members if one.aliases),
        is_edit=is_edit,
        edited_at=edited_at and edited_at * 1000,
    )


def _called(message: Json, text: str, bot: Any) -> tuple[list[Mention], bool]:  # noqa: ANN401
    """Who is named in a text, and whether the bot is. A name with @ has no id: the server knows it by an alias."""
    mentions, is_called, me = [], False, f"@{bot.username}".lower()
    for entity in message.get("entities") or message.get("caption_entities") or ():
        offset, length, user = entity["offset"], entity["length"], entity.get("user")
        start, end = code_points(text, offset), code_points(text, offset + length)
        word = text[start:end].lower()
        match entity["type"]:
            case "text_mention" if user:
                mentions.append(Mention(read_id(user["id"]), _name(user), start, end))
            case "mention":
                is_called |= word == me
            case "bot_command":
                is_called |= "@" not in word or word.endswith(me)
    return mentions, is_called


def _author(message: Json) -> Author:
    """A person, a bot, or a chat that speaks as itself: a channel, an anonymous administrator."""
    speaker = message.get("sender_chat") or message.get("from") or message["chat"]
    return Author(
        read_id(speaker["id"]), _name(speaker), "bot" if speaker.get("is_bot") else "human"
    )


def _name(user: Json) -> str:
    whole = " ".join(filter(None, (user.get("first_name"), user.get("last_name"))))
    return whole or user.get("title") or user.get("username") or ""


def _member(id: str, name: str, username: str | None, kind: AuthorKindName) -> Member:
    return Member(id, name, aliases=[username] if username else (), kind=kind)


def _moved(message: Json) -> Iterator[Member]:
    when_ms = message["date"] * 1000
    for user in message.get("new_chat_members") or ():
        kind: AuthorKindName = "bot" if user.get("is_bot") else "human"
        yield Member(read_id(user["id"]), _name(user), kind=kind, joined_at=when_ms)
    if user := message.get("left_chat_member"):
        yield Member(read_id(user["id"]), _name(user), left_at=when_ms)


def _reply(message: Json) -> Reply | None:
    """What it answers; in a forum's topic every message answers the line that made the topic."""
    answered = message.get("reply_to_message")
    if not answered or "forum_topic_created" in answered:
        return None
    return Reply(read_id(answered["message_id"]), user_id=_author(answered).id)


def _media(message: Json) -> Iterator[Media]:
    if sizes := message.get("photo"):  # the same picture in several sizes, the largest last
        yield Media("image", uri=f"telegram:{sizes[-1]['file_id']}")
    for kind, words in _MEDIA.items():
        if (file := message.get(kind)) and not (kind == "document" and "animation" in message):
            yield Media(
                kind,
                str(file.get(words) or ""),
                f"telegram:{file['file_id']}",
                file.get("mime_type") or "",
            )
    for kind, fields in _WORDS.items():
        if (thing := message.get(kind)) and not (kind == "location" and "venue" in message):
            yield Media(kind, " ".join(str(thing[name]) for name in fields if thing.get(name)))
