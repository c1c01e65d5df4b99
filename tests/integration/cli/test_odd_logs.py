"""Logs as other clients, phones and machines write them: clocks of twelve hours, old line ends, packed files, bombs."""

import gzip
import json
import zipfile

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.row("P-32")]
AFTERNOON = 1_752_415_500_000
"""2025-07-13, 14:05 in UTC."""


def imported(commands, path, channel):
    done = commands.json("import", str(path), "--channel", channel, "--time-zone", "UTC")
    return done, [
        (one["author"]["id"], one["parts"][0].get("text", {}).get("text"), int(one["sent_at_ms"]) - AFTERNOON)
        for one in commands.messages(channel)
    ]  # fmt: skip


NOTICES = (
    "7/13/25, 2:05 PM - Ann: “tea: now”\n"
    "7/13/25, 2:06 PM - Ann changed the group name from “tea” to “tea: the sequel”\n"
    "7/13/25, 2:06 PM - 小红将群名称改为「茶: 二」\n"
    "7/13/25, 2:07 PM - Ann “Tea” Lee: hi\n"
)


COLON_NOTICES = [
    "Messages and calls are end-to-end encrypted: only people in this chat can read, listen to, or share them.",
    "Messages and calls are end-to-end encrypted. No one outside of this chat can read them. Learn more: https://x",
    "Ann changed the subject to: tea", "Ann changed the group description to: tea: every day",
    "Ann changed this group's settings: only admins can send", 'Ann changed the subject from "a: b" to "c"',
    "Ann created group: tea", "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt: niemand liest mit.",
    "Ann hat den Betreff geändert in: Tee", "Ann hat die Gruppenbeschreibung geändert: Tee",
    "Los mensajes y las llamadas están cifrados de extremo a extremo: nadie los lee.",
    "Ana cambió el asunto a: té", "Ana creó el grupo: té",
    "Les messages et les appels sont chiffrés de bout en bout : personne ne lit.",
    "Ann a changé l’objet en : thé", "As mensagens e as chamadas são protegidas com criptografia de ponta a ponta: ok",
    "Ana mudou o nome para: chá", "I messaggi e le chiamate sono crittografati end-to-end: nessuno legge.",
    "Ann ha cambiato l'oggetto in: tè", "Berichten en oproepen worden end-to-end versleuteld: niemand leest mee.",
    "Ann heeft het onderwerp gewijzigd in: thee", "Сообщения и звонки защищены сквозным шифрованием: никто не прочтет.",
    "Анна изменила тему на: чай", "Mesajlar ve aramalar uçtan uca şifrelidir: kimse okuyamaz.",
    "Ann grup konusunu değiştirdi: çay", "消息和通话已进行端到端加密: 只有此对话中的人可以读取。",
    "小红更改了群组名称: 茶", "小紅已將群組名稱改為: 茶", "訊息和通話皆已端對端加密: 只有對話中的人可以讀取。",
    "メッセージと通話はエンドツーエンドで暗号化されています: 誰も読めません", "花子がグループ名を変更しました: 茶",
    "메시지와 통화는 종단간 암호화됩니다: 아무도 못 읽습니다", "민지님이 그룹 이름을 변경했습니다: 차",
    "الرسائل والمكالمات مشفرة تمامًا بين الطرفين: لا أحد", "أحمد غيّر اسم المجموعة إلى: شاي",
]  # fmt: skip
NO_NOTICES = [
    "Ann: Messages and calls are end-to-end encrypted: is that so?", "Ann: Bob changed the subject to: tea",
    "Group Tea: hi", "The Subject: hi", "Messages: hi", "Ann (changed): hi", "Gruppe Betreff: hi", "小红 群主: hi",
    "茶群名称: hi", "Название: hi", "제목 없음: hi", "花子 件名: hi", "Encrypted Bob: hi", "Chat Noir: hi",
    "Calls R Us: hi", "민지 제목 없음: hi", "Los Mensajes: hi",
]  # fmt: skip


def test_notices_with_a_colon_are_no_messages(commands, tmp_path):
    """In every language that is read; names and texts that only remind of them stay."""
    lines = [f"13/07/2025, 14:05 - {one}\n" for one in (*COLON_NOTICES, *NO_NOTICES)]
    (tmp_path / "_chat.txt").write_text("".join(lines), "utf-8")
    done, found = imported(commands, tmp_path / "_chat.txt", "colons")
    assert {(who, said) for who, said, _ in found} == {
        tuple(one.split(": ", 1)) for one in NO_NOTICES
    }
    assert done["skipped"] == {"notice of the app": len(COLON_NOTICES)}


