import pytest

from backscroll_sidecar.domain import NeutralMessage, Role
from backscroll_sidecar.models.echo import MAX_QUESTION_CHARS, EchoModel
from backscroll_sidecar.ports import Finished, FinishReason, ModelEvent, ModelRequest, TextDelta
from backscroll_sidecar.texts import CHINESE, ENGLISH, Language, Wordings


async def echoed(*said: tuple[Role, str], **fields) -> list[ModelEvent]:
    messages = tuple(NeutralMessage(role, text) for role, text in said)
    async with EchoModel().stream(ModelRequest(messages, "any", **fields)) as events:
        return [event async for event in events]


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_it_says_what_it_is_and_repeats_the_question_in_a_few_deltas() -> None:
    events = await echoed(
        (Role.SYSTEM, "be a cat"),
        (Role.USER, "狗吃什么"),
        (Role.ASSISTANT, "狗粮"),
        (Role.USER, "那猫呢？🐈"),
    )
    assert text(events) == CHINESE.echo_notice + "那猫呢？🐈"
    assert 3 <= len(events) <= 6
    assert events[-1] == Finished(FinishReason.STOP)


@pytest.mark.parametrize("said", [[], [(Role.SYSTEM, "x")], [(Role.USER, "  ")]])
async def test_nothing_to_repeat(said: list[tuple[Role, str]]) -> None:
    assert text(await echoed(*said)) == ENGLISH.echo_notice + ENGLISH.no_text


async def test_of_a_long_question_the_end() -> None:
    answer = text(await echoed((Role.USER, "猫" * 5_000 + "那猫呢？")))
    assert answer.endswith("那猫呢？")
    assert len(answer) == len(CHINESE.echo_notice) + MAX_QUESTION_CHARS


@pytest.mark.parametrize("limit", [0, 1, 5, 25, 29])
async def test_a_limit_cuts_and_says_so(limit: int) -> None:
    events = await echoed((Role.USER, "猫" * 60), max_output_tokens=limit)
    assert events[-1] == Finished(FinishReason.LENGTH)
    assert (CHINESE.echo_notice + "猫" * 60).startswith(text(events))
    assert len(text(events).encode()) in range(limit * 4 - 3, limit * 4 + 1)


async def test_a_limit_that_is_far_away() -> None:
    assert (await echoed((Role.USER, "猫"), max_output_tokens=500))[-1] == Finished(
        FinishReason.STOP
    )


async def test_lone_surrogates() -> None:
    assert text(await echoed((Role.USER, "a\ud800"))).endswith("a\ufffd")


@pytest.mark.parametrize("question", ["why?", "为什么？"])
async def test_a_set_language_stands_whatever_is_asked(question: str) -> None:
    model = EchoModel(Wordings(default=Language.ZH))
    messages = (NeutralMessage(Role.USER, question),)
    async with model.stream(ModelRequest(messages, "any")) as events:
        assert text([one async for one in events]) == CHINESE.echo_notice + question
