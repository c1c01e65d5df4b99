"""Exports of platforms, today's and older or localised ones: authors, times, replies, mentions, media as they were."""

import json
import shutil
import sqlite3
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.cli.in_process import EXPORTS

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[2] / "golden" / "imports"
FILES = sorted(one.name for one in EXPORTS.iterdir())


def compact(message: dict) -> str:
    """One message as a line that a person can check."""
    author = message["author"]
    at = datetime.fromtimestamp(int(message.get("sent_at_ms", 0)) / 1000, UTC)
    kind = author.get("kind", "").removeprefix("AUTHOR_KIND_").lower()
    words = [
        message["id"], f"{author['id']}={author.get('name', '')}" + (f"({kind})" if kind != "human" else ""),
        at.isoformat(timespec="milliseconds").removesuffix("+00:00"),
    ]  # fmt: skip
    words += (
        [message["role"].removeprefix("ROLE_").lower()] if message["role"] != "ROLE_USER" else []
    )
    words += [f"thread={message['thread_id']}"] if "thread_id" in message else []
    words += [f"session={message['session_id']}"] if "session_id" in message else []
    if reply := message.get("reply"):
        words.append(
            f"->{reply['message_id']}({reply['kind'].removeprefix('REPLY_KIND_').lower()})"
        )
    words += [
        f"@{one['user_id']}[{one.get('start', 0)}:{one.get('end', 0)}]"
        for one in message.get("mentions", ())
    ]
    for part in message["parts"]:
        ((what, value),) = part.items()
        words.append(
            json.dumps(value["text"] if what == "text" else {what: value}, ensure_ascii=False)
        )
    return "  ".join(words)


@pytest.mark.row("P-32")
@pytest.mark.parametrize("file", FILES)
def test_an_export_is_read_as_it_was(commands, file):
    """Each is recognised by its content; once more gives the same state."""
    arguments = [
        "import",
        str(EXPORTS / file),
        "--channel",
        f"x-{file}",
        "--time-zone",
        "Asia/Shanghai",
    ]
    done = commands.json(*arguments)
    assert done["formats"][str(EXPORTS / file)] == file.split("_")[0].split(".")[0].replace(
        "irssi", "irc"
    ).replace("znc", "irc")
    told = [f"skipped {kind}: {count}" for kind, count in sorted(done["skipped"].items())]
    told += [f"not read {name}: {count}" for name, count in sorted(done["unknown_fields"].items())]
    assert (done["bad_lines"], done["refused"], done["conflict"]) == ([], 0, 0)
    found = [compact(one) for one in commands.messages(f"x-{file}")]
    assert done["stored"] == len(found)
    assert "\n".join([*found, *told]) + "\n" == (GOLDEN / f"{file}.txt").read_text("utf-8")
    again = commands.json(*arguments)
    assert (again["stored"], again["duplicate"], again["warnings"].get("metadata_differs")) == (
        0,
        len(found),
        None,
    )


@pytest.mark.row("P-32")
@pytest.mark.parametrize(
    ("file", "channels"),
    [
        ("telegram_topics.json", {"-1001234567890": 8}),
        ("telegram_account_2019.json", {"222": 2, "-333": 1}),
        ("discord_thread.json", {"20": 6}),
        ("slack_workspace", {"C01": 4}),
        ("irssi.#room.log", {"#room": 6}),
        ("qq_windows.txt", {"测试群": 2, "另一个群": 1}),
        ("wechat_weflow.json", {"123@chatroom": 3}),
        ("lark_list.json", {"oc_1": 3}),
        ("onebot_events.jsonl", {"777": 4}),
    ],
)
def test_channels_are_those_that_a_bot_sees(commands, file, channels):
    assert commands.json("import", str(EXPORTS / file), "--channel-prefix", "own/")["channels"] == {
        f"own/{name}": count for name, count in channels.items()
    }


@pytest.mark.row("P-32")
def test_a_longer_export_adds_only_what_is_new(commands, tmp_path):
    """No id from the platform: an id is made of time, author and text, and counts what is alike."""
    whole = (EXPORTS / "whatsapp_ios.txt").read_text("utf-8")
    part, file = whole[: whole.rindex("[7/13/25")], tmp_path / "_chat.txt"
    file.write_text(part, "utf-8")
    first = commands.json("import", str(file), "--channel", "longer", "--date-order", "mdy")
    file.write_text(whole, "utf-8")
    second = commands.json("import", str(file), "--channel", "longer")
    assert (first["stored"], second["stored"], second["duplicate"]) == (6, 1, 6)


@pytest.mark.row("P-32")
def test_archives_are_read_without_unpacking(commands, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "slack"), "zip", EXPORTS / "slack_workspace")
    assert commands.json("import", archive, "--channel-prefix", "zip/")["channels"] == {
        "zip/C01": 4
    }
    with zipfile.ZipFile(tmp_path / "chat.zip", "w") as file:
        file.write(EXPORTS / "whatsapp_android_es.txt", "WhatsApp Chat - Reise.txt")
        file.writestr("IMG-1.jpg", b"\xff\xd8\xff")
    done = commands.json("import", str(tmp_path / "chat.zip"), "--channel", "zipped")
    assert (done["stored"], done["skipped"]) == (3, {"deleted": 1, "notice of the app": 1})


