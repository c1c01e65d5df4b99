"""Tools of both clients: what they are given, what becomes of their results, what their schemas say."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from typing import Literal

import pytest

from backscroll import AsyncClient, Client, ToolCall
from backscroll._tools import MAX_RESULT_BYTES, ToolTable, schema_of
from tests.clients.python.chat_kit import QUESTION, lookup, results_of, text

# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_asynchronous_tools_are_awaited(fake, name):
    async def slow(day: str) -> str:
        await asyncio.sleep(0.01)
        return f"on {day}"

    async def ask():
        async with AsyncClient(fake.address) as client:
            if name == "chat":
                return (await client.chat("room", QUESTION, tools={"slow": slow})).text
            events = client.stream_chat("room", QUESTION, tools={"slow": slow})
            return text([event async for event in events])

    assert asyncio.run(ask()).endswith("The tool says: on friday")


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_asynchronous_tools_need_the_asynchronous_client(fake, name):
    """It is refused before the question is stored and the model called."""

    async def slow(day: str) -> str:
        return day

    with Client(fake.address) as client, pytest.raises(TypeError, match="'slow' is asynchronous"):
        list(getattr(client, name)("room", QUESTION, tools={"lookup": lookup, "slow": slow}))
    assert not fake.seen


@pytest.mark.parametrize(
    ("tools", "error", "says"),
    [
        ([lookup], TypeError, "a dict of functions by name, not list"),
        ({lookup}, TypeError, "a dict of functions by name, not set"),
        (lookup, TypeError, "a dict of functions by name, not function"),
        ({"lookup": "lookup"}, TypeError, "'lookup' must be a function"),
        ({lookup: lookup}, TypeError, "is no text"),
        ({"天气": lookup}, ValueError, "takes '天气' as the name"),
        ({"look.up": lookup}, ValueError, "takes 'look.up'"),
        ({"x" * 65: lookup}, ValueError, "64"),
        ({"": lookup}, ValueError, "takes ''"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_is_no_table_of_tools_comes_up_at_the_call(tools, error, says, kind):
    with pytest.raises(error, match=re.escape(says)):
        kind("127.0.0.1:9").stream_chat("room", QUESTION, tools=tools)


def test_names_in_schemas_of_ones_own_are_checked_too(client, fake):
    schema = json.dumps([{"type": "function", "function": {"name": "look up"}}])
    with pytest.raises(ValueError, match="look up"):
        client.chat("room", QUESTION, tools={"lookup": lookup}, tools_json=schema)
    assert not fake.seen


def test_a_tool_that_fails_costs_only_itself(client, fake, caplog):
    def fails(day: str) -> str:
        raise OSError("the password is hunter2")

    with caplog.at_level(logging.WARNING, "backscroll"):
        answer = client.chat("room", QUESTION, tools={"fails": fails, "lookup": lookup})
    assert answer.text == "The tool says: the tool failed, on friday at six"
    assert results_of(fake, rpc="Chat") == [("the tool failed", True), ("on friday at six", False)]
    assert "hunter2" in caplog.text  # the bot's own log, never the model


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ('{"day": ', "the arguments are no JSON object"),
        ("[1]", "the arguments are no JSON object"),
        ("[" * 100_000, "the arguments are no JSON object"),
        ('{"when": 1}', "the arguments do not fit: missing a required argument: 'day'"),
        ("", "the arguments do not fit: missing a required argument: 'day'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(client, fake, arguments, says):
    fake.tool_arguments = arguments
    client.stream_chat("room", QUESTION, tools={"lookup": lookup})
    assert results_of(fake) == [(says, True)]


def test_a_tool_that_is_not_there(client, fake):
    schema = json.dumps([{"type": "function", "function": {"name": "other"}}])
    client.stream_chat("room", QUESTION, tools={"lookup": lookup}, tools_json=schema)
    assert results_of(fake) == [("there is no such tool", True)]


def test_what_is_too_long_for_a_result_is_cut(client, fake):
    client.stream_chat("room", QUESTION, tools={"lookup": lambda day: "猫\ud83d" * 40_000})
    ((said, is_error),) = results_of(fake)
    assert MAX_RESULT_BYTES - 4 <= len(said.encode()) <= MAX_RESULT_BYTES
    assert (said[-7:], is_error) == ("… [cut]", False)


class _Broken(dict):
    """A registry that cannot be read."""

    def __iter__(self):
        raise RuntimeError("registry is down")


class _Unspeakable:
    """A function whose schema cannot be made now."""

    @property
    def __signature__(self):
        raise RuntimeError("registry is down")

    def __call__(self):
        raise AssertionError


class _Away(dict):
    """A registry behind a network."""

    def __getitem__(self, name):
        raise ConnectionError("registry is away")


@pytest.mark.row("S5-49")
@pytest.mark.parametrize(
    "tools", [_Broken(lookup=lookup), _Away(lookup=lookup), {"lookup": _Unspeakable()}]
)
def test_without_a_registry_the_reply_goes_on(client, fake, caplog, tools):
    """S5-49: tools off, reply continues."""
    with caplog.at_level(logging.WARNING, "backscroll"):
        answer = client.chat("room", QUESTION, tools=tools, max_tool_iterations=5)
    assert (answer.text, answer.end.reason) == (QUESTION, "complete")
    (request,) = fake.requests("Chat")
    assert (request.model_call.enable_tools, request.context.tools_json) == (False, "")
    assert "tools are off" in caplog.text


class _Awaited:
    """An object that is called and must be awaited."""

    async def __call__(self, day: str) -> str:
        return f"on {day}"


def _promised(day: str):
    """A plain function that returns what must be awaited."""
    return _Awaited()(day)


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
@pytest.mark.parametrize("tool", [_Awaited(), _promised], ids=["call", "hidden"])
def test_what_must_be_awaited_is_never_a_result(fake, name, tool):
    """The synchronous client refuses it; the asynchronous one awaits it."""
    schema = json.dumps([schema_of("slow", _Awaited())])
    options = {"tools": {"slow": tool}, "tools_json": schema}

    async def ask():
        async with AsyncClient(fake.address) as client:
            if name == "chat":
                return (await client.chat("room", QUESTION, **options)).text
            return text([event async for event in client.stream_chat("room", QUESTION, **options)])

    assert asyncio.run(ask()).endswith("The tool says: on friday")
    with Client(fake.address) as client, pytest.raises(TypeError, match="AsyncClient"):
        list(getattr(client, name)("room", QUESTION, **options))


async def test_plain_tools_leave_the_event_loop_alone(fake):
    """A tool that blocks is waited for in a thread: the loop goes on, whatever the tool raises."""
    go, on_loop = threading.Event(), threading.get_ident()

    def blocks(day: str) -> str:
        assert go.wait(120)
        return "elsewhere" if threading.get_ident() != on_loop else "on the loop"

    def stops(day: str) -> str:
        raise StopIteration

    async with AsyncClient(fake.address) as client:
        asking = asyncio.create_task(
            client.chat("room", QUESTION, tools={"blocks": blocks, "stops": stops})
        )
        await asyncio.sleep(0.2)
        go.set()
        answer = await asyncio.wait_for(asking, 120)
    assert answer.text == "The tool says: elsewhere, the tool failed"


def find(day: str, *, limit: int = 5, _db: str = "the bot's") -> str:
    """Find it."""
    return f"{day} {limit} {_db}"


BY_HAND = {"name": "find", "parameters": {"properties": {"day": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("by_hand", "arguments", "says"),
    [
        (None, {"day": "now", "limit": 1}, ("now 1 the bot's", False)),
        (None, {"day": "now", "_db": "mine"}, ("there is no '_db'", True)),
        (BY_HAND, {"day": "now"}, ("now 5 the bot's", False)),
        (BY_HAND, {"day": "now", "limit": 1}, ("there is no 'limit'", True)),
        ({"name": "find"}, {"day": "now", "limit": 1}, ("now 1 the bot's", False)),
        ({"name": "find"}, {"day": "now", "_db": "mine"}, ("there is no '_db'", True)),
    ],
)
def test_a_model_sets_what_its_schema_lists(client, fake, by_hand, arguments, says):
    """What the function takes besides is the bot's own."""
    fake.tool_arguments = json.dumps(arguments)
    schema = json.dumps([{"type": "function", "function": by_hand}]) if by_hand else ""
    client.stream_chat("room", QUESTION, tools={"find": find}, tools_json=schema)
    ((said, is_error),) = results_of(fake)
    assert (said.removeprefix("the arguments do not fit: "), is_error) == says


