"""Cause by cause over real sockets: what the model's server does, what is heard, how it ends, what is stored."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from backscroll_sidecar.chat.endings import ERROR_PREFIX
from tests.contract.models.sse_server import (
    CUT,
    DONE,
    HANG,
    Reply,
    Step,
    chunk,
    data,
    error_body,
    said,
    stopped,
    used,
)
from tests.integration.chat.talk import talk_to, text_of, turn

LENGTH_BYTES = "(后续内容被截断)".encode()
FILTER_BYTES = "赤尾有点不想讨论这个话题呢~".encode()
LATE = {"model_idle_seconds": 0.2}
LENIENT = {"model_missing_finish_is_complete": True}
SECRET = "boom sk-secret http://10.0.0.1"
JSON = {"content-type": "application/json"}


def refused(status: int, **headers: str) -> Reply:
    body = [error_body("nothing_known", SECRET)]
    return Reply(body, status=status, headers={**JSON, **headers})


def cut_after(k: int) -> tuple[Step, ...]:
    return (*(said(f"{i}猫") for i in range(k)), CUT)


@dataclass(frozen=True)
class Row:
    """One cause and what follows. `stored` None: no reply is; `partial`: it is, marked."""

    reply: Reply
    text: str
    ending: str
    error: str = ""
    notice: bytes = b""
    partial: bool = False
    settings: dict[str, object] = field(default_factory=dict)
    usage: tuple[int, int] | None = None


def steps(*given: Step) -> Reply:
    return Reply(given)


NO_ANSWER = "the model did not answer in time"
BROKEN = "the connection to the model failed"
UNREADABLE = "the model's answer could not be read"
FAILED = "the model's server failed"
BUSY = "the model has too many requests at the moment"

ROWS: dict[str, Row] = {
    "stop": Row(steps(said("你好"), said("，🐟 "), said("👩‍👩‍👧!"), stopped(), DONE), "你好，🐟 👩‍👩‍👧!", "COMPLETE"),
    "stop, one chunk a byte": Row(
        steps(*(bytes([byte]) for byte in said("猫🐟") + stopped() + DONE)), "猫🐟", "COMPLETE"
    ),
    "length": Row(steps(said("半"), stopped("length"), DONE), "半", "LENGTH", notice=LENGTH_BYTES),
    "length, nothing said": Row(steps(stopped("length"), DONE), "", "LENGTH", notice=LENGTH_BYTES),
    "length, no notice wanted": Row(
        steps(said("半"), stopped("length")), "半", "LENGTH", settings={"length_notice": ""}
    ),
    "length, own notice": Row(
        steps(said("半"), stopped("length")), "半", "LENGTH", notice=b"...", settings={"length_notice": "..."}
    ),
    "content filter": Row(
        steps(said("嗯"), stopped("content_filter"), DONE), "嗯", "CONTENT_FILTER", notice=FILTER_BYTES
    ),
    "content filter, own notice": Row(
        steps(stopped("content_filter")), "", "CONTENT_FILTER", notice=b"no.", settings={"content_filter_notice": "no."}
    ),
    "429": Row(refused(429, **{"retry-after": "7"}), "", "UPSTREAM_ERROR", BUSY),
    "500": Row(refused(500), "", "UPSTREAM_ERROR", FAILED),
    "401": Row(refused(401), "", "UPSTREAM_ERROR", "the model refused the server's credentials"),
    "timeout before the first delta": Row(steps(HANG), "", "UPSTREAM_ERROR", NO_ANSWER, settings=LATE),
    "timeout before the head": Row(
        Reply(before_head=[HANG]), "", "UPSTREAM_ERROR", NO_ANSWER, settings=LATE
    ),
    "timeout between deltas": Row(
        steps(said("猫"), HANG), "猫", "UPSTREAM_ERROR", NO_ANSWER, partial=True, settings=LATE
    ),
    **{
        f"cut after {k} deltas": Row(
            Reply(cut_after(k)), "".join(f"{i}猫" for i in range(k)), "UPSTREAM_ERROR", BROKEN, partial=k > 0
        )
        for k in range(21)
    },
    "cut after the reason": Row(steps(said("猫"), stopped(), CUT), "猫", "COMPLETE"),
    "no reason": Row(steps(said("猫"), DONE), "猫", "INCOMPLETE", partial=True),
    "no reason, lenient": Row(steps(said("猫"), DONE), "猫", "COMPLETE", settings=LENIENT),
    "malformed line": Row(
        steps(said("猫"), b'data: {"choices": [{\n\n'), "猫", "UPSTREAM_ERROR", UNREADABLE, partial=True
    ),
    "malformed line first": Row(steps(b"data: {\n\n"), "", "UPSTREAM_ERROR", UNREADABLE),
    "error event": Row(
        steps(said("猫"), data({"error": {"message": SECRET}})), "猫", "UPSTREAM_ERROR", FAILED, partial=True
    ),
    "error event first": Row(steps(data({"error": {"message": SECRET}})), "", "UPSTREAM_ERROR", FAILED),
    "comments": Row(steps(b": ping\n\n", said("猫"), b":\n\n", stopped(), DONE), "猫", "COMPLETE"),
    "empty choices": Row(steps(data({"choices": []}), said("猫"), stopped(), DONE), "猫", "COMPLETE"),
    "empty deltas": Row(steps(data(chunk({"content": ""})), said("猫"), stopped()), "猫", "COMPLETE"),
    "usage": Row(steps(said("猫"), stopped(), used(120, 7), DONE), "猫", "COMPLETE", usage=(120, 7)),
    "calls announced, none made": Row(
        steps(said("猫"), stopped("tool_calls")), "猫", "INCOMPLETE", partial=True
    ),
    "calls of tools it was not given": Row(
        steps(
            said("猫"),
            data(chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "rm", "arguments": "{}"}}]})),
            stopped("tool_calls"),
        ),
        "猫", "UPSTREAM_ERROR", "the model asked for tools it was not given", partial=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", ROWS)
async def test_cause_events_ending_and_what_is_stored(cause: str) -> None:
    """Law 8, S2-19, S5-31, S5-32: deltas as they came, a notice or an error, one end; the reply once or not at all."""
    row = ROWS[cause]
    async with talk_to([row.reply], **row.settings) as (bot, server):
        heard = await bot.ask(turn("问？"))
        # END follows the commits: nothing is waited for here.
        question, *replies = await bot.stored()
        later = await bot.client.build_context("room", "and later?", asker="u1")
    assert len(server.exchanges) == 1  # nobody asks twice
    assert (heard.text, heard.reason) == (row.text, row.ending)
    assert [one.text.encode() for one in heard.notices] == ([row.notice] if row.notice else [])
    assert [one.message for one in heard.errors] == (
        [ERROR_PREFIX + row.error] if row.error else []
    )
    assert SECRET not in str(heard.events)
    expected = ["context"] + ["delta"] * heard.kinds.count("delta")
    expected += ["notice"] * bool(row.notice) + ["error"] * bool(row.error) + ["end"]
    assert heard.kinds == expected
    assert list(heard.context.degradations) == []
    usage = (heard.end.usage.prompt_tokens, heard.end.usage.completion_tokens)
    assert (usage if heard.end.HasField("usage") else None) == row.usage
    assert text_of(question) == "问？"
    assert [(text_of(one), one.message.id, one.partial) for one in replies] == (
        [(row.text, heard.end.reply_message_id, row.partial)] if row.text else []
    )
    assert bool(heard.end.reply_message_id) == bool(row.text)
    assert heard.end.partial == row.partial
    seen = [item.message.id for item in later.items]
    wanted = [question.message.id]
    assert seen == (wanted if row.partial or not row.text else [*wanted, replies[0].message.id])


def test_the_notices_are_the_bytes_of_the_design() -> None:
    """S5-31: exact default bytes, in the settings' defaults too."""
    from backscroll_sidecar.settings import Settings

    settings = Settings()
    assert settings.length_notice.encode() == LENGTH_BYTES
    assert settings.content_filter_notice.encode() == FILTER_BYTES


async def test_an_answer_larger_than_a_message_is_heard_and_said_not_to_be_stored() -> None:
    """Law 5: what the history cannot take costs the history only."""
    piece = "猫" * 4_000
    async with talk_to([Reply([*[said(piece)] * 7, stopped()])]) as (bot, _):
        heard = await bot.ask(turn())
        (question,) = await bot.stored()
    assert (heard.text, heard.reason) == (piece * 7, "COMPLETE")
    assert [one.reason for one in heard.errors] == ["TOO_LARGE"]
    assert heard.end.reply_message_id == ""
    assert text_of(question) == "hello?"
