"""What people wrote is shown on a terminal, and does nothing to it."""

import json

import pytest

from backscroll import Author, Client, Message
from tests.integration.cli.in_process import Commands

pytestmark = pytest.mark.slow
HOSTILE = "AA\x1b[2J\x1b]0;T\x07BB \u202e rtl \x9b31m \u2066 \x7f end"
CONTROLS = "\x1b\x07\x9b\x7f\u202e\u2066"
NOON = 1_795_132_800_000


@pytest.fixture(scope="module")
def commands(chat) -> Commands:
    address = chat.environment["BACKSCROLL_SERVER"]
    with Client(address) as client:
        author = Author("u\x1b[1m", "N\x1b[1m\u202e")
        client.append("c\x1b[31m", [Message("1", author, HOSTILE, NOON)])
    return Commands(address)


@pytest.mark.parametrize(
    "arguments",
    [
        ("context", "c\x1b[31m", "what AA?"),
        ("context", "unknown\x1b[31m", "what?"),
        ("context", "c\x1b[31m", "what AA?", "--json"),
        ("channels",),
        ("channels", "--json"),
        ("export", "c\x1b[31m"),
        ("call", "ListMessages", json.dumps({"channel": "c\x1b[31m"})),
    ],
    ids=lambda given: " ".join(given[:1] + given[2:][-1:]) if isinstance(given, tuple) else given,
)
def test_no_control_reaches_the_terminal(commands, arguments):
    done = commands.run(*arguments)
    shown = done.stdout + done.stderr
    assert not set(CONTROLS) & set(shown)
    assert "31m" in shown  # it is shown all the same


def test_programs_read_what_was_written(commands):
    (line,) = commands.run("export", "c\x1b[31m").stdout.splitlines()
    found = json.loads(line)
    assert (found["channel"], found["parts"][0]["text"]["text"]) == ("c\x1b[31m", HOSTILE)
