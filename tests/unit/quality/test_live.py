"""Questions at the end of the talk that led to them."""

import pytest

from backscroll_bench.quality import DataError, find_set, lived, paused, read_set
from backscroll_bench.quality.data import SELF_ID
from tests.unit.quality.sets import MEMORY, MESSAGES, REPLY, START, written

DAY_MS = 86_400_000
LAST = START + 4 * 60_000


def asked(name, talk, user="u3", content="the key?"):
    said = "\n".join([*talk, content])
    return {**MEMORY, "query_id": name, "user_id": user, "content": content, "dialogue_so_far": said}  # fmt: skip


def read(folder, queries):
    return read_set(*find_set(written(folder, queries=queries)))


def talk_of(chats, number):
    """Of each line behind the set's own: who said what."""
    lines = list(chats.groups.values())[number][len(MESSAGES) :]
    return [(line.user_id, line.content) for line in lines]


def test_the_talk_stands_a_day_later_and_the_question_is_its_last_line(tmp_path):
    chats = lived(read(tmp_path, [asked("q", ["hello", "hi"])]))
    (lines,) = chats.groups.values()
    talk = lines[len(MESSAGES) :]
    assert talk_of(chats, 0) == [("u3", "hello"), (SELF_ID, "hi"), ("u3", "the key?")]
    assert [line.by_bot for line in talk] == [False, True, False]
    assert [line.timestamp - LAST - DAY_MS for line in talk] == [0, 15_000, 30_000]
    (question,) = chats.questions
    assert question.live
    assert (lines[question.cut], question.heard) == (talk[-1], len(lines))
    assert question.line.message_id == talk[-1].message_id
    assert question.line.timestamp == talk[-1].timestamp + 10_000
    assert question.gold == {"m0", "m1"}
    assert chats.note == "live"


def test_each_question_has_a_channel_that_holds_its_own_talk_only(tmp_path):
    chats = lived(read(tmp_path, [asked("a", ["one", "two"]), asked("b", [], user="u1")]))
    assert [talk_of(chats, n) for n in (0, 1)] == [
        [("u3", "one"), (SELF_ID, "two"), ("u3", "the key?")],
        [("u1", "the key?")],
    ]
    assert [one.group_id for one in chats.questions] == list(chats.groups)


def test_sides_are_counted_from_the_question_back(tmp_path):
    """A talk that the bot began."""
    chats = lived(read(tmp_path, [asked("q", ["hello?", "hi", "what is it?"])]))
    assert [user for user, _ in talk_of(chats, 0)] == [SELF_ID, "u3", SELF_ID, "u3"]


def test_a_question_of_two_lines_is_one_line_of_the_talk(tmp_path):
    chats = lived(read(tmp_path, [asked("q", ["hello", "hi"], content="the key?\nor the door?")]))
    assert talk_of(chats, 0)[-2:] == [(SELF_ID, "hi"), ("u3", "the key?\nor the door?")]


def test_a_pause_counts_from_the_question(tmp_path):
    (question,) = paused(lived(read(tmp_path, [asked("q", ["hello", "hi"])])), 60).questions
    assert question.line.timestamp == LAST + DAY_MS + 30_000 + 60_000
    assert question.line.user_id == "u3"


def test_half_the_lines_of_a_shuffled_talk_are_others_and_say_so(tmp_path):
    queries = [
        asked(f"{user}{n}", [f"{user}{n}-{at}" for at in range(4)], user=user)
        for n in range(3)
        for user in ("u1", "u3")
    ]
    chats = read(tmp_path, queries)
    own, shuffled = lived(chats), lived(chats, shuffled=True)
    assert shuffled == lived(chats, shuffled=True)
    assert shuffled.note == "live, talk shuffled"
    for number, row in enumerate(queries):
        (*before, question), (*after, asked_now) = talk_of(own, number), talk_of(shuffled, number)
        assert question == asked_now == (row["user_id"], "the key?")
        changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        assert len(changed) == 2
        for (was, _), (now, text) in changed:
            assert (was == SELF_ID) == (now == SELF_ID)
            assert row["user_id"] not in text
            assert now in (SELF_ID, text[:2])
    assert own.questions == shuffled.questions


@pytest.mark.parametrize(
    ("queries", "shuffled", "says"),
    [
        ([MEMORY], False, "chat: dialogue_so_far: question q2 has none"),
        ([REPLY], False, "chat: dialogue_so_far: question q1 has none"),
        ([asked("a", ["x", "y"]), asked("b", ["z"])], True, "too little talk of other askers"),
    ],
)
def test_without_the_talk_there_is_nothing_to_live(tmp_path, queries, shuffled, says):
    with pytest.raises(DataError, match=says):
        lived(read(tmp_path, queries), shuffled=shuffled)


def test_a_talk_that_does_not_end_with_the_question_is_told(tmp_path):
    chats = read(tmp_path, [{**MEMORY, "dialogue_so_far": "hello\nthe door?"}])
    with pytest.raises(DataError, match="dialogue_so_far: that of q2 does not end with content"):
        lived(chats)
