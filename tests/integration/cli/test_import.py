"""`backscroll import`: what is stored, what is not, and what is said about it."""

import gzip
import json

import pytest

from tests.integration.cli.conftest import CHANNEL, CHAT

pytestmark = pytest.mark.slow

AT = 1_700_000_000_000


def lines(*records) -> str:
    return "".join(
        (record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)) + "\n"
        for record in records
    )


def common(number: int, text: str = "hello", **more):
    line = {"message_id": f"m{number}", "group_id": "g", "user_id": "u1", "name": "Ann"}
    return {**line, "content": text, "timestamp": AT + number, **more}


def stored(shell, channel: str):
    answer = shell.json("call", "ListMessages", json.dumps({"channel": channel, "limit": 1000}))
    return {one["message"]["id"]: one["message"] for one in answer.get("messages", [])}


def test_running_it_twice_stores_nothing_twice(chat):
    again = chat.json("import", str(CHAT))
    assert (again["stored"], again["duplicate"], again["channels"]) == (0, 400, {CHANNEL: 400})


def test_fields_of_ours_and_of_others_mean_the_same(chat):
    done = chat.json(
        "import", "-",
        stdin=lines(
            {"id": "1", "channel": "own", "author": {"id": "u1", "name": "Ann"}, "text": "hi", "sent_at_ms": AT},
            {"id": "2", "channel": "own", "author": "u2", "parts": [{"text": {"text": "yo"}}], "timestamp": AT + 1,
             "reply": {"message_id": "1"}, "role": "ROLE_ASSISTANT"},
            {"message_id": 3, "group_id": "own", "user_id": 7, "content": "three", "reply_to": 2,
             "timestamp": "2023-11-14T22:13:20.002+00:00"},
        ),
    )  # fmt: skip
    assert (done["stored"], done["unknown_fields"]) == (3, {})
    first, second, third = stored(chat, "own").values()
    assert first["author"] == {"id": "u1", "name": "Ann", "kind": "AUTHOR_KIND_HUMAN"}
    assert (second["role"], second["reply"]["message_id"]) == ("ROLE_ASSISTANT", "1")
    assert (third["author"]["id"], third["reply"]["message_id"]) == ("7", "2")
    assert int(third["sent_at_ms"]) == AT + 2


