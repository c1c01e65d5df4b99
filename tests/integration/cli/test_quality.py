"""`backscroll quality`."""

import json
import re

import pytest

pytestmark = pytest.mark.slow

QUICK = ("--groups", "1", "--every", "20", "--profile", "chain_recent")
START = 1_700_000_000_000


def by_words_alone(shell):
    """A file of settings for what meaning proves nothing of: vectors would be most of the time."""
    (shell.directory / "words.toml").write_text('embedder = "none"\n')
    return ("--config", "words.toml")


def own_chat(shell):
    rows = [
        {"message_id": "1", "group_id": "g", "user_id": "u1", "name": "Ann", "content": "who has the key?"},
        {"message_id": "2", "group_id": "g", "user_id": "u2", "name": "Ben", "content": "nice weather"},
        {"message_id": "3", "group_id": "g", "user_id": "u3", "name": "Cat", "content": "I have it", "reply_to": "1"},
        {"message_id": "4", "group_id": "g", "user_id": "u1", "name": "Ann", "content": "thanks", "reply_to": "3"},
    ]  # fmt: skip
    path = shell.directory / "chat.jsonl"
    lines = [
        json.dumps(row | {"timestamp": START + int(row["message_id"]) * 1_000}) for row in rows
    ]
    path.write_text("\n".join([*lines, "no json"]))
    return str(path)


@pytest.mark.row("N-14", "S5-53")
def test_one_command_judges_what_ships(shell):
    """S5-53 and N-14, judging: both tasks, through a server of its own, with intervals."""
    done = shell.json("quality", *QUICK, "--profile", "classic")
    irc, kdconv, *memory = done["sets"]
    assert [one["data"] for one in (irc, kdconv, *memory)] == [
        "irc",
        "kdconv",
        "madial_zh",
        "madial_en",
    ]
    assert [one["task"] for one in done["sets"]] == ["reply", "reply", "memory", "memory"]
    assert (irc["questions"], irc["messages"], irc["groups"], irc["note"]) == (10, 1077, 1, "")
    for one in done["sets"]:
        assert [each["selector"] for each in one["results"]] == [
            "recency",
            "bm25",
            "chain_recent",
            "classic",
        ]
        for each in one["results"]:
            assert each.keys() == {
                "selector",
                "figures",
                "match_share",
                "match_messages",
                "without",
            }
            for figure in each["figures"].values():
                assert figure["low"] <= figure["value"] <= figure["high"]
    assert {"hit@1", "hit@5", "hit@10", "conv_recall_cap@20", "conv_prec@20"} <= irc["results"][0][
        "figures"
    ].keys()
    assert {"recall@5", "recall@10", "recall@1024tok"} <= memory[0]["results"][0]["figures"].keys()


