"""`backscroll records` and `backscroll feedback` against a server with the demo chat and the echo as its model."""

import json

import pytest

from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow


@pytest.mark.row("S5-18", "S5-22")
def test_a_build_its_answer_and_what_is_said_of_it(chat):
    """As a table, as JSON lines, one build with all it scored; feedback stands in it."""
    asked = chat.run("chat", CHANNEL, "--once", "what does tab do?", "--asker", "azriel")
    assert asked.returncode == 0, asked.stderr
    lines = chat.run(
        "records", CHANNEL, "--json", "--limit", "1", "--candidates"
    ).stdout.splitlines()
    (one,) = [json.loads(line) for line in lines]
    assert one["channel"] == CHANNEL
    assert one["user_id"] == "azriel"
    assert one["reply_message_id"]
    assert len(one["candidates"]) >= len(one["context_message_ids"]) > 0
    context_id = one["context_id"]
    said = chat.run("feedback", context_id, "--rating", "4", "--user", "azriel", "--text", "不错")
    assert said.stdout == f"recorded for {context_id}: 0.75\n"
    table = chat.run("records", CHANNEL).stdout.splitlines()
    assert table[0].split()[:2] == ["when", "context"]
    assert "0.75 不错" in table[-1]
    assert context_id in table[-1]
    shown = chat.run("records", "--context", context_id).stdout
    assert "0.75 不错" in shown
    assert " selected " in shown
    again = chat.run(
        "feedback", "--channel", CHANNEL, "--reply", one["reply_message_id"], "--success", "0.5",
        "--user", "azriel", "--json",
    )  # fmt: skip
    assert json.loads(again.stdout) == {"context_id": context_id, "success_indicator": 0.5}


@pytest.mark.row("S5-22")
def test_what_cannot_be(chat):
    unknown = chat.run("feedback", "never", "--rating", "1")
    assert unknown.returncode == 1
    assert "no build of this context_id is recorded" in unknown.stderr
    empty = chat.run("feedback", "never")
    assert empty.returncode == 1
    assert "rating" in empty.stderr
    assert chat.run("feedback", "never", "--rating", "6").returncode == 2
    both = chat.run("records", CHANNEL, "--context", "x")
    assert both.returncode == 2
    assert chat.run("records", "never-heard-of", "--json").stdout == ""
