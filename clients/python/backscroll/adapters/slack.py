"""Slack: the JSON of the Events API, as slack-bolt or any other library hands it over."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from backscroll.adapters.events import Event, Members, Recalled, Said, said_or_edited
from backscroll.values import Author, AuthorKindName, Media, Member, Mention, Message, Reply

Json: TypeAlias = Mapping[str, Any]
_NO_MESSAGE = re.compile(
    r"channel_|group_|bot_add|bot_remove|message_replied|pinned_|unpinned_|reminder_"
)
"""Subtypes that are lines of the platform."""
_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^>]*)?>")


def event_of(
    given: Json, bot_user_id: str, user: Json | None = None, *, bot_name: str = ""
) -> Event | None:
    """Read an event, or the answer to the bot's ``chat.postMessage`` or ``chat.update``.

    Parameters
    ----------
    given
        The whole body of an event: what stands around ``event`` names the workspace.
    bot_user_id
        The bot's user, ``context.bot_user_id`` in slack-bolt.
    user
        What ``users.info`` says of the author: Slack's messages have no names.
    bot_name
        What the bot is called, shown where it is mentioned.
    """
    bot = Author(bot_user_id, bot_name, "bot")
    event = given.get("event")
    if event is None:
        message = given["message"] | {"ts": given["ts"]}
        channel = f"slack:{message.get('team') or ''}:{given['channel']}"
        return _message(message, channel, bot, user)
    channel = f"slack:{given['team_id']}:{event.get('channel')}"
    if event["type"] == "member_joined_channel":
        return Members(channel, (Member(event["user"], joined_at=_ms(event["event_ts"])),))
    if event["type"] == "member_left_channel":
        return Members(channel, (Member(event["user"], left_at=_ms(event["event_ts"])),))
    if event["type"] not in {"message", "app_mention"}:
        return None
    subtype = event.get("subtype") or ""
    if subtype == "message_deleted":
        return Recalled(channel, (event["deleted_ts"],))
    if subtype == "message_changed":
        return _changed(event, channel, bot, user)
    if _NO_MESSAGE.match(subtype):
        return None
    return _message(event, channel, bot, user)


def _changed(event: Json, channel: str, bot: Author, user: Json | None) -> Event | None:
    """An edit; also links that Slack unfurls, and the root of a thread that is deleted and leaves a stone."""
    message = event["message"]
    if message.get("subtype") == "tombstone":
        return Recalled(channel, (message["ts"],))
    if "edited" not in message:
        return None
    return _message(message, channel, bot, user)


def _message(message: Json, channel: str, bot: Author, user: Json | None) -> Event | None:
    text, mentions = _text(message, bot)
    is_own = message.get("user") == bot.id
    author = bot if is_own else _author(message, user)
    thread = message.get("thread_ts")
    reply = None
    if thread and thread != message["ts"]:
        reply = Reply(thread, "thread", user_id=message.get("parent_user_id") or "")
    stored = Message(
        message["ts"],
        author,
        text or None,
        _ms(message["ts"]),
        parts=tuple(_files(message)),
        reply_to=reply,
        mentions=mentions,
        role="assistant" if is_own else "user",
        thread_id=thread if reply else None,
    )
    is_for_bot = message.get("channel_type") == "im" or any(
        one.user_id == bot.id for one in mentions
    )
    is_for_bot |= reply is not None and reply.user_id == bot.id
    members = (_member(user),) if user else ()
    said = Said(channel, stored, bot.id, is_for_bot and author.kind == "human", members)
    edited = message.get("edited")
    return said_or_edited(said, edited and _ms(edited["ts"]), is_edit=bool(edited))


def _ms(ts: str) -> int:
    seconds, _, rest = ts.partition(".")
    return int(seconds) * 1000 + int(rest[:3] or 0)


def _author(message: Json, user: Json | None) -> Author:
    bot = message.get("bot_profile") or {}
    name = message.get("username") or bot.get("name") or (_member(user).name if user else "")
    kind: AuthorKindName = "bot" if message.get("bot_id") else "human"
    return Author(message.get("user") or message.get("bot_id") or "slack", name, kind)


def _member(user: Json) -> Member:
    """What `users.info` says: the name that is shown, and the one that is typed."""
    profile, name = user.get("profile") or {}, user.get("name") or ""
    shown = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or name
    kind: AuthorKindName = "bot" if user.get("is_bot") else "human"
    return Member(user["id"], shown, aliases=[name] if name else (), kind=kind)


def _text(message: Json, bot: Author) -> tuple[str, tuple[Mention, ...]]:
    """The text without Slack's escapes, and who is marked in it; of a bot's card its plain form."""
    raw = message.get("text") or "\n".join(
        card.get("fallback") or card.get("text") or "" for card in message.get("attachments") or ()
    )
    text, mentions, done = "", [], 0
    for mark in _MENTION.finditer(raw):
        text += html.unescape(raw[done : mark.start()])
        name = bot.name if mark[1] == bot.id else ""
        mentions.append(Mention(mark[1], name, len(text), len(text) + len(mark[0])))
        text, done = text + mark[0], mark.end()
    return text + html.unescape(raw[done:]), tuple(mentions)


def _files(message: Json) -> Iterator[Media]:
    for file in message.get("files") or ():
        mime = file.get("mimetype") or ""
        kind = mime.partition("/")[0]
        yield Media(
            kind if kind in {"image", "audio", "video"} else "file",
            file.get("alt_txt") or file.get("title") or file.get("name") or "",
            file.get("url_private") or "",
            mime,
        )
