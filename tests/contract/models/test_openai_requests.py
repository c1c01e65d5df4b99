"""What the model's server gets to see, and who else gets to see the key."""

import logging
import subprocess
import sys
import traceback
from collections.abc import Callable

import orjson
import pytest

from backscroll_sidecar.adapters import OpenAIChat, PayloadOptions
from backscroll_sidecar.domain import (
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    result_message,
)
from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.models.options import OpenAIOptions
from backscroll_sidecar.ports import Finished, FinishReason, ModelError, ModelFault, TextDelta
from tests.contract.models.conftest import KEY
from tests.contract.models.scenario import MESSAGES, ask, events_of, listen
from tests.contract.models.sse_server import (
    DONE,
    Reply,
    SseServer,
    error_body,
    said,
    stopped,
)

Connect = Callable[..., OpenAIModel]
TOOLS = '[{"type": "function", "function": {"name": "now", "parameters": {}}}]'
ANSWER = Reply([said("猫"), stopped(), DONE])


async def test_the_body_is_the_adapters_and_what_a_call_adds(
    connect: Connect, server: SseServer
) -> None:
    """S1-19: the messages are the same bytes."""
    request = ask(temperature=0.7, tools_json=TOOLS, max_output_tokens=64)
    await events_of(connect(ANSWER), request)
    payload = OpenAIChat().payload(MESSAGES, PayloadOptions("gpt-4o-mini", TOOLS))
    (body,) = (exchange.body for exchange in server.exchanges)
    assert body.startswith(payload[:-1])
    assert orjson.loads(body) == {
        **orjson.loads(payload), "temperature": 0.7, "max_tokens": 64,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip


async def test_nothing_is_added_that_nobody_asked_for(connect: Connect, server: SseServer) -> None:
    model = connect(ANSWER, include_usage=False)
    await events_of(model, ask(model="qwen3:8b", tools_json="[]"))
    (sent,) = (exchange.json for exchange in server.exchanges)
    assert set(sent) == {"model", "messages", "stream"}
    assert sent["model"] == "qwen3:8b"


async def test_the_limits_name(connect: Connect, server: SseServer) -> None:
    await events_of(
        connect(ANSWER, max_tokens_field="max_completion_tokens"), ask(max_output_tokens=5)
    )
    assert server.exchanges[0].json["max_completion_tokens"] == 5


async def test_calls_and_results_are_sent(connect: Connect, server: SseServer) -> None:
    called = assistant_message((ToolCallPart("c1", "now", "{}"),))
    result = result_message((ToolResultPart("c1", "now", "正午"),))
    await events_of(connect(ANSWER), ask(messages=(*MESSAGES, called, result)))
    *_, sent_call, sent_result = server.exchanges[0].json["messages"]
    assert sent_call["tool_calls"][0]["id"] == sent_result["tool_call_id"] == "c1"


async def test_lone_surrogates_do_not_stop_a_request(connect: Connect, server: SseServer) -> None:
    broken = assistant_message((TextPart("猫\ud83d"), ToolCallPart("\udc00", "f", '"\ud800"')))
    assert (await events_of(connect(ANSWER), ask(messages=(broken,))))[-1] == Finished(
        FinishReason.STOP
    )
    assert server.exchanges[0].json["messages"][0]["content"] == "猫\ufffd"


@pytest.mark.parametrize("tools", ["{", '{"a": 1}', '[], "model": "x"', "\ud800"])
async def test_tools_that_are_no_list_are_not_sent(
    tools: str, connect: Connect, server: SseServer
) -> None:
    _, error = await listen(connect(ANSWER), ask(tools_json=tools))
    assert error is not None
    assert error.fault is ModelFault.REJECTED
    assert server.exchanges == []


async def test_key_path_headers_and_query(connect: Connect, server: SseServer) -> None:
    model = connect(ANSWER, headers={"x-team": "cats"}, query={"api-version": "2024-10-21"})
    await events_of(model)
    sent = server.exchanges[0]
    assert sent.line == "POST /v1/chat/completions?api-version=2024-10-21 HTTP/1.1"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["x-team"] == "cats"


async def test_azure_takes_its_key_in_a_header_of_its_own(
    connect: Connect, server: SseServer
) -> None:
    await events_of(connect(ANSWER, api_key="", headers={"api-key": KEY}))
    assert server.exchanges[0].headers["api-key"] == KEY
    assert "authorization" not in server.exchanges[0].headers


async def test_the_environment_has_no_say(
    connect: Connect, server: SseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither address nor key, organisation or proxy of other programs on the machine."""
    dead = "http://127.0.0.1:1"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, dead)
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "ambient")
    await events_of(connect(ANSWER, api_key=""))
    assert "ambient" not in str(server.exchanges[0].headers)
    _, error = await listen(connect(ANSWER, use_environment=True))
    assert error is not None
    assert error.fault is ModelFault.CONNECTION


async def test_a_redirect_is_not_followed(connect: Connect, server: SseServer) -> None:
    _, error = await listen(
        connect(Reply(status=307, headers={"location": server.url + "/x"}), ANSWER)
    )
    assert error is not None
    assert len(server.exchanges) == 1


async def test_a_key_is_never_told(
    connect: Connect, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in errors, what stands behind them, tracebacks, reprs or logs; nor is what was said (S5-52)."""
    caplog.set_level(logging.DEBUG)
    model = connect(Reply([error_body("invalid_api_key", f"Incorrect API key: {KEY}")], 401))
    _, refused = await listen(model)
    _, unreachable = await listen(connect(base_url=f"http://user:{KEY}@127.0.0.1:1/v1"))
    shown = [
        repr(model),
        repr(OpenAIOptions(api_key=KEY, headers={"api-key": KEY}, base_url=f"http://{KEY}@h")),
    ]
    for error in (refused, unreachable):
        assert isinstance(error, ModelError)
        assert error.__cause__ is error.__context__ is None
        shown += [repr(error), str(error), *traceback.format_exception(error)]
    printed = capsys.readouterr()
    told = "".join([*shown, caplog.text, printed.out, printed.err])
    assert "a model call failed" in told
    assert KEY not in told
    assert MESSAGES[-1].content not in told


@pytest.mark.parametrize("key", ["钥匙", "sk-a\nb", " sk-a", "sk\x7f"])
def test_a_key_that_no_header_takes_is_refused_unseen(key: str) -> None:
    for fields in ({"api_key": key}, {"headers": {"api-key": key}}):
        with pytest.raises(ValueError, match="printable ASCII") as error:
            OpenAIOptions(**fields)
        assert key.strip() not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "localhost:11434",
            "127.0.0.1:7491/v1",
            "ftp://host/v1",
            "http://",
            "file:///etc/passwd",
        ),
        *(
            "http://h:99999/v1",
            "http://h:x/v1",
            "http://[::1/v1",
            "http://a\tb/v1",
            "http://h..x/v1",
        ),
    ],
)
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base URL"):
        OpenAIOptions(base_url=url)


@pytest.mark.parametrize("name", ["", "bad name", "bad:name", "名"])
def test_a_header_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="headers"):
        OpenAIOptions(headers={name: "x"})


def test_a_query_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="query"):
        OpenAIOptions(query={"version": "\ud800"})


async def test_a_closed_model_says_so(connect: Connect) -> None:
    model = connect(ANSWER)
    await model.close()
    await model.close()
    _, error = await listen(model)
    assert error is not None
    assert error.fault is ModelFault.CONNECTION


def test_the_client_is_imported_when_a_model_is_made() -> None:
    """Half a second that a server without a key does not pay; nor may it move log levels."""
    lines = (
        "import sys, logging, backscroll_sidecar.models.openai as m",
        "assert not {'openai', 'httpx2'} & set(sys.modules)",
        "logging.getLogger('openai').setLevel(logging.WARNING)",
        "m.OpenAIModel(m.OpenAIOptions(api_key='k'))",
        "assert logging.getLogger('openai').level == logging.WARNING",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={"OPENAI_LOG": "debug"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


async def test_the_text_is_what_the_server_wrote(connect: Connect) -> None:
    assert (await events_of(connect(ANSWER)))[0] == TextDelta("猫")
