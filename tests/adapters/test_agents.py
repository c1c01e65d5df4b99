"""A session of the OpenAI Agents SDK and a history of LangChain: the programs of the guide, and what is stored."""

import subprocess

import pytest

from backscroll import Author
from backscroll.adapters.openai_agents import BackscrollSession
from tests.adapters.kit import ROOT, example, python_with, run, staged
from tests.kit.served import served

ANN, CAT = Author("ann", "Ann"), Author("cat", "Cat", kind="bot")
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "menu",
    "arguments": '{"day":"friday"}',
}


def said(lines):
    return [(one["author"], one.get("text", "")) for one in lines]


@pytest.mark.proof
async def test_the_program_with_agents(tmp_path):
    python = python_with("agents")
    async with staged() as stage:
        stage.environment["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
        stage.model.outputs = [CALL]
        asked = ["what is there on friday?", "when is dinner?", "at what time?"]
        answers = await run(stage, example("OpenAI Agents SDK"), [python], tmp_path, *asked)
        lines = await stage.lines("agents:ann")
        assert answers == ["At nine."] * 3
        assert said(lines) == [
            ("ann", "what is there on friday?"),
            ("cat", ""),
            ("cat", ""),
            ("cat", "At nine."),
            ("ann", "when is dinner?"),
            ("cat", "At nine."),
            ("ann", "at what time?"),
            ("cat", "At nine."),
        ]
        first, second, *_, last = stage.model.asked
        assert [one["content"] for one in first] == ["what is there on friday?"]
        assert second[-1]["output"] == "fish on friday"
        assert [one["content"] for one in last][-3:] == [
            "when is dinner?",
            "At nine.",
            "at what time?",
        ]
        assert any("fish on friday" in str(one["content"]) for one in last)


async def test_what_a_session_gives_back():
    """The items of a session come back as the SDK takes them; what only the vendor can read is left out."""
    picture = {"type": "input_image", "image_url": "https://i.example/a.png", "detail": "auto"}
    items = [
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, picture]},
        {"type": "function_call", "call_id": "c1", "name": "menu", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "fish"},
        {"role": "assistant", "content": "Fish."},
    ]
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    async with served() as (client, _):
        session = BackscrollSession(client, "agents:1", ANN, CAT)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([*items[:2], thought, *items[2:]])
        assert await session.get_items() == items
        assert await session.get_items(2) == items[-2:]
        assert await session.pop_item() == items[-1]
        assert await session.get_items() == items[:-1]
        await session.clear_session()
        assert await session.get_items() == []


async def test_what_pick_shows_is_not_stored_again():
    """The SDK hands all that the callback returned to `add_items`, the question last: here what was said before."""
    async with served() as (client, _):
        session = BackscrollSession(client, "agents:2", ANN, CAT, token_budget=2000)
        ok, sure = {"role": "user", "content": "ok"}, {"role": "assistant", "content": "Sure."}
        await session.add_items([ok, sure])
        shown = await session.pick([ok, sure], [ok])
        assert shown == [sure, ok]
        await session.add_items(shown)
        await session.add_items([sure])
        assert await session.get_items() == [ok, sure, ok, sure]
        tool = {"type": "function_call_output", "call_id": "c1", "output": "x"}
        assert await session.pick([ok], [tool]) == [ok, tool]


@pytest.mark.proof
async def test_the_program_with_langchain(tmp_path):
    python = python_with("langchain_openai")
    async with staged() as stage:
        asked = ["who feeds the cat?", "and when?"]
        answers = await run(stage, example("LangChain"), [python], tmp_path, *asked)
        assert answers == ["At nine."] * 2
        assert said(await stage.lines("langchain:ann")) == [
            ("ann", "who feeds the cat?"),
            ("cat", "At nine."),
            ("ann", "and when?"),
            ("cat", "At nine."),
        ]
        assert [one["content"] for one in stage.model.asked[-1]] == [
            "who feeds the cat?",
            "At nine.",
            "and when?",
        ]


HISTORY = """
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from backscroll import Author, Client
from backscroll.adapters.langchain import BackscrollHistory

client, ann, cat = Client("127.0.0.1:7171"), Author("ann", "Ann"), Author("cat", "Cat", kind="bot")
def history(name):
    return BackscrollHistory(client, name, ann, cat)

call = {"name": "menu", "args": {"day": "friday"}, "id": "c1", "type": "tool_call"}
picture = {"type": "image_url", "image_url": {"url": "https://i.example/a.png"}}
given = [
    SystemMessage("Be a cat.", id="1"),
    HumanMessage([{"type": "text", "text": "look"}, picture], id="2"),
    AIMessage("", tool_calls=[call], id="3"),
    ToolMessage("fish", tool_call_id="c1", name="menu", status="error", id="4"),
    AIMessage("Fish.", id="5"),
]
one = history("langchain:1")
assert one.messages == []
one.add_messages(given)
one.add_messages(given[-1:])
found = one.messages
assert [(type(m), m.text, m.id) for m in found] == [(type(m), m.text, m.id) for m in given], found
assert found[2].tool_calls == [call] and found[3].status == "error" and found[3].name == "menu"
one.clear()
assert one.messages == []

echo = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} lines"))
chain = RunnableWithMessageHistory(echo, history)
for _ in range(2):
    answer = chain.invoke([HumanMessage("hi")], config={"configurable": {"session_id": "langchain:2"}})
print(answer.text)
"""


@pytest.mark.proof
async def test_a_history_of_langchain(tmp_path):
    python = python_with("langchain_core")
    async with staged() as stage:
        assert await run(stage, HISTORY, [python], tmp_path) == ["3 lines"]


@pytest.mark.proof
def test_the_sdk_takes_it_for_a_session():
    python = python_with("agents")
    check = (
        "from agents.memory import Session; from backscroll.adapters.openai_agents import *;"
        "print(isinstance(BackscrollSession(None, 'a', 'b', 'c'), Session))"
    )
    found = subprocess.run(
        [python, "-c", check],
        env={"PYTHONPATH": str(ROOT / "clients/python")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "True"
