"""`backscroll tune` against a server with the demo chat and the echo as its model."""

import json
import shutil

import pytest

from backscroll_sidecar.kernel_cache import kernel_cache
from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow

RECORDS = ("tune", "quality")
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
    message = {"id": "m1", "author": {"id": "u1"}, "parts": [{"text": {"text": "hi"}}]}
    asked = {"channel": "untouched", "messages": [{**message, "sent_at_ms": 1795132800000}]}
    assert chat.run("call", "AppendMessages", json.dumps(asked)).returncode == 0
    told = chat.run("tune", "--channel", "untouched").stdout.splitlines()
    assert told[0] == "untouched: replay only: no propensities"
    history = chat.run("tune", "--channel", CHANNEL, "--history")
    assert history.stdout == "the server's weights hold: nothing was tuned\n"
    back = chat.run("tune", "--channel", CHANNEL, "--roll-back")
    assert back.returncode == 1
    assert "the channel has no tuned weights" in back.stderr
    for words in WRONG:
        assert chat.run("tune", *words).returncode == 2


@pytest.mark.row("S5-53")
@pytest.mark.parametrize("command", RECORDS)
def test_what_is_computed_without_a_server_takes_the_kernels_of_serve(
    shell, kernels, command, monkeypatch
):
    """Where numba is told nothing it would compile all of them, minutes long, into the installation."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shell.directory))
    cache = kernel_cache(shell.directory).directory
    shutil.copytree(kernels, cache, dirs_exist_ok=True)
    for index in cache.rglob("kernels_score.reply_path-*.nbi"):
        index.unlink()
    records = shell.directory / "none.jsonl"
    records.write_text("")
    told = shell.run(command, "--records", str(records), NUMBA_CACHE_DIR="")
    assert f"{records} holds no" in told.stderr
    assert [*cache.rglob("kernels_score.reply_path-*.nbi")]
