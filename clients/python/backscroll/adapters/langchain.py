"""A chat message history of LangChain whose messages are those of a channel. Needs ``langchain-core``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from backscroll._sync import Client
from backscroll.adapters.dialogue import Dialogue, role_of
from backscroll.errors import NotFound
from backscroll.results import text_of
from backscroll.v1 import message_pb2
from backscroll.values import Author, Media, Message, Part, RoleName, ToolCall, ToolResult

_KINDS = {"user": HumanMessage, "assistant": AIMessage, "system": SystemMessage}


class BackscrollHistory(BaseChatMessageHistory):
    """For `RunnableWithMessageHistory` and whatever else takes a history.

    Parameters
    ----------
    client, channel
        Where it is kept.
    asker, bot
        Who talks to whom.
    limit
        How many of the newest messages `messages` holds. `context` chooses from all.
    """

    def __init__(
        self, client: Client, channel: str, asker: Author, bot: Author, *, limit: int = 50
    ) -> None:
        self._client, self._channel, self._limit = client, channel, limit
        self._dialogue = Dialogue(asker, bot)

    @property
    def messages(self) -> list[BaseMessage]:
        """The newest messages, oldest first."""
        listed = self._client.list_messages(self._channel, newest_first=True, limit=self._limit)
        try:
            found = [stored.message for stored in listed]
        except NotFound:  # nothing was said yet
            return []
        return [_shown(message) for message in reversed(found)]

    def context(self, question: str, **options: Any) -> list[BaseMessage]:  # noqa: ANN401
        """Pick what matters for a question, without the question; options as of `Client.build_context`."""
        asker, bot = self._dialogue.asker, self._dialogue.bot
        context = self._client.build_context(
            self._channel, question, asker=asker, self_ids=[bot.id], **options
        )
        return [_KINDS[one["role"]](one["content"]) for one in context.messages[:-1]]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages; one that has an id already there is stored once."""
        self._client.append(self._channel, [self._stored(one) for one in messages])

    def clear(self) -> None:
        """Erase the channel."""
        self._client.erase(self._channel, whole_channel=True)

    def _stored(self, message: BaseMessage) -> Message:
        if isinstance(message, ToolMessage):
            text, is_error = str(message.text), message.status == "error"
            result = ToolResult(message.tool_call_id, text, message.name or "", is_error)
            return self._dialogue.message("tool", [result], message.id)
        parts = list(_parts(message.content))
        if isinstance(message, AIMessage):
            parts += [
                ToolCall(call["id"] or call["name"], call["name"], json.dumps(call["args"]))
                for call in message.tool_calls
            ]
            return self._dialogue.message("assistant", parts, message.id)
        role: RoleName = "system" if isinstance(message, SystemMessage) else "user"
        return self._dialogue.message(role, parts, message.id)


def _parts(content: Any) -> Iterator[Part]:  # noqa: ANN401 - a text or blocks
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            yield from [block] if block else []
        elif block.get("type") == "text":
            yield str(block["text"])
        elif block.get("type") in {"image", "image_url"}:
            given = block.get("image_url") or block.get("url") or ""
            yield Media("image", uri=given if isinstance(given, str) else given["url"])


def _shown(message: message_pb2.Message) -> BaseMessage:
    role = role_of(message)
    for part in message.parts:
        if part.HasField("tool_result"):
            result = part.tool_result
            status = "error" if result.is_error else "success"
            about = {"tool_call_id": result.call_id, "name": result.name, "status": status}
            return ToolMessage(result.text, id=message.id, **about)
    if role == "assistant":
        calls = [
            {"name": one.name, "args": json.loads(one.arguments_json or "{}"), "id": one.id}
            for one in (part.tool_call for part in message.parts if part.HasField("tool_call"))
        ]
        return AIMessage(text_of(message), tool_calls=calls, id=message.id)
    return _KINDS.get(role, HumanMessage)(text_of(message), id=message.id)
