"""`backscroll backup` and `restore`: one moment of a server that takes writes, put back whole or not at all."""

import json
import resource
import sqlite3
import stat
import threading
import time
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from backscroll import Author, Client, Message
from backscroll_sidecar.store.backups import files, manifest
from backscroll_sidecar.store.backups.backup import PART_SUFFIX, back_up
from backscroll_sidecar.store.backups.manifest import Part
from backscroll_sidecar.store.sqlite import migrate
from backscroll_sidecar.store.sqlite.files import FileLock

pytestmark = pytest.mark.sqlite("a backup copies a file of SQLite")

NOON = 1_795_176_000_000
DUMPS = Path(__file__).parents[2] / "unit/store/databases"
ROWS = 300


def lines(count: int, start: int = 0, author: str = "u1") -> list[Message]:
    return [
        Message(f"m{n}", Author(author), f"line {n} 猫", NOON + n)
        for n in range(start, start + count)
    ]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database that no server has, of messages of two people in two channels, made of the newest dump."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            (DUMPS / f"{migrate.known()[-1].number:04}.sql").read_text("utf-8")
        )
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return path


def content(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


def says(file: Path, index: bytes = b"", **other: object) -> None:
    """Let a backup's manifest say something else, or give it bytes of an index file."""
    whole = file.read_bytes()
    start = whole.rindex(b'{"taken_at_ms')
    end = whole[-manifest.END_BYTES :]
    told = manifest.read(whole[start : -manifest.END_BYTES], end, len(whole))
    told = msgspec.structs.replace(told, **other)
    file.write_bytes(whole[:start] + index + manifest.written(told))


@pytest.mark.slow
@pytest.mark.row("N-10")
def test_a_server_under_writes_is_backed_up_as_of_one_moment(shell):
    """What was acknowledged before is in it, what follows is in it up to one message, no writer fails."""
    acknowledged, failed, is_over = [0], [], threading.Event()

    def write(address: str) -> None:
        with Client(address) as client:
            while not is_over.is_set():
                try:
                    client.append("room", lines(20, acknowledged[0]))
                except Exception as error:  # noqa: BLE001 - any failure of a writer is what is looked for
                    failed.append(error)
                    return
                acknowledged[0] += 20

    database, file = shell.directory / "live.db", shell.directory / "live.backup"
    with shell.serving("--database", str(database)) as server:
        writer = threading.Thread(target=write, args=(server.address,))
        writer.start()
        try:
            while acknowledged[0] < ROWS and not failed:
                time.sleep(0.01)
            before = acknowledged[0]
            made = shell.json("backup", "--to", str(file), "--database", str(database))
            after = acknowledged[0]
        finally:
            is_over.set()
            writer.join()
        assert not failed
        refused = shell.run("restore", str(file), "--to", str(database), "--force")
        assert refused.returncode == 1
        assert "in use by another server" in refused.stderr
    count = made["rows"]["messages"]
    assert before <= count <= after + 20
    assert count % 20 == 0  # a group is in it whole or not at all
    restored = shell.directory / "restored.db"
    shell.json("restore", str(file), "--to", str(restored), "--verify")
    with shell.serving("--database", str(restored)) as server, Client(server.address) as client:
        ids = [stored.message.id for stored in client.list_messages("room")]
        assert sorted(ids) == sorted(f"m{n}" for n in range(count))


@pytest.mark.row("N-10")
def test_what_was_checked_and_done_is_said(here, database, tmp_path):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    database.chmod(0o750)
    made = here.json("backup", "--database", str(database), "--to", str(file))
    assert made["rows"]["messages"] == 4
    assert made["bytes"] == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    done = here.json("restore", str(file), "--to", str(target), "--verify")
    assert [said.split(":")[0] for said in done["checks"]] == [
        "checksums", "integrity", "schema", "rows",
    ]  # fmt: skip
    assert (done["restored"], done["replaced"], done["taken_at_ms"]) == (
        True,
        False,
        made["taken_at_ms"],
    )
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert content(target) == content(database)
    said = here.run("restore", str(file), "--to", str(target), "--verify", "--force").stderr
    assert "checked integrity: every page" in said
    assert "index files: 0 taken along" in said
    assert sorted(path.name for path in tmp_path.iterdir() if "restoring" in path.name) == []


def test_a_folder_gets_a_file_named_by_the_time(here, database, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    made = here.json("backup", "--database", str(database), "--to", str(folder))
    (file,) = folder.iterdir()
    assert made["file"] == str(file)
    assert file.match("backscroll-????????T??????Z.backup")


def test_a_backup_that_is_there_stays_unless_told(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    file.write_bytes(b"mine")
    refused = here.run("backup", "--database", str(database), "--to", str(file))
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert file.read_bytes() == b"mine"
    here.json("backup", "--database", str(database), "--to", str(file), "--force")
    assert here.json("restore", str(file), "--to", str(tmp_path / "new.db"))["restored"]


@pytest.mark.parametrize("end", ["", "-wal", ".lock"])
def test_a_backup_never_takes_the_place_of_the_database(here, database, end):
    before = database.read_bytes()
    refused = here.run("backup", "--database", str(database), "--to", f"{database}{end}", "--force")
    assert refused.returncode == 1
    assert "belongs to the database" in refused.stderr
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "nowhere/chat.backup"), "No such file or directory"),
        (("--to", "old.db/chat.backup"), "Not a directory"),
        (("--to", "chat.backup", "--database", "none.db"), "there is no database"),
        (("--to", "chat.backup", "--database", "text.txt"), "no database"),
        (("--to", "chat.backup", "--database", ":memory:"), "there is no database"),
    ],
)
def test_what_cannot_be_backed_up_is_told_and_leaves_nothing(
    here, database, tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("this is no database, whatever it is called\n" * 40)
    before = sorted(tmp_path.iterdir())
    if "--database" not in arguments:
        arguments = (*arguments, "--database", str(database))
    done = here.run("backup", *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert [
        path for path in sorted(tmp_path.iterdir()) if not path.name.startswith("old.db-")
    ] == before


def test_a_full_disk_leaves_the_old_backup_and_the_old_database(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    before = file.read_bytes(), content(database)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        backup = here.run("backup", "--database", str(database), "--to", str(file), "--force")
        restore = here.run("restore", str(file), "--to", str(database), "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (backup.returncode, restore.returncode) == (1, 1)
    assert "error" in backup.stderr
    assert "File too large" in restore.stderr
    assert (file.read_bytes(), content(database)) == before
    assert not [one for one in tmp_path.iterdir() if "part" in one.name or "restoring" in one.name]


@pytest.mark.parametrize(
    "kind", ["cut", "one byte cut", "text", "empty", "database", "newer format"]
)
def test_what_is_no_whole_backup_is_refused(here, database, tmp_path, kind):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    here.json("backup", "--database", str(database), "--to", str(file))
    whole = file.read_bytes()
    database.with_name("plain.db").write_bytes(whole[: whole.rindex(b'{"taken_at_ms')])
    file.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "one byte cut": whole[:-1],
            "text": b"a chat\n" * 1_000,
            "empty": b"",
            "database": (tmp_path / "plain.db").read_bytes(),
            "newer format": whole[:-1] + bytes([manifest.FORMAT + 1]),
        }[kind]
    )
    done = here.run("restore", str(file), "--to", str(target))
    assert done.returncode == 1
    assert any(words in done.stderr for words in ("take another backup", "newer version"))
    assert not target.exists()


def test_a_changed_byte_anywhere_is_found(here, database, tmp_path):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    here.json("backup", "--database", str(database), "--to", str(file))
    whole = file.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        changed = bytearray(whole)
        changed[place] ^= 0x20
        file.write_bytes(changed)
        done = here.run("restore", str(file), "--to", str(target))
        assert done.returncode == 1, place
        assert not target.exists()


@pytest.mark.parametrize("dump", sorted(DUMPS.glob("*.sql"))[:-1:4], ids=lambda path: path.stem)
def test_a_backup_of_an_older_schema_is_migrated(here, tmp_path, dump):
    old, file, target = tmp_path / "old.db", tmp_path / "chat.backup", tmp_path / "new.db"
    with sqlite3.connect(old) as connection:
        connection.executescript(dump.read_text("utf-8"))
    connection.close()
    made = here.json("backup", "--database", str(old), "--to", str(file))
    assert made["schema_version"] == int(dump.stem)
    done = here.json("restore", str(file), "--to", str(target), "--verify")
    assert (done["schema_version_before"], done["schema_version"]) == (
        int(dump.stem), migrate.known()[-1].number,
    )  # fmt: skip
    assert done["checks"][-1] == "integrity once more, after what was changed"
    assert (
        here.json("backup", "--database", str(target), "--to", str(tmp_path / "again.backup"))[
            "schema_version"
        ]
        == migrate.known()[-1].number
    )


def test_a_backup_of_a_newer_schema_is_refused(here, database, tmp_path):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    here.json("backup", "--database", str(database), "--to", str(file))
    says(file, schema_version=migrate.known()[-1].number + 1, made_by="9.0.0")
    done = here.run("restore", str(file), "--to", str(target))
    assert done.returncode == 1
    assert "newer version of Backscroll" in done.stderr
    assert not target.exists()


def test_a_database_that_is_there_stays_unless_told(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    before = content(database)
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM revisions")
    connection.close()
    assert "--force" in here.run("restore", str(file), "--to", str(database)).stderr
    assert content(database) != before
    dry = here.json("restore", str(file), "--to", str(database), "--force", "--dry-run", "--verify")
    assert (dry["restored"], dry["rows"]["messages"]) == (False, 4)
    assert content(database) != before
    assert here.json("restore", str(file), "--to", str(database), "--force")["replaced"]
    assert content(database) == before


def test_a_log_of_the_old_database_is_not_taken_for_one_of_the_new(here, database, tmp_path):
    """A server that was killed leaves a log, and a damaged database may, too."""
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    before = content(database)
    log = database.with_name(database.name + "-wal")
    writing = sqlite3.connect(database)
    writing.execute("DELETE FROM revisions")
    writing.commit()
    saved, kept = log.read_bytes(), database.read_bytes()
    writing.close()
    database.write_bytes(kept)
    log.write_bytes(saved)
    here.json("restore", str(file), "--to", str(database), "--force")
    assert content(database) == before
    database.write_bytes(b"damaged" * 2_000)
    log.write_bytes(saved)
    here.json("restore", str(file), "--to", str(database), "--force")
    assert content(database) == before


def test_what_a_killed_server_left_in_its_log_is_backed_up(here, database, tmp_path):
    file, killed, target = (tmp_path / name for name in ("chat.backup", "killed.db", "new.db"))
    writing = sqlite3.connect(database)
    writing.execute("DELETE FROM revisions")
    writing.commit()
    killed.write_bytes(database.read_bytes())
    (tmp_path / "killed.db-wal").write_bytes((tmp_path / "old.db-wal").read_bytes())
    writing.close()
    made = here.json("backup", "--database", str(killed), "--to", str(file))
    assert made["rows"]["revisions"] == 0
    here.json("restore", str(file), "--to", str(target), "--verify")
    assert content(target) == content(database)


def test_another_program_that_has_the_database_is_told(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    reading = sqlite3.connect(database)
    reading.execute("SELECT count(*) FROM messages").fetchone()
    done = here.run("restore", str(file), "--to", str(database), "--force")
    reading.close()
    assert done.returncode == 1
    assert "another program" in done.stderr


@pytest.mark.row("N-10")
@pytest.mark.parametrize(
    ("erasure", "left"),
    [
        ({"channel": "room", "message_ids": ["m1"]}, {"m2", "m3", "r1"}),
        ({"channel": "room", "user_id": "u-alice"}, {"m2", "r1"}),
        ({"channel": "room"}, {"r1"}),
        ({"user_id": "u-alice", "all_channels": True}, {"m2", "r1"}),
        ({"whole_tenant": True}, set()),
    ],
)
def test_what_was_erased_since_goes_from_what_is_restored(here, database, tmp_path, erasure, left):
    file, target, told = tmp_path / "chat.backup", tmp_path / "new.db", tmp_path / "erased.jsonl"
    here.json("backup", "--database", str(database), "--to", str(file))
    line = {"tenant": "default", **erasure, "erased_at_ms": 4_000_000_000_000}
    told.write_text(json.dumps(line) + "\n")
    done = here.json(
        "restore", str(file), "--to", str(target), "--verify", "--tombstones", str(told)
    )
    (one,) = done["erasures"]
    assert one["tombstone"] == line
    assert one["counts"]["messages"] > 0
    assert done["checks"][-1] == "integrity once more, after what was changed"
    with sqlite3.connect(target) as connection:
        ids = {id_ for (id_,) in connection.execute("SELECT id FROM messages")}
    connection.close()
    assert ids == left
    assert one["counts"]["messages"] == 4 - len(ids)


@pytest.mark.row("N-10")
@pytest.mark.parametrize("who", [{"channel": "room", "user_id": "u-alice"}, {"whole_tenant": True}])
def test_who_came_back_after_an_erasure_stays(here, database, tmp_path, who):
    """An erasure takes what had come until then: what is of later in the backup was never erased."""
    file, target, told = tmp_path / "chat.backup", tmp_path / "new.db", tmp_path / "erased.jsonl"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE messages SET received_at_ms = 1700001000001 WHERE id = 'm3'")
    connection.close()
    here.json("backup", "--database", str(database), "--to", str(file))
    told.write_text(json.dumps({"tenant": "default", **who, "erased_at_ms": 1_700_001_000_000}))
    done = here.json("restore", str(file), "--to", str(target), "--tombstones", str(told))
    with sqlite3.connect(target) as connection:
        ids = {id_ for (id_,) in connection.execute("SELECT id FROM messages")}
    connection.close()
    assert ids == ({"m3"} if "whole_tenant" in who else {"m2", "m3", "r1"})
    assert done["erasures"][0]["counts"]["messages"] == 4 - len(ids)


def test_a_line_that_is_no_erasure_is_refused(here, database, tmp_path):
    file, told = tmp_path / "chat.backup", tmp_path / "erased.jsonl"
    here.json("backup", "--database", str(database), "--to", str(file))
    told.write_text('{"tenant": "default", "channel": "room", "erased_at_ms": 1}\n{"tenant"\n')
    done = here.run(
        "restore", str(file), "--to", str(tmp_path / "new.db"), "--tombstones", str(told)
    )
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert not (tmp_path / "new.db").exists()


@pytest.mark.row("N-10")
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"schema_version": migrate.known()[-1].number - 1}, "its manifest says"),
        ({"row_counts": {"messages": 5}}, "other numbers of rows"),
    ],
)
def test_what_the_manifest_says_is_compared_with_what_there_is(
    here, database, tmp_path, other, said
):
    """Only where it is to be verified: to count rows is to read them."""
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    here.json("backup", "--database", str(database), "--to", str(file))
    says(file, **other)
    done = here.run("restore", str(file), "--to", str(target), "--verify")
    assert done.returncode == 1
    assert said in done.stderr
    assert not target.exists()
    assert (
        here.json("restore", str(file), "--to", str(target), "--dry-run")["rows"]["messages"] == 4
    )


