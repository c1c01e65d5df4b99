"""Lark and Feishu: events of lark-oapi, or their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from backscroll.adapters.events import Event, Members, Recalled, Said, read_json, said_or_edited
from backscroll.values import Author, Media, Member, Mention, Message, Part, Reply

_FILES = {
    "audio": "file_key",
    "file": "file_key",
    "image": "image_key",
    "media": "file_key",
    "sticker": "file_key",
}
"""Kinds of media, and the field that names the file."""
_SPOKEN = {"text", "post", "interactive", *_FILES}


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
        return _message(message, f"lark:{app}:{told['chat_id']}", author, bot_open_id)
    header, event = told["header"], told["event"]
    message = event.get("message") or event
    channel = f"lark:{header['app_id']}:{message.get('chat_id')}"
    match header["event_type"]:
        case "im.message.receive_v1":
            sender = event["sender"]
            kind: Any = "human" if sender.get("sender_type") == "user" else "bot"
            return _message(
                message, channel, Author(_open_id(sender["sender_id"]), name, kind), bot_open_id
            )
        case "im.message.recalled_v1":
            return Recalled(channel, (event["message_id"],))
        case "im.chat.member.user.added_v1":
            return Members(channel, tuple(_users(event, joined_at=int(header["create_time"]))))
        case "im.chat.member.user.deleted_v1" | "im.chat.member.user.withdrawn_v1":
            return Members(channel, tuple(_users(event, left_at=int(header["create_time"]))))
    return None


def _message(message: Any, channel: str, author: Author, bot: str) -> Event | None:  # noqa: ANN401
    kind = message.get("message_type") or message.get("msg_type")
    if kind not in _SPOKEN:
        return None
    content = json.loads(message["content"])
    marks = {one["key"]: one for one in message.get("mentions") or ()}
    text, mentions = _named(_text(kind, content), marks)
    parts: list[Part] = list(_media(kind, content))
    answered = message.get("parent_id")
    stored = Message(
        message["message_id"],
        author,
        text or None,
        int(message["create_time"]),
        parts=parts,
        reply_to=Reply(answered) if answered else None,
        mentions=mentions,
        role="assistant" if author.id == bot else "user",
        thread_id=message.get("thread_id") or None,
    )
    is_called = any(one.user_id == bot for one in mentions)
    is_for_bot = author.kind == "human" and (message.get("chat_type") == "p2p" or is_called)
    return said_or_edited(Said(channel, stored, bot, is_for_bot), None, is_edit=False)


def _open_id(given: Any) -> str:  # noqa: ANN401
    return str(given.get("open_id") or given.get("user_id") or given.get("union_id"))


def _users(event: Any, **when: Any) -> Iterator[Member]:  # noqa: ANN401
    for user in event.get("users") or ():
        yield Member(_open_id(user["user_id"]), user.get("name") or "", **when)


def _named(text: str, marks: Mapping[str, Any]) -> tuple[str, tuple[Mention, ...]]:
    """Put names in the place of Lark's keys, such as ``@_user_1``; the longest key is looked for first."""
    mentions = []
    at = text.find("@_")
    while at >= 0:
        keys = [key for key in marks if text.startswith(key, at)]
        end = at + 1
        if keys:
            one = marks[max(keys, key=len)]
            id, shown = one["id"], f"@{one['name']}"
            text = text[:at] + shown + text[at + len(one["key"]) :]
            end = at + len(shown)
            open_id = id if isinstance(id, str) else _open_id(id)
            mentions.append(Mention(open_id, one["name"], at, end))
        at = text.find("@_", end)
    return text, tuple(mentions)


def _text(kind: str, content: Any) -> str:  # noqa: ANN401
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


def _media(kind: str, content: Any) -> Iterable[Media]:  # noqa: ANN401
    if kind in _FILES:
        shown = "video" if kind == "media" else kind
        yield Media(
            shown, content.get("file_name") or "", f"lark:{content.get(_FILES[kind]) or ''}"
        )
    for line in content.get("content") or () if kind == "post" else ():
        for piece in line:
            if key := piece.get("image_key"):
                yield Media("image", uri=f"lark:{key}")
