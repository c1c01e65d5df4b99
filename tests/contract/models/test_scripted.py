"""The scripted model and the fake of the tests keep the contract."""

import pytest

from backscroll_sidecar.models.faults import failed, of_status
from backscroll_sidecar.models.scripted import ScriptedModel
from backscroll_sidecar.ports import (
    ChatModel,
    Finished,
    FinishReason,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from tests.contract.models.model_contract import AnyModelContract, ScriptedModelContract
from tests.contract.models.scenario import Making, Scenario
from tests.kit.fake_model import FakeModel, Refuse, Step, Wait


def script(scenario: Scenario) -> list[Step]:
    if scenario.status != 200:
        return [Refuse(of_status(scenario.status, {}, {}))]
    steps: list[Step] = [*scenario.pieces, *map(ToolCallDelta, scenario.calls)]
    if scenario.silent:
        return [*steps, Wait()]
    if scenario.cut:
        return [*steps, failed(ModelFault.CONNECTION)]
    if scenario.usage:
        steps.append(UsageDelta(*scenario.usage))
    return [*steps, Finished(scenario.finish)] if scenario.finish else steps


class TestScriptedModel(AnyModelContract):
    @pytest.fixture
    def model(self) -> ChatModel:
        pieces = [TextDelta("猫吃"), TextDelta("鱼。🐟"), Finished(FinishReason.STOP)]
        return ScriptedModel(lambda _: pieces)


class TestFakeModel(AnyModelContract, ScriptedModelContract):
    @pytest.fixture
    def making(self) -> Making:
        return lambda *scenarios: FakeModel(*map(script, scenarios))

    @pytest.fixture
    def model(self) -> ChatModel:
        return FakeModel(answer=lambda _: ["猫吃", "鱼。🐟", Finished(FinishReason.STOP)])
