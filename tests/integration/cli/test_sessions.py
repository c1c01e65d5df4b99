"""`backscroll sessions`: lists, JSON Lines out and in, and the folders of an older system."""

import gzip
import json

import pytest

from backscroll import Persona, RoomPolicy
from backscroll_sidecar.cli.session_folders import find_sessions, read_session
from backscroll_sidecar.cli.sessions import COMMANDS
from tests.integration.cli.in_process import Commands
from tests.integration.rooms.room import CatModel
from tests.kit.served import in_background

pytestmark = pytest.mark.slow

CATS = [Persona("black", "小黑", "一只黑猫"), Persona("white", "小白"), Persona("grey", "小灰")]
NODES = {"coder": "black", "reviewer": "white", "tester": "grey"}
KEPT = ("id", "mode", "mode_state", "role_config", "title", "project_id")
AT = "2026-11-20T10:00:0{}.000Z"


@pytest.fixture
def served():
    with in_background(model=CatModel()) as client:
        yield client


@pytest.fixture
def commands(served):
    return Commands(served._target)


def folder(root, place, meta, *lines):
    path = root / "logs" / "threads" / place
    path.mkdir(parents=True)
    (path / "meta.json").write_text(json.dumps(meta), "utf-8")
    written = [json.dumps(one, ensure_ascii=False) for one in lines]
    (path / "messages.jsonl").write_text("".join(f"{one}\n" for one in written), "utf-8")


def older_system(root):
    """Two threads and a session of the form before."""
    work = {
        "id": "w1", "mode": "workflow", "title": "排序", "project_id": "p1",
        "role_config": {"role_map": NODES},
        "mode_state": {
            "current_node": "reviewer", "status": "working", "rejections": 1, "task": 2,
            "task_message_id": "m1",
        },
    }  # fmt: skip
    folder(
        root, "alpha/sessions/w1", work,
        {"id": "m1", "role": "user", "sender": "u1", "name": "Ann", "text": "写排序", "timestamp": AT.format(1)},
        {"id": "m2", "role": "assistant", "cat_id": "black", "text": "def sort(): …", "timestamp": AT.format(2),
         "reply_to": "m1"},
    )  # fmt: skip
    folder(
        root, "beta/sessions/f1", {"id": "f1", "mode": "free_chat", "mode_state": {}},
        {"id": "m1", "role": "user", "sender": "u2", "name": "Ben", "text": "早", "timestamp": AT.format(3)},
    )  # fmt: skip
    folder(
        root, "old1", {"id": "old1", "mode": "free_chat"},
        {"id": "m1", "role": "user", "sender": "u1", "text": "hi", "timestamp": AT.format(4), "audience": ["black"]},
    )  # fmt: skip


def as_read(root):
    """What is kept of each session, times of the session aside: the server begins it anew."""
    read = [read_session(one) for one in find_sessions(root)]
    return {
        (one.meta.thread_slug, one.meta.id): (
            {name: getattr(one.meta, name) for name in KEPT},
            [(message.id, message.text, message.author.id, message.role, message.sent_at_ms,
              message.reply, message.audience) for message in one.messages],
        )
        for one in read
    }  # fmt: skip


