"""`backscroll memory` against a server: what a person sees, corrects, takes out and deletes."""

import json

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.row("S5-45", "P-07")
def test_a_persons_archive(commands):
    """Set, list, edit, export, delete; what was replaced is listed on demand."""
    user = ("--user", "ann-of-memory")
    made = commands.json(
        "memory", "set", *user, "--topic", "language", "--value", "German", "--json"
    )
    assert made["value"] == "de"
    done = commands.run("memory", "set", *user, "--topic", "language", "--value", "英文")
    assert done.stdout.endswith(": The user wants answers in English.\n") or "英文" in done.stdout
    commands.run("memory", "set", *user, "--text", "喜欢简短的回答", "--channel", "room")
    listed = [
        json.loads(line)
        for line in commands.run("memory", "list", *user, "--json").stdout.splitlines()
    ]
    assert [one.get("value", one["text"]) for one in listed] == ["en", "喜欢简短的回答"]
    table = commands.run("memory", "list", *user, "--past").stdout
    assert "past" in table
    assert "current" in table
    edited = commands.json("memory", "edit", listed[0]["id"], *user, "--value", "French", "--json")
    assert (edited["id"], edited["value"]) == (listed[0]["id"], "fr")
    exported = commands.run("memory", "export", *user).stdout.splitlines()
    assert [json.loads(line).get("value") for line in exported] == ["de", "fr", None]
    one = commands.run("memory", "delete", *user, listed[0]["id"])
    assert (one.returncode, one.stdout) == (0, "deleted: 1\n")
    again = commands.run("memory", "delete", *user, listed[0]["id"])
    assert (again.returncode, again.stdout) == (1, "deleted: 0\n")
    assert commands.json("memory", "delete", *user, "--all", "--json") == {"deleted": 2}
    assert commands.run("memory", "list", *user).stdout == ""
    topics = commands.run("memory", "topics").stdout
    assert "time_zone" in topics


@pytest.mark.row("S5-45")
def test_what_cannot_be(commands):
    user = ("--user", "ben-of-memory")
    assert commands.run("memory", "delete", *user).returncode == 2
    assert commands.run("memory", "delete", *user, "p", "--all").returncode == 2
    assert commands.run("memory", "set", *user).returncode == 2
    unknown = commands.run("memory", "edit", "never", *user, "--value", "x")
    assert unknown.returncode == 1
    assert "backscroll memory list" in unknown.stderr
    assert commands.run("memory", "list").returncode == 2
