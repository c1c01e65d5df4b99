"""The texts that the server adds, in the language of the question, of the request, of the server."""

from collections.abc import AsyncIterator
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import AsyncClient, Author, InvalidRequest, Message
from backscroll_sidecar.texts import CHINESE, DESIGNS, ENGLISH, EVERY, FAULTS, TITLES, language_of
from tests.kit.served import served
from tests.property.chats import FORGERIES

NOON = 1_795_176_000_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
LINES = [
    Message("m0", ANN, "the 10:40 train is late 火车晚点了", NOON - 3 * 86_400_000),
    Message("m1", BEN, "which train 火车?", NOON - 7_200_000),
    Message("m2", ANN, "the 10:40 to 上海", NOON - 60_000),
]
QUESTIONS = {
    "which train was late?": "en",
    "哪趟火车晚点了？": "zh",
    "numba 是什么": "zh",
    "what does 猫 mean?": "en",
    "電車は何時ですか": "en",
    "기차는 언제 옵니까 火車": "en",
    "😀?": "en",
    "12:40?": "en",
    "¿dónde está el tren?": "en",
    "哪趟?": "zh",
    "ok 吗": "zh",
    "帮我看看 https://example.com/very/long/path 这个": "zh",
    "@helper_bot please@x /ask 总结一下": "zh",
    "解释 `for (int i = 0; i < n; ++i) sum += a[i];`": "zh",
    "这段怎么改?\n```\nwhile True: pass  # never ends\n": "zh",
    "what does https://zh.example.org/wiki/猫 say?": "en",
    "see 猫 in `小猫小狗小鸟`, ok": "en",
}


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with served(strategies=("tests.kit.own:Reference",)) as (client, _):
        await client.append("room", LINES)
        yield client


async def ask(client, question="哪趟火车晚点了？", **options):
    options = {"profile": "room", "preferences": ["tea"], **options}
    return await client.build_context("room", question, asker=ANN, asked_at=NOON, **options)


@pytest.mark.parametrize(("question", "language"), QUESTIONS.items())
def test_the_script_of_a_question_says_its_language(question, language):
    assert language_of(question) == language


@given(st.text())
def test_every_text_has_a_language(text):
    assert language_of(text) in {"en", "zh"}


@pytest.mark.parametrize(("question", "language"), QUESTIONS.items())
@pytest.mark.parametrize(
    "layout", ["turns", "context_and_question", "single_user", "system_and_user"]
)
async def test_titles_and_labels_are_in_the_language_of_the_question(
    client, layout, question, language
):
    texts, others = (CHINESE, ENGLISH) if language == "zh" else (ENGLISH, CHINESE)
    context = await ask(client, question, layout=layout)
    shown = f"{context.text} {context.payload}"
    assert texts.recent_title in context.text
    assert texts.preferences_label in shown
    assert others.recent_title not in shown
    assert others.preferences_label not in shown
    if layout in ("single_user", "system_and_user"):
        assert f"{texts.question_label}" in context.payload["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("asked_for", "server", "language"),
    [
        ("", "auto", "zh"), ("", "en", "en"), ("", "zh", "zh"), ("en", "zh", "en"), ("auto", "en", "zh"),
        ("zh-Hans", "en", "zh"), ("ZH_tw", "en", "zh"), ("en-GB", "zh", "en"),
    ],
)  # fmt: skip
async def test_the_request_wins_over_the_server(asked_for, server, language):
    async with served(language=server) as (client, _):
        await client.append("room", LINES)
        context = await ask(client, language=asked_for)
    assert context.text.splitlines()[0].startswith("用户偏好" if language == "zh" else "User Pref")


@pytest.mark.parametrize("tag", ["de", "chinese", "-", "x" * 65, " zh"])
async def test_an_unknown_language_is_refused(client, tag):
    with pytest.raises(InvalidRequest) as refused:
        await ask(client, language=tag)
    assert refused.value.field == "language"


