"""P-11, P-12: a window that moves in steps, so that what payloads begin with stays for many turns; and says why not."""

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from backscroll import AsyncClient, Author, Message, ToolCall, ToolResult
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.context.stable_prefix import with_cache_marks
from backscroll_sidecar.context.steady_window import first_shown
from backscroll_sidecar.domain import NeutralMessage, Role, TokenizerName
from tests.integration.summaries.test_long_chat import WORDS, MisbehavingSummariser
from tests.kit.chats import DAY_MS, NOON_MS
from tests.kit.fake_model import FakeModel
from tests.kit.served import served
from tests.kit.vendors.rules import check

ROOM = "room"
BUDGET = 8_000
MESSAGES_A_TURN = 10
BOT = Author("bot", "Cat", kind="bot")
TOOLS = '[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]'
SYSTEM = "You are the bot of this room. " * 140
COUNT = token_counter(TokenizerName.O200K).count


def people(turns: int) -> list[Author]:
    """Everybody who came so far: every 25 turns somebody joins."""
    named = ["Ann", "Ben", "小黑", "Zoë", "Ann", "李雷", "Dora", "Ed"]
    return [
        Author(f"u{n}", f"{named[n % len(named)]}{n // len(named) or ''}")
        for n in range(2 + turns // 25)
    ]


def said(number: int, at_ms: int) -> list[Message]:
    """Ten messages of one turn; in every third one a tool is called, whose result now and then is huge."""
    first, who, out = number * MESSAGES_A_TURN, people(number), list[Message]()
    for n in range(first, first + MESSAGES_A_TURN):
        words = " ".join(WORDS[(n * 7 + k) % len(WORDS)] for k in range(25))
        sent = at_ms - (first + MESSAGES_A_TURN - n) * 1_000
        out.append(Message(f"m{n}", who[n % len(who)], f"line {n} {words}", sent))
    if number % 3 == 0:
        result = "r" * (40_000 if number % 60 == 30 else 500)
        calls = [ToolCall(f"c{number}", "look", "{}")]
        out[-2] = Message(out[-2].id, BOT, None, out[-2].sent_at, parts=calls, role="assistant")
        told = ToolResult(f"c{number}", result, "look")
        out[-1] = Message(out[-1].id, BOT, told, out[-1].sent_at, role="tool")
    return out


def at(number: int) -> int:
    return NOON_MS - (400 - number) * 20_000


async def build(client: AsyncClient, number: int, **fields: object) -> pb.BuildContextResponse:
    who = people(number)
    options: dict[str, object] = {
        "asker": who[number % len(who)].id, "system": SYSTEM, "asked_at": at(number), "tools_json": TOOLS,
        "token_budget": BUDGET, "profile": "steady", "self_ids": ["bot"], "include_names": True,
        "include_system": True,
    } | fields  # fmt: skip
    return (await client.build_context(ROOM, f"what of line {number * 5}?", **options)).raw


def payload(raw: pb.BuildContextResponse) -> list[dict]:
    return json.loads(raw.payloads[0].body)["messages"]


def change(raw: pb.BuildContextResponse) -> str:
    return pb.PrefixChange.Name(raw.diagnostics.prefix_change).removeprefix("PREFIX_CHANGE_")


def tokens_alike(one: list[dict], other: list[dict]) -> int:
    """Tokens of the messages that two payloads begin with alike, the tools with them."""
    alike = COUNT(TOOLS)
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        alike += (
            4
            + COUNT(a.get("content") or "")
            + sum(COUNT(json.dumps(c)) for c in a.get("tool_calls", ()))
        )
    return alike


def first_other(before: list[dict], now: list[dict]) -> tuple[dict, dict] | None:
    pairs = zip(before, now, strict=False)
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


@pytest.mark.row("P-11")
@pytest.mark.row("P-12")
@pytest.mark.row("N-20")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_compacted", [False, True])
async def test_three_hundred_turns_of_a_growing_group(tmp_path: Path, is_compacted: bool):
    """3,000 messages, a system text of 1,000 tokens: the prefix stays for eight turns and more in the median, what is
    reported is there, nothing is over the budget, and a restart in the middle changes nothing.
    """
    settings = {"compaction": "auto", "compaction_tokens": 4_500, "compaction_keep_tokens": 400}
    runs, lived, shown, turns = list[int](), 0, 0, 300
    before: list[dict] = []
    reported = 0
    assert COUNT(SYSTEM) > 950
    for half in range(2):
        model = FakeModel(answer=MisbehavingSummariser())
        given = settings if is_compacted else {}
        async with served(tmp_path / "b.db", model=model, **given) as (client, _):
            if half:
                again = await build(client, turns // 2 - 1)
                assert again.payloads == raw.payloads  # noqa: F821
                assert change(again) == "FIRST"
            for number in range(half * turns // 2, (half + 1) * turns // 2):
                await client.append(ROOM, said(number, at(number)))
                if is_compacted:  # behind the answers; people do not write faster either
                    await asyncio.sleep(0.02)
                raw = await build(client, number)
                assert raw.rung == pb.RUNG_RANKED
                assert raw.tokens.total <= BUDGET
                messages = payload(raw)
                stays = messages[: len(before)] == before
                if number != half * turns // 2:
                    assert (change(raw) == "NONE") == stays, first_other(before, messages)
                if stays:
                    assert reported <= tokens_alike(messages, before) + len(before)
                    lived += 1
                else:
                    assert change(raw) in {"FIRST", "TRIMMED", "SUMMARY", "MESSAGES"}
                    runs.append(lived)
                    lived = 1
                before = messages[: raw.stable_prefix_messages]
                reported = raw.stable_prefix_tokens
                assert [one.content for one in raw.messages[: raw.stable_prefix_messages]]
                shown += raw.HasField("summary")
    assert median(runs[1:]) >= 8
    assert shown > 250 if is_compacted else shown == 0
    counted = raw.tokens
    assert reported == counted.tools + counted.system + counted.summary + counted.recent


async def test_each_change_says_why(tmp_path: Path):
    """What stands in the prefix changes: that is told once, with the reason; then it stays again."""
    async with served(tmp_path / "b.db", compaction_keep_tokens=400) as (client, _):
        for number in range(6):
            await client.append(ROOM, said(number, at(number)))
        assert change(await build(client, 6)) == "FIRST"

        async def told(**fields: object) -> list[str]:
            return [change(await build(client, n, **fields)) for n in (6, 7)]

        assert await told() == ["NONE", "NONE"]
        assert await told(system="Be brief.") == ["SYSTEM", "NONE"]
        assert await told() == ["NONE", "NONE"]
        other = TOOLS.replace("look", "see")
        assert await told(tools_json=other) == ["TOOLS", "NONE"]
        assert await told() == ["NONE", "NONE"]
        assert await told(speaker_style="role") == ["STYLE", "NONE"]
        assert await told() == ["NONE", "NONE"]
        assert await told(asked_at=at(6) + DAY_MS) == ["STYLE", "NONE"]
        assert await told() == ["NONE", "NONE"]
        await client.edit_message(ROOM, "m20", "now it says this")
        assert await told() == ["MESSAGES", "NONE"]
        await client.recall_message(ROOM, "m25")
        assert await told() == ["MESSAGES", "NONE"]
        await client.recall_message(ROOM, "m0")
        assert await told() == ["MESSAGES", "NONE"]
        late = Message("late", people(2)[1], "came late", at(1))
        await client.append(ROOM, [late])
        assert await told() == ["MESSAGES", "NONE"]
        await client.compact(ROOM)
        assert await told() == ["SUMMARY", "NONE"]
        assert await told(without_summary=True) == ["NONE", "NONE"]  # as before the summary
        assert await told(token_budget=3_000, without_summary=True) == ["TRIMMED", "NONE"]
        plain = await build(client, 6, profile="balanced")
        assert change(plain) == "UNSPECIFIED"
        assert plain.stable_prefix_messages == 1 + plain.HasField("summary")


async def test_what_is_found_elsewhere_stands_behind(tmp_path: Path):
    """What the question replies to, pins and what the history answers come behind the window, not before it."""
    async with served(tmp_path / "b.db") as (client, _):
        await client.append(
            ROOM, [Message("old", people(0)[0], "The wifi password is tulip-42.", at(-90))]
        )
        await client.append(ROOM, [Message("pin", people(0)[1], "Rule one: no spoilers.", at(-90))])
        for number in range(24):
            await client.append(ROOM, said(number, at(number)))
        await client.pin_message(ROOM, "pin")
        first = await build(client, 24)
        assert first.items[0].message.id != "old"
        raw = (
            await client.build_context(
                ROOM, "what was the wifi password?", asker="u0", system=SYSTEM, asked_at=at(24),
                tools_json=TOOLS, token_budget=BUDGET, profile="steady", self_ids=["bot"],
                include_names=True, include_system=True, explain=True,
                reply="old",
            )
        ).raw  # fmt: skip
        assert change(raw) == "NONE"
        by_id = {one.message.id: one for one in raw.items}
        assert by_id["old"].category == by_id["pin"].category == pb.CATEGORY_SEMANTIC
        stays = raw.messages[: raw.stable_prefix_messages]
        behind = raw.messages[raw.stable_prefix_messages :]
        assert "tulip-42" not in "".join(one.content for one in stays)
        assert len(behind) == 2
        assert "tulip-42" in behind[0].content
        assert "no spoilers" in behind[0].content


def marks(value: object) -> int:
    """How many marks of a prompt cache are in a body."""
    if isinstance(value, dict):
        own = ("cache_control" in value) + ("prompt_cache_breakpoint" in value)
        return own + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


async def bodies(client: AsyncClient, number: int, **fields: object) -> dict[str, dict]:
    apis = ["openai_chat", "openai_responses", "anthropic_messages", "gemini_contents"]
    raw = await build(client, number, payload_formats=apis, **fields)
    return {api: json.loads(one.body) for api, one in zip(apis, raw.payloads, strict=True)}


@pytest.mark.row("P-12")
async def test_marks_for_prompt_caches(tmp_path: Path):
    """Anthropic's four at most, OpenAI's where they are known, in places that stay; none where nobody wants them."""
    async with served(tmp_path / "b.db") as (client, _):
        for number in range(7):
            await client.append(ROOM, said(number, at(number)))
        made = await bodies(client, 7, model="gpt-4o-mini", provider="api.openai.com/v1")
        claude = made["anthropic_messages"]
        assert [
            marks(made[api]) for api in ("openai_chat", "openai_responses", "gemini_contents")
        ] == [0] * 3
        assert (marks(claude), marks(claude["system"])) == (4, 1)
        assert "cache_control" not in claude["messages"][-1]["content"][-1]
        assert marks(claude["messages"][-3:]) >= 1
        new = {"model": "gpt-5.6-mini-2026-08-01", "provider": "api.openai.com/v1"}
        made = await bodies(client, 7, **new)
        for api in ("openai_chat", "openai_responses"):
            check(api, made[api])
            assert 3 <= marks(made[api]) <= 80
        await client.append(ROOM, said(7, at(7)))
        later = await bodies(client, 8, **new)
        a, b = (
            [at for at, one in enumerate(body["openai_chat"]["messages"]) if marks(one)]
            for body in (made, later)
        )
        assert set(a[:-1]) <= set(b)
        assert sum(map(marks, (await bodies(client, 8, **new, cache_marks=False)).values())) == 0
        compatible = new | {"provider": "llm.example.org/v1"}
        assert marks((await bodies(client, 8, **compatible))["openai_chat"]) == 0
        asked = await bodies(client, 8, profile="balanced", cache_marks=True)
        assert (
            marks(asked["anthropic_messages"]) == marks(asked["anthropic_messages"]["system"]) == 1
        )
        assert marks((await bodies(client, 8, profile="balanced"))["anthropic_messages"]) == 0
        varying = {"text": "It is {{asked_at}}.", "is_template": True}
        changing = await bodies(client, 8, system=pb.SystemPrompt(**varying))
        assert marks(changing) == 0


async def test_a_call_that_waits_for_its_result_is_no_part_of_it(tmp_path: Path):
    """What the payload says of it changes once the result is there; what comes before it does not."""
    async with served(tmp_path / "b.db") as (client, _):
        await client.append(ROOM, said(1, at(1)))
        calls = [ToolCall("x1", "look", "{}"), ToolCall("x2", "look", "{}")]
        await client.append(ROOM, [
            Message("call", BOT, None, at(2), role="assistant", parts=calls),
            Message("between", people(2)[0], "well?", at(2) + 1),
        ])  # fmt: skip
        before = await build(client, 3)
        for n, result in enumerate(("x2", "x1")):
            told = Message(
                f"r{n}", BOT, ToolResult(result, "sunny", "look"), at(2) + 2 + n, role="tool"
            )
            await client.append(ROOM, [told])
            now = await build(client, 3 + n)
            assert change(now) == "NONE"
            stable = before.stable_prefix_messages
            assert payload(now)[:stable] == payload(before)[:stable]
            assert stable == 11
        assert "sunny" in json.dumps(payload(now))
        assert now.stable_prefix_messages == 11 + 4


async def test_every_payload_fits_whichever_is_named_first(tmp_path: Path):
    """Names beside messages cost where one of the formats has them."""
    who = [Author(f"user-{n}", f"A-rather-long-name-of-somebody-{n}") for n in range(9)]
    async with served(tmp_path / "b.db") as (client, _):
        lines = [Message(f"m{n}", who[n % 9], "ok then", at(0) + n) for n in range(300)]
        await client.append(ROOM, lines)
        for formats in (["gemini_contents", "openai_chat"], ["openai_chat", "gemini_contents"]):
            raw = await build(
                client, 3, payload_formats=formats, speaker_style="role", time_style="none", token_budget=2_000,
            )  # fmt: skip
            assert [
                pb.PayloadFormat.Name(one.format)[15:].lower() for one in raw.payloads
            ] == formats
            body = json.loads(raw.payloads[formats.index("openai_chat")].body)["messages"]
            spent = sum(5 + COUNT(one["content"]) + COUNT(one.get("name", "")) for one in body)
            assert spent <= raw.tokens.total + len(body) <= 2_000 + len(body)


async def test_a_late_message_does_not_open_the_summary_again(tmp_path: Path):
    """It came when others of its time were summarised: the window goes on where it was."""
    async with served(tmp_path / "b.db", compaction_keep_tokens=400) as (client, _):
        for number in range(12):
            await client.append(ROOM, said(number, at(number)))
        await client.compact(ROOM)
        before = await build(client, 12)
        await client.append(ROOM, [Message("late", people(2)[1], "came late", at(1))])
        now = await build(client, 12)
        assert now.stable_prefix_messages <= before.stable_prefix_messages + 2


@pytest.mark.row("P-11")
async def test_a_thread_in_a_busy_channel_keeps_its_prefix(tmp_path: Path):
    """One message in forty is its: the window grows and steps like that of a channel."""
    runs, lived, before = list[int](), 0, list[dict]()
    async with served(tmp_path / "b.db") as (client, _):
        for number in range(60):
            noise = [Message(f"n{number}-{k}", "u9", "noise", at(number) + k) for k in range(80)]
            own = [
                Message(
                    f"t{number}-{k}",
                    people(2)[k],
                    "word " * 30,
                    at(number) + 100 + k,
                    thread_id="t",
                )
                for k in range(2)
            ]
            await client.append(ROOM, [*noise, *own])
            raw = await build(
                client, number + 1, thread_id="t", token_budget=3_000, system="Be brief."
            )
            lived += 1
            if payload(raw)[: len(before)] != before:
                runs.append(lived)
                lived = 0
            before = payload(raw)[: raw.stable_prefix_messages]
    assert median(runs[1:]) >= 8


def test_where_a_window_begins():
    """It steps, whatever is before the last block; a line that is larger than all of it leaves room for the next."""
    tokens = np.full(20_000, 10.0)
    seq = np.arange(1, 20_001)
    firsts = [first_shown(tokens[:n], seq[:n], 1_000.0, 10_000) for n in range(1, 6_000)]
    sizes = [n - first for n, first in zip(range(1, 6_000), firsts, strict=True)]
    assert max(sizes) == 100
    assert min(sizes[200:]) >= 25
    steps = sum(a != b for a, b in pairwise(firsts))
    assert steps <= 6_000 // 75 + 2 * (6_000 // 2_048)
    for gone in (1, 7, 300):  # old ones are erased
        kept = np.delete(np.arange(9_000), np.arange(gone))
        assert first_shown(tokens[kept], seq[kept], 1_000.0, 10_000) + gone == first_shown(
            tokens[:9_000], seq[:9_000], 1_000.0, 10_000
        )
    huge = tokens[:300].copy()
    huge[250] = 5_000.0
    assert first_shown(huge, seq[:300], 1_000.0, 10_000) == 251
    assert first_shown(tokens[:50], seq[:50], 1_000.0, 10) >= 40


def test_marks_stand_in_the_same_places():
    """The places between do not move with the end."""
    lines = [NeutralMessage(Role.USER, f"line {n}") for n in range(90)]
    places = [
        [at for at, one in enumerate(with_cache_marks(lines, n)) if one.ends_prefix]
        for n in range(1, 90)
    ]
    assert places[0] == [0]
    assert all(set(a[:-1]) <= set(b) and b[-1] == a[-1] + 1 for a, b in pairwise(places))
    assert max(b - a for one in places for a, b in pairwise(one)) <= 32
