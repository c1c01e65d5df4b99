"""Both clients' chats against a whole server in this process, its model an echo or one that plays a script."""

import asyncio
import json

import pytest

from backscroll import AsyncClient, Client, ContextEvent, Delta, End, text_of
from backscroll_sidecar import wiring
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.ports import ToolCallDelta
from tests.kit.fake_model import CALLS, STOP, FakeModel
from tests.kit.served import served

pytestmark = pytest.mark.slow


def asks(number, **arguments):
    return [ToolCallDelta(ToolCallPart(f"c{number}", "add", json.dumps(arguments))), CALLS]


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def play(monkeypatch):
    def make(*scripts):
        model = FakeModel(*scripts)
        models = iter([model])  # the app of the warm-up, made later, gets an echo
        monkeypatch.setattr(wiring, "chat_model", lambda *_: next(models, EchoModel()))
        return model

    return make


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def ask(request):
    """Call `stream_chat` or `chat` of either client, next to a server in this event loop."""

    def blocking(address, name, args, kwargs):
        with Client(address) as client:
            result = getattr(client, name)(*args, **kwargs)
            return result if name == "chat" else list(result)

    async def call(client, name, *args, **kwargs):
        if request.param is Client:
            return await asyncio.to_thread(blocking, client._target, name, args, kwargs)
        result = getattr(client, name)(*args, **kwargs)
        return await result if name == "chat" else [event async for event in result]

    return call


@pytest.mark.row("P-18", "S2-02")
async def test_the_echo_through_the_client(ask):
    """S2-02, P-18: context, deltas, end; question and reply are stored."""
    async with served() as (client, _):
        events = await ask(client, "stream_chat", "room", "hello?", asker="u1", self_ids=["bot"])
        kinds = [type(event) for event in events]
        assert (kinds[0], kinds[-1], set(kinds[1:-1])) == (ContextEvent, End, {Delta})
        said = "".join(event.text for event in events if isinstance(event, Delta))
        stored = [one.message async for one in client.list_messages("room")]
        assert [text_of(one) for one in stored] == ["hello?", said]
        assert [one.author.id for one in stored] == ["u1", "bot"]
        assert stored[1].id == events[-1].reply_message_id


@pytest.mark.row("S5-30")
@pytest.mark.parametrize("name", ["chat", "stream_chat"])
async def test_defaults_and_three_tool_rounds(ask, play, name):
    """S5-30: gpt-4o-mini at 0.7; the client runs three rounds, the model sees every result."""
    model = play(asks(1, a=1), asks(2, a=2, b=5), asks(3, c=9), ["it is 7", STOP])
    async with served() as (client, _):
        options = {"asker": "u1", "tools": {"add": add}}
        answer = await ask(client, name, "room", "how much?", **options)
    first, *_, last = model.requests
    assert (len(model.requests), first.model, first.temperature) == (4, "gpt-4o-mini", 0.7)
    assert json.loads(first.tools_json)[0]["function"]["name"] == "add"
    results = [one.content for one in last.messages if one.tool_results]
    assert results[:2] == ["2", "7"]
    assert results[2].startswith("the arguments do not fit")
    if name == "chat":
        assert (answer.text, answer.end.reason) == ("it is 7", "complete")
        assert [call.id for call in answer.tool_calls] == ["c1", "c2", "c3"]
    else:
        assert [event.reason for event in answer if isinstance(event, End)] == ["complete"]


async def test_the_servers_limit_of_rounds_ends_the_loop(ask, play):
    model = play(asks(1, a=1), ["enough", STOP])
    async with served() as (client, _):
        answer = await ask(
            client,
            "chat",
            "room",
            "how much?",
            asker="u1",
            tools={"add": add},
            max_tool_iterations=1,
        )
    assert answer.text == "enough"
    assert [bool(one.tools_json) for one in model.requests] == [True, False]
