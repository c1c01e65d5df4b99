"""What an answer says of itself over the wire: every candidate's fate, where the tokens went, what stays next turn."""

import json
import math
from itertools import product

import pytest

from backscroll import Author, InvalidRequest, Member, Message, Overrides, SystemPrompt
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import TokenizerName

NOON = 1_795_176_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")
LAYOUTS = ["turns", "context_and_question", "single_user", "system_and_user"]
TOOLS = json.dumps([{"type": "function", "function": {"name": "search", "parameters": {}}}])
COUNT = token_counter(TokenizerName.O200K).count


def talk(count: int) -> list[Message]:
    return [
        Message(f"m{n:02}", (BEN, CAT)[n % 2], f"line {n} 关于火车", NOON - HOUR + n * MINUTE)
        for n in range(count)
    ]


async def ask(client, question="which 火车?", **fields):
    fields = {"asker": ANN, "asked_at": NOON, "explain": True, **fields}
    return await client.build_context("room", question, **fields)


def fates(context) -> dict[str, str]:
    return {
        one.message_id: pb.Fate.Name(one.fate).removeprefix("FATE_")
        for one in context.explanation.candidates
    }


@pytest.mark.row("N-04", "P-01")
@pytest.mark.parametrize("profile", sorted(PROFILES))
async def test_every_candidate_is_accounted_for(client, profile):
    """Once, with sources, all components, a stage and a fate; the selected ones are the items, ranked without gaps."""
    said = [Message(f"far{n}", BEN, "火车 which way?", NOON - DAY + n) for n in range(3)]
    await client.append("room", [*said, *talk(40)])
    await client.recall_message("room", "m38")
    context = await ask(client, profile=profile, overrides=Overrides(max_context=7))
    candidates = list(context.explanation.candidates)
    assert len({one.message_id for one in candidates}) == len(candidates)
    assert len(candidates) == context.raw.diagnostics.candidate_count > 7
    items = {item.message.id: item for item in context.items}
    for one in candidates:
        assert list(one.sources)
        assert one.decided_by
        assert one.fate != pb.FATE_UNSPECIFIED
        assert len(one.shares) == len(context.explanation.factors)
        assert math.fsum(one.shares) == pytest.approx(one.linear, abs=1e-9)
        item = items.pop(one.message_id, None)
        assert (item is not None) == (one.fate == pb.FATE_SELECTED)
        if item is not None:
            assert (item.rank, list(item.sources)) == (one.rank, list(one.sources))
            assert item.score == pytest.approx(one.score)
            if profile == "classic":
                assert one.score >= context.explanation.threshold - 1e-6
    assert not items
    assert sorted(item.rank for item in context.items) == [*range(1, len(context.items) + 1)]
    assert fates(context).get("m38", "RECALLED") == "RECALLED"


@pytest.mark.row("N-04")
async def test_near_misses_say_why_they_lost(client):
    """Threshold, maximum, budget, copy, alikeness, visibility, recall: each reason where it is the reason."""
    await client.append("room", talk(30))
    plain = {"profile": "room", "overrides": Overrides(max_context=5)}
    found = fates(await ask(client, **plain))
    assert [found[f"m{n:02}"] for n in range(24, 30)] == ["LIMIT", *["SELECTED"] * 5]
    await client.recall_message("room", "m29")
    assert fates(await ask(client, **plain))["m29"] == "RECALLED"
    found = fates(await ask(client, profile="room", token_budget=150, speaker_style="role"))
    assert set(found.values()) == {"SELECTED", "BUDGET", "RECALLED"}
    assert (found["m28"], found["m10"]) == ("SELECTED", "BUDGET")
    high = fates(await ask(client, profile="classic", overrides=Overrides(relevance_threshold=1.0)))
    assert set(high.values()) == {"THRESHOLD", "RECALLED"}
    await client.upsert_members("room", [Member("u1", "Ann", joined_at=NOON - 35 * MINUTE)])
    hidden = fates(await ask(client, profile="room", visible_since_membership=True))
    assert (hidden["m24"], hidden["m25"]) == ("VISIBILITY", "SELECTED")
    key = "钥匙在后门旁边的蓝色花盆下面"
    said = ["老丹也有一把钥匙，不过他星期天之前都在海上", key + "!", key]
    lines = [
        Message(f"k{n}", (CAT, CAT, BEN)[n], text, NOON - DAY + n) for n, text in enumerate(said)
    ]
    await client.append("keys", lines)
    asked = {"asker": ANN, "asked_at": NOON, "explain": True}
    mmr = await client.build_context(
        "keys", "后门钥匙？", profile="hybrid", **asked,
        overrides=Overrides(sources=["lexical"], max_context=2),
    )  # fmt: skip
    assert fates(mmr) == {"k0": "SELECTED", "k1": "DIVERSITY", "k2": "SELECTED"}
    await client.append("keys", [Message("copy", BEN, key, NOON - DAY + 9)])
    copies = await client.build_context("keys", "后门钥匙？", profile="memory", **asked)
    assert list(fates(copies).values()).count("DUPLICATE") == 1