def test_blank_lines_without_number_are_passed_over(commands, tmp_path):
    """Places are counted on; of those inside a message some stay."""
    path = tmp_path / "blank.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"id": "1", "user_id": "u", "text": "hi", "time": 1752415500}\n')
        for _ in range(20):
            file.write(b"\n" * 999_999 + b" \r\n")
        file.write(b'no record\n{"id": "2", "user_id": "u", "text": "yo", "time": 1752415501}')
    done, found = imported(commands, path, "blank")
    assert [one[1] for one in found] == ["hi", "yo"]
    assert [one["line"] for one in done["bad_lines"]] == [20_000_002]
    path = tmp_path / "_chat.txt.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"13/07/2025, 14:05 - Ann: hi" + b"\n" * 20_000_000 + b"you\n")
    done, ((_, said, _),) = imported(commands, path, "blank chat")
    assert said.split() == ["hi", "you"]
    assert len(said) < 2_000


@pytest.mark.parametrize(
    ("name", "text", "format_name", "wanted"),
    [
        ("znc", "[2025-07-13 14:05:00] <ann> bob: hi\n[2025-07-13 14:05:01] *** Joins: x (y@z)\n", "irc",
         [("ann", "bob: hi", 0)]),
        ("fraction", "[2025-07-13T14:05:00.123Z] <ann> hi\n", "irc", [("ann", "hi", 0)]),
        ("twelve", "--- Log opened Sun Jul 13 00:00:00 2025\n12:05 AM <ann> a\n02:05:01 PM <ann> b\n", "irc",
         [("ann", "a", -14 * 3_600_000), ("ann", "b", 1_000)]),
        ("hexchat", ("**** BEGIN LOGGING AT Sun Jul 13 14:05:00 2025\nJul 13 14:05:00 *\tNow talking on #x\n"
         "Jul 13 14:05:00 *\tbob (a@b) has joined\nJul 13 14:05:00 *\tann waves\n"), "irc", [("ann", "/me waves", 0)]),
        ("arabic", ("\u200f13\u200f/7\u200f/2025، 2:05 م - أحمد: مرحبا\n"
          "\u200f13\u200f/7\u200f/2025، 2:05 ص - أحمد: صباح\n"),
         "whatsapp", [("أحمد", "صباح", -12 * 3_600_000), ("أحمد", "مرحبا", 0)]),
        ("arabic digits", "\u200f١٣\u200f/٧\u200f/٢٠٢٥، ٢:٠٥ م - أحمد: مرحبا\n", "whatsapp", [("أحمد", "مرحبا", 0)]),
        ("colon in a notice", NOTICES, "whatsapp", [("Ann", "“tea: now”", 0), ("Ann “Tea” Lee", "hi", 120_000)]),
        ("old ends", "7/13/25, 2:05 PM - Ann: a\r7/13/25, 2:06 PM - Bob: b\r", "whatsapp",
         [("Ann", "a", 0), ("Bob", "b", 60_000)]),
    ],
)  # fmt: skip
def test_lines_are_read_as_their_program_wrote_them(
    commands, tmp_path, name, text, format_name, wanted
):
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    done, found = imported(commands, path, f"odd-{name}")
    assert list(done["formats"].values()) == [format_name]
    assert sorted(found) == sorted(wanted)
    assert done["bad_lines"] == []
    again, _ = imported(commands, path, f"odd-{name}")
    assert (again["stored"], again["duplicate"]) == (0, len(wanted))


def test_a_day_that_is_none_does_not_tell_the_order_of_the_others(commands, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        "45/45/25, 2:05 PM - Ann: a\n7/13/25, 25:75 PM - Ann: b\n7/13/25, 2:05 PM - Ann: c\n"
    )
    done, found = imported(commands, path, "no-day")
    assert found == [("Ann", "c", 0)]
    assert [one["line"] for one in done["bad_lines"]] == [1, 2]


def test_an_hour_that_is_none_costs_its_line(commands, tmp_path):
    path = tmp_path / "2025-07-13.log"
    path.write_text("[14:05:00] <ann> a\n[25:05:00] <ann> b\n[14:05:01] <ann> c\n")
    done, found = imported(commands, path, "no-hour")
    assert found == [("ann", "a", 0), ("ann", "c", 1_000)]
    assert [one["line"] for one in done["bad_lines"]] == [2]


def test_packed_files_are_read_in_folders_and_archives(commands, tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    packed = gzip.compress(b"[2025-07-13 14:05:00] <ann> hi\n")
    (folder / "a.log.gz").write_bytes(packed)
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("a.log.gz", packed)
    for path in (folder, tmp_path / "logs.zip"):
        assert imported(commands, path, f"packed-{path.name}")[1] == [("ann", "hi", 0)]


def test_a_line_without_an_end_costs_itself_even_when_a_small_file_holds_it(commands, tmp_path):
    """Forty megabytes of one sign are forty kilobytes in an archive."""
    records = [
        json.dumps({"id": name, "user_id": "u", "text": name, "time": AFTERNOON})
        for name in ("first", "last")
    ]
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", f"{records[0]}\n{'x' * 40_000_000}\n{records[1]}\n")
    done, found = imported(commands, path, "bomb")
    assert [one[1] for one in found] == ["first", "last"]
    assert [(one["line"], one["reason"]) for one in done["bad_lines"]] == [
        (2, "longer than 16 MiB")
    ]