def test_private_parameters_stay_out_of_the_schema(client, fake):
    assert list(schema_of("find", find)["function"]["parameters"]["properties"]) == ["day", "limit"]

    def needs(_db: str):
        pass

    with pytest.raises(ValueError, match="underscore"):
        client.chat("room", QUESTION, tools={"needs": needs})
    assert not fake.seen


def test_a_tool_the_model_was_not_given_is_not_run(client, fake, monkeypatch):
    """The table may hold more than its schemas tell."""
    given = [{"type": "function", "function": {"name": "lookup"}}]
    answer = client.chat(
        "room", QUESTION, tools={"lookup": lookup, "other": find}, tools_json=json.dumps(given)
    )
    assert answer.text == "The tool says: on friday at six"
    table = ToolTable.of({"lookup": lookup, "other": find}, json.dumps(given))
    assert table.run_of(ToolCall("c", "other", '{"day": "x"}')).now().is_error


# --- schemas --------------------------------------------------------------------------------------


def test_a_schema_of_annotations():
    def book(
        room: str,
        hours: int = 1,
        *,
        price: float | None = None,
        kind: Literal["big", "small"] = "big",
        guests: list[str] = (),
        anything=None,
        **rest: str,
    ) -> str:
        """Book a room
        for some hours.

        More.
        """

    assert schema_of("book", book) == {
        "type": "function",
        "function": {
            "name": "book",
            "description": "Book a room for some hours.",
            "parameters": {
                "type": "object",
                "properties": {
                    "room": {"type": "string"},
                    "hours": {"type": "integer"},
                    "price": {"type": "number"},
                    "kind": {"enum": ["big", "small"]},
                    "guests": {"type": "array", "items": {"type": "string"}},
                    "anything": {},
                },
                "required": ["room"],
            },
        },
    }


def test_a_function_that_tells_too_little_needs_a_schema(client, fake):
    def odd(a: NotThere):  # noqa: F821
        pass

    for function in (odd, len, lambda a, /: a):
        with pytest.raises(ValueError, match="give tools_json"):
            client.stream_chat("room", QUESTION, tools={"odd": function})
    assert not fake.seen