@pytest.mark.row("P-02", "P-25", "S2-08")
@pytest.mark.parametrize("profile", sorted(PROFILES))
async def test_no_part_makes_it_exceed_the_budget(client, profile):
    """Preferences, references, system, tools, reserve, in every layout: what can be counted in the payload is what the
    parts sum to, and it fits."""
    await client.append("room", talk(40))
    for line in ("likes short answers", "说中文", "is called Dr. Ann"):
        await client.set_preference("u1", line)
    usual = (await ask(client, profile=profile, explain=False)).tokens
    assert usual.total <= usual.budget == (16_384 if profile in {"naive", "steady"} else 4_096)
    for layout, budget in product(LAYOUTS, (250, 400, 1_000, 4_096)):
        context = await ask(
            client, profile=profile, layout=layout, token_budget=budget, tools_json=TOOLS,
            reserve_tokens=50, system=SystemPrompt("Be kind. 你好。"), preferences=["喜欢火车"],
            overrides=Overrides(relevance_threshold=0.0), explain=False,
        )  # fmt: skip
        tokens = context.tokens
        counted = 3 + 50 + COUNT(TOOLS)
        counted += sum(4 + COUNT(m["content"]) for m in context.payload["messages"])
        assert tokens.total == counted <= budget
        parts = (
            tokens.system, tokens.tools, tokens.preferences, tokens.recent, tokens.semantic, tokens.question,
            tokens.framing, tokens.reserve,
        )  # fmt: skip
        assert sum(parts) == counted
        assert min(parts) >= 0
        assert (tokens.tools, tokens.reserve) == (COUNT(TOOLS), 50)
        assert (tokens.preferences > 0) == (
            context.text.startswith(("User Preferences", "用户偏好"))
        )
        assert tokens.preferences > 0


@pytest.mark.row("P-12")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("include_system", [False, True])
async def test_what_stays_is_there_in_the_next_turn(client, layout, include_system):
    """As many tokens as are reported begin the next turn's payload, too, whoever asks what; the tools before them."""
    await client.append("room", talk(8))
    system = "You are the bot of a climbing club.\nBe brief."
    fixed = {"layout": layout, "include_system": include_system, "tools_json": TOOLS}
    fixed |= {"profile": "room", "system": SystemPrompt(system)}
    first = await ask(client, **fixed)
    await client.append("room", [Message("q", ANN, "which 火车?", NOON)])
    other = {"asker": BEN, "asked_at": NOON + MINUTE}
    second = await ask(client, "猫吃什么？", **fixed, **other)
    bodies = [context.payload["messages"][0] for context in (first, second)]
    shown = {body["content"].split("\n\n")[0].removeprefix("System: ") for body in bodies}
    assert {one.replace("\n  ", "\n") for one in shown} == {system}
    stable = {context.raw.stable_prefix_tokens for context in (first, second)}
    assert stable == {first.tokens.system + first.tokens.tools}
    assert COUNT(system) + COUNT(TOOLS) <= stable.pop()
    template = SystemPrompt("Be brief. You talk to {{asker_name}}, be kind.", True)
    changing = await ask(client, **(fixed | {"system": template, "tools_json": ""}))
    assert 0 < changing.raw.stable_prefix_tokens <= COUNT("Be brief. You talk to ") + 4
    nothing = await ask(client, **(fixed | {"system": SystemPrompt(""), "tools_json": ""}))
    assert nothing.raw.stable_prefix_tokens == 0
    with pytest.raises(InvalidRequest):
        await ask(client, **fixed, token_budget=10)
