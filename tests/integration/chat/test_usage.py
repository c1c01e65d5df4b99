"""Our token counts beside the vendor's: what is told of them, and what becomes of the budget."""

import pytest

from backscroll import Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.context.budget import Frame
from backscroll_sidecar.context.token_counter import payload_tokens
from backscroll_sidecar.domain import Layout, TokenizerName
from backscroll_sidecar.ports import UsageDelta
from backscroll_sidecar.telemetry.usage_numbers import LEAST_CALLS, MOST_MODELS
from tests.integration.chat.talk import ROOM, talk, turn
from tests.kit.fake_model import STOP, FakeModel, call

NOON = 1_795_176_000_000
TALK = [
    Message(
        f"m{n}", ("ann", "ben")[n % 2], f"line {n} of a talk about the pond and the 猫", NOON + n
    )
    for n in range(60)
]
MODELS = {"higher": 1.07, "far": 2.0, "lower": 0.9}


def vendor(ratios=MODELS):
    """A model whose counts are ours times a factor of its own, and which answers in 7 tokens."""

    def answer(request):
        frame = Frame(0, 0, request.tools_json, Layout.TURNS, False, False, TokenizerName.O200K)
        ours = payload_tokens(request.messages, frame)
        return ["ok", UsageDelta(round(ours * ratios.get(request.model, 1.0)), 7), STOP]

    return FakeModel(answer=answer)


async def told(bot, name):
    """Samples of a metric by the values of their labels, the period last."""
    samples = await bot.client.get_metrics(f"backscroll_{name}")
    order = ("model", "tokenizer", "counts", "of")
    return {
        (*[one.labels[label] for label in order if label in one.labels], one.period): one.value
        for one in samples
    }


async def ask(bot, model, **context):
    heard = await bot.ask(turn("and now?", context={"model": model, **context}))
    assert heard.reason == "COMPLETE"
    return heard.context.tokens


@pytest.mark.row("N-05")
async def test_a_vendor_that_counts_seven_percent_more():
    """The error of our counts is told; times the factor that was learnt it is at most 1 %."""
    async with talk(vendor()) as bot:
        await bot.client.append(ROOM, TALK)
        assert await told(bot, "token_count_error") == {}
        counts = [(await ask(bot, "higher")).total for _ in range(LEAST_CALLS + 12)]
        prompts = [round(n * 1.07) for n in counts]
        plain = sum(abs(a - b) / b for a, b in zip(counts, prompts, strict=True)) / len(counts)
        of = ("higher", "o200k_base")
        errors = await told(bot, "token_count_error")
        for period in ("start", "hour"):
            assert errors[*of, "plain", period] == pytest.approx(plain)
            assert errors[*of, "plain", period] == pytest.approx(1 - 1 / 1.07, abs=0.002)
            assert errors[*of, "calibrated", period] <= 0.01
            ratio = (await told(bot, "token_count_ratio"))[*of, period]
            assert ratio == pytest.approx(sum(prompts) / sum(counts))
        assert (await told(bot, "token_calibration_factor"))[*of, ""] == pytest.approx(
            1.07, abs=0.005
        )
        assert await told(bot, "model_tokens") == {
            (*of, "counted", ""): sum(counts),
            (*of, "prompt", ""): sum(prompts),
            (*of, "completion", ""): 7 * len(counts),
        }
        tokens = await ask(bot, "higher", token_budget=600)
        assert (tokens.budget, tokens.HasField("calibration")) == (
            600,
            False,
        )  # unless it is asked for


@pytest.mark.row("N-05")
async def test_a_calibrated_budget_is_the_vendors():
    """With `calibrate_tokens` a context takes the budget by the vendor's count, and the answer says the factor."""
    model = vendor()
    async with talk(model, calibrate_tokens=True) as bot:
        await bot.client.append(ROOM, TALK)
        for _ in range(LEAST_CALLS):
            tokens = await ask(bot, "higher", token_budget=120)
            assert (tokens.budget, tokens.HasField("calibration")) == (120, False)
        tokens = await ask(bot, "higher", token_budget=120)
        assert tokens.calibration == pytest.approx(1.07, abs=0.005)
        assert tokens.budget == int(120 / tokens.calibration)
        assert tokens.total <= tokens.budget
        assert 0.8 * 120 < round(tokens.total * 1.07) <= 121
        assert (await ask(bot, "another", token_budget=120)).budget == 120
        few = await bot.ask(turn("and now?", context={"model": "higher", "token_budget": 5}))
        assert few.refusal.metadata["token_budget"] in {"5", "6"}
        least = int(few.refusal.metadata["least_tokens"])
        await ask(bot, "higher", token_budget=least + 1)


@pytest.mark.row("N-05")
async def test_a_factor_has_bounds():
    """A vendor that counts twice as much is counted by the wrong tokenizer; one that counts less is heeded as well."""
    async with talk(vendor(), calibrate_tokens=True) as bot:
        await bot.client.append(ROOM, TALK)
        for model in ("far", "lower"):
            for _ in range(LEAST_CALLS):
                await ask(bot, model)
        factors = await told(bot, "token_calibration_factor")
        assert factors["far", "o200k_base", ""] == 1.25
        assert factors["lower", "o200k_base", ""] == pytest.approx(0.9, abs=0.005)
        assert (await ask(bot, "lower", token_budget=900)).budget == pytest.approx(1_000, abs=6)
        errors = await told(bot, "token_count_error")
        assert errors["far", "o200k_base", "plain", "start"] == pytest.approx(0.5, abs=0.01)


async def test_names_of_models_are_no_endless_labels():
    """Callers name models: from the 33rd on all are one."""
    async with talk(vendor()) as bot:
        for n in range(MOST_MODELS + 5):
            await ask(bot, f"model {n}")
        models = {labels[0] for labels in await told(bot, "token_count_ratio")}
        assert models == {f"model {n}" for n in range(MOST_MODELS)} | {"(others)"}


async def test_only_what_both_counted_is_compared():
    """Later rounds were not counted by us, and some vendors tell nothing."""
    script = (
        [call("c1"), UsageDelta(50, 5), STOP],
        ["sunny", UsageDelta(9_000, 5), STOP],
        ["hm", STOP],
    )
    async with talk(FakeModel(*script)) as bot:
        first = await bot.ask(turn(tools=True))
        result = {"call_id": "c1", "text": "sun " * 300}
        again = pb.StreamChatRequest(
            turn_id=first.end.turn_id, tool_results=[pb.ToolResult(**result)]
        )
        assert (await bot.ask(again)).reason == "COMPLETE"
        await bot.ask(turn("silent"))
        [prompt] = [v for k, v in (await told(bot, "model_tokens")).items() if k[2] == "prompt"]
    assert prompt == 50