@pytest.mark.row("N-10")
def test_damage_that_was_backed_up_is_found_where_all_is_read(here, database, tmp_path):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE revisions SET message_id = 'nowhere'")
    connection.close()
    here.json("backup", "--database", str(database), "--to", str(file))
    done = here.run("restore", str(file), "--to", str(target), "--verify")
    assert done.returncode == 1
    assert "revisions refers to a missing row of messages" in done.stderr
    assert not target.exists()


def test_a_changed_index_file_is_found(here, database, tmp_path):
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    here.json("backup", "--database", str(database), "--to", str(file))
    index = Part("a.hnsw", 5, sha256(b"whole").hexdigest())
    says(file, b"other", indexes=(index,))
    done = here.run("restore", str(file), "--to", str(target))
    assert done.returncode == 1
    assert "its index file a.hnsw is not what was written" in done.stderr
    assert not target.exists()


def test_a_database_that_a_server_has_is_not_replaced(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    before, lock = database.read_bytes(), FileLock(database)
    done = here.run("restore", str(file), "--to", str(database), "--force")
    lock.release()
    assert done.returncode == 1
    assert "in use by another server" in done.stderr
    assert database.read_bytes() == before
    assert here.json("restore", str(file), "--to", str(database), "--force")["replaced"]
    FileLock(database).release()  # it was let go


def test_a_database_keeps_its_rights_and_a_file_is_private_until_it_is_whole(
    here, database, tmp_path
):
    file, modes = tmp_path / "chat.backup", set()

    def look(done: int, of: int) -> None:
        del done, of
        for part in tmp_path.glob(f".*{PART_SUFFIX}"):
            modes.add(stat.S_IMODE(part.stat().st_mode))

    database.chmod(0o664)
    back_up(database, file, look)
    assert modes == {0o600}
    here.json("restore", str(file), "--to", str(database), "--force")
    assert stat.S_IMODE(database.stat().st_mode) == 0o664


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("chat.backup", "the backup is the database itself"),
        ("nowhere/new.db", "there is no folder"),
    ],
)
def test_where_nothing_can_be_restored_is_told(here, database, tmp_path, target, said):
    file = tmp_path / "chat.backup"
    here.json("backup", "--database", str(database), "--to", str(file))
    before = sorted(tmp_path.iterdir()), file.read_bytes()
    done = here.run("restore", str(file), "--to", str(tmp_path / target), "--force")
    assert done.returncode == 1
    assert said in done.stderr
    assert (sorted(tmp_path.iterdir()), file.read_bytes()) == before


