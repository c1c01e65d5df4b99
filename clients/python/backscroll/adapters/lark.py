"""Lark and Feishu: events of lark-oapi, or their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backscroll.adapters.events import (
    Event,
    Json,
    Members,
    Recalled,
    Words,
    channel_name,
    message_event,
    never_raises,
    read_id,
    read_json,
)
from backscroll.values import Author, AuthorKindName, Media, Member, Message, Reply

_FILES = {
    "audio": "file_key",
    "file": "file_key",
    "image": "image_key",
    "media": "file_key",
    "sticker": "file_key",
}
"""Kinds of media, and the field that names the file."""
_SPOKEN = {"text", "post", "interactive", *_FILES}


@never_raises
def event_of(given: Any, bot_open_id: str, name: str = "") -> Event | None:  # noqa: ANN401
    """Read an event, or the `data` of the answer with which the bot's own message was sent.

    Parameters
    ----------
    given
        An event of version 2.0, as lark-oapi hands it over or as JSON; `CreateMessageResponseBody` or
        `ReplyMessageResponseBody`.
    bot_open_id
        The bot's own id, from ``/open-apis/bot/v3/info``.
    name
        The author's: Lark's messages have none.
    """
    told = given if isinstance(given, Mapping) else json.loads(json.dumps(given, default=vars))
    if "header" not in told:
        author, app = Author(bot_open_id, name, "bot"), read_json(told, "sender", "id")
        message = {**told, "content": read_json(told, "body", "content")}
        return _message(message, app, author, bot_open_id)
    event, app = told["event"], told["header"]["app_id"]
    match told["header"]["event_type"]:
        case "im.message.receive_v1":
            sender = event["sender"]
            kind: AuthorKindName = "human" if sender.get("sender_type") == "user" else "bot"
            author = Author(_open_id(sender.get("sender_id")), name, kind)
            return _message(event["message"], app, author, bot_open_id)
        case "im.message.recalled_v1":
            return Recalled(_channel(app, event), (read_id(event["message_id"]),))
        case "im.chat.member.user.added_v1":
            when_ms = int(told["header"]["create_time"])
            return Members(_channel(app, event), tuple(_users(event, joined_at=when_ms)))
        case "im.chat.member.user.deleted_v1" | "im.chat.member.user.withdrawn_v1":
            when_ms = int(told["header"]["create_time"])
            return Members(_channel(app, event), tuple(_users(event, left_at=when_ms)))
    return None


def _channel(app: object, told: Json) -> str:
    return channel_name("lark", app, told["chat_id"])


def _message(message: Json, app: object, author: Author, bot: str) -> Event | None:
    kind = message.get("message_type") or message.get("msg_type")
    if kind not in _SPOKEN:
        return None
    content = json.loads(message["content"])
    words, answered = (
        _named(_text(kind, content), message.get("mentions") or ()),
        message.get("parent_id"),
    )
    return message_event(
        _channel(app, message),
        Message(
            message["message_id"],
            author,
            words.text or None,
            int(message["create_time"]),
            parts=tuple(_media(kind, content)),
            reply_to=Reply(answered) if answered else None,
            mentions=words.mentions,
            thread_id=message.get("thread_id") or None,
        ),
        bot,
        is_for_bot=message.get("chat_type") == "p2p",
    )


def _open_id(given: Any) -> str:  # noqa: ANN401 - an id, a table of ids, or nothing
    """Who it is; of an author whom Lark does not name: Lark."""
    if isinstance(given, str):
        return given
    found = given or {}
    return found.get("open_id") or found.get("user_id") or found.get("union_id") or "lark"


def _users(event: Json, **when: Any) -> Iterator[Member]:  # noqa: ANN401 - of `Member`
    for user in event.get("users") or ():
        yield Member(_open_id(user["user_id"]), user.get("name") or "", **when)


def _named(text: str, mentions: Sequence[Json]) -> Words:
    """Put names in the place of Lark's keys, such as ``@_user_1``; the longest key is looked for first."""
    marks, words, done = {one["key"]: one for one in mentions}, Words(), 0
    keys = "|".join(map(re.escape, sorted(marks, key=len, reverse=True)))
    for found in re.finditer(keys, text) if keys else ():
        one = marks[found[0]]
        words.text += text[done : found.start()]
        words.name(f"@{one['name']}", _open_id(one["id"]), one["name"])
        done = found.end()
    words.text += text[done:]
    return words


def _text(kind: str, content: Json) -> str:
    """The words of a text, a rich text or a card."""
    if kind == "text":
        return str(content.get("text") or "")
    if kind not in {"post", "interactive"}:
        return ""
    lines = (
        "".join(_words(line)) for line in content.get("content") or content.get("elements") or ()
    )
    return "\n".join(filter(None, (content.get("title") or "", *lines)))


def _words(line: Any) -> Iterator[str]:  # noqa: ANN401
    for piece in line if isinstance(line, list) else [line]:
        if piece.get("tag") == "at":
            yield str(piece.get("user_id") or "")  # the key of a mention
        else:
            yield str(piece.get("text") or piece.get("emoji_type") or "")


def _media(kind: str, content: Json) -> Iterator[Media]:
    if kind in _FILES:
        shown = "video" if kind == "media" else kind
        yield Media(
            shown, content.get("file_name") or "", f"lark:{content.get(_FILES[kind]) or ''}"
        )
    for line in content.get("content") or () if kind == "post" else ():
        for piece in line:
            if key := piece.get("image_key"):
                yield Media("image", uri=f"lark:{key}")
