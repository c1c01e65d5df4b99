import asyncio

import pytest

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelError,
    ModelFault,
    ModelRequest,
    TextDelta,
    UsageDelta,
)
from tests.kit.fake_model import FakeModel, Refuse, Wait

REQUEST = ModelRequest((), "m")


async def heard(model: FakeModel, request: ModelRequest = REQUEST) -> list:
    async with model.stream(request) as events:
        return [event async for event in events]


async def test_scripts_in_order_and_what_was_sent() -> None:
    model = FakeModel(["喵", UsageDelta(1, 2), Finished(FinishReason.LENGTH), "never"], ["two"])
    other = ModelRequest((), "other", temperature=0.7)
    assert await heard(model) == [TextDelta("喵"), UsageDelta(1, 2), Finished(FinishReason.LENGTH)]
    assert await heard(model, other) == [TextDelta("two"), Finished(FinishReason.NONE)]
    assert model.requests == [REQUEST, other]
    assert all(call.whole and call.closed_at_s is not None for call in model.calls)
    with pytest.raises(AssertionError, match="call 3 of 2"):
        await heard(model)


async def test_a_script_made_for_the_request() -> None:
    model = FakeModel(answer=lambda request: [request.model])
    assert (await heard(model, ModelRequest((), "qwen")))[0] == TextDelta("qwen")


async def test_when_a_stream_was_left() -> None:
    gate = asyncio.Event()
    model = FakeModel(["one", Wait(gate), "two", "three"])
    async with model.stream(REQUEST) as events:
        assert await anext(events) == TextDelta("one")
        gate.set()
        assert await anext(events) == TextDelta("two")
        assert model.open_calls == 1
    (call,) = model.calls
    assert model.open_calls == 0
    assert (call.sent, call.whole) == ([TextDelta("one"), TextDelta("two")], False)
    assert call.closed_at_s is not None
    assert call.closed_at_s >= call.opened_at_s


async def test_errors_on_entering_and_between_events() -> None:
    error = failed(ModelFault.RATE_LIMITED, retry_after_s=7)
    model = FakeModel([Wait(0.01), Refuse(error)], ["one", error])
    with pytest.raises(ModelError) as refused:
        await heard(model)
    with pytest.raises(ModelError) as between:
        await heard(model)
    assert refused.value is between.value is error
    assert [call.sent for call in model.calls] == [[], [TextDelta("one")]]
    assert model.open_calls == 0


async def test_the_time_of_a_call_is_kept() -> None:
    model = FakeModel([Wait()], ["one", Wait(60.0)])
    for _ in range(2):
        with pytest.raises(ModelError) as error:
            await heard(model, ModelRequest((), "m", timeout_s=0.05))
        assert error.value.fault is ModelFault.TIMEOUT


async def test_a_closed_one_answers_nobody() -> None:
    model = FakeModel(["one"])
    await model.close()
    with pytest.raises(ModelError):
        await heard(model)
    assert model.calls == []
