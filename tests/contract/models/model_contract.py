"""The contract of `ChatModel`: every implementation runs all of `AnyModelContract`, scriptable ones the rest too.

A bug found in one model becomes a test here. The echo is not scriptable: it has one thing to say.
"""

import asyncio

import pytest

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.ports import (
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from tests.contract.models.scenario import Making, Scenario, ask, events_of, joined, listen, text_of

ENOUGH_S = 300.0
"""A bound for what should take milliseconds: only a hang reaches it."""

CALLS = (
    ToolCallPart("call_1", "weather", '{"city": "北京"}'),
    ToolCallPart("call_2", "now", "{}"),
)


class AnyModelContract:
    """What holds of every model. The subclass brings `model`."""

    async def test_finished_comes_last_and_once(self, model: ChatModel) -> None:
        events = await events_of(model)
        assert [type(event) for event in events].count(Finished) == 1
        assert isinstance(events[-1], Finished)
        assert text_of(events)

    async def test_no_delta_is_empty(self, model: ChatModel) -> None:
        for event in await events_of(model):
            assert not isinstance(event, TextDelta) or event.text

    async def test_no_time_left_is_a_timeout(self, model: ChatModel) -> None:
        for timeout_s in (0.0, -1.0):
            heard, error = await listen(model, ask(timeout_s=timeout_s))
            assert heard == []
            assert error is not None
            assert error.fault is ModelFault.TIMEOUT

    async def test_leaving_early_and_asking_again(self, model: ChatModel) -> None:
        async with model.stream(ask()) as events:
            await anext(events)
        assert (await events_of(model))[-1] == Finished(FinishReason.STOP)

    async def test_what_fails_inside_the_block_comes_out_as_it_is(self, model: ChatModel) -> None:
        async def fail() -> None:
            async with model.stream(ask()) as events:
                await anext(events)
                raise KeyError

        with pytest.raises(KeyError):
            await fail()

    async def test_many_at_once(self, model: ChatModel) -> None:
        answers = await asyncio.gather(*(events_of(model) for _ in range(10)))
        assert all(answer == answers[0] for answer in answers)

    async def test_close_twice(self, model: ChatModel) -> None:
        await model.close()
        await model.close()


class ScriptedModelContract:
    """What holds of every model that says what a test wants. The subclass brings `making`."""

    async def test_text_comes_piece_by_piece(self, making: Making) -> None:
        pieces = ["猫", "吃", "鱼", "🐟", "👩‍👩‍👧", "e\u0301", "\n\n", " "]
        assert await events_of(making(Scenario(pieces))) == [
            TextDelta("".join(pieces)),
            Finished(FinishReason.STOP),
        ]

    @pytest.mark.parametrize(
        "reason", [one for one in FinishReason if one is not FinishReason.NONE]
    )
    async def test_finish_reasons(self, making: Making, reason: FinishReason) -> None:
        model = making(Scenario(["喵"], finish=reason))
        assert await events_of(model) == [TextDelta("喵"), Finished(reason)]

    async def test_calls_come_whole_and_usage_before_the_end(self, making: Making) -> None:
        said = Scenario(["看看"], CALLS, (120, 7), FinishReason.TOOL_CALLS)
        assert await events_of(making(said)) == [
            TextDelta("看看"),
            *map(ToolCallDelta, CALLS),
            UsageDelta(120, 7),
            Finished(FinishReason.TOOL_CALLS),
        ]

    async def test_an_answer_of_calls_alone(self, making: Making) -> None:
        events = await events_of(making(Scenario(calls=CALLS, finish=FinishReason.TOOL_CALLS)))
        assert events == [*map(ToolCallDelta, CALLS), Finished(FinishReason.TOOL_CALLS)]

    @pytest.mark.parametrize("k", range(21))
    async def test_a_cut_connection_after_k_deltas(self, making: Making, k: int) -> None:
        pieces = [f"{i}猫" for i in range(k)]
        heard, error = await listen(making(Scenario(pieces, cut=True)))
        assert heard == joined([TextDelta(piece) for piece in pieces])
        assert error is not None
        assert error.fault is ModelFault.CONNECTION

    @pytest.mark.parametrize("k", [0, 3])
    async def test_the_whole_call_is_bounded(self, making: Making, k: int) -> None:
        model = making(Scenario(["喵"] * k, silent=True))
        async with asyncio.timeout(ENOUGH_S):
            heard, error = await listen(model, ask(timeout_s=1.0))
        assert heard == joined([TextDelta("喵")] * k)
        assert error is not None
        assert error.fault is ModelFault.TIMEOUT

    @pytest.mark.parametrize(
        ("status", "fault"),
        [
            (400, ModelFault.REJECTED),
            (401, ModelFault.UNAUTHORIZED),
            (429, ModelFault.RATE_LIMITED),
            (500, ModelFault.SERVER_ERROR),
        ],
    )
    async def test_a_refusal_is_raised_on_entering(
        self, making: Making, status: int, fault: ModelFault
    ) -> None:
        model = making(Scenario(status=status))
        with pytest.raises(ModelError) as refused:
            async with model.stream(ask()):
                pytest.fail("entered")
        assert refused.value.fault is fault

    @pytest.mark.parametrize("heard", [0, 1])
    async def test_leaving_ends_a_silent_stream(self, making: Making, heard: int) -> None:
        async with asyncio.timeout(ENOUGH_S):
            async with making(Scenario(["喵"], silent=True)).stream(ask()) as events:
                for _ in range(heard):
                    await anext(events)

    async def test_cancelling_a_reader_of_a_silent_stream(self, making: Making) -> None:
        model, first = making(Scenario(["喵"], silent=True), Scenario(["还在"])), asyncio.Event()

        async def read() -> None:
            async with model.stream(ask()) as events:
                async for _ in events:
                    first.set()

        task = asyncio.create_task(read())
        async with asyncio.timeout(ENOUGH_S):
            await first.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert text_of(await events_of(model)) == "还在"
