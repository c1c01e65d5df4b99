"""`backscroll channels`, and what commands say about a channel that is not there."""

import json

import pytest

from backscroll import Author, Client, Message
from tests.integration.cli.in_process import Commands

pytestmark = pytest.mark.slow

NOON = 1_795_176_000_000


@pytest.fixture(scope="module")
def commands(chat) -> Commands:
    address = chat.environment["BACKSCROLL_SERVER"]
    with Client(address) as client:
        for n, name in enumerate(["listed-one", "listed-two", "Listed-[red]三"]):
            client.append(name, Message("m", Author("u1"), "hi", NOON + n * 60_000))
    return Commands(address)


def test_those_written_to_last_come_first(commands):
    done = commands.run("channels", "--contains", "LISTED-", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"channel": name, "message_count": 1, "newest_sent_at_ms": NOON + n * 60_000}
        for n, name in [(2, "Listed-[red]三"), (1, "listed-two"), (0, "listed-one")]
    ]


def test_as_a_table(commands):
    done = commands.run("channels", "--contains", "listed", "--limit", "2")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["channel", "messages", "newest"]
    assert [line.split()[0] for line in lines[1:]] == ["Listed-[red]三", "listed-two"]
    assert "2 of 3" in done.stderr


def test_none(commands):
    done = commands.run("channels", "--contains", "no such")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no channels" in done.stderr


@pytest.mark.parametrize("command", ["export", "events"])
def test_an_unknown_channel_is_answered_with_near_ones(commands, command):
    done = commands.run(command, "listed-oen")
    assert done.returncode == 1
    assert "did you mean listed-one" in done.stderr


def test_a_context_of_an_unknown_channel_names_near_ones(commands):
    done = commands.run("context", "listed-twoo", "what?", "--asker", "u1")
    assert done.returncode == 0
    assert "did you mean listed-two" in done.stderr
    far = commands.run("context", "zzzzzz", "what?", "--asker", "u1")
    assert "backscroll import" in far.stderr
