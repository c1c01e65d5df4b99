"""Events as plain data, for tables that the adapters of every language are held to."""

import json
from pathlib import Path

from backscroll import Author, Media, Reply
from backscroll.adapters import Edited, Event, Members, Recalled, Said
from backscroll.values import Member, Message

TABLES = Path(__file__).parent / "tables"


def cases(table: str) -> list:
    """What a platform tells, and the event that it is."""
    return json.loads((TABLES / f"{table}.json").read_text("utf-8"))


def plain(event: Event | None) -> dict | None:
    """An event without what says nothing."""
    match event:
        case Said(channel, message, self_id, is_for_bot, members):
            found = {
                "said": _message(message),
                "channel": channel,
                "self": self_id,
                "is_for_bot": is_for_bot,
                "members": [_member(one) for one in members],
            }
        case Edited(channel, message, edited_at):
            found = {"edited": _message(message), "channel": channel, "edited_at": edited_at}
        case Recalled(channel, message_ids):
            found = {"recalled": list(message_ids), "channel": channel}
        case Members(channel, members):
            found = {"members": [_member(one) for one in members], "channel": channel}
        case None:
            return None
    return _without_nothing(found)


def _without_nothing(given: dict) -> dict:
    return {key: value for key, value in given.items() if value}


def _member(member: Member) -> dict:
    kind = "" if member.kind == "human" else member.kind
    return _without_nothing(
        {
            "id": member.user_id,
            "name": member.name,
            "aliases": list(member.aliases),
            "kind": kind,
            "joined_at": member.joined_at,
            "left_at": member.left_at,
        }
    )


def _message(message: Message) -> dict:
    author, reply = message.author, message.reply_to
    assert isinstance(author, Author)
    assert isinstance(reply, Reply | None)
    return _without_nothing(
        {
            "id": message.id,
            "author": author.id,
            "name": author.name,
            "kind": "" if author.kind == "human" else author.kind,
            "text": message.text,
            "media": [
                _without_nothing(
                    {"kind": one.kind, "alt": one.alt_text, "uri": one.uri, "mime": one.mime}
                )
                for one in message.parts
                if isinstance(one, Media)
            ],
            "sent_at": message.sent_at,
            "reply": reply and {"to": reply.message_id, "kind": reply.kind, "user": reply.user_id},
            "mentions": [[one.user_id, one.name, one.start, one.end] for one in message.mentions],
            "role": "" if message.role == "user" else message.role,
            "thread": message.thread_id,
        }
    )
