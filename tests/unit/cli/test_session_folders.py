"""Folders of sessions of an older system, read and written."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.cli.session_folders import (
    MAX_NAME_BYTES,
    ReadSession,
    SessionFolder,
    SessionMeta,
    find_sessions,
    read_session,
    write_session,
)
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    MediaPart,
    Mention,
    Message,
    Reply,
    ReplyKind,
    Role,
    TextPart,
    ToolCallPart,
)

AT = "2026-11-20T10:00:00.250Z"
AT_MS = 1_795_168_800_250


def folder(root: Path, place: str, meta: object = None, *lines: object) -> SessionFolder:
    """A folder under ``logs/threads``, with these files."""
    path = root / "logs" / "threads" / place
    path.mkdir(parents=True, exist_ok=True)
    if meta is not None:
        text = meta if isinstance(meta, str) else json.dumps(meta)
        (path / "meta.json").write_text(text, encoding="utf-8")
    if lines:
        written = [one if isinstance(one, str) else json.dumps(one) for one in lines]
        (path / "messages.jsonl").write_text("\n".join(written) + "\n", encoding="utf-8")
    return SessionFolder("t", "s", path)


def one_message(root: Path, line: object) -> Message:
    (message,) = read_session(folder(root, "t/sessions/s", {}, line)).messages
    return message


def test_sessions_are_found_in_both_forms(tmp_path: Path) -> None:
    folder(tmp_path, "b/sessions/2", {})
    folder(tmp_path, "b/sessions/1", None, {"text": "hi"})
    folder(tmp_path, "a/sessions/3", {})
    folder(tmp_path, "old", {})
    folder(tmp_path, "b", {})  # an old one, called like a thread
    folder(tmp_path, "nothing/sessions/empty")
    folder(tmp_path, "b/sessions/.being-written", {})
    (tmp_path / "logs" / "threads" / "a" / "._session.lock").touch()
    found = [(one.slug, one.session_id) for one in find_sessions(tmp_path)]
    assert found == [(None, "b"), (None, "old"), ("a", "3"), ("b", "1"), ("b", "2")]
    assert find_sessions(tmp_path / "nowhere") == []


def test_the_newer_form_wins_and_the_older_is_told(tmp_path: Path) -> None:
    folder(tmp_path, "t/sessions/s", {"mode": "new"})
    old = folder(tmp_path, "s", {"mode": "old"})
    (found,) = find_sessions(tmp_path)
    assert (found.slug, found.session_id, found.passed_over) == ("t", "s", (old.path,))
    read = read_session(found)
    assert read.meta.mode == "new"
    assert [one.where for one in read.problems] == [str(old.path)]


def test_meta_is_read(tmp_path: Path) -> None:
    meta = {
        "id": "s",
        "mode": "werewolf",
        "mode_state": {"day": 2, "alive": ["a"], "f": 0.1},
        "role_config": {"wolves": 2},
        "created_at": AT,
        "updated_at": AT_MS + 5,
        "thread_slug": "t",
        "project_id": "p",
        "title": "夜",
        "owner": {"x": None},
        "extra": 1,
    }
    read = read_session(folder(tmp_path, "t/sessions/s", meta))
    assert read.problems == ()
    assert read.meta == SessionMeta(
        "s",
        "werewolf",
        {"day": 2, "alive": ["a"], "f": 0.1},
        {"wolves": 2},
        AT_MS,
        AT_MS + 5,
        "t",
        "p",
        "夜",
        {"owner": {"x": None}, "extra": 1},
    )


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({"sessionId": "s", "modeState": {"a": 1}}, {"mode_state": {"a": 1}}),
        ({"createdAt": "1795168800250"}, {"created_at_ms": AT_MS}),
        ({"created_at": "2026-11-20T10:00:00.250"}, {"created_at_ms": AT_MS}),
        ({"created_at": "2026-11-20T18:00:00.250+08:00"}, {"created_at_ms": AT_MS}),
        ({"created_at": AT_MS / 1000}, {"created_at_ms": AT_MS}),
        ({"created_at": 1_795_168_800}, {"created_at_ms": AT_MS - 250}),
        ({"updated_at": 12}, {"updated_at_ms": 12}),
        ({"parentThread": {"slug": "t", "id": 7}}, {}),
        ({"project_id": 7}, {"project_id": "7"}),
        ({"title": None}, {"extra": {"title": None}}),
        ({"id": "s", "session_id": "x"}, {"extra": {"session_id": "x"}}),
    ],
)
def test_spellings_of_meta(tmp_path: Path, meta, expected) -> None:
    read = read_session(folder(tmp_path, "t/sessions/s", meta))
    assert read.problems == ()
    assert read.meta == SessionMeta("s", thread_slug="t", **expected)


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        (None, "meta.json: there is none"),
        ("[]", "meta.json: not a JSON object"),
        ("{", "meta.json: not JSON: "),
        ({"id": "x"}, "meta.json: id is not that of the folder, which counts"),
        ({"thread_slug": "x"}, "meta.json: thread_slug is not that of the folder, which counts"),
        ({"mode_state": [1]}, "meta.json: mode_state cannot be read"),
        ({"created_at": "today"}, "meta.json: created_at cannot be read"),
    ],
)
def test_what_is_wrong_with_meta_is_told(tmp_path: Path, meta, why: str) -> None:
    read = read_session(folder(tmp_path, "t/sessions/s", meta, {"text": "hi"}))
    (problem,) = read.problems
    assert str(problem).startswith(why)
    assert (read.meta.id, read.meta.thread_slug) == ("s", "t")
    assert [one.text for one in read.messages] == ["hi"]


def test_what_meta_says_of_the_thread_counts_in_the_older_form(tmp_path: Path) -> None:
    folder(tmp_path, "s", {"parent_thread": "t"})
    (found,) = find_sessions(tmp_path)
    assert found.slug is None
    assert read_session(found).meta.thread_slug == "t"


USER = Author("user", kind=AuthorKind.HUMAN)


@pytest.mark.parametrize(
    ("line", "author", "role"),
    [
        ({"role": "user"}, USER, Role.USER),
        ({}, USER, Role.USER),
        ({"role": "user", "cat": None, "sender": "u1"}, Author("u1"), Role.USER),
        ({"role": "user", "cat": "opus", "sender": "u1"}, Author("u1"), Role.USER),
        ({"role": "USER", "author": {"id": 7, "name": "Kate"}}, Author("7", "Kate"), Role.USER),
        ({"sender": "user", "name": "Kate"}, Author("user", "Kate"), Role.USER),
        ({"role": "assistant"}, Author("assistant", kind=AuthorKind.BOT), Role.ASSISTANT),
        ({"role": "bot", "cat": "opus"}, Author("opus", kind=AuthorKind.BOT), Role.ASSISTANT),
        (
            {"cat_id": "opus", "display_name": "小黑", "sender": "x"},
            Author("opus", "小黑", AuthorKind.BOT),
            Role.ASSISTANT,
        ),
        ({"role": "system"}, Author("system", kind=AuthorKind.SYSTEM), Role.SYSTEM),
        ({"type": "tool"}, Author("tool", kind=AuthorKind.BOT), Role.TOOL),
    ],
)
def test_who_speaks(tmp_path: Path, line, author, role) -> None:
    message = one_message(tmp_path, {"text": "hi", **line})
    assert (message.author, message.role) == (author, role)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ({"text": "a\nb"}, "a\nb"),
        ({"content": "a"}, "a"),
        ({"message": "a\u2028b"}, "a\u2028b"),
        ({"text": None, "content": "a"}, "a"),
        ({"text": ""}, ""),
        ({"content": [{"type": "text", "text": "a"}, "b", {"type": "image"}]}, "a\nb"),
        ({"parts": [{"type": "text", "text": "a"}]}, "a"),
        ({"text": "a", "parts": [["text"], 1]}, "a"),
        ({"text": "a", "parts": [["never", "x"]]}, "a"),
    ],
)
def test_what_is_said(tmp_path: Path, line, text: str) -> None:
    assert one_message(tmp_path, line).text == text


@pytest.mark.parametrize("key", ["ts", "timestamp", "created_at", "createdAt"])
@pytest.mark.parametrize("time", [AT, AT_MS, str(AT_MS), AT_MS / 1000])
def test_when_it_was_said(tmp_path: Path, key: str, time) -> None:
    assert one_message(tmp_path, {"text": "hi", key: time}).sent_at_ms == AT_MS


def test_whom_it_names_and_answers(tmp_path: Path) -> None:
    line = {
        "id": 7,
        "text": "hi",
        "mentions": ["opus", "@haiku", {"id": "u1", "name": "Kate"}, 8, {}, None, ""],
        "replyTo": {"id": "m1"},
    }
    message = one_message(tmp_path, line)
    assert (message.id, message.channel, message.session_id) == ("7", "", "s")
    whom = (Mention("opus"), Mention("haiku"), Mention("u1", "Kate"), Mention("8"))
    assert message.mentions == whom
    assert message.reply == Reply("m1")
    assert one_message(tmp_path, {"text": "", "reply_to": 5}).reply == Reply("5")
    assert one_message(tmp_path, {"text": "", "reply_to": {}, "mentions": "no"}).reply is None


def test_lines_that_are_none_are_told_and_left_out(tmp_path: Path) -> None:
    lines = [{"text": "a"}, "", "[1]", "oops", {"role": "user"}, {"text": "b", "ts": "soon"}]
    read = read_session(
        folder(
            tmp_path, "t/sessions/s", {}, "\ufeff" + json.dumps(lines[0]), *lines[1:], {"text": "c"}
        )
    )
    assert [one.text for one in read.messages] == ["a", "c"]
    assert [(one.line, one.why[:9]) for one in read.problems] == [
        (3, "not a JSO"),
        (4, "not JSON:"),
        (5, "no text"),
        (6, "a time th"),
    ]
    assert str(read.problems[2]) == "messages.jsonl, line 5: no text"


def test_broken_bytes_are_a_line_of_their_own(tmp_path: Path) -> None:
    session = folder(tmp_path, "t/sessions/s", {})
    raw = b'{"text":"a"}\r\n{"text":"\xff"}\n{"text":"b\\ud800"}\n{"text":"c'
    (session.path / "messages.jsonl").write_bytes(raw)
    read = read_session(session)
    assert [one.text for one in read.messages] == ["a", "b\ufffd"]
    assert [one.line for one in read.problems] == [2, 4]


def test_ids_are_made_of_place_and_content(tmp_path: Path) -> None:
    lines = [{"text": "a"}, {"text": "a"}, {"id": "", "text": "b"}]
    session = folder(tmp_path, "t/sessions/s", {}, *lines)
    ids = [one.id for one in read_session(session).messages]
    assert ids == [one.id for one in read_session(session).messages]
    assert [one[:7] for one in ids] == ["line-1-", "line-2-", "line-3-"]
    changed = folder(tmp_path, "t/sessions/s", {}, {"text": "x"}, *lines[1:])
    more = [one.id for one in read_session(changed).messages]
    assert (more[0] == ids[0], more[1:]) == (False, ids[1:])


def test_one_id_twice(tmp_path: Path) -> None:
    lines = [{"id": "1", "text": "a"}, {"id": "1", "text": "a"}, {"id": "1", "text": "b"}]
    read = read_session(folder(tmp_path, "t/sessions/s", {}, *lines))
    assert [one.text for one in read.messages] == ["a", "b"]
    assert [one.line for one in read.problems] == [2, 3]
    assert len({one.id for one in read.messages}) == 2


WHOLE = ReadSession(
    SessionMeta(
        "s",
        "quiz",
        {"round": 3, "scores": {"小黑": 1.5}},
        {"host": "hei"},
        AT_MS,
        10**15,
        "t",
        "p",
        "问答",
        {"owner": [1]},
    ),
    (
        Message("m1", "", Author("u1", "Kate"), (TextPart("a\n\u2028b"),), AT_MS, session_id="s"),
        Message(
            "m2",
            "",
            Author("hei", "小黑", AuthorKind.BOT),
            (TextPart(" 好 "), MediaPart("image", "u", "猫"), ToolCallPart("c", "n", "{}")),
            AT_MS - 1,
            Role.ASSISTANT,
            session_id="s",
            reply=Reply("m1", ReplyKind.MENTION, user_id="u1"),
            mentions=(Mention("u1"), Mention("@x"), Mention("u2", "Bob", 1, 3)),
            is_partial=True,
            audience=("u1", "hei"),
        ),
        Message(
            "@m3",
            "",
            Author("other", kind=AuthorKind.BOT),
            (TextPart(""),),
            0,
            session_id="s",
            reply=Reply("m2"),
        ),
    ),
)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_session_comes_back(tmp_path: Path, legacy: bool) -> None:
    path = write_session(tmp_path, WHOLE, legacy=legacy)
    assert path == tmp_path / "logs" / "threads" / ("s" if legacy else "t/sessions/s")
    (found,) = find_sessions(tmp_path)
    assert found == SessionFolder(None if legacy else "t", "s", path)
    assert read_session(found) == WHOLE
    assert sorted(one.name for one in path.iterdir()) == ["messages.jsonl", "meta.json"]
    assert [one.name for one in path.parent.iterdir()] == ["s"]


def test_what_is_written_is_plain(tmp_path: Path) -> None:
    path = write_session(tmp_path, WHOLE)
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    assert (meta["created_at"], meta["updated_at"], meta["owner"]) == (AT, 10**15, [1])
    first = json.loads((path / "messages.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert first == {
        "id": "m1",
        "role": "user",
        "sender": "u1",
        "name": "Kate",
        "text": "a\n\u2028b",
        "timestamp": AT,
    }


def test_one_without_a_thread_is_of_the_older_form(tmp_path: Path) -> None:
    path = write_session(tmp_path, ReadSession(SessionMeta("s")))
    assert path == tmp_path / "logs" / "threads" / "s"


def test_a_folder_that_is_there_keeps_its_other_files(tmp_path: Path) -> None:
    old = folder(tmp_path, "t/sessions/s", {"mode": "old"}, {"text": "old"})
    (old.path / "notes.txt").write_text("stay")
    write_session(tmp_path, WHOLE)
    assert read_session(old) == WHOLE
    names = sorted(one.name for one in old.path.iterdir())
    assert names == ["messages.jsonl", "meta.json", "notes.txt"]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    bad = ReadSession(SessionMeta("s", mode_state={"x": object()}, thread_slug="t"))
    with pytest.raises(TypeError):
        write_session(tmp_path, bad)
    assert find_sessions(tmp_path) == []
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == []


def test_a_folder_is_not_there_before_it_is_whole(tmp_path: Path, monkeypatch) -> None:
    def fails(self: Path, target: Path) -> Path:
        assert find_sessions(tmp_path) == []
        raise OSError("full")

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="full"):
        write_session(tmp_path, WHOLE)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []


STRANGE = [
    "../../etc",
    "..",
    ".",
    "a/b",
    "a\\b",
    "a\0b",
    "/abs",
    "C:x",
    "100%",
    "%41",
    "%~x",
    ".hidden",
    "dot.",
    "blank ",
    "小黑/🐱",
    "x" * 300,
    "猫" * 100,
    "sessions",
    "logs",
    "\n",
]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("legacy", [False, True])
def test_no_id_leaves_its_place(tmp_path: Path, name: str, legacy: bool) -> None:
    root = tmp_path / "root"
    path = write_session(root, ReadSession(SessionMeta(name, thread_slug=name)), legacy=legacy)
    assert len(path.relative_to(root / "logs" / "threads").parts) == (1 if legacy else 3)
    assert [one.name for one in tmp_path.iterdir()] == ["root"]
    assert len(path.name.encode()) <= MAX_NAME_BYTES
    (found,) = find_sessions(root)
    assert (found.slug, found.session_id) == (None if legacy else name, name)
    read = read_session(found)
    assert (read.meta.thread_slug, read.problems) == (name, ())


@pytest.mark.parametrize("name", ["50%off", "a%20b", "%ff", "100%"])
def test_names_that_were_never_encoded_stay(tmp_path: Path, name: str) -> None:
    folder(tmp_path, f"{name}/sessions/{name}", {})
    (found,) = find_sessions(tmp_path)
    assert (found.slug, found.session_id) == (name, name)


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "root" / "logs" / "threads").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "root" / "logs" / "threads" / "t").symlink_to(tmp_path / "out")
    with pytest.raises(ValueError, match="link out of"):
        write_session(tmp_path / "root", WHOLE)
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(ValueError, match="without an id"):
        write_session(tmp_path, ReadSession(SessionMeta("")))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids = texts.filter(bool)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
states = st.dictionaries(texts, json_values, max_size=3)
times = st.integers(0, 2**60)


@given(
    ids,
    texts,
    texts,
    states,
    states,
    times,
    st.lists(st.tuples(ids, texts, times, texts)),
    st.booleans(),
)
def test_round_trip(session_id, slug, mode, state, config, at, said, legacy) -> None:
    messages = {
        message_id: Message(
            message_id, "", Author("u", name), (TextPart(text),), time, session_id=session_id
        )
        for message_id, text, time, name in said
    }
    meta = SessionMeta(session_id, mode, state, config, at, at, slug)
    session = ReadSession(meta, tuple(messages.values()))
    with tempfile.TemporaryDirectory() as root:
        write_session(Path(root), session, legacy=legacy)
        (found,) = find_sessions(Path(root))
        assert found.session_id == session_id
        assert read_session(found) == session
