"""Files that are not quite what an import takes: of other programs, in other encodings, locked, damaged, half."""

import gzip
import json
import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.cli.in_process import EXPORTS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.pdf", b"%PDF-1.4 ...", "a PDF document"),
        ("a.html", b"<!DOCTYPE html><html>", "an HTML page"),
        ("a.txt", b"Dear diary,\nnothing.\n", "a text that begins 'Dear diary,'"),
        ("a.md", b'# Examples\n\nA request:\n\n{"id": 1, "text": "x"}\n', "a text that begins '# Examples'"),
        ("a.json", b'{"conversations": 3, "owner": "x"}', "JSON whose records have conversations, owner"),
        ("b.json", b'[{"karma": 3}]', "JSON whose records have karma"),
        ("a.bin", b"\0\1\2", "no text but bytes"),
        (
            "c.html",
            b"<!DOCTYPE html>\n<style>.chatlog__x{}</style>",
            "a DiscordChatExporter export in HTML: export as JSON",
        ),
        ("c.csv", b"AuthorID,Author,Date,Content,Attachments,Reactions\n", "a DiscordChatExporter export in CSV"),
        ("c.txt", b"==============\nGuild: G\nChannel: a / b\n", "a DiscordChatExporter export in plain text"),
        ("d.html", b'<!DOCTYPE html>\n<div class="page_wrap">', "a Telegram Desktop export in HTML: export again as"),
        ("a.mht", b"From: <Save by Tencent MsgMgr>\n", "a QQ export in MHT: export as text"),
        ("c.json", b'[{"title": "t", "mapping": {}, "current_node": "x"}]', "a ChatGPT export"),
        ("d.json", b'{"messages": [{"sender_name": "A", "timestamp_ms": 1}]}', "a Facebook or Instagram export"),
        ("b.log", b"2025-07-11 15:36:11 INFO start\n", "a text that begins '2025-07-11 15:36:11 INFO"),
        ("deep.json", b"[" * 100_000, "JSON nested deeper than 200 levels"),
        (
            "late.json",
            b'[{"id":1,"user_id":"u","text":"x","time":1752219371},'
            + b" " * 300_000
            + b"[" * 100_000,
            "late.json cannot be read to its end: nested deeper than 200 levels, behind message 1, about byte",
        ),
        ("gbk.jsonl", '{"id":1,"user_id":"u","text":"大家好"}\n'.encode("gbk"), "not in UTF-8"),
        ("in.gz", gzip.compress(b"PK\3\4", mtime=0), "a zip archive inside another file; unpack that first"),
        ("a.log", b"[15:36] <ann> hello\n", "an IRC log that tells hours but no day: give --date"),
        ("b.txt", b"11/07/2025, 15:39 - Ann: hi\n", "a WhatsApp export, which names no channel: give --channel"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_named_for_what_it_is(commands, tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    given = ["--channel", "none"] if name == "a.log" else []
    done = commands.run("import", str(tmp_path / name), *given)
    assert done.returncode == 1
    assert says in done.stderr


def locked(path: Path) -> Path:
    """An archive whose file says that it has a password."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("result.json", "{}")
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(raw)
    return path


def test_an_archive_with_a_password_says_so(commands, tmp_path):
    done = commands.run("import", str(locked(tmp_path / "a.zip")), "--channel", "none")
    assert done.returncode == 1
    assert "a.zip/result.json has a password; unpack the archive first" in done.stderr


@pytest.mark.row("P-32")
def test_a_folder_of_exports_is_read_file_by_file(commands, tmp_path):
    """As DiscordChatExporter writes a server; what is no chat log is passed over and told."""
    folder = tmp_path / "server"
    (folder / "media").mkdir(parents=True)
    shutil.copy(EXPORTS / "discord_thread.json", folder / "thread.json")
    (folder / "own.jsonl").write_text(
        '{"id":1,"user_id":"u","text":"hi","channel":"c","time":1752219371}'
    )
    (folder / "media" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    archive = shutil.make_archive(str(tmp_path / "server"), "zip", folder)
    for given, prefix in ((str(folder), "folder/"), (archive, "archive/")):
        done = commands.json("import", given, "--channel-prefix", prefix)
        assert done["channels"] == {f"{prefix}20": 6, f"{prefix}c": 1}
        assert done["formats"] == {f"{given}/own.jsonl": "jsonl", f"{given}/thread.json": "discord"}
        assert (
            f"passed over: 1 of 3 files of {given}, such as media/a.png, a picture"
            in done["notes"][0]
        )


@pytest.mark.row("P-32")
@pytest.mark.parametrize(
    ("encoding", "given", "is_told"),
    [("utf-16", "", False), ("utf-8-sig", "", False), ("utf-16-le", "", False), ("utf-16-be", "", False),
     ("gb18030", "", True), ("utf-16-le", "utf-16-le", False),
     ("gb18030", "gbk", False), ("utf-32", "", False)],
)  # fmt: skip
@pytest.mark.parametrize("file", ["wechat_memotrace.csv", "lark_list.json", "whatsapp_ios_zh.txt"])
def test_texts_in_other_encodings_are_the_same(commands, tmp_path, file, encoding, given, is_told):
    """A guess is told: what is read wrong looks right to a program."""
    text = (EXPORTS / file).read_text("utf-8-sig")
    if encoding == "gb18030" and given:
        text = text.encode("gbk", "ignore").decode("gbk")
    try:
        (tmp_path / file).write_bytes(text.encode(encoding))
    except UnicodeEncodeError:
        pytest.skip("has signs that the encoding has not")
    if encoding == "gb18030" and file.endswith(".json") and not given:
        pytest.skip("JSON is UTF-8 unless somebody says otherwise")
    (tmp_path / "plain").write_text(text, "utf-8")
    channel = f"encoded-{file}-{encoding}-{given}"
    options = ["--channel", channel, "--time-zone", "UTC"]
    encoded = [str(tmp_path / file), *(["--encoding", given] if given else [])]
    done = commands.json("import", *encoded, *options)
    assert done["stored"] > 0
    assert any("is not in UTF-8" in note for note in done["notes"]) == is_told
    again = commands.json("import", str(tmp_path / "plain"), *options)
    assert (again["stored"], again["duplicate"]) == (0, done["stored"])


@pytest.mark.row("P-32")
@pytest.mark.parametrize(
    ("encoding", "words", "said"),
    [
        ("cp1252", "Western of Windows, Latin-1", "Grüße aus München, schöner Tag für uns"),
        ("latin-1", "Western of Windows, Latin-1", "c'est créé à Noël, ça va où?"),
        ("latin-1", "Western of Windows, Latin-1", "¿Dónde está el niño? ¡Mañana!"),
        ("cp1252", "Western of Windows, Latin-1", "the café “Mitte” – 5 €"),
        ("shift_jis", "Japanese of Windows, Shift-JIS", "こんにちは、元気ですか"),
        ("cp932", "Japanese of Windows, Shift-JIS", "カメラを買った ①"),
        ("gb18030", "Chinese of Windows, GB18030", "你好，我们明天见"),
        ("gbk", "Chinese of Windows, GB18030", "請問這個問題怎麼辦? 說 話 語 謝謝"),
        ("gb18030", "Chinese of Windows, GB18030", "說"),
        ("gb18030", "Chinese of Windows, GB18030", "の is Japanese: 这个字是日文"),
    ],
)
def test_an_encoding_is_known_by_its_bytes(commands, tmp_path, encoding, words, said):
    file = tmp_path / "chat.txt"
    file.write_bytes(f"13/07/2025, 14:05 - Ann: {said}\n".encode(encoding))
    channel = f"bytes-{encoding}-{said}"
    done = commands.json("import", str(file), "--channel", channel, "--time-zone", "UTC")
    assert f"{file} is not in UTF-8: read as {words} (--encoding)" in done["notes"]
    (kept,) = commands.messages(channel)
    assert kept["parts"] == [{"text": {"text": said}}]


def test_an_unknown_encoding_is_refused(commands, tmp_path):
    for name in ("klingon", "hex"):
        done = commands.run("import", str(tmp_path), "--encoding", name)
        assert (done.returncode, f"--encoding {name} is no encoding of texts" in done.stderr) == (
            2,
            True,
        )


ODD_RECORDS = {
    "telegram": [
        '{"id": 1, "type": "message", "date": "x", "date_unixtime": "x", "from_id": "user1", "text": "a"}',
        '{"id": 2, "type": "message", "date": "x", "date_unixtime": "1752219371", "from_id": "user1", "text": "b"}',
    ],
    "irc": ["2025-07-11 15:99 <a> x", "2025-07-11 15:36 <a> y"],
    "jsonl": [
        '{"id": 1, "user_id": "u", "text": "a", "time": 1e30}',
        '{"id": 2, "user_id": "u", "text": "b", "time": 1752219371}',
    ],
    "lark": [
        '{"message_id": 1, "msg_type": "text", "content": "a", "create_time": 9, "sender": {"id": "u"}, "mentions": 3}',
        '{"message_id": 2, "msg_type": "text", "content": "b", "create_time": 1752219371, "sender": {"id": "u"}}',
    ],
}


@pytest.mark.row("P-32")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("telegram", "date_unixtime is neither a number"),
        ("irc", "a field is not what it is in this format: minute"),
        ("jsonl", "time is out of range"),
        ("lark", "a field is not what it is in this format: 'int'"),
    ],
)
def test_one_odd_record_costs_itself(commands, tmp_path, name, reason):
    (tmp_path / "odd").write_text("\n".join(ODD_RECORDS[name]))
    options = ["--channel", f"odd-{name}", "--format", name]
    done = commands.json("import", str(tmp_path / "odd"), *options)
    assert (done["stored"], done["bad_line_count"]) == (1, 1)
    assert done["bad_lines"][0]["reason"].startswith(reason)


@pytest.mark.row("P-32")
def test_half_characters_in_a_document_become_marks(commands, tmp_path):
    (tmp_path / "half.json").write_text(
        r'[{"id": 1, "user_id": "u", "text": "half \ud83d, whole \ud83d\ude00", "time": 1752219371}]'
    )
    assert (
        commands.json("import", str(tmp_path / "half.json"), "--channel", "half-array")["stored"]
        == 1
    )
    assert commands.messages("half-array")[0]["parts"][0]["text"]["text"] == "half \ufffd, whole 😀"


def test_half_a_file_says_where_it_breaks_off(commands, tmp_path):
    """Nothing of it is sent."""
    whole = (EXPORTS / "telegram_topics.json").read_bytes()
    (tmp_path / "half.json").write_bytes(whole[: len(whole) // 2])
    done = commands.run("import", str(tmp_path / "half.json"), "--channel", "half")
    assert done.returncode == 1
    assert "half.json cannot be read to its end: it breaks off, behind message" in done.stderr
    assert "about byte" in done.stderr
    assert not json.loads(commands.run("context", "half", "x", "--json").stdout).get(
        "channel_known"
    )


@pytest.mark.row("P-32")
def test_a_folder_with_several_exports_is_read_whole(commands, tmp_path):
    """Several of one platform, and several platforms; a log beside an export is not passed over in silence."""
    chat = "[11.07.25, 15:39:0{n}] Ann: hi {n}\n[13.07.25, 15:39:0{n}] Ben: ho {n}\n"
    two = tmp_path / "two"
    two.mkdir()
    (two / "_chat.txt").write_text(chat.format(n=1))
    (two / "WhatsApp Chat mit Büro.txt").write_text(chat.format(n=2))
    assert commands.json("import", str(two), "--channel", "two")["stored"] == 4
    shutil.copy(EXPORTS / "telegram_topics.json", tmp_path / "result.json")
    alone = commands.json("import", str(tmp_path / "result.json"), "--channel", "one")["stored"]
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    shutil.copy(tmp_path / "result.json", mixed)
    (mixed / "chat.jsonl").write_text(
        '{"id": 1, "user_id": "u", "text": "hi", "timestamp": 1752219371}\n'
    )
    done = commands.json("import", str(mixed), "--channel", "beside")
    assert done["stored"] == alone
    assert any("chat.jsonl" in note for note in done["notes"])
    (mixed / "_chat.txt").write_text(chat.format(n=1))
    assert commands.json("import", str(mixed), "--channel", "mixed")["stored"] == alone + 3


@pytest.mark.row("P-32")
def test_a_wrong_format_is_refused_by_the_right_name(commands):
    file = str(EXPORTS / "telegram_topics.json")
    done = commands.run("import", file, "--channel", "wrong", "--format", "discord")
    assert done.returncode == 1
    assert (
        "is a Telegram Desktop export: leave --format out, or give --format telegram" in done.stderr
    )


@pytest.mark.row("P-32")
@pytest.mark.parametrize(
    ("line", "month"),
    [
        ("03/04/2026, 8:15 am - Ann: hi\n", 4),
        ("3/4/26, 8:15 AM - Ann: hi\n", 3),
        ("03/04/2026, 08:15 - Ann: hi\n", 4),
    ],
)
def test_days_that_could_be_read_in_two_ways(commands, tmp_path, line, month):
    """As the countries write them that write them so; the choice is told."""
    (tmp_path / "_chat.txt").write_text(line)
    done = commands.json(
        "import", str(tmp_path / "_chat.txt"), "--channel", f"days{len(line)}{month}"
    )
    assert any("dates could be read in two ways" in note for note in done["notes"])
    (kept,) = map(json.loads, commands.run("export", f"days{len(line)}{month}").stdout.splitlines())
    assert datetime.fromtimestamp(int(kept["sent_at_ms"]) / 1000, UTC).month == month
