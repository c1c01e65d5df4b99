"""A channel that has lived: the lines of the others with replies, tool exchanges, an edit and something taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backscroll.v1 import history_pb2, message_pb2, preference_pb2
from backscroll_bench.speed import chats

TOOL_ROWS = (2_000, 3_000)
"""Behind so many lines the bot calls a tool and hears from it."""
RECALLED_ROW, EDITED_ROW = 4_000, 6_000
HISTORY = "/backscroll.v1.HistoryService"
PREFERENCES = "/backscroll.v1.PreferenceService"


def lines(count: int) -> Iterator[message_pb2.Message]:
    """The first `count` messages of the stream with the replies of the chats, and the bot's exchanges with tools."""
    for row, said in enumerate(chats.said(count)):
        yield said.message(with_reply=True)
        if row in TOOL_ROWS:
            yield from _exchange(said)


def _exchange(said: chats.Said) -> Iterator[message_pb2.Message]:
    bot = message_pb2.Author(id="bot", name="bot", kind=message_pb2.AUTHOR_KIND_BOT)
    call = message_pb2.ToolCallPart(id=f"call-{said.id}", name="look_up", arguments_json="{}")
    result = message_pb2.ToolResultPart(call_id=call.id, name=call.name, text=said.line.content)
    for name, role, part in (
        ("call", message_pb2.ROLE_ASSISTANT, message_pb2.Part(tool_call=call)),
        ("result", message_pb2.ROLE_TOOL, message_pb2.Part(tool_result=result)),
    ):
        yield message_pb2.Message(
            id=f"{name}-{said.id}", author=bot, role=role, parts=[part], sent_at_ms=said.sent_at_ms
        )


def changes(channel: str) -> Iterator[tuple[str, bytes]]:
    """The calls that recall one of the lines and edit another: method and request."""
    said = chats.said(EDITED_ROW + 1)
    recall = history_pb2.RecallMessageRequest(channel=channel, message_id=said[RECALLED_ROW].id)
    yield f"{HISTORY}/RecallMessage", recall.SerializeToString()
    edited = said[EDITED_ROW]
    part = message_pb2.Part(text=message_pb2.TextPart(text=f"{edited.line.content} (corrected)"))
    edit = history_pb2.EditMessageRequest(channel=channel, message_id=edited.id, parts=[part])
    yield f"{HISTORY}/EditMessage", edit.SerializeToString()


def preferences(channel: str, user_ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """The calls that store one preference of each user: method and request."""
    for user_id in user_ids:
        preference = preference_pb2.Preference(
            id="tone", user_id=user_id, channel=channel, text="Answer in short sentences."
        )
        request = preference_pb2.SetPreferenceRequest(preference=preference)
        yield f"{PREFERENCES}/SetPreference", request.SerializeToString()
