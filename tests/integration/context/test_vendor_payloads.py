"""P-09: whatever is cut from a chat with tools, all four vendors take the payload; over the wire."""

import json
from random import Random

import pytest

from backscroll import Author, Message, ToolCall, ToolResult
from backscroll.errors import InvalidRequest
from tests.kit.served import served
from tests.kit.vendors.rules import APIS, check

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "小黑"), Author("bot", "Helper", kind="bot")
QUESTION = "⟦the one question 问题⟧"
HISTORIES = 40


def chat(random: Random) -> list[Message]:
    """Lines, and rounds of tools whose results come late, in pieces, twice or never."""
    lines: list[Message] = []
    for number in range(random.randrange(4, 30)):
        id_, at = f"m{number}", NOON - (60 - number) * MINUTE
        match random.choice(["line", "line", "calls", "result", "said"]):
            case "line":
                lines.append(Message(id_, random.choice([ANN, BEN]), f"line {number} 猫" * 5, at))
            case "said":
                lines.append(Message(id_, BOT, "well", at, role="assistant"))
            case "calls":
                calls = [
                    ToolCall(f"c{number}.{place}", random.choice(["weather", "查天气"]), "{}")
                    for place in range(random.randrange(1, 4))
                ]
                lines.append(Message(id_, BOT, parts=calls, sent_at=at, role="assistant"))
            case "result":
                of = f"c{random.randrange(max(number, 1))}.{random.randrange(3)}"
                part = ToolResult(of, "weather", "sunny " * random.randrange(1, 30))
                lines.append(Message(id_, BOT, parts=[part], sent_at=at, role="tool"))
    return lines


@pytest.mark.row("P-09")
@pytest.mark.parametrize("seed", range(4))
async def test_every_vendor_takes_what_is_left(seed):
    random = Random(seed)
    answered = 0
    async with served() as (client, _):
        for number in range(HISTORIES):
            channel = f"room{number}"
            await client.append(channel, chat(random))
            for budget in (4_000, random.randrange(60, 500)):
                try:
                    context = await client.build_context(
                        channel,
                        QUESTION,
                        asker=ANN,
                        self_ids=["bot"],
                        profile=random.choice(["balanced", "room", "naive", "steady"]),
                        token_budget=budget,
                        payload_formats=APIS,
                        model="gpt-5.6",
                    )
                except InvalidRequest as refused:
                    if refused.reason != "BUDGET_TOO_SMALL":
                        raise
                    continue
                answered += 1
                assert context.tokens.total <= budget
                for api, payload in zip(APIS, context.raw.payloads, strict=True):
                    body = json.loads(payload.body)
                    check(api, body, "gpt-5.6")
                    assert json.dumps(body, ensure_ascii=False).count(QUESTION) == 1
    assert answered > HISTORIES