@pytest.mark.row("S4-32")
def test_folders_come_in_and_go_out_again(served, commands, tmp_path):
    """S4-32: folders of both forms become sessions and folders again; mode_state and messages are as they were."""
    older_system(tmp_path / "a")
    done = commands.run("sessions", "import-folders", str(tmp_path / "a"), "--json")
    assert done.returncode == 0, done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["space"], one["session_id"], one["mode"], one["messages"]) for one in reports] == [
        ("", "old1", "free_chat", 1),
        ("alpha", "w1", "workflow", 2),
        ("beta", "f1", "free_chat", 1),
    ]
    work = served.room("w1", space="alpha").session()
    assert json.loads(work.mode_state_json) == {
        "current_node": "reviewer", "status": "working", "rejections": 1, "task": 2,
        "task_message_id": "m1",
    }  # fmt: skip
    assert {one.id: one.kind for one in work.participants} == {
        "black": 2, "white": 2, "grey": 2, "u1": 1,
    }  # fmt: skip
    assert {one.slug for one in served.list_spaces()} == {"alpha", "beta"}

    done = commands.run("sessions", "export-folders", str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    assert "3 sessions written, 4 messages" in done.stderr
    assert as_read(tmp_path / "b") == as_read(tmp_path / "a")
    # A second import changes nothing, and the third place is as the second.
    again = commands.run("sessions", "import-folders", str(tmp_path / "b"))
    assert "3 sessions taken, 4 messages" in again.stderr
    commands.run("sessions", "export-folders", str(tmp_path / "c"))
    assert as_read(tmp_path / "c") == as_read(tmp_path / "a")


@pytest.mark.row("S4-32")
def test_an_imported_session_goes_on_where_it_stood(served, commands, tmp_path):
    """S4-32: the work goes on with the node that the folder names."""
    older_system(tmp_path)
    commands.run("sessions", "import-folders", str(tmp_path))
    room = served.room("w1", space="alpha")
    heard = room.ask("接着做", "u1")
    assert heard.route.ids[0] == "white"
    assert "小黑" not in heard.replies
    assert heard.state["status"] == "done"


def test_what_cannot_be_taken_is_told(served, commands, tmp_path):
    folder(
        tmp_path,
        "t/sessions/a",
        {"id": "a", "mode": "chess", "mode_state": {"x": 1}},
        {"text": "hi"},
    )
    folder(
        tmp_path, "t/sessions/b", {"id": "b", "mode": "workflow", "role_config": {}}, {"text": "hi"}
    )
    folder(
        tmp_path, "t/sessions/c",
        {"id": "c", "mode": "workflow", "role_config": {"role_map": NODES}, "mode_state": {"node": 5}},
        {"text": "hi"}, {"nothing": 1},
    )  # fmt: skip
    done = commands.run("sessions", "import-folders", str(tmp_path))
    assert done.returncode == 0
    assert "t/a: there is no mode chess here" in done.stderr
    assert "t/b: workflow cannot go on" in done.stderr
    assert "t/c: its state cannot be read" in done.stderr
    assert "line 2: no text" in done.stderr
    modes = [served.room(id_, space="t").session().mode for id_ in "abc"]
    assert modes == ["free_chat", "free_chat", "workflow"]


def test_a_directory_without_sessions_says_what_to_name(commands, tmp_path):
    done = commands.run("sessions", "import-folders", str(tmp_path))
    assert done.returncode == 2
    assert "logs/threads" in done.stderr


@pytest.mark.row("S4-06")
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_a_session_goes_out_and_in_as_json_lines(served, commands, tmp_path, suffix):
    """S4-06: everything of a session is in the lines, and comes in under another id as it was."""
    room = served.room(
        "one", personas=CATS, mode="workflow", role_config={"role_map": NODES}, title="Work",
        policy=RoomPolicy(window_messages=7),
    )  # fmt: skip
    room.ask("写一个排序函数", "u1")
    path = tmp_path / f"one.{suffix}"
    done = commands.json("sessions", "export", "one", "--out", str(path))
    assert (done["session"], done["file"]) == ("one", str(path))
    opened = gzip.open if suffix.endswith("gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert done["messages"] == len(lines) - 1 >= 4  # the task, and an answer of each
    assert [list(one) for one in lines] == [["session"], *[["message"]] * (len(lines) - 1)]

    taken = commands.json("sessions", "import", str(path), "--id", "two")
    assert taken["messages"]["stored_count"] == str(len(lines) - 1)
    again = commands.run("sessions", "import", str(path), "--id", "two")
    assert "0 messages stored" in again.stderr
    first, second = room.session(), served.room("two").session()
    for name in ("mode", "role_config_json", "mode_state_json", "title", "policy"):
        assert getattr(first, name) == getattr(second, name), name
    assert [one.id for one in first.participants] == [one.id for one in second.participants]

    out = commands.run("sessions", "export", "two")
    told = [json.loads(line)["message"] for line in out.stdout.splitlines()[1:]]
    mine = [one["message"] for one in lines[1:]]
    for one in (*told, *mine):
        one.pop("channel"), one.pop("sessionId")
    assert told == mine


def test_list_and_show(served, commands):
    served.room("a", personas=CATS, title="First").ask("@小黑 早", "u1")
    served.put_space("cafe", personas=CATS)
    served.room("b", space="cafe").update(status="archived")
    listed = commands.run("sessions", "list")
    assert "First" in listed.stdout
    assert "cafe" not in listed.stdout
    every = commands.run("sessions", "list", "--all", "--json")
    assert [json.loads(line)["session_id"] for line in every.stdout.splitlines()] == ["b", "a"]
    alone = commands.run("sessions", "list", "--space", "", "--json")
    assert [json.loads(line)["session_id"] for line in alone.stdout.splitlines()] == ["a"]
    shown = commands.run("sessions", "show", "a")
    assert shown.returncode == 0
    assert "u1: @小黑 早" in shown.stdout
    assert "小黑: 小黑说喵" in shown.stdout
    told = commands.json("sessions", "show", "b", "--space", "cafe")
    assert told["session"]["status"] == "SESSION_STATUS_ARCHIVED"
    nothing = commands.run("sessions", "list", "--space", "nowhere")
    assert "backscroll chat --room" in nothing.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["show", "nope"], 1, "backscroll sessions list"),
        (["show", "nope", "--space", "x"], 1, "backscroll sessions list"),
        (["export", "nope"], 1, "backscroll sessions list"),
        (["import", "/no/such/file"], 2, "sessions export"),
        (["import", "-"], 2, "is empty"),
        (["import-folders", "/no/such"], 2, "logs/threads"),
    ],
)
def test_errors_say_what_to_do(commands, arguments, code, says):
    done = commands.run("sessions", *arguments, stdin="")
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


def test_lines_that_are_none_are_refused_by_the_server(commands):
    done = commands.run("sessions", "import", "-", stdin="{}\n")
    assert done.returncode == 1
    assert "lines[0]" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(commands, name):
    done = commands.run("sessions", name, "--help")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    assert f"Example: backscroll sessions {name}" in words
    assert "--json" in words
