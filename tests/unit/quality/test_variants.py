"""Sets with their clock or their names changed."""

from backscroll_bench.quality import fewer_names, find_set, paused, read_set
from backscroll_bench.quality.data import ChatSet, Line
from tests.unit.quality.sets import MEMORY, REPLY, START, question, written


def read(folder, queries):
    return read_set(*find_set(written(folder, queries=queries)))


def test_a_reply_is_asked_so_long_after_the_last_line_by_its_author(tmp_path):
    chats = paused(read(tmp_path, [REPLY]), 10)
    assert chats.questions[0].line.timestamp == START + 2 * 60_000 + 10_000
    assert chats.questions[0].line.user_id == "u1"
    assert chats.groups["g"][3].timestamp == START + 3 * 60_000
    assert chats.note == "pause 10 s"


def test_a_question_about_long_ago_is_asked_by_one_of_the_last_two(tmp_path):
    """ben spoke last, ann just before: a stranger's questions come from each in turn, ann's stay hers."""
    queries = [
        {**MEMORY, "query_id": name, "user_id": user}
        for name, user in (("a", "x"), ("b", "x"), ("c", "u1"))
    ]
    asked = paused(read(tmp_path, queries), 2.5).questions
    assert [one.line.user_id for one in asked] == ["u2", "u1", "u1"]
    assert {one.line.timestamp for one in asked} == {START + 4 * 60_000 + 2_500}


def many(count=400):
    lines = [Line(f"m{n}", "g", "u1", "ann", "ben: 你好" if n % 2 else "hello ben", n, (("u2", "ben"),))
             for n in range(count)]  # fmt: skip
    lines.append(Line("last", "g", "u2", "ben", "note: no name", count))
    return ChatSet("many", {"g": tuple(lines)}, (question(gold=("m1",), cut=count),))


def test_about_the_share_of_the_messages_goes_on_naming():
    before, after = many(), fewer_names(many(), 0.5)
    pairs = list(zip(before.groups["g"], after.groups["g"], strict=True))
    changed = [two for one, two in pairs if one != two]
    assert 150 < len(changed) < 250
    assert all(not two.mentions for two in changed)
    assert {two.content for two in changed} == {"你好", "hello ben"}
    assert after.groups["g"][-1].content == "note: no name"
    assert fewer_names(before, 0.5) == after


def test_the_ends_of_the_share():
    assert fewer_names(many(), 1.0) == many()
    assert not any(one.mentions for one in fewer_names(many(), 0.0).groups["g"])


def test_a_question_loses_the_name_that_its_message_loses(tmp_path):
    chats = fewer_names(read(tmp_path, [REPLY]), 0.0)
    assert chats.questions[0].line == chats.groups["g"][3]
    assert chats.questions[0].line.content == "thanks"
