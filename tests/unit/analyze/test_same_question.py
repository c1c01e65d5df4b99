"""A stored line and the question that a bot made of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze.same_question import is_same_question
from tests.property.chats import texts

NAMES = ("Cat", "小黑", "Ann Lee")
SAME = [
    ("what is up?", "what is up?"),
    (" what is up? ", "what is up?"),
    ("@Cat what is up?", "what is up?"),
    ("@cat: what is up?", "what is up?"),
    ("@Cat, what is up?", "what is up?"),
    ("Cat: what is up?", "what is up?"),
    ("Cat，在吗？", "在吗？"),
    ("@CatBot_2 what is up?", "what is up?"),
    ("what is up @Cat", "what is up"),
    ("what is up, @Cat?", "what is up?"),
    ("what is up, @Cat?", "what is up, ?"),
    ("what is up, Cat?", "what is up?"),
    ("@Ann Lee what is up?", "what is up?"),
    ("@Cat @Dog what is up?", "what is up?"),
    ("/ask what is up?", "what is up?"),
    ("/ask@cat_bot what is up?", "what is up?"),
    ("!ask what is up?", "what is up?"),
    ("！ask 你好", "你好"),
    ("@Cat /ask what is up?", "what is up?"),
    ("<@111> what is up?", "what is up?"),
    ("<@!111> what is up?", "what is up?"),
    ("[CQ:at,qq=10001] 在吗", "在吗"),
    ("@小黑你好", "你好"),
    ("@小黑 你好吗？", "你好吗？"),
    ("你好吗？@小黑", "你好吗？"),
    ("@小黑：明天去哪？", "明天去哪？"),
    ("@新人你好", "你好"),
    ("what is up?", "@Cat what is up?"),
    ("@Cat 👍", "👍"),
    ("@Cat what @Cat what", "what @Cat what"),
    ("hey <@111> what is up?", "hey  what is up?"),
    ("hey <@111> what is up?", "hey what is up?"),
    ("what is <@111> up?", "what is up?"),
    ("hey @Ann Lee, what is up?", "hey, what is up?"),
    ("hey <@111> what does <@222> say?", "hey what does <@222> say?"),
    ("嘿[CQ:at,qq=10001]在吗", "嘿在吗"),
    ("嘿 @小黑 在吗", "嘿 在吗"),
    (".ask what is up?", "what is up?"),
    (">cat what is up?", "what is up?"),
    ("。问 你好吗", "你好吗"),
    ("$ask what is up?", "what is up?"),
    ("~ask what is up?", "what is up?"),
]
OTHER = [
    ("what is up?", "what is down?"),
    ("what is up?", "what is up"),
    ("and what is up?", "what is up?"),
    ("@Cat and what is up?", "what is up?"),
    ("what is up? tell me", "what is up?"),
    ("mail cat@home.org now", "now"),
    ("@Catnip", "nip"),
    ("/etc/passwd is what?", "is what?"),
    ("!important what", "nt what"),
    ("category: what is up?", "what is up?"),
    ("你好小黑吗", "你好"),
    ("@Cat", ""),
    ("", "@Cat"),
    ("!!", "!"),
    ("wow!!!", "wow"),
    ("3 /2 what", "what"),
    ("hey <@111> what is up?", "hey what is down?"),
    ("hey <@111> what is up?", "hey <@222> what is up?"),
    ("what is Cat up to?", "what is up to?"),
    ("mail cat@home.org now", "mail cat.org now"),
    ("...so what is up?", "what is up?"),
    (".5 what", "what"),
    ("<@111>", "<@222>"),
]


@pytest.mark.parametrize(("stored", "asked"), SAME)
def test_it_is_the_question(stored, asked):
    assert is_same_question(stored, asked, NAMES)


@pytest.mark.parametrize(("stored", "asked"), OTHER)
def test_it_is_another_line(stored, asked):
    assert not is_same_question(stored, asked, NAMES)


@given(texts, texts, st.lists(st.text(max_size=8), max_size=3))
def test_any_two_texts_have_an_answer(stored, asked, names):
    """Whatever people are called and say; a line is the same as itself, and as itself behind a mention."""
    is_same_question(stored, asked, names)
    assert is_same_question(stored, stored, names)
    if stored.strip():
        assert is_same_question(f"@bot {stored}", stored, names)


@pytest.mark.parametrize("marks", ["!", " ", ".", "……", "! "])
def test_many_marks_within_a_text_are_looked_at_once(marks):
    """As long as a text may be: looked at anew from each of them they would hold up the server for minutes."""
    many = marks * (60_000 // len(marks))
    assert not is_same_question(f"@bob a{many}b", f"c{many}b", ["bob"])
    assert is_same_question(f"@bob a{many}b {marks}", f"a{many}b", ["bob"])