def test_the_format_can_be_named(commands, tmp_path):
    (tmp_path / "odd").write_text("15:36 <ann> hello\nnonsense\n")
    done = commands.json(
        "import", str(tmp_path / "odd"), "--format", "irc", "--date", "2025-07-11",
        "--time-zone", "UTC", "--channel", "named",
    )  # fmt: skip
    assert (done["stored"], done["bad_lines"]) == (
        1, [{"file": str(tmp_path / "odd"), "line": 2, "reason": "begins with no time"}],
    )  # fmt: skip
    assert commands.messages("named")[0]["sent_at_ms"] == "1752248160000"


@pytest.mark.parametrize(
    ("unit", "value", "sent_at_ms"),
    [
        ("auto", 1_752_219_371, 1_752_219_371_000),
        ("auto", "1752219371.5", 1_752_219_371_500),
        ("auto", 1_752_219_371_000, 1_752_219_371_000),
        ("auto", 1_752_219_371_000_000, 1_752_219_371_000),
        ("s", 5_000, 5_000_000),
        ("us", 1_752_219_371_000_000, 1_752_219_371_000),
        ("auto", "2025-07-11T09:36:11", 1_752_219_371_000),
    ],
)
def test_units_and_zones_of_times(commands, unit, value, sent_at_ms):
    line = {"id": f"{unit}{value}", "user_id": "u", "text": "hi", "time": value}
    name = f"unit-{unit}-{value}"
    commands.json(
        "import",
        "-",
        "--channel",
        name,
        "--time-unit",
        unit,
        "--time-zone",
        "Europe/Berlin",
        stdin=json.dumps(line),
    )
    assert int(commands.messages(name)[0]["sent_at_ms"]) == sent_at_ms


def test_times_that_nobody_reads_are_no_times_of_now(commands):
    line = json.dumps({"id": 1, "user_id": "u", "text": "hi", "posted_date": "2025-07-11"})
    done = commands.run("import", "-", "--channel", "untimed", stdin=line)
    assert done.returncode == 1
    assert "nobody reads the field posted_date; nothing was sent" in done.stderr


@pytest.mark.row("N-08")
def test_a_mistaken_import_can_be_corrected(commands):
    """After the channel is erased, the corrected file is stored; what was erased by name is not."""
    from backscroll import Client

    wrong = [
        {"id": n, "user_id": "u", "text": f"old talk {n}", "timestamp": 1_000_000 + n}
        for n in range(3)
    ]
    right = [{**one, "timestamp": 1_752_219_371_000 + n} for n, one in enumerate(wrong)]
    lines = ["\n".join(map(json.dumps, some)) for some in (wrong, right)]
    assert commands.json("import", "-", "--channel", "corrected", stdin=lines[0])["stored"] == 3
    assert (
        commands.json("import", "-", "--channel", "corrected", "--strict", stdin=lines[0])[
            "duplicate"
        ]
        == 3
    )
    with Client(commands.server) as client:
        client.erase("corrected", message_ids=["2"])
        client.erase("corrected", whole_channel=True)
    done = commands.json("import", "-", "--channel", "corrected", stdin=lines[1])
    assert (done["stored"], done["gone"]) == (2, 1)


@pytest.mark.row("S3-28")
def test_a_table_of_history_is_imported_and_asked(commands, tmp_path):
    """The design's table: chat_id, role, text."""
    path = tmp_path / "bot.db"
    with sqlite3.connect(path) as made:
        made.execute(
            "CREATE TABLE history (id INTEGER PRIMARY KEY, chat_id INTEGER NOT NULL, role TEXT, text TEXT)"
        )
        rows = [(-100, "user", "where is the key to the boat?"), (-100, "assistant", "Under the red bucket."),
                (7, "user", "hi"), (-100, "user", "thanks"), (-100, "narrator", "x")]  # fmt: skip
        made.executemany("INSERT INTO history (chat_id, role, text) VALUES (?, ?, ?)", rows)
    made.close()
    before = path.read_bytes()
    done = commands.json("import", str(path), "--channel-prefix", "table/")
    assert (done["stored"], done["channels"]) == (4, {"table/-100": 3, "table/7": 1})
    assert [one["row"] for one in done["bad_lines"]] == [5]
    assert path.read_bytes() == before
    assert commands.json("import", str(path), "--channel-prefix", "table/")["duplicate"] == 4
    asked = commands.json("context", "table/-100", "where was the boat's key?")
    said = [part["text"]["text"] for item in asked["items"] for part in item["message"]["parts"]]
    assert "Under the red bucket." in said
    with sqlite3.connect(tmp_path / "other.db") as made:
        made.execute("CREATE TABLE notes (a)")
    made.close()
    refused = commands.run("import", str(tmp_path / "other.db"), "--channel", "x")
    assert "a SQLite file with the tables notes; a table history" in refused.stderr