@pytest.mark.row("N-14", "N-21")
def test_a_run_is_published_with_the_figures_of_the_run(shell):
    """N-21: each figure of the page is one of the run; sets with reply links stand there twice, the others once."""
    done = shell.run(
        "quality", "--groups", "1", "--every", "40", "--profile", "classic", "--publish", "page.md", "--json",
        *by_words_alone(shell),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sets = json.loads(done.stdout)["sets"]
    assert [(one["data"], one["note"]) for one in sets] == [
        ("irc", ""), ("irc", "reply links given"), ("kdconv", ""), ("madial_zh", ""), ("madial_en", ""),
    ]  # fmt: skip
    kept = json.loads((shell.directory / "page.json").read_text("utf-8"))
    assert kept["sets"] == sets
    page = (shell.directory / "page.md").read_text("utf-8")
    _, *parts = page.split("\n## ")
    told = {part.partition("\n")[0]: part for part in parts}
    for one in sets:
        part = told[f"{one['data']} (reply links given)" if one["note"] else one["data"]]
        assert f"{one['questions']:,} questions, {one['messages']:,} messages" in part
        assert one["about"]["licence"] in part
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", part, re.MULTILINE))
        assert list(rows) == ["recency", "bm25", "chain", "classic"]
        for each in one["results"]:
            figures = [each["figures"][f"recall@{limit}tok"] for limit in (512, 1024, 2048)]
            assert rows[each["selector"]].split(" | ") == [
                "{} ({}–{})".format(
                    *(f"{one[key]:.3f}".removeprefix("0") for key in ("value", "low", "high"))
                )
                for one in figures
            ]
    chains = [one["results"][2]["figures"]["recall@512tok"]["value"] for one in sets]
    assert chains[0] == 0.0 < chains[1]
    for name, says in (("page.txt", "must end with .md"), ("nowhere/page.md", "no such folder")):
        refused = shell.run("quality", "--publish", name)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert says in refused.stderr


@pytest.mark.row("S5-53")
def test_an_own_chat_is_judged_by_its_own_replies(shell):
    """S5-53, judging: the link is hidden: the newest message is the answered one in one of two questions."""
    path = own_chat(shell)
    done = shell.run("quality", "--own", path, "--profile", "room", "--json")
    assert done.returncode == 0, done.stderr
    (chat,) = json.loads(done.stdout)["sets"]
    assert (chat["data"], chat["questions"], chat["messages"]) == ("chat", 2, 4)
    recency, _, room = chat["results"]
    assert recency["figures"]["hit@1"]["value"] == 0.5
    assert room["figures"]["hit@5"]["value"] == 1.0
    assert f"{path}:5: not JSON" in done.stderr
    assert "bad lines: 1" in done.stderr


def test_clock_and_names_can_be_changed(shell):
    path = own_chat(shell)
    changes = ("--pause", "10", "--name-share", "0.5", "--markdown")
    done = shell.run(
        "quality", "--own", path, "--profile", "room", "--baseline", "recency", *changes
    )
    assert done.returncode == 0, done.stderr
    told = "**chat (pause 10 s, 50% of the names): 2 questions, 4 messages, 1 channel**"
    assert told in done.stdout
    assert "bm25" not in done.stdout


def test_two_crowds_can_be_put_into_one_room(shell):
    arguments = (
        "--data", "kdconv", "--groups", "0-1", "--every", "100", "--profile", "room",
        "--baseline", "recency", *by_words_alone(shell),
    )  # fmt: skip
    for mix, note in (("same", "next channel mixed in"), ("irc", "irc mixed in")):
        (chats,) = shell.json("quality", *arguments, "--mix", mix)["sets"]
        assert (chats["data"], chats["note"], chats["groups"]) == ("kdconv", note, 2)
        recency, room = chats["results"]
        assert "history_share" not in recency["figures"]
        assert 0.0 <= room["figures"]["history_share"]["value"] <= 1.0


def test_questions_can_be_asked_at_the_end_of_their_talk(shell):
    """Every question in a channel of its own; the sets that tell the talk are those judged where none is named."""
    arguments = (
        "--every", "40", "--profile", "memory", "--baseline", "recency", *by_words_alone(shell),
    )  # fmt: skip
    for option, note in (("--live", "live"), ("--live-shuffled", "live, talk shuffled")):
        found = shell.json("quality", *arguments, option)["sets"]
        assert [(one["data"], one["note"]) for one in found] == [
            ("madial_zh", note),
            ("madial_en", note),
        ]
        assert all((one["groups"], one["questions"]) == (2, 2) for one in found)
        for one in found:
            assert one["results"][1]["figures"]["history_share"]["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--live", "--data", "irc"),
            "irc: dialogue_so_far: question q:irc-2004-11-15_03:1003 has none",
        ),
        (("--live", "--live-shuffled"), "one at a time"),
        (("--mix", "nowhere/set"), "nowhere/set.messages.jsonl.gz: there is no such file"),
        (("--mix", "same", "--data", "madial_en"), "madial_en: has one channel only"),
        (("--groups", "0"), "--groups 0"),
        (("--groups", "4-2"), "--groups 4-2"),
        (("--groups", "first"), "--groups first"),
        (
            ("--groups", "7-8", "--data", "kdconv"),
            "holds no questions for the groups that are kept",
        ),
        (("--profile", "nope"), "there is no profile nope"),
        (("--data", "nowhere/set"), "nowhere/set.messages.jsonl.gz: there is no such file"),
        (("--own", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
        (("--config", "nowhere.toml", *QUICK), "nowhere.toml"),
    ],
)
def test_what_cannot_be_judged_is_told_before_anything_is(shell, arguments, says):
    done = shell.run("quality", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_bad_file_is_named_by_line_and_field(shell):
    (shell.directory / "x.messages.jsonl").write_text('{"message_id": "1"}\n')
    (shell.directory / "x.queries.jsonl").write_text("")
    done = shell.run("quality", "--data", "x", "--json")
    assert done.returncode == 2
    assert json.loads(done.stderr)["error"] == "x.messages.jsonl:1: user_id: is missing"


def test_without_the_bench_the_line_that_installs_it_is_printed(shell):
    package = shell.directory / "backscroll_bench"
    package.mkdir()
    (package / "__init__.py").write_text(
        "raise ModuleNotFoundError('none', name='backscroll_bench')"
    )
    done = shell.run(
        "quality", PYTHONPATH=f"{shell.directory}:{shell.variables({}).get('PYTHONPATH', '')}"
    )
    assert done.returncode == 1
    assert 'pip install ".[bench]"' in done.stderr
