"""A chat of one's own: its replies are the questions."""

import pytest

from backscroll_bench.quality import DataError, read_own
from tests.unit.quality.sets import write


def said(n, parent=None, text="hi", **more):
    return {"message_id": f"m{n}", "group_id": "g", "user_id": f"u{n % 3}", "name": f"n{n % 3}", "content": text,
            "timestamp": 1_700_000_000_000 + n, "reply_to": parent and f"m{parent}", **more}  # fmt: skip


def test_what_a_reply_answers_is_gold_and_hidden(tmp_path):
    rows = [said(1), said(2, 1), said(3), said(4, 2, mentions=["n2"])]
    own = read_own(write(tmp_path / "chat.jsonl.gz", rows))
    first, second = own.chats.questions
    assert (own.chats.name, own.chats.task) == ("chat", "reply")
    assert (first.question_id, first.gold, first.cut) == ("m2", {"m1"}, 1)
    assert (second.gold, second.conversation, second.cut) == ({"m2"}, {"m1", "m2"}, 3)
    assert second.judged_from == second.cut, "nobody has annotated what is no reply"
    assert second.line.mentions == (("u2", "n2"),)
    assert {line.reply_to for line in own.chats.groups["g"]} == {None}


def test_the_links_of_the_history_can_be_given_the_questions_own_never(tmp_path):
    path = write(tmp_path / "chat.jsonl", [said(1), said(2, 1), said(3, 2)])
    chats = read_own(path, explicit=True).chats
    assert [line.reply_to for line in chats.groups["g"]] == [None, "m1", "m2"]
    assert [one.line.reply_to for one in chats.questions] == [None, None]


def test_links_that_lead_nowhere_make_no_question(tmp_path):
    """To an unknown message, to a later one, to itself, to one without text."""
    rows = [said(1, text=" "), said(2, 1), said(3, 9), said(4, 4), said(5, 6), said(6), said(7, 6)]
    own = read_own(write(tmp_path / "chat.jsonl", rows))
    assert [one.question_id for one in own.chats.questions] == ["m7"]
    assert own.without_text == 1


def test_bad_lines_are_passed_over_and_told(tmp_path):
    own = read_own(write(tmp_path / "chat.jsonl", [said(1), "{", said(2, 1), {"content": "x"}]))
    assert [number for _, number, _ in own.bad_lines] == [2, 4]
    assert len(own.chats.questions) == 1


def test_channels_and_questions_can_be_fewer(tmp_path):
    rows = [said(n, n - 1 if n % 4 else None, group_id=f"g{n // 4}") for n in range(1, 12)]
    path = write(tmp_path / "chat.jsonl", rows)
    assert list(read_own(path, groups=slice(2)).chats.groups) == ["g0", "g1"]
    everything = read_own(path).chats.questions
    assert read_own(path, every=3).chats.questions == everything[::3]


@pytest.mark.parametrize("rows", [[], [said(1), said(2)]])
def test_a_chat_without_replies_cannot_be_judged(tmp_path, rows):
    with pytest.raises(DataError, match="reply_to: no message replies"):
        read_own(write(tmp_path / "chat.jsonl", rows))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_own(tmp_path / "none.jsonl")
