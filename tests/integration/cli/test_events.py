"""`backscroll events` against a server with the demo chat and the echo as its model."""

from __future__ import annotations

import json

import pytest

from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow


@pytest.mark.row("S3-25")
def test_the_events_of_a_turn(chat):
    """As a tree, as JSON lines, of one build, of one type; Example in --help runs."""
    asked = chat.run("chat", CHANNEL, "--once", "what does tab do?", "--asker", "azriel")
    assert asked.returncode == 0, asked.stderr
    told = [json.loads(line) for line in chat.run("events", CHANNEL, "--json").stdout.splitlines()]
    types = [one["event"]["type"] for one in told]
    assert types[-4:] == ["agent.started", "turn.started", "model.called", "turn.ended"]
    lines = chat.run("events", CHANNEL).stdout.splitlines()
    assert len(lines) == len(told)
    assert "  turn.started" in lines[-3]
    assert "reason=complete" in lines[-1]
    context_id = told[-1]["context_id"]
    of_one = chat.run("events", CHANNEL, "--context", context_id, "--type", "turn.ended")
    assert of_one.stdout.splitlines() == lines[-1:]
    assert chat.run("events", CHANNEL, "--limit", "2").stdout.splitlines() == lines[-2:]


def test_an_unknown_channel_is_named(chat):
    """With what to do."""
    done = chat.run("events", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert "CHANNEL_NOT_FOUND" in done.stderr
    assert "Example: backscroll events" in chat.run("events", "--help").stdout
