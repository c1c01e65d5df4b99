"""Ids that begin with a minus, as Telegram gives to groups, are words for every command."""

import json

import pytest

from backscroll_sidecar.cli.commands import COMMANDS
from tests.integration.cli.in_process import Commands

pytestmark = pytest.mark.slow

NOON = 1_795_176_000_000
GROUP = "-1001234567890"
LINES = "\n".join(
    json.dumps({"id": f"-{n}", "author": {"id": "u1"}, "text": f"line {n}", "sent_at_ms": NOON + n})
    for n in range(1, 4)
)
CALLS = {
    "context": [GROUP, "what was said?", "--trigger", "-2"],
    "context, options first": ["--asker", "u1", GROUP, "-7 or -8?"],
    "chat": [GROUP, "--once", "so?", "--asker", "-5"],
    "events": [GROUP],
    "compact": [GROUP],
    "export": [GROUP],
}


@pytest.fixture(scope="module")
def commands(chat) -> Commands:
    one = Commands(chat.environment["BACKSCROLL_SERVER"])
    done = one.run("import", "-", "--channel", GROUP, stdin=LINES)
    assert done.returncode == 0, done.stderr
    return one


@pytest.mark.parametrize("name", CALLS)
def test_a_negative_id_is_a_word(commands, name):
    command = name.partition(",")[0]
    assert command in COMMANDS
    done = commands.run(command, *CALLS[name])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistyped_option_is_still_refused(commands, name):
    done = commands.run(name, "--no-such-option")
    assert done.returncode == 2
    assert "No such option: --no-such-option" in done.stderr
