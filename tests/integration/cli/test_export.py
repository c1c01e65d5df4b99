"""`backscroll export`, and everything it writes back in."""

import gzip
import json
import stat
import time

import pytest

from backscroll import Author, Client, Media, Mention, Message, Reply, ToolCall, ToolResult
from tests.integration.cli.in_process import Commands

pytestmark = pytest.mark.slow

AT = 1_752_219_371_000
ANN, CAT = Author("u1", "Ann \u202e安"), Author("bot", "Cat", kind="bot")


@pytest.fixture(scope="module")
def client(chat):
    with Client(chat.environment["BACKSCROLL_SERVER"]) as one:
        yield one


def everything() -> list[Message]:
    """One message of each kind that a channel can hold."""
    return [
        Message("1", ANN, "hi\nthere 👋", AT, thread_id="A", session_id="S", dedupe_key="k"),
        Message("2", CAT, "yo", AT + 1, role="assistant", reply_to="1"),
        Message("3", ANN, "look", AT + 2, parts=[Media("image", "a red bicycle", "https://x/1.png", "image/png")]),
        Message("4", CAT, None, AT + 3, role="assistant", parts=[ToolCall("c1", "weather", '{"a": 1}')]),
        Message("5", CAT, None, AT + 4, role="tool", parts=[ToolResult("c1", "rain", "weather", True)]),
        Message("6", CAT, "half an ans", AT + 5, role="assistant", partial=True),
        Message("7", ANN, "@Cat you?", AT + 6, mentions=[Mention("bot", "Cat", 0, 4)],
                reply_to=Reply("2", "thread", True)),
        Message("8", ANN, "never mind", AT + 7),
        Message("9", Author("sys", "Room", kind="system"), "Ben joined", AT + 8, role="system"),
        Message("10", ANN, None, AT + 9),
        Message("11", ANN, "far ahead", 2**53 + 1),
    ]  # fmt: skip


@pytest.fixture
def filled(client, request) -> str:
    """A channel with everything, an edit and a recall in it."""
    name = f"full-{request.node.name}"
    assert client.append(name, everything()).stored == 11
    client.edit_message(name, "3", "look here", parts=[Media("image", "a red bicycle")])
    client.recall_message(name, "8")
    return name


