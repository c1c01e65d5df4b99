"""The sources that look through the whole history: what finds what, and what is ranked first."""

import numpy as np
import pytest

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.domain import Author, Fate
from backscroll_sidecar.ports import Applied
from backscroll_sidecar.strategies.memory import (
    MemoryQuestion,
    best_by_words,
    link,
    rank_memory,
    seek,
)
from backscroll_sidecar.strategies.talk import TalkLines
from tests.kit.chats import (
    ANN,
    BEN,
    CAT,
    DAY_MS,
    HOUR_MS,
    KEY,
    NOON_MS,
    PlainCodec,
    say,
    stored_in_order,
)
from tests.kit.rooms import Room, fates

NOISE = [
    "hello all",
    "大家好",
    "おはよう",
    "안녕하세요",
    "lunch anyone",
    "下雨了",
    "see you tomorrow",
]


def channel(texts, authors=(BEN,), gap_ms=DAY_MS):
    """One line a day, in this order."""
    lines = [
        say(f"m{n}", authors[n % len(authors)], text, (len(texts) - n) * gap_ms)
        for n, text in enumerate(texts)
    ]
    return HotChannel(KEY, PlainCodec(), stored_in_order(lines)).view()


def texts_for(view, question, asker=None, limit=5):
    """The texts found by the question's words, best first."""
    asked = MemoryQuestion(
        question, NOON_MS, asker.id if asker else "", asker.name if asker else ""
    )
    sought = seek(view, asked, np.ones(view.count, np.bool_))
    return [view.texts[row] for row in best_by_words(sought, limit)[0].tolist()]


def remembered(view, question, asker=None, dense=None, limit=5):
    asked = MemoryQuestion(
        question, NOON_MS, asker.id if asker else "", asker.name if asker else ""
    )
    sought = seek(view, asked, np.ones(view.count, np.bool_))
    return [view.texts[row] for row in rank_memory(view, sought, dense, limit=limit).rows.tolist()]


