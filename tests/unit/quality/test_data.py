"""Reading sets: what is read, and how a file that is wrong is told."""

import pytest

from backscroll_bench.quality import (
    SHIPPED,
    WITH_TALK,
    DataError,
    find_set,
    read_set,
    shipped_sets,
)
from tests.unit.quality.sets import MEMORY, MESSAGES, REPLY, START, write, written


def read(name, **more):
    return read_set(*find_set(name), **more)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_a_reply_question_is_a_message_with_what_came_before(tmp_path, ending):
    chats = read(written(tmp_path, ending=ending))
    (question,) = chats.questions
    assert (chats.name, chats.task, chats.message_count) == ("chat", "reply", 5)
    assert question.line == chats.groups["g"][3]
    assert (question.cut, question.judged_from) == (3, 1)
    assert question.gold == {"m1"}
    assert question.conversation == {"m0", "m1"}


def test_a_memory_question_comes_after_everything(tmp_path):
    chats = read(written(tmp_path, queries=[MEMORY]))
    (question,) = chats.questions
    assert (question.cut, question.line.content, question.line.user_id) == (5, "the key?", "u3")
    assert question.line.timestamp == START + 900_000


def test_names_in_mentions_become_user_ids_where_one_person_has_the_name(tmp_path):
    twice = {**MESSAGES[4], "message_id": "m9", "user_id": "u9", "name": "ben"}
    both = [*MESSAGES, twice]
    assert read(written(tmp_path)).groups["g"][3].mentions == (("u2", "ben"),)
    assert read(written(tmp_path, both)).groups["g"][3].mentions == (("ben", "ben"),)


def test_reply_links_are_given_only_when_asked_for(tmp_path):
    linked = [{**MESSAGES[0]}, {**MESSAGES[1], "explicit_reply_to": "m0"}, *MESSAGES[2:]]
    name = written(tmp_path, linked)
    assert read(name).groups["g"][1].reply_to is None
    assert read(name, explicit=True).groups["g"][1].reply_to == "m0"


def test_a_pass_can_be_made_shorter(tmp_path):
    other = [{**row, "group_id": "h", "message_id": "h" + row["message_id"]} for row in MESSAGES]
    queries = [REPLY, {**REPLY, "query_id": "q3", "message_id": "m4"}]
    queries += [{**REPLY, "query_id": "q4", "group_id": "h", "message_id": "hm3", "gold": ["hm1"],
                 "conversation": None, "judged_from": "hm0"}]  # fmt: skip
    name = written(tmp_path, [*MESSAGES, *other], queries)
    assert [one.question_id for one in read(name).questions] == ["q1", "q3", "q4"]
    assert [one.question_id for one in read(name, every=2).questions] == ["q1", "q4"]
    assert list(read(name, groups=slice(1)).groups) == ["g"]
    assert [one.question_id for one in read(name, groups=slice(1)).questions] == ["q1", "q3"]
    assert [one.question_id for one in read(name, groups=slice(1, 2)).questions] == ["q4"]


def test_questions_about_what_was_never_said_are_left_out(tmp_path):
    name = written(
        tmp_path, queries=[{**MEMORY, "category": "adversarial"}, {**MEMORY, "query_id": "q3"}]
    )
    assert [one.question_id for one in read(name).questions] == ["q3"]


@pytest.mark.parametrize(
    ("line", "row", "field", "says"),
    [
        (2, "{no", "", "not JSON"),
        (2, "[1]", "", "not a JSON object"),
        (2, {**MESSAGES[1], "content": None}, "content", "is missing"),
        (3, {**MESSAGES[2], "user_id": 7}, "user_id", "is no text"),
        (3, {**MESSAGES[2], "timestamp": "now"}, "timestamp", "milliseconds"),
        (3, {**MESSAGES[2], "timestamp": 1_700_000_000}, "timestamp", "milliseconds"),
        (3, {**MESSAGES[2], "timestamp": True}, "timestamp", "milliseconds"),
        (4, {**MESSAGES[3], "mentions": "ben"}, "mentions", "no list"),
        (5, {**MESSAGES[4], "message_id": "m0"}, "message_id", "second time"),
    ],
)
def test_a_bad_message_is_named_by_line_and_field(tmp_path, line, row, field, says):
    rows = list(MESSAGES)
    rows[line - 1] = row
    with pytest.raises(DataError, match=says) as caught:
        read(written(tmp_path, rows))
    assert (caught.value.line, caught.value.field) == (line, field)
    assert str(caught.value).startswith(f"{tmp_path}/chat.messages.jsonl:{line}: {field}")


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"task": "guess"}, "task", "neither"),
        ({"group_id": "x"}, "group_id", "no messages of x"),
        ({"message_id": "x"}, "message_id", "no message x"),
        ({"gold": []}, "gold", "is empty"),
        ({"gold": ["x"]}, "gold", "no message x"),
        ({"gold": ["m3"]}, "gold", "before the question"),
        ({"conversation": ["m4"]}, "conversation", "before the question"),
        ({"judged_from": "x"}, "judged_from", "no message x"),
    ],
)
def test_a_bad_question_is_named_by_line_and_field(tmp_path, change, field, says):
    with pytest.raises(DataError, match=says) as caught:
        read(written(tmp_path, queries=[REPLY, {**REPLY, **change}]))
    assert (caught.value.line, caught.value.field) == (2, field)


@pytest.mark.parametrize(
    ("messages", "queries", "says"),
    [
        ([], None, "no messages"),
        (None, [], "no questions"),
        (None, [REPLY, MEMORY], "one task only"),
    ],
)
def test_a_file_that_cannot_be_judged_is_refused(tmp_path, messages, queries, says):
    with pytest.raises(DataError, match=says):
        read(written(tmp_path, messages, queries))


def test_a_packed_file_that_breaks_off_is_refused(tmp_path):
    name = written(tmp_path, ending=".jsonl.gz")
    path = tmp_path / "chat.messages.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        read(name)


def test_a_set_is_found_by_its_stem_by_its_messages_or_as_two_files(tmp_path):
    stem = written(tmp_path)
    messages, queries = tmp_path / "chat.messages.jsonl", tmp_path / "chat.queries.jsonl"
    asked = write(tmp_path / "asked.jsonl", [REPLY])
    assert find_set(stem) == find_set(str(messages)) == ("chat", messages, queries)
    assert find_set(f"{messages},{asked}") == ("chat", messages, asked)
    for missing in (f"{stem}x", f"{messages},{stem}"):
        with pytest.raises(DataError, match="no such file"):
            find_set(missing)


def test_what_ships_can_be_read_and_is_small():
    with shipped_sets() as shipped:
        sets = [read(shipped[name]) for name in SHIPPED]
        size = sum(path.stat().st_size for name in shipped.values() for path in find_set(name)[1:])
    assert tuple(one.name for one in sets) == SHIPPED
    told = {one.name for one in sets for question in one.questions if question.dialogue_so_far}
    assert told == set(WITH_TALK)
    assert [len(one.questions) for one in sets] == [978, 1755, 80, 80]
    assert size < 600_000
