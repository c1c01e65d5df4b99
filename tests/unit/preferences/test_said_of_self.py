"""Rules read what people say of themselves: rarely what was not said, and most of what was, in both languages."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.preferences.rules import MOST_FOUND, read_text
from backscroll_sidecar.preferences.topics import KNOWN

LABELLED = Path(__file__).parents[2] / "data" / "said_of_self.jsonl"
LINES = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
PRECISION, RECALL = 0.9, 0.65


def half_of(line: dict) -> str:
    first = hashlib.sha256(f"53/{line['id']}".encode()).digest()[0]
    return "held out" if first % 2 else "development"


def slots(pairs) -> set[tuple[str, str]]:
    return {(topic, value.casefold()) for topic, value in pairs}


def read(text: str) -> set[tuple[str, str]]:
    return slots((one.topic, one.value) for one in read_text(text, KNOWN))


@pytest.mark.parametrize("half", ["development", "held out"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_precision_and_recall(language: str, half: str) -> None:
    counts = Counter()
    for line in LINES:
        if line["lang"] != language or half_of(line) != half:
            continue
        wanted, found = slots(line["labels"]), read(line["text"])
        counts["right"] += len(wanted & found)
        counts["wrong"] += len(found - wanted - slots(line.get("also", ())))
        counts["missed"] += len(wanted - found)
    assert counts["right"] / (counts["right"] + counts["wrong"]) >= PRECISION, counts
    assert counts["right"] / (counts["right"] + counts["missed"]) >= RECALL, counts


def test_the_set_is_large_enough() -> None:
    assert len(LINES) >= 400
    assert min(Counter((one["lang"], half_of(one)) for one in LINES).values()) >= 100


PAIRS = [
    ("I like tea", "我喜欢喝茶", "likes"),
    ("I don't like coffee", "我不喜欢咖啡", "dislikes"),
    ("call me Sam", "叫我Sam", "name"),
    ("don't call me boss", "别叫我老板", "not_called"),
    ("from now on answer in English", "以后用英文回答", "language"),
    ("keep it short please", "回答简短一点", "length"),
    ("please be more formal", "语气正式一点", "tone"),
    ("I moved to Berlin", "我搬到了柏林", "place"),
    ("I work as a nurse", "我是一名护士", "work"),
    ("my time zone is UTC+8", "我在东八区", "time_zone"),
    ("my birthday is May 3", "我的生日是5月3日", "birthday"),
    ("I'm allergic to peanuts", "我对花生过敏", "diet"),
    ("my project is called Nightjar", "我的项目叫夜莺", "project"),
]


@pytest.mark.parametrize(("english", "chinese", "topic"), PAIRS)
def test_both_languages_fill_the_same_slots(english: str, chinese: str, topic: str) -> None:
    """Values that have one form are the same ones."""
    ours, theirs = read(english), read(chinese)
    assert [slot for slot, _ in ours] == [slot for slot, _ in theirs] == [topic]
    if topic in {"name", "language", "length", "tone", "time_zone", "birthday"}:
        assert ours == theirs


def test_a_title_is_one_thing() -> None:
    assert read("我最爱的电影是千与千寻") == {("likes", "千与千寻")}
    assert read("我爱吃火锅和烧烤") == {("likes", "吃火锅"), ("likes", "烧烤")}


TEXT = (
    "I i'm my we like love hate call me don't not tea Sam moved to Berlin is a nurse in English please , . ? ! \" ` > "
    "我 喜欢 不 叫 住在 上海 是 的 吗 ， 。 ？ 用 英文 回答 请 别 以后 喝茶 “ ” 《 》 : \n \ufffc 😂"
)
WORDS = st.lists(st.sampled_from(TEXT.split(" ")), max_size=20)


@given(st.one_of(st.text(max_size=200), WORDS.map(" ".join), WORDS.map("".join)))
def test_whatever_is_said_is_read_or_left(text: str) -> None:
    """No text breaks it; what is found has a value that fits."""
    for one in read_text(text, KNOWN):
        assert one.topic
        assert one.text
        assert 0 < len(one.value.encode()) <= 500
        assert "\ufffc" not in one.value


@pytest.mark.parametrize(
    "repeated",
    ["嗯", "顺便说一下", "我最最近", "就行了", "就好了", "好了就好了", "对对了", "你们大家", "u just ",
     "please always ", "a bit more ", "hm", "嗯，", "- ", "((", "老", "really ", "和", "尽量", "一直"],
)  # fmt: skip
@pytest.mark.parametrize(
    "around", ["{}", "{}我x", "我{}", "我喜欢茶x{}x", "叫我阿明{}.", "i {}like", "i like tea {}"]
)
def test_what_is_said_over_and_over_takes_no_longer(repeated: str, around: str) -> None:
    """A pattern that reads it in two ways would look at more ways than there is time for."""
    longest = around.format(repeated * (76 // len(repeated)))
    assert len(read_text(longest, KNOWN)) <= 2
    assert len(read_text("。".join([longest] * 20), KNOWN)) <= MOST_FOUND


@pytest.mark.parametrize(
    "text", ["I'm living in hell", "we live in limbo", "我喜欢个屁", "我喜欢个鬼"]
)
def test_figures_of_speech_say_nothing(text: str) -> None:
    assert read(text) == set()