@pytest.mark.row("S4-06")
def test_logs_of_model_apis_are_read_as_they_are(chat):
    """S4-06: roles and kinds as vendors spell them, content as a list."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}
    done = chat.json(
        "import", "-", "--channel", "vendor",
        stdin=lines(
            common(1, "", role="user", content=[{"type": "text", "text": "look"}, picture]),
            common(2, "", role="Assistant", author={"id": "b", "kind": "bot"}, content="a cat"),
            common(3, "", role="narrator"),
            common(4, "", content=[{"type": "thinking", "thinking": "hm"}]),
        ),
    )  # fmt: skip
    assert done["stored"] == 2
    first, second = stored(chat, "vendor").values()
    assert first["parts"] == [{"text": {"text": "look"}}, {"media": {"kind": "image"}}]
    assert (second["role"], second["author"]["kind"]) == ("ROLE_ASSISTANT", "AUTHOR_KIND_BOT")
    assert [one["reason"] for one in done["bad_lines"]] == [
        "role is none of: assistant, system, tool, user",
        "content is neither text nor a list of texts, images, sounds and files",
    ]


def test_names_become_ids_and_a_name_of_two_people_nobody(chat):
    done = chat.json(
        "import", "-", "--channel", "names",
        stdin=lines(
            common(1, "@Ben @Eva @Max", mentions=["Ben", "Eva", "Max", {"user_id": "u9"}]),
            common(2, user_id="u2", name="Ben"),
            common(3, user_id="u3", name="Eva"),
            common(4, user_id="u4", name="Eva"),
        ),
    )  # fmt: skip
    assert done["unresolved_mentions"] == {"Eva": 1, "Max": 1}
    assert [one["user_id"] for one in stored(chat, "names")["m1"]["mentions"]] == ["u2", "u9"]


def test_bad_lines_are_named_and_passed_over(chat):
    text = lines(
        "{",
        common(1),
        '["a"]',
        {"message_id": "x"},
        common(2, timestamp="yesterday"),
        "",
        common(3, 5),
    )
    done = chat.json("import", "-", "--channel", "bad", stdin=text)
    assert done["stored"] == 1
    reasons = {bad["line"]: bad["reason"] for bad in done["bad_lines"]}
    assert reasons.keys() == {1, 3, 4, 5, 7}
    assert "JSON" in reasons[1]
    assert "neither a number" in reasons[5]
    said = chat.run("import", "-", "--channel", "bad", stdin=text)
    assert said.returncode == 0
    assert "standard input:1:" in said.stderr
    assert "5 lines passed over" in said.stdout


def test_strict_sends_nothing_if_a_line_is_bad(chat):
    done = chat.run("import", "-", "--channel", "strict", "--strict", stdin=lines(common(1), "{"))
    assert done.returncode == 1
    assert "nothing was sent" in done.stderr
    assert not chat.json("context", "strict", "anything?").get("channel_known")


def test_conflicts_and_refusals_have_their_reasons(chat):
    chat.json("import", "-", "--channel", "conflict", stdin=lines(common(1, "first")))
    text = lines(
        common(1, "other"), common(2, "nul \u0000 here"), common(3, "x" * 70_000), common(4)
    )
    done = chat.json("import", "-", "--channel", "conflict", stdin=text)
    assert (done["stored"], done["conflict"], done["refused"]) == (1, 1, 2)
    problems = {one["message_id"]: (one["outcome"], one["reason"]) for one in done["problems"]}
    assert problems["m1"][0] == "conflict"
    assert problems["m2"] == ("refused", "nul character")
    assert problems["m3"] == ("refused", "text too large")
    assert chat.run("import", "-", "--channel", "conflict", "--strict", stdin=text).returncode == 1


def test_whole_numbers_are_ids_everywhere(chat):
    line = {
        "id": 2,
        "channel": -100,
        "author": {"id": 7},
        "text": "hi",
        "sent_at_ms": AT,
        "reply": {"message_id": 1},
        "mentions": [{"user_id": 8}],
    }
    done = chat.json("import", "-", stdin=lines(line, {**line, "id": 1, "author": 8, "reply": 2}))
    assert (done["stored"], done["bad_lines"]) == (2, [])
    found = stored(chat, "-100")
    assert found["2"]["author"]["id"] == "7"
    assert found["2"]["reply"]["message_id"] == "1"
    assert found["2"]["mentions"][0]["user_id"] == "8"
    assert found["1"]["author"]["id"] == "8"


def test_each_kind_of_warning_is_counted(chat):
    untimed = {"id": "1", "channel": "warned", "author": "u", "text": "hi"}
    text = lines(untimed, {**untimed, "id": "2", "timestamp": AT, "reply_to": "none"})
    done = chat.json("import", "-", stdin=text)
    assert done["with_warnings"] == 2
    assert done["warnings"] == {"reply_parent_unknown": 1, "time_zero": 1}
    said = chat.run("import", "-", "--channel", "warned-too", stdin=lines(untimed, "{")).stdout
    assert "has no time; it counts as sent now (1)" in said
    assert "1 line passed over" in said


def test_a_complaint_has_the_contracts_names(chat):
    done = chat.json("import", "-", stdin=lines({**common(1), "parts": [{"txt": 1}]}, common(2)))
    (bad,) = done["bad_lines"]
    assert bad["reason"].endswith("it has text, media, tool_call, tool_result, provider_state")


def test_seconds_are_refused_in_our_own_field_too(chat):
    line = {"id": "1", "channel": "s", "author": "u", "text": "hi", "sent_at_ms": 1_700_000_000}
    done = chat.run("import", "-", stdin=lines(line))
    assert done.returncode == 1
    assert "looks like seconds" in done.stderr


def test_unknown_fields_are_counted(chat):
    done = chat.run(
        "import", "-", "--channel", "fields", stdin=lines(common(1, karma=3), common(2, karma=4))
    )
    assert done.returncode == 0
    assert "karma (2)" in done.stdout


def test_links_are_taken_only_when_asked_for(chat):
    text = lines(common(1), common(2, explicit_reply_to="m1"))
    chat.json("import", "-", "--channel", "without", stdin=text)
    chat.json("import", "-", "--channel", "with", "--links", stdin=text)
    assert "reply" not in stored(chat, "without")["m2"]
    assert stored(chat, "with")["m2"]["reply"]["message_id"] == "m1"


def test_prefix_gzip_and_several_files(chat):
    plain, packed = chat.directory / "a.jsonl", chat.directory / "b.jsonl.gz"
    plain.write_text(lines(common(1)))
    packed.write_bytes(gzip.compress(lines(common(2, group_id="h")).encode()))
    done = chat.json("import", str(plain), str(packed), "--channel-prefix", "irc/")
    assert done["channels"] == {"irc/g": 1, "irc/h": 1}


def test_half_a_character_becomes_a_mark(chat):
    text = '{"message_id":"1","group_id":"half","user_id":"u","content":"half \\ud83d","timestamp":1700000000000}'
    assert chat.json("import", "-", stdin=text)["stored"] == 1
    assert stored(chat, "half")["1"]["parts"][0]["text"]["text"] == "half \ufffd"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere.jsonl"], 2, "nowhere.jsonl"),
        ([], 2, "FILE"),
        (["broken.gz"], 1, "broken.gz cannot be read to its end"),
        ([str(CHAT), "--server", "127.0.0.1:9"], 1, "backscroll serve"),
        ([str(CHAT), "--server", "192.0.2.1:7171", "--token", "t"], 2, "--tls-ca"),
    ],
)
def test_what_cannot_work_says_what_to_do(chat, arguments, code, says):
    (chat.directory / "broken.gz").write_bytes(gzip.compress(b"x" * 5_000)[:-20])
    done = chat.run("import", *arguments)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_line_has_one_place(shell):
    """Line of the file and column, each once."""
    (shell.directory / "bad.jsonl").write_text('{"id": "1"}\n{"id": "2",\n')
    done = shell.run("import", "bad.jsonl", "--channel", "c", "--strict")
    assert "bad.jsonl:2: not JSON: expecting property name" in done.stderr
    assert "column 12" in done.stderr
    assert "line 2 column 1" not in done.stderr
