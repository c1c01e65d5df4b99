"""The echo keeps the contract."""

import pytest

from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.ports import ChatModel
from tests.contract.models.model_contract import AnyModelContract


class TestEchoModel(AnyModelContract):
    @pytest.fixture
    def model(self) -> ChatModel:
        return EchoModel()