@pytest.mark.row("S4-06")
def test_what_is_exported_can_be_imported_and_exported_again(commands, filled, tmp_path, shell):
    """The same channel of another server, and another channel of this one: equal, all of it."""
    file, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    done = commands.json("export", filled, "--output", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (done["written"], done["recalled"]) == (10, 1)
    with shell.serving() as other:
        elsewhere = Commands(other.address)
        moved = elsewhere.json("import", str(file))
        assert (moved["stored"], moved["bad_lines"], moved["unknown_fields"]) == (11, [], {})
        assert elsewhere.json("import", str(file))["duplicate"] == 11
        elsewhere.json("export", filled, "--output", str(again))
    assert gzip.decompress(again.read_bytes()) == file.read_bytes()
    commands.json("import", str(again), "--channel", f"{filled}-copy")
    copied = commands.lines(f"{filled}-copy")
    assert [{**one, "channel": filled} for one in copied] == commands.lines(filled)
    assert (
        next(one["parts"] for one in copied if one.get("id") == "3")[0]["text"]["text"]
        == "look here"
    )


@pytest.mark.row("S4-06")
@pytest.mark.parametrize("command", ["export", "ExportMessages", "ListMessages"])
def test_what_has_no_right_time_keeps_its_place(commands, shell, tmp_path, command):
    """Without a time, in seconds, in microseconds, ahead: taken as sent, ranked where it stood, here and elsewhere."""
    name = f"odd-{command}"
    for n, sent_at_ms in enumerate([0, AT // 1_000, AT * 1_000, 2**53 + 1]):
        odd = {"id": f"odd{n}", "author": {"id": "u1"}, "parts": [{"text": {"text": "odd"}}]}
        commands.call("AppendMessages", name, messages=[{**odd, "sent_at_ms": sent_at_ms}])
        time.sleep(0.002)
        now = {**odd, "id": f"now{n}", "sent_at_ms": time.time_ns() // 1_000_000}
        commands.call("AppendMessages", name, messages=[now])
        time.sleep(0.002)
    file = tmp_path / "a.jsonl"
    file.write_text(printed(commands, name, command))
    here = ranked(commands, name)
    assert [one[1] for one in sorted(here)] == [
        f"{kind}{n}" for n in range(4) for kind in ("odd", "now")
    ]
    with shell.serving() as other:
        elsewhere = Commands(other.address)
        moved = elsewhere.json("import", str(file))
        assert (moved["stored"], moved["bad_lines"], moved["unknown_fields"]) == (8, [], {})
        assert ranked(elsewhere, name) == here
        assert elsewhere.json("import", str(file))["duplicate"] == 8
    assert commands.json("import", str(file))["duplicate"] == 8


def printed(commands, channel: str, command: str = "export", **page: object) -> str:
    """A channel as `export` or an RPC prints it."""
    if command == "export":
        return commands.run("export", channel).stdout
    return commands.run("call", command, json.dumps({"channel": channel, **page})).stdout


def ranked(commands, channel) -> list[tuple[int, str, str]]:
    """When each message is ranked, its id, and when it says that it was sent."""
    return [
        (int(one["rank_time_ms"]), one["message"]["id"], one["message"].get("sent_at_ms", "0"))
        for one in commands.call("ListMessages", channel)["messages"]
    ]


@pytest.mark.row("S4-06")
@pytest.mark.parametrize("rpc", ["ExportMessages", "ListMessages"])
def test_what_the_rpcs_print_can_be_imported(commands, filled, rpc):
    page = {"limit": 100} if "List" in rpc else {}
    given = printed(commands, filled, rpc, **page)
    done = commands.json("import", "-", "--channel", f"{filled}-{rpc}", stdin=given)
    assert (done["stored"], done["bad_lines"]) == (10 + ("Export" in rpc), [])
    assert done["skipped"] == {}
    copied = commands.messages(f"{filled}-{rpc}")
    assert [{**one, "channel": filled} for one in copied] == commands.messages(filled)


@pytest.mark.row("P-26")
def test_after_a_while_away_only_what_is_missing_is_stored(commands, client):
    """The command tells where the channel stands; what is sent again is a duplicate."""
    client.append("away", everything()[:3])
    stands = commands.call("GetChannel", "away")
    assert (stands["newest_message_id"], stands["message_count"]) == ("3", "3")
    client.append("later", everything()[:5])
    done = commands.json("import", "-", "--channel", "away", stdin=printed(commands, "later"))
    assert (done["stored"], done["duplicate"]) == (2, 3)


def test_an_export_that_fails_leaves_what_was_there(commands, tmp_path):
    file = tmp_path / "kept.jsonl"
    file.write_text("before")
    failed = commands.run("export", "no-such-channel", "--output", str(file))
    assert failed.returncode == 1
    assert file.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["kept.jsonl"]
    refused = commands.run(
        "export", "no-such-channel", "--output", str(tmp_path / "no" / "x.jsonl")
    )
    assert refused.returncode != 0


def test_a_summary_beside_the_messages_is_on_standard_error(commands, filled):
    done = commands.run("export", filled, "--json")
    assert len(done.stdout.splitlines()) == 11
    assert json.loads(done.stderr)["written"] == 10


@pytest.mark.row("S4-06")
@pytest.mark.parametrize("command", ["export", "ExportMessages"])
def test_what_a_newer_version_adds_costs_no_message(commands, filled, command):
    """At any depth, in what `export` writes and in what the RPC prints: read without it, and counted."""
    newer = []
    for one in map(json.loads, printed(commands, filled, command).splitlines()):
        for stored in one.get("messages", [one]):
            message = stored.get("message", stored)
            stored["newer"] = 1
            if "author" not in message:
                continue
            message["newest"] = {"a": [1]}
            message["author"]["colour"] = "red"
            for part in message.get("parts", []):
                part["weight"] = 2
        newer.append(one)
    done = commands.store(newer, "--channel", f"{filled}-newer{command}")
    assert (done["stored"], done["bad_lines"]) == (11, [])
    assert {"newer", "newest", "author.colour", "parts.weight"} == done["unknown_fields"].keys()
    copied = commands.messages(f"{filled}-newer{command}")
    assert [{**one, "channel": filled} for one in copied] == commands.messages(filled)


TOLD = {
    "members": [
        {"user_id": "u1", "name": "Annie", "aliases": ["Boss", "老大"], "role": "owner", "stays": [
            {"joined_at_ms": "5", "left_at_ms": "9"}, {"joined_at_ms": str(AT - 5_000)}]},
        {"user_id": "u3", "name": "Zoe", "kind": "AUTHOR_KIND_HUMAN"},
    ]
}  # fmt: skip
ASKED = {
    "question": "what did Boss say about the boat?",
    "self_ids": ["bot"],
    "asked_at_ms": str(AT + 60_000),
}


@pytest.fixture
def lived(commands, client, request) -> str:
    """A room with aliases, pins, members who were told, renamed and only named, and an answered recall."""
    name = f"lived-{request.node.name}"
    commands.call("UpsertMembers", name, **TOLD)
    client.append(name, [
        Message("1", Author("u2", "Ben"), "@Boss where is the boat?", AT),
        Message("2", Author("u1", "Ann"), "the boat is in the harbour", AT + 1, reply_to="1"),
        Message("3", Author("u2", "Ben"), "@Uma you come along?", AT + 2),
        Message("4", Author("u4", "Uma"), "the red boat", AT + 3),
        Message("5", CAT, "Boats leave at nine.", AT + 4, role="assistant", reply_to="4"),
        Message("6", Author("u2", "Benno"), "never mind the boat", AT + 5, reply_to="5"),
        Message("7", Author("u4", "Uma"), "what was that?", AT + 6, reply_to="6"),
    ])  # fmt: skip
    client.alias_message(name, "5", "p5")
    client.alias_message(name, "6", "p6")
    client.alias_message(name, "5", "q5")
    client.append(
        name, Message("8", Author("u1", "Anna"), "at nine, really?", AT + 7, reply_to="p5")
    )
    client.recall_message(name, "6")
    client.pin_message(name, "4")
    client.pin_message(name, "2")
    return name


def state(commands, channel) -> dict:
    """What the server says of a channel: rows, pins, members, and the context of a question in it."""
    rows = commands.call("ListMessages", channel, limit=100, include_recalled=True)["messages"]
    for one in rows:
        if one.get("recalled"):
            del one["message_type"]  # told of a text that is gone
    built = [
        commands.call("BuildContext", channel, profile=one, **ASKED)
        for one in ("balanced", "memory", "classic")
    ]
    return {
        "rows": rows,
        "pins": [
            one["message"]["id"] for one in commands.call("ListPinnedMessages", channel)["messages"]
        ],
        "members": commands.call("ListMembers", channel),
        "contexts": [[one["rung"], one["messages"], one.get("items")] for one in built],
    }


@pytest.mark.row("S4-06")
@pytest.mark.parametrize("file_name", ["a.jsonl", "a.jsonl.gz"])
def test_aliases_pins_members_and_recalls_come_along(commands, lived, tmp_path, shell, file_name):
    """Into an empty store: all of it, the same contexts; twice is once."""
    file = tmp_path / file_name
    done = commands.json("export", lived, "--output", str(file))
    assert [done[key] for key in ("written", "recalled", "members", "pinned")] == [7, 1, 2, 2]
    here = state(commands, lived)
    with shell.serving() as other:
        elsewhere = Commands(other.address)
        for again in range(2):
            moved = elsewhere.json("import", str(file), "--strict")
            assert (moved["duplicate" if again else "stored"], moved["gone"]) == (8, 0)
            assert (moved["members"], moved["pinned"], moved["notes"]) == (2, 2, [])
            there = state(elsewhere, lived)
            for part, said in here.items():
                assert there[part] == said, part


@pytest.mark.row("S4-06")
def test_an_old_export_takes_nothing_away(commands, client, lived, tmp_path):
    """What came since stays: a new name, new aliases, a message with a text that the file holds as recalled."""
    file = tmp_path / "old.jsonl"
    commands.run("export", lived, "--output", str(file))
    lines = [json.loads(one) for one in file.read_text().splitlines()]
    for one in lines:
        if one.get("id") == "2":
            one["recalled"] = True
        if one.get("id") == "1":
            one["alias_ids"] = ["p5"]
    client.append(
        lived, Message("9", Author("u1", "Andy"), "a new name", time.time_ns() // 1_000_000)
    )
    new = {"user_id": "u4", "name": "Uma", "aliases": ["U"], "role": "guest"}
    commands.call("UpsertMembers", lived, members=[new])
    before = state(commands, lived)
    done = commands.store(lines)
    assert state(commands, lived) == before
    assert (done["conflict"], done["gone"]) == (1, 0)
    assert {(one["message_id"], one["field"]) for one in done["problems"]} == {
        ("1", "alias_ids"),
        ("2", ""),
    }


def test_bad_lines_about_members_and_pins_are_named(commands):
    lines = [
        {"channel": "odd", "members": [{"user_id": "u1", "joined_at_ms": "soon"}]},
        {"channel": "odd", "members": [{"user_id": "u1"}], "members_at_ms": "now"},
        {"members": [{"user_id": "u1"}]},
        {"channel": "odd", "pinned_message_ids": ["nothing"]},
        {"channel": "odd", "id": "1", "user_id": "u1", "text": "hi", "sent_at_ms": AT},
    ]
    done = commands.store(lines)
    assert [one["line"] for one in done["bad_lines"]] == [1, 2, 3]
    assert (done["stored"], done["members"]) == (1, 0)
    assert done["notes"] == ["nothing is pinned in the file and not there"]
