"""`backscroll erase` against a server with a database on the disk."""

import json

import pytest

from backscroll_sidecar.history.tombstones import Erasure, decode

pytestmark = pytest.mark.slow

LINES = [
    {"id": f"m{n}", "channel": channel, "author": {"id": author}, "text": f"line {n}", "sent_at_ms": 1_795_176_000_000}
    for channel in ("a", "b")
    for n, author in enumerate(("u1", "u2", "u1", "u3"))
]  # fmt: skip


@pytest.mark.row("N-10")
def test_a_person_a_channel_messages_a_tenant(shell):
    """Each with its counts; lines of the receipt tell all of them; a dry run tells none and changes nothing."""
    log = shell.directory / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    receipt = shell.directory / "erasures.jsonl"
    with shell.serving() as server:
        at = ("--server", server.address)

        def erase(*names: str) -> dict:
            done = shell.json("erase", *names, *at, "--yes", "--receipt", str(receipt))
            return {name: count for name, count in done["erased_count_by_store"].items() if count}

        assert shell.run("import", str(log), *at).returncode == 0
        told = shell.json("erase", "--user", "u1", "--all-channels", "--dry-run", *at)
        assert (told["dry_run"], told["erased_count_by_store"]["messages"]) == (True, 4)
        assert not receipt.exists()
        shown = shell.run("erase", "--user", "u1", "--all-channels", "--dry-run", *at).stdout
        assert [line.split() for line in shown.splitlines()][:2] == [
            ["store", "would", "go"],
            ["members", "2"],
        ]
        assert erase("--user", "u1", "--all-channels")["messages"] == 4
        assert erase("--channel", "a", "--message", "m1", "--message", "m9") == {"messages": 1}
        assert erase("--channel", "a", "--user", "u3")["messages"] == 1
        assert erase("--channel", "b")["messages"] == 2
        assert erase("--whole-tenant") == {"members": 1}
        again = shell.run("erase", "--channel", "never", "--yes", *at)
        assert again.stdout.startswith("nothing of it is there")
    erasures = decode(receipt.read_bytes().splitlines())
    assert [(one.channel, one.user_id, one.message_ids) for one in erasures] == [
        ("", "u1", ()), ("a", "", ("m1", "m9")), ("a", "u3", ()), ("b", "", ()), ("", "", ()),
    ]  # fmt: skip
    assert [one.all_channels for one in erasures] == [True, *[False] * 4]
    assert isinstance(erasures[-1], Erasure)
    assert erasures[-1].whole_tenant
    assert all(one.tenant == "default" and one.erased_at_ms > 0 for one in erasures)


@pytest.mark.row("N-10")
@pytest.mark.parametrize(
    ("names", "why"),
    [
        ((), "nothing says where"),
        (("--user", "u1"), "nothing says where"),
        (("--all-channels",), "goes with --user alone"),
        (("--all-channels", "--user", "u1", "--channel", "a"), "goes with --user alone"),
        (("--whole-tenant", "--user", "u1"), "names everything"),
        (("--channel", "a", "--user", "u1", "--message", "m"), "two erasures"),
        (("--channel", "a"), "nobody can be asked"),
    ],
)
def test_what_cannot_be(shell, names, why):
    done = shell.run("erase", *names, "--server", "127.0.0.1:1")
    assert done.returncode == 2
    assert why in done.stderr