def test_words_of_a_talk_are_chosen_by_the_rows_that_count():
    """Neither rows that do not count nor later ones matter, nor in which order a channel came to know its words."""
    words = [f"word{n:02}" for n in range(12)]
    seen = [
        " ".join(words[n // 2 * 2 :]) for n in range(12)
    ]  # two words each are as rare as each other
    chosen = []
    for hidden, later in (("other things", "bye"), (" ".join(words[5::-1]), " ".join(words[::-1]))):
        hidden_rows, talk = [hidden] * 9, [" ".join([*words, "alone"])]
        view = channel([*hidden_rows, *seen, *talk, *[later] * 5])
        last = len(hidden_rows) + len(seen)
        eligible = np.arange(last + 1) >= len(hidden_rows)
        lines = TalkLines(np.array([last], np.int32), np.ones(1), True)
        sought = seek(view, MemoryQuestion("so lonely", NOON_MS, talk=lines), eligible)
        terms = sought.terms[len(sought.terms) - sought.talk_terms :].tolist()
        chosen.append([view.lexicon.ids.word(term) for term in terms])
    assert chosen == [words[:8]] * 2


HITS = [
    # question, the line it must find
    ("猫", "那只小猫真可爱"),
    ("猫？", "那只小猫真可爱"),
    ("小猫", "昨天看到一只猫"),
    ("生命", "研究生命科学的人不多"),
    ("苹果", "苹果手机又涨价了"),
    ("手机", "我的iPhone手机丢了"),
    ("iphone", "我的iPhone手机丢了"),
    ("ＩＰＨＯＮＥ", "我的iPhone手机丢了"),
    ("10.04", "升级到１０．０４以后黑屏"),
    ("北京大学的门票多少钱", "北大门票免费，北京的景点都要预约"),
    ("东京", "下个月去東京和东京塔"),
    ("猫はどこ", "うちの猫が逃げた"),
    ("ラーメン", "昨日のラーメンは美味しかった"),
    ("ﾗｰﾒﾝ", "昨日のラーメンは美味しかった"),
    ("東京タワー", "東京タワーに行きました"),
    ("食べ物", "食べ物を持ってきて"),
    ("집", "우리 집에 올래"),
    ("고양이", "고양이가 귀여워요"),
    ("서울에서", "서울에서 만나자"),
    ("where are the cats", "my cat sleeps all day"),
    ("printer's driver", "the printer drivers are broken"),
    ("sources.list", "edit /etc/apt/sources.list first"),
    ("café", "the CAFÉ closes at nine"),
]


@pytest.mark.parametrize(
    ("question", "line"), [(q, text) for q, text in HITS if not text.isascii() and len(q) < 5]
)
def test_without_the_segmenter(question, line, monkeypatch):
    """N-06: where rjieba is absent character pairs find the same lines."""
    import sys

    module = sys.modules["backscroll_sidecar.analyze.keywords"]
    monkeypatch.setattr(module, "_segmenter", lambda: module._bigrams)
    module._cached_expand.cache_clear()
    try:
        assert texts_for(channel([*NOISE, line, *NOISE]), question)[:1] == [line]
    finally:
        module._cached_expand.cache_clear()


def test_nothing_for_stop_words():
    """N-06: a question of particles alone finds nothing rather than everything."""
    view = channel(["你们在说什么呢", "the one and only", *NOISE])
    assert texts_for(view, "什么呢") == texts_for(view, "what is it") == []


async def test_a_lexical_hit_wins_a_slot():
    """N-03, P-18: a line far outside every window is found by its words alone, without an embedder, and says by which
    source.
    """
    old = say("old", BEN, "the wifi password is swordfish", 300 * DAY_MS)
    chatter = [say(f"c{n}", CAT, f"just chatting {n}", HOUR_MS - n * 1_000) for n in range(150)]
    room = Room([old, *chatter])
    built = await room.build("what was the wifi password?", profile="memory", explain=True)
    [item] = [item for item in built.items if item.message_id == "old"]
    assert item.rank == 1
    assert set(item.sources) == {"lexical", "recall"}
    assert fates(built)["old"] == Fate.SELECTED
    [why] = [c for c in built.explanation.candidates if c.message_id == "old"]
    assert sum(why.shares) == pytest.approx(why.linear)


def test_interleaved_topics():
    """S5-47: of two topics talked about in turn the question's lines come first."""
    cats = [f"my cat number {n} likes tuna" for n in range(8)]
    cars = [f"car {n} needs new brakes" for n in range(8)]
    view = channel([text for pair in zip(cats, cars, strict=True) for text in pair], gap_ms=60_000)
    assert set(remembered(view, "which tuna does a cat like?", limit=8)) == set(cats)


PEOPLE = (ANN, BEN, Author("u9", "王小明"))


def test_the_speaker_asked_about():
    """A question that names somebody is answered by what they said; the name itself is no keyword."""
    view = channel(["I adopted a puppy", "I adopted a puppy", "我养了一只狗", *NOISE], PEOPLE)
    assert view.author_name(view.texts.index("我养了一只狗")) == "王小明"
    asked = MemoryQuestion("what did Ben adopt, a puppy?", NOON_MS)
    sought = seek(view, asked, np.ones(view.count, np.bool_))
    assert rank_memory(view, sought).rows[0] == 1
    assert sought.named.speaks_of
    assert remembered(view, "王小明养了什么狗")[0] == "我养了一只狗"


def test_own_and_about_the_asker():
    """Without a name the asker's own lines and those that name the asker come first; with another's they do not."""
    lines = ["the exam went badly", "the exam went badly", "Ann was sad about the exam", "lunch"]
    view = channel(lines, (BEN, ANN, BEN))
    asked = MemoryQuestion("how was the exam for me?", NOON_MS, ANN.id, ANN.name)
    sought = seek(view, asked, np.ones(view.count, np.bool_))
    assert set(rank_memory(view, sought, limit=2).rows.tolist()) == {1, 2}
    other = MemoryQuestion("how was Ben at the exam?", NOON_MS, ANN.id, ANN.name)
    best = rank_memory(view, seek(view, other, sought.eligible.view(np.bool_))).rows[0]
    assert view.author_id(best) == BEN.id


def test_dates():
    """A date in the question prefers what was said then: NOON is 2026-11-20."""
    view = channel(["went swimming"] * 60)  # one a day, the last one yesterday
    for question, days in (
        ("who went swimming yesterday?", {1}),
        ("九月谁去 swimming 了", set(range(51, 61))),
    ):
        first = MemoryQuestion(question, NOON_MS)
        rows = rank_memory(view, seek(view, first, np.ones(60, np.bool_)), limit=len(days)).rows
        assert {60 - row for row in rows.tolist()} <= days


def test_a_member_named_like_a_month_is_no_date():
    """Of a member called April the question names a person, and no line is preferred for its day."""
    april = Author("u-april", "April")
    view = channel(["the hotel was fine"] * 60, (april,), 5 * DAY_MS)
    memory = ranked_when_asked(view, "what did April say about the hotel")
    assert not memory.shares[:, memory.factors.index("date")].any()
    memory = ranked_when_asked(view, "what did April say about the hotel in October")
    assert memory.shares[:, memory.factors.index("date")].any()


def ranked_when_asked(view, question):
    asked = MemoryQuestion(question, NOON_MS)
    return rank_memory(view, seek(view, asked, np.ones(view.count, np.bool_)), limit=view.count)


def test_similarity_joins_in():
    """N-03: with similarities a line without a shared word can come first; without them nothing fails."""
    view = channel(["the feline sleeps", *NOISE])
    dense = np.zeros(view.count, np.float32)
    dense[0] = 0.9
    assert remembered(view, "where is my kitty", dense=dense)[0] == "the feline sleeps"
    assert remembered(view, "where is my kitty")


def test_only_live_eligible_rows():
    """Rows that may not be candidates neither win nor count."""
    view = channel(["blue whale", "blue whale", "red fox"])
    eligible = np.array([True, False, True])
    sought = seek(view, MemoryQuestion("blue whale?", NOON_MS), eligible)
    memory = rank_memory(view, sought, limit=10)
    assert memory.rows.tolist() == [0, 2]
    assert memory.shares.sum(1) == pytest.approx(memory.scores)
    assert 0 < link(memory.scores).min() <= link(memory.scores).max() < 1


@pytest.mark.parametrize("question", ["茄子", "filler1099 茄子 zebra", "filler7 茄子 zebra"])
def test_words_that_came_after_the_view(question):
    """Law 2: what is appended between a view and its search neither hides a word's characters nor moves its boost."""
    lines = [say("a", ANN, "番茄炒蛋很好吃", 9_000), say("b", BEN, "桌子上有书", 8_000)]
    lines += [say("c", CAT, "zebra quagga", 7_000)]
    late = say("d", CAT, "茄子 " + " ".join(f"filler{n}" for n in range(1_100)), 10)
    *stored, last = stored_in_order([*lines, late])
    hot = HotChannel(KEY, PlainCodec(), stored)
    view, asked, eligible = hot.view(), MemoryQuestion(question, NOON_MS), np.ones(3, np.bool_)
    before = seek(view, asked, eligible)
    hot.publish(Applied(stored=(last,)))
    after = seek(view, asked, eligible)
    assert after.terms.tolist() == before.terms.tolist()
    assert after.boosts.tolist() == before.boosts.tolist()
    assert after.matches.scores.tolist() == before.matches.scores.tolist()
    assert after.matches.scores[:2].all()


def test_an_empty_channel():
    view = HotChannel(KEY, PlainCodec()).view()
    assert texts_for(view, "anything?") == remembered(view, "anything in May 2020?") == []


@pytest.mark.parametrize(
    ("zone", "question", "inside"),
    [
        ("UTC", "what did we say on Thursday evening?", {"evening"}),
        ("Asia/Shanghai", "what did we say on Thursday evening?", {"afternoon"}),
        ("UTC", "昨天晚上说了什么？", {"evening"}),
        ("Asia/Shanghai", "昨天晚上说了什么？", {"afternoon", "evening"}),
        ("UTC", "what is on next Friday?", set()),
    ],
)
async def test_explain_says_which_lines_are_of_the_time_asked_for(zone, question, inside):
    """Of equal lines those within the span come first, on the asker's clock; their share of `date` is largest."""
    hours = {"friday": 4, "evening": 15, "afternoon": 24, "wednesday": 40}
    room = Room(
        [say(name, BEN, f"we say 说了 {ago}", ago * HOUR_MS) for name, ago in hours.items()]
    )
    built = await room.build(question, profile="memory", explain=True, time_zone=zone)
    why = built.explanation
    dates = {c.message_id: c.shares[why.factors.index("date")] for c in why.candidates}
    most = max(dates.values())
    assert {name for name, share in dates.items() if share == most > 0} == inside
    ranked = sorted(built.items, key=lambda item: item.rank)
    assert {item.message_id for item in ranked[: len(inside)]} == inside