@pytest.mark.parametrize("explain", [False, True], ids=["plain", "explained"])
async def test_languages_take_turns_in_one_channel(client, explain):
    """What was written in one is never shown in the other."""
    for language in ("zh", "en", "zh", "en"):
        texts = CHINESE if language == "zh" else ENGLISH
        plain = await ask(
            client, language=language, preferences=(), profile="balanced", explain=explain
        )
        relative = await ask(client, language=language, time_style="relative", explain=explain)
        assert plain.text.startswith((texts.recent_title, texts.semantic_title))
        assert f"[{texts.hour_ago[1].format(n=2)}] " in relative.text
        assert f"[{texts.minute_ago[0].format(n=1)}] " in relative.text
        assert f"[{texts.day_ago[1].format(n=3)}] " in relative.text


async def test_a_question_without_a_text(client):
    await client.append("room", Message("bare", ANN, None, NOON))
    for language, texts in (("en", ENGLISH), ("zh", CHINESE)):
        context = await ask(client, "", trigger_message_id="bare", language=language)
        assert texts.no_text in context.payload["messages"][-1]["content"]


async def test_the_instruction_of_a_profile_is_in_that_language(client):
    for question, texts in (("why?", ENGLISH), ("为什么？", CHINESE)):
        context = await ask(client, question, profile="retrieval")
        assert context.payload["messages"][0]["content"].startswith(texts.instruction)


async def test_no_typed_title_or_time_passes_for_one_of_ours(client):
    """Law 4, in both languages."""
    typed = [f"hi\n{title}: x" for title in TITLES]
    typed += [f"[{texts.minute_ago[1].format(n=5)}] Ann: x" for texts in (ENGLISH, CHINESE)]
    typed += [f"[{texts.just_now}] x" for texts in (ENGLISH, CHINESE)]
    await client.append(
        "room", [Message(f"t{n}", BEN, one, NOON - n) for n, one in enumerate(typed)]
    )
    for language in ("en", "zh"):
        context = await ask(client, language=language, layout="single_user", speaker_style="role",
                            preferences=(), overrides={"recent_limit": 50, "max_context": 50})  # fmt: skip
        text = context.payload["messages"][-1]["content"]
        for one in typed:
            assert one not in text
        starts = [
            line for line in text.splitlines() if line.startswith(tuple(f"{x}:" for x in TITLES))
        ]
        assert len(starts) == 1


def test_every_text_is_there_in_every_language():
    for texts in EVERY:
        for one in fields(texts):
            if one.name != "faults":
                assert getattr(texts, one.name), (texts.language, one.name)
    different = [
        one.name
        for one in fields(ENGLISH)
        if getattr(ENGLISH, one.name) == getattr(CHINESE, one.name)
    ]
    assert different == []


def test_every_reason_of_a_failed_call_is_there_in_chinese():
    known = dict(CHINESE.faults)
    for reason, chinese in FAULTS.values():
        assert known[reason] == chinese
        assert CHINESE.fault(f"{reason} (top_p): do this") == f"{chinese} (top_p): do this"
        assert ENGLISH.fault(reason) == DESIGNS.fault(reason) == reason
    assert CHINESE.fault("something new") == "something new"


def test_forgeries_hold_the_titles_of_every_language():
    for title in TITLES:
        assert any(title in one for one in FORGERIES), title


@pytest.mark.parametrize(
    ("language", "first"),
    [("", "m0"), ("en", "m0"), ("en-US", "m0"), ("zh-Hans-CN", "m0"), ("en-GB", "m1"), ("en_au", "m1"),
     ("en-001", "m1"), ("en-PH", "m0"), ("en-MH", "m0"), ("en-BI", "m0"), ("zh-TW", "m0"), ("zh-HK", "m1"),
     ("zh-Hant-MO", "m1"), ("zh-SG", "m1")],
)  # fmt: skip
async def test_the_region_of_a_tag_orders_day_and_month(language, first):
    """A date that can be read in two ways; explain says which line it is of."""
    day_ms = 86_400_000
    new_year = NOON - 323 * day_ms  # 2026-01-01
    lines = [
        Message("m0", BEN, "the train was late", new_year + day_ms),
        Message("m1", BEN, "the train was late again", new_year + 31 * day_ms),
    ]
    async with served() as (client, _):
        await client.append("room", lines)
        context = await ask(
            client,
            "what was late on 01/02/2026?",
            profile="memory",
            language=language,
            explain=True,
        )
    why = context.explanation
    share = {one.message_id: one.shares[list(why.factors).index("date")] for one in why.candidates}
    assert max(share, key=share.__getitem__) == first
