"""The resources: the newest messages, the members, and the reply tree of a message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from backscroll.v1 import history_pb2
from backscroll_sidecar.cli.mcp.chat import Chat
from backscroll_sidecar.cli.mcp.chat_text import (
    for_everybody,
    framed,
    member_line,
    message_line,
    within_bounds,
)
from backscroll_sidecar.lines.line_safety import escape_name

NEWEST, THREAD, MEMBERS = 50, 50, 500


async def _recent(chat: Chat) -> str:
    listed = chat.client.list_messages(chat.channel, newest_first=True, limit=NEWEST)
    rows = for_everybody([one async for one in listed])
    return _lines(chat, rows, chat.style().words.newest)


async def _members(chat: Chat) -> str:
    words = chat.style().words
    members = (await chat.client.list_members(chat.channel))[:MEMBERS]
    lines = within_bounds(words, [member_line(one) for one in members])
    head = words.members.format(count=len(members), channel=escape_name(chat.channel))
    return framed(words, head, "\n".join(lines))


async def _thread(chat: Chat, message_id: str) -> str:
    found = await chat.client.get_thread(chat.channel, message_id, limit=THREAD)
    rows = for_everybody(found.messages)
    head = chat.style().words.thread
    return _lines(chat, rows[::-1], head, message=escape_name(message_id))


def _lines(chat: Chat, rows: Sequence[history_pb2.StoredMessage], head: str, **more: str) -> str:
    """Rows that come newest first, shown oldest first; where they are too many, the oldest are left out."""
    style, channel = chat.style(), escape_name(chat.channel)
    if not rows:
        return style.words.empty.format(channel=channel)
    lines = within_bounds(style.words, [message_line(one.message, style) for one in rows])[::-1]
    return framed(
        style.words, head.format(count=len(rows), channel=channel, **more), "\n".join(lines)
    )


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A resource of the channel: its name, what it is, and what reads it."""

    name: str
    description: str
    read: Callable[[Chat], Awaitable[str]]


RESOURCES = {
    "recent": ResourceKind(
        "Newest messages",
        f"The newest {NEWEST} messages of the chat, oldest first. 最新的消息",
        _recent,
    ),
    "members": ResourceKind(
        "Members", "Who is known in the chat: ids, names, kinds. 成员", _members
    ),
}
THREAD_PATH = "thread/"
THREAD_DESCRIPTION = (
    "A message with what it answers and what answers it, by its id. 一条消息的回复树"
)


async def read(chat: Chat, uri: str) -> str | None:
    """A resource's text; None: there is none of this address. Raises `Refused`."""
    path = uri.removeprefix(chat.base_uri)
    if path == uri:
        return None
    if path in RESOURCES:
        return await chat.answered(RESOURCES[path].read(chat))
    if path.startswith(THREAD_PATH):
        return await chat.answered(_thread(chat, unquote(path.removeprefix(THREAD_PATH))))
    return None
