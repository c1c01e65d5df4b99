"""The example with three cats, as a user runs it, against a server without a key: an echo answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from backscroll import text_of
from tests.kit.served import in_background

pytestmark = pytest.mark.slow

BOT = Path(__file__).parents[3] / "examples/cats_room.py"
LINES = """\
ann: @Tom good morning
ben: who is awake?
ann: /task write a poem about fish
ann: /all
ben: @Kitty and you?
cleo: hello all
"""


def run(*arguments, lines=""):
    return subprocess.run(
        [sys.executable, str(BOT), *arguments], input=lines, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_it_is_short():
    assert len(BOT.read_text("utf-8").splitlines()) < 100


def test_it_tells_of_itself():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "backscroll serve" in done.stdout


def test_cats_answer_people():
    with in_background() as client:
        done = run(client._target, lines=LINES)
        assert (done.returncode, done.stderr) == (0, "")
        answers = re.findall(r"^  (\w+) \((\w+)\): ", done.stdout, re.MULTILINE)
        assert answers[:1] == [("Tom", "mention")]
        assert sorted(answers[1:4]) == [("Ash", "all"), ("Kit", "all"), ("Tom", "all")]
        assert answers[4:7] == [("Tom", "role_map"), ("Kit", "role_map"), ("Ash", "role_map")]
        assert answers[7:8] == [("Kit", "mention")]
        assert len(answers) == 11
        assert done.stdout.count("[echo: ") == 11
        session = client.room("cats").session()
        assert (session.mode, len(session.participants)) == ("free_chat", 5)
        said = [
            (one.message.author.name, text_of(one.message))
            for one in client.list_messages(session.channel)
            if one.message.author.kind == 1
        ]
        assert said == [
            ("Ann", "@Tom good morning"),
            ("Ben", "who is awake?"),
            ("Ann", "write a poem about fish"),
            ("Ben", "@Kitty and you?"),
            ("cleo", "hello all"),
        ]


def test_it_outlives_its_server():
    done = run("127.0.0.1:9", lines="ann: @Tom hi\nben: hi\n")
    assert done.returncode == 0
    assert done.stderr.count("no server answers") == 2
