"""Two crowds in one room."""

from dataclasses import replace

import pytest

from backscroll_bench.quality import DataError, mixed
from backscroll_bench.quality.data import WINDOW, ChatSet, Line, Question
from tests.unit.quality.sets import START, question


def channel(name, times, **more):
    """One line at each of these seconds, by two people in turn."""
    return tuple(
        Line(f"{name}{n}", name, f"{name}u{n % 2}", f"{name}-{n % 2}", "hi", START + at * 1000, **more)
        for n, at in enumerate(times)
    )  # fmt: skip


def a_set(name, *channels, questions=()):
    groups = {lines[0].group_id: lines for lines in channels}
    return ChatSet(name, groups, tuple(questions) or (reply(channels[0], 1),))


def reply(lines, at, *, conversation=None, judged_from=0):
    found = frozenset(lines[n].message_id for n in conversation) if conversation else None
    gold = frozenset({lines[at - 1].message_id})
    return Question("q", "reply", lines[at], at, gold, found, judged_from)


def ids(chats, group):
    return [line.message_id for line in chats.groups[group]]


def test_the_other_channel_is_fitted_to_the_time_of_the_first():
    """Ten seconds against a hundred, a year apart: each line comes at its share of the span."""
    year_s = 31_536_000
    first, other = channel("a", [0, 4, 10]), channel("b", [year_s, year_s + 25, year_s + 100])
    room = mixed(a_set("x", first), a_set("y", other)).groups["a"]
    assert [(line.message_id, line.timestamp - START) for line in room] == [
        ("a0", 0), ("mixed-in/b0", 1), ("mixed-in/b1", 2_500), ("a1", 4_000), ("a2", 10_000), ("mixed-in/b2", 10_001),
    ]  # fmt: skip
    assert {line.group_id for line in room} == {"a"}


def test_all_times_differ_and_each_keeps_its_order():
    first, other = channel("a", [0, 0, 0, 0]), channel("b", [5, 5, 5])
    room = mixed(a_set("x", first), a_set("y", other)).groups["a"]
    times = [line.timestamp - START for line in room]
    assert times == list(range(7))
    assert [one for one in ids(mixed(a_set("x", first), a_set("y", other)), "a") if one[0] == "a"] == [
        "a0", "a1", "a2", "a3",
    ]  # fmt: skip


def test_people_of_the_other_keep_their_names_under_ids_of_their_own():
    """The same crowd again: nobody becomes somebody of the first, and a reply leads to its own line."""
    first = channel("a", [0, 10])
    twin = replace(first[1], group_id="b", reply_to="a0", mentions=(("au0", "a-0"),))
    other = a_set("y", (replace(first[0], group_id="b"), twin))
    room = mixed(a_set("x", first), other).groups["a"]
    assert len({line.message_id for line in room}) == 4
    guest = next(line for line in room if line.reply_to)
    assert guest.user_id not in {line.user_id for line in first}
    assert (guest.name, guest.reply_to) == ("a-1", "mixed-in/a0")
    assert guest.mentions == (("mixed-in/au0", "a-0"),)


def test_channels_are_paired_in_turn():
    firsts = [channel(name, [0, 10]) for name in "abc"]
    others = [channel(name, [0, 10]) for name in "pq"]
    rooms = mixed(a_set("x", *firsts), a_set("y", *others))
    assert [ids(rooms, name)[1] for name in "abc"] == ["mixed-in/p0", "mixed-in/q0", "mixed-in/p0"]
    assert rooms.note == "y mixed in"


def test_a_set_is_mixed_with_itself_channel_by_channel():
    chats = a_set("x", *(channel(name, [0, 10]) for name in "abc"))
    rooms = mixed(chats, None)
    assert [ids(rooms, name)[1] for name in "abc"] == ["mixed-in/b0", "mixed-in/c0", "mixed-in/a0"]
    assert rooms.note == "next channel mixed in"
    with pytest.raises(DataError, match="x: has one channel only"):
        mixed(a_set("x", channel("a", [0, 10])), None)


def test_sets_whose_channels_have_the_same_names_are_two():
    first, other = a_set("x", channel("g", [0, 10])), a_set("y", channel("g", [0, 10]))
    rooms = mixed(first, other)
    assert len(rooms.groups["g"]) == 4
    assert rooms.note == "y mixed in"


def test_a_question_is_asked_at_its_place_in_the_room():
    first, other = channel("a", range(0, 100, 10)), channel("b", range(0, 100, 10))
    asked = reply(first, 5, conversation=[0, 4], judged_from=2)
    rooms = mixed(a_set("x", first, questions=[asked]), a_set("y", other))
    (found,) = rooms.questions
    room = rooms.groups["a"]
    assert room[found.cut].message_id == found.line.message_id == "a5"
    assert found.line.timestamp == room[found.cut].timestamp
    assert room[found.judged_from].message_id == "a2"
    assert found.gold == asked.gold
    assert found.conversation == asked.conversation


def test_a_conversation_is_what_the_last_messages_of_the_room_have_of_it():
    """Line by line: of the hundred before the question fifty are the first's."""
    first, other = channel("a", range(90)), channel("b", range(90))
    near = reply(first, 80, conversation=[10, 79])
    far = reply(first, 80, conversation=[10])
    rooms = mixed(a_set("x", first, questions=[near, far]), a_set("y", other))
    before = rooms.groups["a"][rooms.questions[0].cut - WINDOW : rooms.questions[0].cut]
    assert "a10" not in {line.message_id for line in before}
    assert rooms.questions[0].conversation == {"a79"}
    assert rooms.questions[1].conversation is None


def test_a_question_about_long_ago_comes_after_both():
    first, other = channel("a", [0, 10]), channel("b", [0, 10])
    asked = question("memory", gold=("a0",), cut=2)
    asked = replace(asked, line=replace(asked.line, group_id="a", timestamp=START + 10_000))
    rooms = mixed(a_set("x", first, questions=[asked]), a_set("y", other))
    assert rooms.questions[0].cut == 4
    assert rooms.questions[0].line.timestamp > max(line.timestamp for line in rooms.groups["a"])
