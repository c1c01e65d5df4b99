"""Design S3's pipeline through the door, by the profile `naive`: latest messages, then shorter ones, and told.

Also that nothing but the builder trims what is shown.
"""

import random

import pytest
import regex

from backscroll import Author, Message, Overrides, SystemPrompt
from backscroll_sidecar.ports import Finished, FinishReason
from tests.kit.fake_model import FakeModel
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", "bot")
WHOLE = {"token_budget": 1_000_000}


def lines(texts: list[str]) -> list[Message]:
    return [
        Message(f"m{n}", (ANN, BEN)[n % 2], text, NOON - 500_000 + n)
        for n, text in enumerate(texts)
    ]


def texts_of(context) -> list[str]:
    """What of each message the model reads."""
    said = [m["content"].split(">: ", 1)[1] for m in context.payload["messages"][:-1]]
    return [text.replace("\n  ", "\n") for text in said]


async def ask(client, **request):
    request = {
        "asker": "u1",
        "asked_at": NOON,
        "profile": "naive",
        "speaker_style": "tagged",
        **WHOLE,
        **request,
    }
    return await client.build_context("room", "what now?", **request)


@pytest.mark.row("S3-08", "S3-09")
@pytest.mark.parametrize("count", [0, 1, 11, 12, 13, 40])
async def test_the_last_n_oldest_first(client, count):
    """However many there are; late arrivals find their place."""
    sent = lines([f"line {n}" for n in range(count)])
    if sent:
        await client.append("room", random.Random(count).sample(sent, count))
    context = await ask(client)
    assert [item.message.id for item in context.items] == [m.id for m in sent[-12:]]
    assert texts_of(context) == [m.text for m in sent[-12:]]


@pytest.mark.row("S3-09")
@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"max_context": 100}, 100),
        ({"max_context": 5}, 5),
        ({"recent_limit": 100}, 12),
        ({"recent_limit": 3}, 3),
        ({"max_context": 100, "recent_limit": 30}, 30),
        ({"max_context": 20, "recent_limit": 100}, 20),
        ({"max_context": 500, "sources": ["window", "recent"]}, 200),
    ],
)
async def test_a_request_says_how_many(client, overrides, expected):
    """Whatever the setting says; what the sources propose and the compressor leaves out is told by an event."""
    sent = lines([f"line {n}" for n in range(200)])
    await client.append("room", sent)
    context = await ask(client, overrides=overrides)
    assert [item.message.id for item in context.items] == [m.id for m in sent[-expected:]]
    assert bool(context.raw.events) == (overrides == {"recent_limit": 100})


@pytest.mark.row("S3-10")
@pytest.mark.parametrize(
    "text",
    [
        "x" * 9_000,
        "天" * 4_001,
        "👨‍👩‍👧‍👦" * 1_000,
        "e\u0301" * 3_000,
        "🇨🇭" * 2_500,
        "a\r\n" * 2_000,
        "क्षि" * 1_500,
    ],
    ids=["x", "Chinese", "families", "accents", "flags", "lines", "Hindi"],
)
@pytest.mark.parametrize("most", [None, 16, 100])
async def test_a_long_message_ends_between_graphemes(client, text, most):
    """At most 4,000 characters, the mark included, or what the request says; as many whole graphemes as fit."""
    await client.append("room", lines([text, "x" * 4_000, "short"]))
    context = await ask(client, overrides=Overrides(max_chars_per_message=most))
    limit = most or 4_000
    cut, other, short = texts_of(context)
    assert cut.endswith("…")
    assert len(cut) <= limit
    kept, graphemes = "", regex.findall(r"\X", text)
    for one in graphemes:
        if len(kept) + len(one) >= limit:
            break
        kept += one
    assert cut == kept + "…"
    assert (other, short) == ("x" * 4_000 if most is None else "x" * (limit - 1) + "…", "short")
    assert [item.truncated for item in context.items] == [True, most is not None, False]


@pytest.mark.row("S3-11", "S3-12")
@pytest.mark.parametrize("texts", [[], ["x" * 4_000], ["a", "b"], [f"line {n}" for n in range(12)]])
async def test_with_nothing_to_do_nothing_is_changed_or_told(client, texts):
    """Equal output and no event; nothing in, nothing out."""
    if texts:
        await client.append("room", lines(texts))
    context = await ask(client)
    assert texts_of(context) == texts
    assert not any(item.truncated for item in context.items)
    assert not context.raw.events
    assert not context.degradations


