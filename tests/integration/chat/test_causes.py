"""Cause by cause over real sockets, through StreamChat and Chat: the table of `causes.py`."""

import json

import pytest
from pytest_httpserver import HTTPServer

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.domain import MAX_TEXT_BYTES
from backscroll_sidecar.texts import DESIGNS, ENGLISH
from tests.contract.models.sse_server import Reply, said, stopped
from tests.integration.chat.causes import FILTER_BYTES, LENGTH_BYTES, ROWS, SECRET, Row
from tests.integration.chat.talk import ROOM, Bot, Heard, text_of, turn
from tests.integration.chat.upstream import designed

OTHER = "other room"
QUESTION = "问？"


@pytest.mark.row("S1-19", "S2-19", "S5-31", "S5-32")
@pytest.mark.parametrize("cause", ROWS)
async def test_cause_events_ending_and_what_is_stored(cause: str, httpserver: HTTPServer) -> None:
    """Law 8, S1-19, S2-19, S5-31, S5-32: one question each way, the model asked once for each, the same follows.

    The model is pytest-httpserver; for rows that cut the connection, keep silent or hang up before the status, bare
    sockets (`upstream.py`).
    """
    row = ROWS[cause]
    async with designed(httpserver, [row.reply], **row.settings) as (bot, model):
        streamed = await bot.ask(turn(QUESTION))
        # END follows the commits: nothing is waited for here.
        await check_stored(bot, ROOM, row, streamed.end)
        once = await bot.stub.Chat(pb.ChatRequest(turn=turn(QUESTION, context={"channel": OTHER})))
        await check_stored(bot, OTHER, row, once.end)
    first, second = model.bodies  # nobody asks twice
    assert first == second
    check_stream(row, streamed)
    check_answer(row, once)
    assert SECRET not in f"{streamed.events}{once}"


def check_stream(row: Row, heard: Heard) -> None:
    """Deltas as they came, a notice or an error, one end."""
    assert (heard.text, heard.reason) == (row.text, row.ending)
    assert [one.text.encode() for one in heard.notices] == ([row.notice] if row.notice else [])
    assert [(one.reason, one.message) for one in heard.errors] == errors_of(row)
    expected = ["context"] + ["delta"] * heard.kinds.count("delta")
    expected += ["notice"] * bool(row.notice) + ["error"] * bool(row.error) + ["end"]
    assert heard.kinds == expected
    assert list(heard.context.degradations) == []


def check_answer(row: Row, answer: pb.ChatResponse) -> None:
    """The same in one answer."""
    assert answer.text == row.text + row.notice.decode()
    assert pb.EndReason.Name(answer.end.reason) == f"END_REASON_{row.ending}"
    error = answer.error
    assert ([(error.reason, error.message)] if answer.HasField("error") else []) == errors_of(row)
    assert list(answer.context.degradations) == []


def errors_of(row: Row) -> list[tuple[str, str]]:
    return [(row.error[0], DESIGNS.error_prefix + row.error[1])] if row.error else []


async def check_stored(bot: Bot, channel: str, row: Row, end: pb.ChatEnd) -> None:
    """The question, and the reply once or not at all; a partial one is marked and in no later context."""
    question, *replies = await bot.stored(channel)
    assert text_of(question) == QUESTION
    assert [(text_of(one), one.message.id, one.partial) for one in replies] == (
        [(row.text, end.reply_message_id, row.partial)] if row.text else []
    )
    assert bool(end.reply_message_id) == bool(row.text)
    assert end.partial == row.partial
    usage = (
        (end.usage.prompt_tokens, end.usage.completion_tokens) if end.HasField("usage") else None
    )
    assert usage == row.usage
    later = await bot.client.build_context(channel, "and later?", asker="u1")
    told = replies if row.text and not row.partial else []
    assert [item.message.id for item in later.items] == [
        one.message.id for one in [question, *told]
    ]


def test_the_notices_are_the_bytes_of_the_design() -> None:
    """S5-31, S5-32: exact bytes under the wording of the designs, in either language."""
    from backscroll_sidecar.config.settings import Settings

    wordings = Settings(wording="designs").wordings()
    for texts in (wordings.english, wordings.chinese):
        assert texts.length_notice.encode() == LENGTH_BYTES
        assert texts.content_filter_notice.encode() == FILTER_BYTES
        assert texts.error_prefix.encode() == "生成回复时出现错误: ".encode()


@pytest.mark.row("S5-32")
async def test_a_refusal_says_what_the_vendor_disliked(
    httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """S5-32: the vendor's names of the fault and the parameter reach caller and log, its sentences neither.

    The words before them are a setting.
    """
    told = {"type": "invalid_request_error", "code": "unsupported_value", "param": "temperature"}
    body = json.dumps({"error": {"message": SECRET, **told}}).encode()
    reply = Reply([body], 400, {"content-type": "application/json"})
    async with designed(httpserver, [reply], error_prefix="Sorry: ") as (bot, _):
        heard = await bot.ask(turn())
    assert heard.errors[0].message == (
        "Sorry: the model refused the request (unsupported_value: temperature): "
        "BACKSCROLL_TEMPERATURE=none sends no temperature"
    )
    log = capsys.readouterr()
    for name, value in told.items():
        assert f"{name}={value}" in log.out + log.err
    assert SECRET not in f"{log}{heard.events}"


@pytest.mark.row("S2-19")
async def test_an_answer_larger_than_a_message_is_heard_whole_and_stored_cut(
    httpserver: HTTPServer,
) -> None:
    """S2-19, law 5: what the history cannot take costs the history only, and is marked there."""
    piece = "猫" * 4_000
    replies = [Reply([*[said(piece)] * 7, stopped()])]
    async with designed(httpserver, replies) as (bot, _):
        heard = await bot.ask(turn())
        question, reply = await bot.stored()
    assert (heard.text, heard.reason, heard.errors) == (piece * 7, "COMPLETE", [])
    assert heard.end.reply_message_id == reply.message.id
    assert text_of(question) == "hello?"
    kept = text_of(reply).removesuffix(ENGLISH.cut_mark)
    assert kept != text_of(reply)
    assert heard.text.startswith(kept)
    assert MAX_TEXT_BYTES - 3 < len(text_of(reply).encode()) <= MAX_TEXT_BYTES
