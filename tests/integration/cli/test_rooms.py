"""`backscroll chat --room`: personas in a terminal, against a server whose model answers as each is told to."""

import json

import pytest

from backscroll_sidecar.cli.room_files import cats, room_file
from tests.integration.cli.in_process import Commands
from tests.integration.rooms.room import CatModel
from tests.kit.served import in_background

pytestmark = pytest.mark.slow

GAME = {
    "personas": [{"id": "tom", "name": "Tom"}, {"id": "kit", "name": "Kit"}],
    "people": [{"id": "ann", "name": "Ann"}, {"id": "ben", "name": "Ben"}],
    "mode": "werewolf",
    "role_config": {
        "assign": {"tom": "werewolf", "ann": "seer", "kit": "villager", "ben": "villager"},
        "talk_rounds": 0,
    },
    "policy": {"language": "en"},
    "title": "A night",
}


@pytest.fixture(scope="module")
def model():
    return CatModel(names=("Tom", "Kit", "Ash", "小黑", "小白", "小灰"))


@pytest.fixture(scope="module")
def client(model):
    with in_background(model=model) as client:
        yield client


@pytest.fixture
def commands(client, model, monkeypatch):
    monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
    model.answers = lambda name, _: [f"{name}", " says", " meow"]
    return Commands(client._target)


def test_a_room_of_three_cats_needs_no_file(commands, monkeypatch):
    done = commands.run("chat", "--room", "--as", "Ann", stdin="good morning\n@Kit and you?\n")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "Ash: Ash says meow",
        "Kit: Kit says meow",
        "Kit: Kit says meow",
        "Tom: Tom says meow",
    ]
    assert "Ann in the session" in done.stderr
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    done = commands.run("chat", "--room", "--once", "@小黑 早")
    assert done.stdout == "小黑: 小黑 says meow\n"


def test_a_session_is_gone_on_with(commands, client):
    first = commands.run("chat", "--room", "--session", "s1", "--once", "@Tom hi", "--as", "Ann")
    assert first.returncode == 0, first.stderr
    again = commands.run("chat", "--session", "s1", "--once", "@Tom hi again", "--as", "ann")
    assert again.stdout == "Tom: Tom says meow\n"
    session = client.room("s1").session()
    assert [one.name for one in session.participants] == ["Tom", "Kit", "Ash", "Ann"]
    authors = [one.message.author.id for one in client.list_messages(session.channel)]
    assert authors == ["Ann", "tom", "Ann", "tom"]


def test_json_prints_every_event_as_a_line(commands):
    done = commands.run("chat", "--room", "--json", stdin="@Tom hi\n@Kit hi\n")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [next(key for key in one if key not in ("sequence", "target_id")) for one in events]
    assert kinds.count("round_started") == kinds.count("round_ended") == 2
    assert kinds[:2] == ["round_started", "target_started"]
    assert {one.get("target_id") for one in events} == {None, "tom", "kit"}
    ids = {
        one["round_started"]["session"]["session_id"] for one in events if "round_started" in one
    }
    assert len(ids) == 1


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_file_says_who_is_there(commands, client, tmp_path, suffix):
    path = tmp_path / f"room.{suffix}"
    if suffix == "json":
        one = {"id": "tom", "name": "Tom", "persona": "A cat.", "aliases": ["T"]}
        path.write_text(json.dumps({"personas": [one], "policy": {"max_targets": 1}, "title": "x"}))
    else:
        path.write_text(
            'title = "x"\n[policy]\nmax_targets = 1\n'
            '[[personas]]\nid = "tom"\nname = "Tom"\npersona = "A cat."\naliases = ["T"]\n'
        )
    done = commands.run("chat", "--room", str(path), "--session", suffix, "--once", "@T hi")
    assert done.stdout == "Tom: Tom says meow\n", done.stderr
    session = client.room(suffix).session()
    assert (session.title, session.policy.max_targets) == ("x", 1)