@pytest.mark.row("S3-13", "S5-17")
@pytest.mark.parametrize("include_system", [False, True])
async def test_system_history_question(client, include_system):
    """The order of the parts, as neutral messages with a role, a content and what they were made of, and as payload."""
    await client.append("room", [
        Message("m1", ANN, "hi", NOON - 3_000),
        Message("m2", BOT, "hello", NOON - 2_000, role="assistant"),
        Message("m3", BEN, "ho", NOON - 1_000),
    ])  # fmt: skip
    context = await ask(
        client, system=SystemPrompt("Be kind."), self_ids=["bot"], include_system=include_system
    )
    history = [
        {"role": "user", "content": "Ann <u1>: hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "Ben <u2>: ho"},
        {"role": "user", "content": "Ann <u1>: what now?"},
    ]
    system = {"role": "system", "content": "Be kind."}
    assert context.payload["messages"] == [system, *history]
    assert context.messages == ([system, *history] if include_system else history)
    ids = [list(m.message_ids) for m in context.raw.messages]
    assert ids == [[]] * include_system + [["m1"], ["m2"], ["m3"], []]


@pytest.mark.row("S3-29", "S3-16", "S3-11")
@pytest.mark.parametrize(("window", "most"), [(1, 16), (3, 20), (12, 40), (20, 16)])
async def test_first_the_number_then_the_length(window, most):
    """Any chat: the last n, then each of these cut; what was left out is neither cut nor counted as such."""
    async with served(tg_history_window=window, max_chars_per_message=most) as (client, _):
        for seed in range(40):
            rng = random.Random(seed)
            channel = f"room {seed}"
            texts = [
                rng.choice("ab天👍") * rng.choice((1, most - 1, most, most + 1, 3 * most))
                for _ in range(rng.randint(0, 2 * window + 1))
            ]
            if texts:
                await client.append(channel, lines(texts))
            overrides = Overrides(recent_limit=500)  # the compressor counts, not the source
            context = await client.build_context(
                channel, "so?", asker="u1", asked_at=NOON, profile="naive", overrides=overrides,
                speaker_style="tagged", **WHOLE,
            )  # fmt: skip
            newest = texts[-window:]
            expected = [t if len(t) <= most else t[: most - 1] + "…" for t in newest]
            assert texts_of(context) == expected
            was_cut = len(texts) > window or expected != newest
            told = [e for e in context.raw.events if e.type == "context.compressed"]
            assert len(told) == was_cut
            for event in told:
                assert dict(event.payload) == {
                    "original_count": str(len(texts)), "compressed_count": str(len(newest)),
                    "max_messages": str(window), "max_chars_per_message": str(most),
                }  # fmt: skip


@pytest.mark.row("S4-03")
async def test_the_window_is_twenty_and_cut_in_the_builder_alone():
    """What is stored, listed, searched and sent to the model is whole; a larger window is shown whole, too."""
    model = FakeModel(answer=lambda _: ("ok", Finished(FinishReason.STOP)))
    async with served(model=model) as (client, _):
        sent = lines([f"line {n}" for n in range(480)])
        await client.append("room", sent)
        usual = await ask(client, profile="room")
        assert [item.message.id for item in usual.items] == [m.id for m in sent[-20:]]
        assert [m.message.id async for m in client.list_messages("room")] == [m.id for m in sent]
        wide = {"profile": "room", "overrides": Overrides(recent_limit=500, max_context=500)}
        for explain in (False, True):
            context = await ask(client, explain=explain, **wide)
            assert [item.message.id for item in context.items] == [m.id for m in sent]
            assert len(context.messages) == len(context.payload["messages"]) == 481
            assert len(context.text.splitlines()) == 481  # with its title
        heard = [e async for e in client.stream_chat(
            "room", "what now?", asker="u1", speaker_style="tagged", **wide, **WHOLE,
        )]  # fmt: skip
        assert heard
        assert len(model.requests[0].messages) == 481
