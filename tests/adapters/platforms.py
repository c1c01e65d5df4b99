"""Each platform with an adapter in Python: what it tells of somebody who says, edits and deletes something."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from backscroll.adapters import Event, discord, lark, onebot, slack, telegram

BEGAN_S = 1_795_132_800
ME = SimpleNamespace(id=900, username="catbot", first_name="Cat")


@dataclass
class Platform:
    """How it tells of things; a message is one of a private chat, so that the bot is to answer it."""

    channel: str
    id: Callable[[int], str]
    read: Callable[[Any], Event | None]
    said: Callable[..., Any]
    edited: Callable[[int, str], Any] | None
    deleted: Callable[[int], Any] | None
    nobody: dict[str, object]
    """What makes its author unknown."""
    nobody_id: str
    own: dict[str, object]
    """What makes it the bot's own."""


def _telegram(number: int, text: str, **more: object) -> dict:
    ann = {"id": 1, "is_bot": False, "first_name": "Ann", "username": "ann_l"}
    told = {"message_id": number, "date": BEGAN_S + number, "chat": {"id": 1, "type": "private"}}
    told |= {"from": ann, "text": text, "business_connection_id": "B1"} | more
    return {"business_message": {name: value for name, value in told.items() if value is not None}}


def _telegram_edited(number: int, text: str, **more: object) -> dict:
    told = _telegram(number, text, edit_date=BEGAN_S + 99, **more)
    return {"edited_business_message": told["business_message"]}


def _telegram_deleted(number: int) -> dict:
    gone = {"business_connection_id": "B1", "chat": {"id": 1, "type": "private"}}
    return {"deleted_business_messages": gone | {"message_ids": [number]}}


def discord_message(id: int = 7, content: str = "hi", **more: object) -> SimpleNamespace:
    """A message as discord.py hands it over, of a server unless `guild` is None."""
    told = {
        "id": id,
        "type": SimpleNamespace(name="default"),
        "author": SimpleNamespace(id=1, name="ann", display_name="Ann", bot=False),
        "content": content,
        "channel": SimpleNamespace(id=20),
        "guild": SimpleNamespace(self_role="cat-role"),
        "created_at": BEGAN_S * 1000,
        "edited_at": None,
        "mentions": [],
        "role_mentions": [],
        "reference": None,
        "attachments": [],
        "stickers": [],
        "embeds": [],
    }
    return SimpleNamespace(**told | more)


def _discord(number: int, text: str, **more: object) -> SimpleNamespace:
    return discord_message(number, text, guild=None, **more)


def _discord_edited(number: int, text: str, **more: object) -> SimpleNamespace:
    changed = _discord(number, text, edited_at=(BEGAN_S + 99) * 1000, **more)
    return SimpleNamespace(message=changed, data={}, message_id=number, channel_id=20)


def _slack(number: int, text: str, **more: object) -> dict:
    event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "text": text}
    event |= {"ts": f"{BEGAN_S}.{number:06}", "event_ts": "1"} | more
    return {"type": "event_callback", "team_id": "T1", "event": event}


def _slack_edited(number: int, text: str, **more: object) -> dict:
    about = {"edited": {"user": "U1", "ts": f"{BEGAN_S + 99}.0"}}
    message = _slack(number, text, **about, **more)["event"]
    return _slack(number + 50, "", subtype="message_changed", message=message)


def _slack_deleted(number: int) -> dict:
    return _slack(number + 60, "", subtype="message_deleted", deleted_ts=f"{BEGAN_S}.{number:06}")


def _lark(number: int, text: str, sender: object = ..., **more: object) -> dict:
    header = {"event_type": "im.message.receive_v1", "create_time": "1", "app_id": "cli_1"}
    ann = {"sender_id": {"open_id": "ou_ann"}, "sender_type": "user"}
    message = {"message_id": f"om_{number}", "chat_id": "oc_1", "chat_type": "p2p"}
    message |= {"message_type": "text", "create_time": str(BEGAN_S * 1000 + number)}
    event = {"sender": ann if sender is ... else sender}
    event["message"] = message | {"content": json.dumps({"text": text})} | more
    return {"schema": "2.0", "header": header, "event": event}


def _lark_deleted(number: int) -> dict:
    header = {"event_type": "im.message.recalled_v1", "create_time": "1", "app_id": "cli_1"}
    return {"header": header, "event": {"message_id": f"om_{number}", "chat_id": "oc_1"}}


def _onebot(number: int, text: str, **more: object) -> dict:
    told = {"time": BEGAN_S, "self_id": 900, "post_type": "message", "message_type": "private"}
    told |= {"message_id": -number, "user_id": 1, "target_id": 1, "sender": {"nickname": "Ann"}}
    return told | {"message": [{"type": "text", "data": {"text": text}}]} | more


def _onebot_deleted(number: int) -> dict:
    notice = {"time": BEGAN_S, "self_id": 900, "post_type": "notice", "user_id": 1}
    return notice | {"notice_type": "friend_recall", "message_id": -number}


PLATFORMS = {
    "telegram": Platform(
        "telegram:B1:1", str, lambda told: telegram.event_of(told, ME),
        _telegram, _telegram_edited, _telegram_deleted,
        {"from": None}, "1", {"from": {"id": 900, "is_bot": True, "first_name": "Cat"}},
    ),
    "discord": Platform(
        "discord:20", str, lambda told: discord.event_of(told, ME),
        _discord, _discord_edited, lambda number: SimpleNamespace(message_id=number, channel_id=20),
        {"author": SimpleNamespace(id=5, name="", display_name="", bot=False)}, "5",
        {"author": SimpleNamespace(id=900, name="catbot", display_name="Cat", bot=True)},
    ),
    "slack": Platform(
        "slack:T1:D1", lambda number: f"{BEGAN_S}.{number:06}", lambda told: slack.event_of(told, "UB"),
        _slack, _slack_edited, _slack_deleted,
        {"user": None}, "slack", {"user": "UB", "bot_id": "B1"},
    ),
    "lark": Platform(
        "lark:cli_1:oc_1", lambda number: f"om_{number}", lambda told: lark.event_of(told, "ou_cat"),
        _lark, None, _lark_deleted,
        {"sender": {"sender_id": None, "sender_type": "user"}}, "lark",
        {"sender": {"sender_id": {"open_id": "ou_cat"}, "sender_type": "app"}},
    ),
    "onebot": Platform(
        "onebot:900:private:1", lambda number: f"-{number}", onebot.event_of,
        _onebot, None, _onebot_deleted,
        {"user_id": None, "sender": None}, "onebot", {"user_id": 900},
    ),
}  # fmt: skip
