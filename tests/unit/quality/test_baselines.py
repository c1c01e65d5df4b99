"""The baselines, by hand."""

from dataclasses import replace

from backscroll_bench.quality.baselines import bm25, chain, recency, words
from backscroll_bench.quality.data import Line
from tests.unit.quality.sets import question

TEXTS = ["the red key", "a blue door", "the blue key", "明天去北京", "what is new"]
LINES = [Line(f"m{n}", "g", "u", "u", text, n) for n, text in enumerate(TEXTS)]


def asked(text, cut=5):
    made = question(cut=cut)
    return replace(made, line=replace(made.line, content=text))


def test_recency_is_the_newest_first_and_nothing_later():
    assert recency(LINES)(asked("?", cut=3)).ids == ["m2", "m1", "m0"]
    many = [replace(LINES[0], message_id=f"n{n}") for n in range(80)]
    newest = recency(many)(asked("?", cut=70)).ids
    assert (len(newest), newest[0], newest[-1]) == (50, "n69", "n20")


def test_bm25_prefers_both_words_then_the_rarer_then_the_newer():
    assert bm25(LINES)(asked("Blue KEY?")).ids == ["m2", "m1", "m0", "m4", "m3"]
    assert bm25(LINES)(asked("red key")).ids[:2] == ["m0", "m2"]


def test_bm25_reads_chinese_and_grows_with_the_chat():
    choose = bm25(LINES)
    assert choose(asked("北京", cut=3)).ids == ["m2", "m1", "m0"]
    assert choose(asked("北京")).ids[0] == "m3"


def test_words_are_words_characters_and_pairs():
    assert words("Hi, 北京2026!") == ["hi", "北", "京", "2026", "北京"]


def test_the_chain_is_what_is_replied_to_and_nothing_else():
    """Of links that go round in a circle each message once; a link to something later is none."""
    linked = [
        replace(line, reply_to=to)
        for line, to in zip(LINES, ("m1", "m0", "m1", None, "m9"), strict=True)
    ]
    made = asked("?", cut=4)
    assert chain(linked)(made).ids == []
    for to, ids in (("m2", ["m2", "m1", "m0"]), ("m3", ["m3"]), ("m4", []), ("nothing", [])):
        assert chain(linked)(replace(made, line=replace(made.line, reply_to=to))).ids == ids
