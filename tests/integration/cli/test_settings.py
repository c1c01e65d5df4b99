"""`backscroll settings` against a server."""

import json
import time

import pytest

from tests.integration.cli.conftest import CHANNEL

pytestmark = pytest.mark.slow


@pytest.mark.row("S5-42", "S5-44")
def test_set_what_is_named_and_nothing_else(chat):
    """Each option changes its own; what is not named stays; the rest of the server knows it."""
    assert chat.run("settings", "get", "lab").returncode == 1
    first = chat.json("settings", "set", "lab", "--profile", "classic", "--no-record")
    assert (first["profile"], first.get("collect_usage", False)) == ("classic", False)
    shared = chat.json(
        "settings", "set", "lab", "--group", "guild", "--read-from", CHANNEL, "--read-from", "x",
        "--most-shared", "3",
    )  # fmt: skip
    assert shared["profile"] == "classic"
    assert shared["sharing"] == {
        "groups": ["guild"],
        "reads_from": [CHANNEL, "x"],
        "max_messages": 3,
    }
    again = chat.json(
        "settings", "set", "lab", "--read-from", "y", "--overrides", '{"max_context": 4}'
    )
    assert again["sharing"]["reads_from"] == ["y"]
    assert again["sharing"]["groups"] == ["guild"]
    assert again["overrides"] == {"max_context": 4}
    assert chat.json("settings", "get", "lab") == again
    shown = chat.run("settings", "get", "lab").stdout
    assert "profile  classic" in shown
    assert '"groups": ["guild"]' in shown
    assert "lab" in chat.run("settings", "list").stdout
    assert chat.json("settings", "list") == again
    reading = chat.json("settings", "set", "lab", "--preference-extraction", "rules")
    assert reading == {**again, "preference_extraction": "PREFERENCE_EXTRACTION_RULES"} | {
        "updated_at_ms": reading["updated_at_ms"]
    }
    none = chat.json("settings", "set", "lab", "--no-sharing", "--overrides", "{}")
    assert "sharing" not in none
    assert "overrides" not in none
    assert chat.run("settings", "delete", "lab").stdout == "deleted\n"
    assert chat.json("settings", "delete", "lab") == {"was_set": False}


@pytest.mark.row("S5-44")
def test_what_cannot_be(chat):
    both = chat.run("settings", "set", "lab", "--no-sharing", "--group", "g")
    assert both.returncode == 2
    assert chat.run("settings", "set", "lab", "--overrides", "{").returncode == 2
    refused = chat.run("settings", "set", "lab", "--most-shared", "21")
    assert refused.returncode == 1
    assert "max_messages" in refused.stderr


@pytest.mark.row("S5-46")
def test_summaries_of_past_days(chat):
    """`summaries list` shows them with their days, as lines of JSON with their messages; `delete` empties one."""
    day, hour = 24 * 3_600_000, 3_600_000
    start = 1_795_132_800_000
    text = "the printer is 192.168.7.%d"
    old = [
        {
            "channel": "past",
            "id": f"o{n}",
            "author": {"id": "u"},
            "text": text % n,
            "sent_at_ms": start + n * hour,
        }
        for n in range(3)
    ]
    new = [
        {"channel": "past", "id": f"n{n}", "author": {"id": "u"}, "text": "hi", "sent_at_ms": start + day + n * hour}
        for n in range(21)
    ]  # fmt: skip
    assert (
        chat.run(
            "import", "-", "--channel", "past", stdin="\n".join(map(json.dumps, old + new))
        ).returncode
        == 0
    )
    chat.json("settings", "set", "past", "--summary-hours", "24")
    for _ in range(100):
        shown = chat.run("summaries", "list", "past", "--json").stdout
        if shown:
            break
        time.sleep(0.1)
    one = json.loads(shown)
    assert one["message_ids"] == ["o0", "o1", "o2"]
    told = chat.run("summaries", "list", "past")
    assert "192.168.7.1" in told.stdout
    assert "3 messages" in told.stderr
    assert chat.run("summaries", "delete", "past", one["id"]).stdout == "deleted\n"
    assert chat.json("summaries", "delete", "past", one["id"]) == {"was_there": False}
    assert chat.run("summaries", "list", "past", "--json").stdout == ""
