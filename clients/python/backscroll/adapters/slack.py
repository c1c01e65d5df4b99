"""Slack: the JSON of the Events API, as slack-bolt or any other library hands it over."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from backscroll.adapters.events import (
    Event,
    Json,
    Members,
    Recalled,
    Words,
    channel_name,
    file_part,
    message_event,
    never_raises,
    read_id,
)
from backscroll.values import Author, AuthorKindName, Media, Member, Message, Reply

_NO_MESSAGE = re.compile(
    r"channel_|group_|bot_add|bot_remove|message_replied|pinned_|unpinned_|reminder_"
)
"""Subtypes that are lines of the platform."""
_TOLD = {"message", "app_mention", "member_joined_channel", "member_left_channel"}
_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^>]*)?>")


@never_raises
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
        channel = channel_name("slack", message["team"], given["channel"])
        return _message(message, channel, bot, user)
    if event["type"] not in _TOLD:
        return None
    channel = channel_name("slack", given["team_id"], event["channel"])
    if event["type"] == "member_joined_channel":
        return Members(channel, (Member(event["user"], joined_at=_ms(event["event_ts"])),))
    if event["type"] == "member_left_channel":
        return Members(channel, (Member(event["user"], left_at=_ms(event["event_ts"])),))
    subtype = event.get("subtype") or ""
    if subtype == "message_deleted":
        return Recalled(channel, (read_id(event["deleted_ts"]),))
    if subtype == "message_changed":
        return _changed(event, channel, bot, user)
    if _NO_MESSAGE.match(subtype):
        return None
    return _message(event, channel, bot, user)


def _changed(event: Json, channel: str, bot: Author, user: Json | None) -> Event | None:
    """An edit; also links that Slack unfurls, and the root of a thread that is deleted and leaves a stone."""
    message = event["message"]
    if message.get("subtype") == "tombstone":
        return Recalled(channel, (read_id(message["ts"]),))
    if "edited" not in message:
        return None
    return _message(message, channel, bot, user)


def _message(message: Json, channel: str, bot: Author, user: Json | None) -> Event | None:
    words, edited = _words(message, bot), message.get("edited")
    reply, thread = None, message.get("thread_ts")
    if thread and thread != message["ts"]:
        reply = Reply(thread, "thread", user_id=message.get("parent_user_id") or "")
    return message_event(
        channel,
        Message(
            message["ts"],
            bot if message.get("user") == bot.id else _author(message, user),
            words.text or None,
            _ms(message["ts"]),
            parts=tuple(_files(message)),
            reply_to=reply,
            mentions=words.mentions,
            thread_id=thread if reply else None,
        ),
        bot.id,
        is_for_bot=message.get("channel_type") == "im",
        members=(_member(user),) if user else (),
        is_edit=bool(edited),
        edited_at=_ms(edited["ts"]) if edited else None,
    )


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


def _words(message: Json, bot: Author) -> Words:
    """The text without Slack's escapes, and who is marked in it; of a bot's card its plain form."""
    raw = message.get("text") or "\n".join(
        card.get("fallback") or card.get("text") or "" for card in message.get("attachments") or ()
    )
    words, done = Words(), 0
    for mark in _MENTION.finditer(raw):
        words.text += html.unescape(raw[done : mark.start()])
        words.name(mark[0], mark[1], bot.name if mark[1] == bot.id else "")
        done = mark.end()
    words.text += html.unescape(raw[done:])
    return words


def _files(message: Json) -> Iterator[Media]:
    for file in message.get("files") or ():
        words = file.get("alt_txt") or file.get("title") or file.get("name") or ""
        yield file_part(words, file.get("url_private") or "", file.get("mimetype") or "")
