"""`backscroll records` and `backscroll feedback` against a server with the demo chat and the echo as its model."""

import gzip
import json

import pytest

from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow


@pytest.mark.row("S5-18", "S5-22")
def test_a_build_its_answer_and_what_is_said_of_it(chat):
    """As a table, as JSON lines, one build with all it scored; feedback stands in it."""
    asked = chat.run("chat", CHANNEL, "--once", "what does tab do?", "--asker", "azriel")
    assert asked.returncode == 0, asked.stderr
    lines = chat.run("records", "list", CHANNEL, "--json", "--limit", "1").stdout.splitlines()
    (one,) = [json.loads(line) for line in lines]
    assert one["channel"] == CHANNEL
    assert one["user_id"] == "azriel"
    assert one["reply_message_id"]
    context_id = one["context_id"]
    whole = json.loads(chat.run("records", "show", context_id, "--json").stdout)
    assert len(whole["candidates"]) >= len(one["context_message_ids"]) > 0
    said = chat.run("feedback", context_id, "--rating", "4", "--user", "azriel", "--text", "不错")
    assert said.stdout == f"recorded for {context_id}: 0.75 of 1 by all who rated it\n"
    table = chat.run("records", "list", CHANNEL).stdout.splitlines()
    assert table[0].split()[:2] == ["when", "context"]
    assert "0.75 不错" in table[-1]
    assert context_id in table[-1]
    shown = chat.run("records", "show", context_id).stdout
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
    unknown = chat.run("records", "show", "never")
    assert unknown.returncode == 1
    assert "no build of this context_id is recorded" in unknown.stderr
    assert chat.run("records", "list", "never-heard-of", "--json").stdout == ""
    for words, said in (
        (["records", "list", "never-heard-of"], "no build of these is recorded\n"),
        (["labels", "list", CHANNEL, "--label", "never"], "there are no labels\n"),
    ):
        told = chat.run(*words)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", said)


@pytest.mark.row("S5-43")
def test_labels_consent_and_an_export(chat, tmp_path):
    """Labels are set, listed and deleted; the export is a file of lines, whole or not at all."""
    asked = chat.run("chat", CHANNEL, "--once", "how do I mount it?", "--asker", "azriel")
    assert asked.returncode == 0, asked.stderr
    newest = json.loads(
        chat.run("records", "list", CHANNEL, "--json", "--limit", "1").stdout.splitlines()[-1]
    )
    first, second = newest["context_message_ids"][:2]
    said = chat.run("labels", "set", CHANNEL, "磁盘", first, second, "--by", "ann")
    assert said.stdout == "2 messages labelled 磁盘\n", said.stderr
    assert first in chat.run("labels", "list", CHANNEL).stdout
    taken = chat.run("labels", "delete", CHANNEL, "磁盘", second, "--json")
    assert json.loads(taken.stdout)["deleted"] == 1
    file = tmp_path / "usage.jsonl.gz"
    done = chat.run(
        "records", "export", "--channel", CHANNEL, "--user", "azriel", "--with-texts",
        "--since", newest["created_at_ms"], "--to", str(file), "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["build_count"] == 1, done.stderr
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        (line,) = map(json.loads, lines)
    assert line["version"] == 1
    assert line["context_id"] == newest["context_id"]
    assert isinstance(line["created_at_ms"], int)
    assert {"score", "fate", "message_id"} <= line["candidates"][0].keys()
    labelled = {
        one["message_id"]: one["topic_labels"] for one in line["messages"] if "topic_labels" in one
    }
    assert labelled == {first: ["磁盘"]}
    assert any(one.get("text") for one in line["messages"])
    assert chat.run("records", "consent", "azriel").stdout == "azriel agrees\n"
    assert chat.run("records", "consent", "azriel", "--refuse").stdout == "azriel refuses\n"
    left = chat.run("records", "export", "--user", "azriel", "--to", str(file))
    assert "0 builds written" in left.stderr
    assert "left out by who asked" in left.stderr
    assert chat.run("records", "consent", "azriel", "--agree", "--json").returncode == 0
    nowhere = chat.run("records", "export", "--to", str(tmp_path / "no" / "x.jsonl"))
    assert nowhere.returncode == 2
    assert "cannot be written" in nowhere.stderr
    assert chat.run("records", "export", "--to", str(file), "--since", "soon").returncode == 2


@pytest.mark.row("N-13")
def test_builds_asked_again(chat):
    """What another profile would have shown, as a table and as lines; one build line by line."""
    page = chat.run("call", "ListMessages", json.dumps({"channel": CHANNEL, "limit": 400}))
    trigger = json.loads(page.stdout)["messages"][300]["message"]["id"]
    built = chat.run("context", CHANNEL, "--trigger", trigger, "--json")
    context_id = json.loads(built.stdout)["context_id"]
    lines = chat.run(
        "replay", "--channel", CHANNEL, "--context-id", context_id, "--json"
    ).stdout.splitlines()
    one, summary = map(json.loads, lines)
    assert one["trigger_message_id"] == trigger
    assert summary["same_count"] == summary["replayed_count"] == "1"
    other = chat.run(
        "replay", "--channel", CHANNEL, "--context-id", context_id, "--profile", "classic",
        "--weight", "time_decay=0.9", "--max-context", "3",
    )  # fmt: skip
    assert other.returncode == 0, other.stderr
    assert "1 replayed, 0 show the same lines" in other.stdout
    assert "limit" in other.stdout
    assert chat.run("replay", "--channel", CHANNEL, "--weight", "charm=1").returncode == 2
    assert chat.run("replay", "--channel", CHANNEL, "--context-id", "never").returncode == 1
