"""`backscroll events` against a server with the demo chat and the echo as its model."""

import json
import signal
import subprocess

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


@pytest.mark.row("S3-25")
def test_who_follows_sees_each_event_once_until_ctrl_c(chat):
    """What was there already, then what comes; in order, nothing twice."""
    ask = ("chat", "followed", "--asker", "u1", "--once")
    assert chat.run(*ask, "one?").returncode == 0
    following = chat.start(
        "events", "followed", "--follow", "--json",
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert following.stdout is not None
    with following.stdout as output:
        told = [json.loads(output.readline()) for _ in range(4)]
        for question in ("two?", "three?"):
            assert chat.run(*ask, question).returncode == 0
            told += [json.loads(output.readline()) for _ in range(4)]
        following.send_signal(signal.SIGINT)
        assert output.read() == ""
    assert following.wait(120) in {130, -signal.SIGINT}
    everything = chat.run("events", "followed", "--json").stdout.splitlines()
    assert told == [json.loads(line) for line in everything]
    assert len({(one["context_id"], one["event"]["id"]) for one in told}) == 12


def test_an_unknown_channel_is_named(chat):
    """With what to do."""
    done = chat.run("events", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert "CHANNEL_NOT_FOUND" in done.stderr
    assert "Example: backscroll events" in chat.run("events", "--help").stdout
