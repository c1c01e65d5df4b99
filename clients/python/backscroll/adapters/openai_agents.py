"""A session of the OpenAI Agents SDK whose items are messages of a channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from backscroll._aio import AsyncClient
from backscroll.adapters.dialogue import Dialogue, role_of
from backscroll.errors import NotFound
from backscroll.results import text_of
from backscroll.v1 import message_pb2
from backscroll.values import Author, Media, Message, Part, ToolCall, ToolResult


class BackscrollSession:
    """The SDK's `Session`, for one person and one bot in a channel.

    Messages, calls of tools and their results are kept; thoughts and calls of the vendor's own tools are not, since
    only the vendor can read them. Pass `pick` as ``session_input_callback`` and the model is shown what matters for
    the question, from all that was ever said there, instead of everything.

    Parameters
    ----------
    client, channel
        Where it is kept; the channel's name is the session's id.
    asker, bot
        Who talks to whom.
    options
        Those of `AsyncClient.build_context` for `pick`, such as ``token_budget``.
    """

    def __init__(
        self,
        client: AsyncClient,
        channel: str,
        asker: Author,
        bot: Author,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self.session_id = channel
        self.session_settings = None
        self._client, self._options = client, options
        self._dialogue = Dialogue(asker, bot)
        self._picked_for: list[tuple[str, str]] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Read the newest items, oldest first; all of them without a limit."""
        found = await self._newest(limit)
        return [item for message in reversed(found) for item in _items(message)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Store items; of a turn that `pick` prepared only what is new in it."""
        messages = [self._message(item) for item in self._new(list(items))]
        await self._client.append(self.session_id, [one for one in messages if one])

    async def pop_item(self) -> Any:  # noqa: ANN401
        """Take the newest item back, and return it; None where there is none."""
        for message in await self._newest(1):
            await self._client.recall_message(self.session_id, message.id)
            return next(_items(message), None)
        return None

    async def clear_session(self) -> None:
        """Erase the channel."""
        await self._client.erase(self.session_id, whole_channel=True)

    async def pick(self, history: list[Any], new: list[Any]) -> list[Any]:
        """Choose what the model is shown with the new items; a turn without a question keeps its history."""
        question = "\n".join(text for role, text in map(_key, new) if role == "user")
        if not question:
            return [*history, *new]
        asker, bot = self._dialogue.asker, self._dialogue.bot
        context = await self._client.build_context(
            self.session_id, question, asker=asker, self_ids=[bot.id], **self._options
        )
        self._picked_for = [_key(item) for item in new]
        return [*context.messages[:-1], *new]

    async def _newest(self, limit: int | None) -> list[message_pb2.Message]:
        listed = self._client.list_messages(self.session_id, newest_first=True, limit=limit)
        try:
            return [stored.message async for stored in listed]
        except NotFound:  # nothing was said yet
            return []

    def _new(self, items: list[Any]) -> list[Any]:
        """What is not shown history: the SDK takes all that `pick` returned for new, as it cannot know these items."""
        wanted, self._picked_for = self._picked_for, []
        keys = [_key(item) for item in items]
        for start in range(len(items) - len(wanted), -1, -1):
            if wanted and keys[start : start + len(wanted)] == wanted:
                return items[start:]
        return items

    def _message(self, item: Any) -> Message | None:  # noqa: ANN401
        match item.get("type") or "message":
            case "function_call":
                call = ToolCall(item["call_id"], item["name"], item["arguments"])
                return self._dialogue.message("assistant", [call])
            case "function_call_output":
                output = item["output"]
                text = output if isinstance(output, str) else "\n".join(_texts(output))
                return self._dialogue.message("tool", [ToolResult(item["call_id"], text)])
            case "message" if parts := list(_parts(item.get("content"))):
                role = item["role"]
                return self._dialogue.message(
                    role if role in {"user", "assistant"} else "system", parts
                )
        return None


def _texts(content: Any) -> Iterator[str]:  # noqa: ANN401
    for piece in content or ():
        if text := piece.get("text") or piece.get("refusal"):
            yield str(text)


def _parts(content: Any) -> Iterator[Part]:  # noqa: ANN401
    if isinstance(content, str):
        yield content
        return
    for piece in content or ():
        if piece["type"] == "input_image":
            yield Media("image", uri=piece.get("image_url") or piece.get("file_id") or "")
        elif piece["type"] == "input_file":
            yield Media("file", piece.get("filename") or "", piece.get("file_url") or "")
        else:
            yield from _texts([piece])


def _key(item: Any) -> tuple[str, str]:  # noqa: ANN401
    content = item.get("content")
    text = content if isinstance(content, str) else "\n".join(_texts(content))
    return str(item.get("role") or item.get("type")), text or str(item.get("call_id") or "")


def _items(message: message_pb2.Message) -> Iterator[dict[str, Any]]:
    """A stored message as items: its text and pictures, its calls, its results."""
    role = role_of(message)
    pictures = [
        {"type": "input_image", "image_url": part.media.uri, "detail": "auto"}
        for part in message.parts
        if part.media.uri and part.media.kind == "image"
    ]
    if text := text_of(message):
        words = [{"type": "input_text", "text": text}]
        yield {"role": role, "content": [*words, *pictures] if pictures else text}
    elif pictures:
        yield {"role": role, "content": pictures}
    for part in message.parts:
        if part.HasField("tool_call"):
            call = part.tool_call
            about = {"call_id": call.id, "name": call.name, "arguments": call.arguments_json}
            yield {"type": "function_call", **about}
        elif part.HasField("tool_result"):
            result = part.tool_result
            about = {"call_id": result.call_id, "output": result.text}
            yield {"type": "function_call_output", **about}
