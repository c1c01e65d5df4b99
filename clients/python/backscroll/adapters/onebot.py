"""OneBot v11: events of nonebot2's adapter, or their JSON."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
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

_MEDIA = {"image": "image", "record": "audio", "video": "video", "file": "file", "mface": "sticker"}
_CARDS = {
    "face": "id",
    "forward": "id",
    "json": "data",
    "location": "title",
    "share": "title",
    "xml": "data",
}
"""What is neither text nor a file, and the field that says most of it."""
_CODE = re.compile(r"\[CQ:(\w+)((?:,[^\],]*)*)\]")


@never_raises
def event_of(given: Any, answered: Any = None, *, bot_name: str = "") -> Event | None:  # noqa: ANN401
    """Read an event, or a message that the bot has sent.

    Parameters
    ----------
    given
        An event of ``nonebot.adapters.onebot.v11``, the JSON of one, or what ``get_msg`` says of the bot's message.
    answered
        With the bot's message: the event it answers, which names the chat.
    bot_name
        What the bot is called, shown where it is mentioned.
    """
    told = _json(given)
    if (
        answered is not None
    ):  # `get_msg` names no chat that could be trusted: a private one has no group
        chat = _json(answered)
        names = ("self_id", "message_type", "group_id")
        told = {name: value for name, value in told.items() if name != "group_id"}
        told |= {name: chat[name] for name in names if chat.get(name)}
        told |= {
            "post_type": "message_sent",
            "user_id": chat["self_id"],
            "target_id": chat["user_id"],
        }
    if told.get("post_type") in {"message", "message_sent"}:
        return _message(told, bot_name)
    when_ms = int(told.get("time") or 0) * 1000
    match told.get("notice_type"):
        case "group_recall" | "friend_recall":
            return Recalled(_channel(told), (read_id(told["message_id"]),))
        case "group_increase":
            return Members(_channel(told), (Member(read_id(told["user_id"]), joined_at=when_ms),))
        case "group_decrease":
            return Members(_channel(told), (Member(read_id(told["user_id"]), left_at=when_ms),))
    return None


def _json(given: Any) -> Json:  # noqa: ANN401
    """An event as JSON. nonebot takes the mention of the bot and the quotation out of its `message`."""
    if isinstance(given, Mapping):
        return given
    told: dict[str, Any] = given.model_dump()
    if "original_message" in told:
        told["message"] = [{"type": one.type, "data": one.data} for one in given.original_message]
    return told


def _channel(told: Json) -> str:
    """Name a chat: ids of messages are those of the program that holds the account."""
    if group := told.get("group_id"):
        return channel_name("onebot", told["self_id"], "group", group)
    other = told.get("target_id") or told.get("user_id")
    return channel_name("onebot", told["self_id"], "private", other)


def _message(told: Json, bot_name: str) -> Event | None:
    me, words, reply = read_id(told["self_id"]), Words(), None
    media: list[Media] = []
    for segment in _segments(told.get("message") or ""):
        kind, data = segment["type"], segment["data"]
        if kind == "text":
            words.text += data.get("text") or ""
        elif kind == "at":
            mark, called = f"[CQ:at,qq={data['qq']}]", read_id(data["qq"])
            name = str(data.get("name") or "").removeprefix("@")
            if called == "all":
                words.text += mark
            else:
                words.name(mark, called, name or (bot_name if called == me else ""))
        elif kind == "reply":
            quoted = read_json(told, "reply", "sender", "user_id")
            reply = Reply(read_id(data["id"]), user_id=str(quoted or ""))
        else:
            media.extend(_media(kind, data))
    return message_event(
        _channel(told),
        Message(
            read_id(told["message_id"]),
            _author(told),
            words.text or None,
            int(told["time"]) * 1000,
            parts=media,
            reply_to=reply,
            mentions=words.mentions,
        ),
        me,
        is_for_bot=told.get("message_type") == "private" or bool(told.get("to_me")),
    )


def _author(told: Json) -> Author:
    sender, hidden = told.get("sender") or {}, told.get("anonymous")
    if hidden:
        return Author(f"anonymous:{hidden['id']}", hidden.get("name") or "")
    id = str(told.get("user_id") or sender.get("user_id") or "onebot")  # QQ does not say who
    kind: AuthorKindName = "bot" if id == str(told["self_id"]) else "human"
    return Author(id, sender.get("card") or sender.get("nickname") or "", kind)


def _segments(message: Any) -> Iterator[Json]:  # noqa: ANN401
    """The segments of a message, or of its text with CQ codes."""
    if not isinstance(message, str):
        yield from message
        return
    done = 0
    for code in _CODE.finditer(message):
        yield {"type": "text", "data": {"text": html.unescape(message[done : code.start()])}}
        fields = (field.partition("=") for field in code[2].split(",")[1:])
        yield {"type": code[1], "data": {key: html.unescape(value) for key, _, value in fields}}
        done = code.end()
    yield {"type": "text", "data": {"text": html.unescape(message[done:])}}


def _media(kind: str, data: Json) -> Iterator[Media]:
    if kind in _MEDIA:
        words = str(data.get("summary") or data.get("name") or "").strip("[]")
        yield Media(_MEDIA[kind], words, str(data.get("url") or data.get("file") or ""))
    elif kind in _CARDS:
        yield Media(
            "card" if kind in {"json", "xml"} else kind, str(data.get(_CARDS[kind]) or "")[:500]
        )
