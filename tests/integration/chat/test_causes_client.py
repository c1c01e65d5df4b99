"""A sample of the table of causes as the Python client tells it: end reasons and errors reach the caller typed."""

import asyncio

import pytest
from pytest_httpserver import HTTPServer

from backscroll import ChatAnswer, Client, ContextEvent, Delta, End, ErrorEvent, Notice
from backscroll_sidecar.texts import DESIGNS
from tests.integration.chat.causes import ROWS, Row
from tests.integration.chat.talk import ROOM, Bot, text_of
from tests.integration.chat.upstream import designed

pytestmark = pytest.mark.slow

SAMPLE = [
    "stop", "usage", "length", "content filter", "prompt filter, Azure", "no reason",
    "no reason, no DONE", "no reason, no DONE, lenient",
    "429", "401", "500, a page", "200, JSON of something else", "timeout between deltas", "cut after 0 deltas",
    "cut after 3 deltas", "malformed line", "error event",
]  # fmt: skip


class Registry(dict):
    """A table of tools that is not there when it is asked for what it has."""

    def __iter__(self):
        raise RuntimeError("the registry is down")


async def say(bot: Bot, kind: str, name: str, **options):
    """`chat` or `stream_chat` of one of the clients."""
    options = {"asker": "u1", "self_ids": ["bot"], **options}
    if kind == "async":
        said = getattr(bot.client, name)(ROOM, "问？", **options)
        return await said if name == "chat" else [event async for event in said]

    def blocking():
        with Client(bot.client._target) as client:
            said = getattr(client, name)(ROOM, "问？", **options)
            return said if name == "chat" else list(said)

    return await asyncio.to_thread(blocking)


@pytest.mark.row("S5-31", "S5-32")
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("cause", SAMPLE)
async def test_streams(cause: str, kind: str, httpserver: HTTPServer) -> None:
    """Law 8, S5-31, S5-32: events and the end in the client's own types; nothing is raised."""
    row = ROWS[cause]
    async with designed(httpserver, [row.reply], **row.settings) as (bot, model):
        context, *events, end = await say(bot, kind, "stream_chat")
        _, *replies = await bot.stored()
    assert isinstance(context, ContextEvent)
    assert isinstance(end, End)
    deltas = [one for one in events if isinstance(one, Delta)]
    assert "".join(one.text for one in deltas) == row.text
    rest = events[len(deltas) :]
    notices = [(Notice, row.notice.decode(), row.ending.lower())] if row.notice else []
    errors = [(ErrorEvent, DESIGNS.error_prefix + row.error[1], row.error[0])] if row.error else []
    assert [told(one) for one in rest] == notices + errors
    check_end(row, end)
    assert [(one.message.id, text_of(one)) for one in replies] == (
        [(end.reply_message_id, row.text)] if row.text else []
    )
    assert len(model.bodies) == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("cause", SAMPLE)
async def test_whole_answers(cause: str, kind: str, httpserver: HTTPServer) -> None:
    """The same in one answer."""
    row = ROWS[cause]
    async with designed(httpserver, [row.reply], **row.settings) as (bot, model):
        answer = await say(bot, kind, "chat")
    assert isinstance(answer, ChatAnswer)
    assert answer.text == row.text + row.notice.decode()
    if row.error:
        expected = (ErrorEvent, DESIGNS.error_prefix + row.error[1], row.error[0])
        assert answer.error is not None
        assert told(answer.error) == expected
    else:
        assert answer.error is None
    check_end(row, answer.end)
    assert len(model.bodies) == 1


def told(event: object) -> tuple[type, str, str]:
    assert isinstance(event, Notice | ErrorEvent)
    text = event.text if isinstance(event, Notice) else event.message
    return type(event), text, event.reason


def check_end(row: Row, end: End) -> None:
    assert (end.reason, end.partial) == (row.ending.lower(), row.partial)
    assert bool(end.reply_message_id) == bool(row.text)


@pytest.mark.row("S5-49")
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("name", ["chat", "stream_chat"])
async def test_without_a_registry_the_reply_goes_on(
    name: str, kind: str, httpserver: HTTPServer
) -> None:
    """S5-49: the registry raises RuntimeError: the model is sent no tools, and the reply continues."""
    row = ROWS["stop"]
    async with designed(httpserver, [row.reply]) as (bot, model):
        answer = await say(bot, kind, name, tools=Registry(weather=str))
    end = answer.end if name == "chat" else answer[-1]
    assert end.reason == "complete"
    assert "tools" not in model.sent[0]
