"""`backscroll tune` against a server with the demo chat and the echo as its model."""

import json

import pytest

from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow

WRONG = (
    [],
    ["--all", "--channel", "x"],
    ["--all", "--history"],
    ["--channel", "x", "--version", "1"],
)


@pytest.mark.row("S5-41")
def test_tuning_says_which_rule_forbids_it(chat):
    asked = chat.run("chat", CHANNEL, "--once", "what does tab do?", "--asker", "azriel")
    assert asked.returncode == 0, asked.stderr
    told = chat.run("tune", "--channel", CHANNEL, "--dry-run")
    assert told.returncode == 0, told.stderr
    first, second = told.stdout.splitlines()[:2]
    assert first.startswith(f"{CHANNEL}: not weighted: all recorded builds are of ")
    assert first.endswith("(dry run: nothing was done)")
    assert second.strip() == (
        "builds of classic: 0, drawn and with explicit feedback: 0; version 0"
    )  # fmt: skip
    lines = chat.run("tune", "--all", "--json").stdout.splitlines()
    assert CHANNEL in {json.loads(line)["channel"] for line in lines}
    history = chat.run("tune", "--channel", CHANNEL, "--history")
    assert history.stdout == "the server's weights hold: nothing was tuned\n"
    back = chat.run("tune", "--channel", CHANNEL, "--roll-back")
    assert back.returncode == 1
    assert "the channel has no tuned weights" in back.stderr
    for words in WRONG:
        assert chat.run("tune", *words).returncode == 2