def test_moves_go_to_the_mode_and_secrets_stay_secret(commands, model, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps(GAME))

    def answer(name, request):
        told = request.messages[0].content
        if name == "Tom" and "It is night" in told:
            return "/kill Ben"
        return "/vote nobody"

    model.answers = answer
    done = commands.run(
        "chat", "--room", str(path), "--session", "game", "--as", "Ann",
        stdin="/start\n/check Tom\n/vote Tom\n",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "* Night 1 falls" in done.stdout
    assert "You are a seer" in done.stdout
    assert "Tom is a werewolf. (only you see this)" in done.stdout
    assert "You are a werewolf" not in done.stdout
    assert "/kill Ben" not in done.stdout  # Tom's word at night is not for Ann
    assert "Ben was killed in the night" in done.stdout
    shown = commands.run("sessions", "show", "game")
    assert "werewolf" in shown.stdout


def test_a_refused_move_says_why(commands, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps(GAME))
    done = commands.run("chat", "--room", str(path), "--as", "Ann", stdin="/vote Tom\n")
    assert done.returncode == 1
    assert "/start begins it" in done.stderr


def test_who_fails_is_told_with_advice(commands, model):
    model.answers = lambda name, _: RuntimeError("boom") if name == "Tom" else "meow"
    done = commands.run("chat", "--room", "--once", "hello")
    assert done.returncode == 1
    assert "Kit: meow" in done.stdout
    assert "Tom: " in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no object"),
        ('{"cats": []}', "'cats'"),
        ('{"mode": "quiz"}', "no personas"),
        ('{"personas": [{"id": "tom", "nick": "T"}]}', "nick"),
        ('{"personas": [{"name": "Tom"}]}', "id"),
        ('{"personas": [{"id": "tom", "reply": "loudly"}]}', "routed"),
        ('{"personas": ["tom"]}', "no list of objects"),
        ('{"personas": [{"id": "tom"}], "policy": {"targets": 1}}', "targets"),
    ],
)
def test_a_wrong_file_is_told_with_what_to_write(commands, tmp_path, content, says):
    path = tmp_path / "room.json"
    path.write_text(content)
    done = commands.run("chat", "--room", str(path), "--once", "hi")
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--room", "/no/such.json"], 2, "three cats"),
        (["--session", "nowhere"], 1, "backscroll sessions list"),
        ([], 2, "backscroll chat --room"),
        (["room", "--as", "Ann"], 2, "give --room"),
        (["--room", "--once", " "], 2, "give --once a text"),
    ],
)
def test_errors_say_what_to_do(commands, arguments, code, says):
    done = commands.run("chat", *arguments, stdin="hi\n")
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


def test_an_unknown_mode_and_a_name_twice_say_what_there_is(commands, tmp_path):
    path = tmp_path / "room.json"
    path.write_text(json.dumps({"personas": [{"id": "tom"}], "mode": "chess"}))
    done = commands.run("chat", "--room", str(path), "--once", "hi")
    assert "modes are: free_chat, quiz, werewolf, workflow" in done.stderr
    path.write_text(
        json.dumps({"personas": [{"id": "a", "name": "Tom"}, {"id": "b", "name": "Tom"}]})
    )
    done = commands.run("chat", "--room", str(path), "--once", "hi")
    assert "give one of a and b another name" in done.stderr


def test_the_cats_of_both_languages_are_as_many(monkeypatch, tmp_path):
    made = []
    for spoken in ("zh_CN.UTF-8", "de_DE.UTF-8"):
        monkeypatch.setenv("LC_ALL", spoken)
        made.append(cats())
    assert [len(one.participants) for one in made] == [3, 3]
    assert [one.policy.language for one in made] == ["zh", "en"]
    path = tmp_path / "a.json"
    path.write_text('{"personas": [{"id": "tom"}]}')
    assert room_file(path).participants[0].kind == "persona"