def test_a_backup_that_another_program_is_writing_is_left_to_it(here, database, tmp_path):
    file = tmp_path / "chat.backup"
    part = tmp_path / f".{file.name}{PART_SUFFIX}"
    with files.new_file(part) as busy:
        busy.write(b"half")
        busy.flush()
        done = here.run("backup", "--database", str(database), "--to", str(file))
        assert done.returncode == 1
        assert "being written by another program" in done.stderr
        assert part.read_bytes() == b"half"
    assert not file.exists()


def test_a_link_in_a_backups_place_is_not_followed(here, database, tmp_path):
    file, mine = tmp_path / "chat.backup", tmp_path / "mine.txt"
    mine.write_bytes(b"mine")
    (tmp_path / f".{file.name}{PART_SUFFIX}").symlink_to(mine)
    assert here.run("backup", "--database", str(database), "--to", str(file)).returncode == 1
    assert mine.read_bytes() == b"mine"


def test_what_was_left_half_done_goes(here, database, tmp_path):
    """Of a backup of another name, and of a restore that made a second copy."""
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    ends = ("restoring", "restoring-wal", "restoring-clean", "restoring-clean-shm")
    left = [tmp_path / f".other.backup{PART_SUFFIX}", *(tmp_path / f"new.db.{end}" for end in ends)]
    for one in left:
        one.write_bytes(b"half")
    here.json("backup", "--database", str(database), "--to", str(file))
    here.json("restore", str(file), "--to", str(target), "--dry-run")
    assert not [one for one in left if one.exists()]
