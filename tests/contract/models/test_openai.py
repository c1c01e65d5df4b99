"""The model on the vendor's client keeps the contract, over a real socket."""

from collections.abc import Callable

import pytest

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.ports import ChatModel
from tests.contract.models.model_contract import AnyModelContract, ScriptedModelContract
from tests.contract.models.scenario import Making, Scenario
from tests.contract.models.sse_server import (
    CUT,
    DONE,
    HANG,
    Reply,
    SseServer,
    chunk,
    data,
    error_body,
    said,
    stopped,
    used,
    whole,
)

JSON = {"content-type": "application/json"}


def wire_call(call: ToolCallPart) -> dict:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments_json},
    }


def call_pieces(index: int, call: ToolCallPart) -> list[bytes]:
    """A call as OpenAI streams it: id and name first, then its arguments in halves."""
    half = len(call.arguments_json) // 2
    first = wire_call(ToolCallPart(call.id, call.name, ""))
    pieces = [
        {"index": index, **first},
        {"index": index, "function": {"arguments": call.arguments_json[:half]}},
        {"index": index, "function": {"arguments": call.arguments_json[half:]}},
    ]
    return [data(chunk({"tool_calls": [piece]})) for piece in pieces]


def streamed(scenario: Scenario) -> Reply:
    if scenario.status != 200:
        return Reply([error_body("some_code")], scenario.status, JSON)
    steps = [data(chunk({"role": "assistant", "content": ""})), *map(said, scenario.pieces)]
    for index, call in enumerate(scenario.calls):
        steps += call_pieces(index, call)
    if scenario.silent or scenario.cut:
        return Reply([*steps, HANG if scenario.silent else CUT])
    steps += [stopped(scenario.finish.value)] if scenario.finish else []
    steps += [used(*scenario.usage)] if scenario.usage else []
    return Reply([*steps, DONE])


def unstreamed(scenario: Scenario) -> Reply:
    if scenario.status != 200 or scenario.silent or scenario.cut:
        return streamed(scenario)
    message = {
        "content": "".join(scenario.pieces) or None,
        "tool_calls": [*map(wire_call, scenario.calls)] or None,
    }
    prompt, completion = scenario.usage or (None, None)
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    body = whole(message, scenario.finish.value if scenario.finish else None, usage=usage)
    return Reply([body], headers=JSON)


class TestOpenAIModel(AnyModelContract, ScriptedModelContract):
    @pytest.fixture
    def making(self, connect: Callable[..., OpenAIModel], server: SseServer) -> Making:
        def made(*scenarios: Scenario) -> OpenAIModel:
            server.choose = lambda exchange, at: (
                streamed if exchange.json.get("stream") else unstreamed
            )(scenarios[min(at, len(scenarios) - 1)])
            return connect()

        return made

    @pytest.fixture
    def model(self, making: Making) -> ChatModel:
        return making(Scenario(["猫吃", "鱼。🐟"], usage=(9, 4)))
