"""Old lines that say an error text as a question does."""

import numpy as np
import pytest

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.context.shared_errors import RARE, rows_of_same_error
from tests.kit.chats import ANN, BEN, KEY, SECOND_MS, PlainCodec, say, stored_in_order

COUNT, PLACES = 300, (20, 60, 100, 140, 180)
TALK = (
    "the kernel was old", "a memory of summer", "the pipe organ", "broken toys", "我们去公园吧", "他拒绝了",
    "连接那根线", "find a file", "which folder is it?",
)  # fmt: skip


def everyday(n):
    """Now and then a line with a word of an error text."""
    return TALK[n // 25 % len(TALK)] if n % 25 == 0 else f"a fine day, 天气不错 {n % 7}"


def view_with(*old):
    """A channel of everyday talk in which these lines stand at `PLACES`."""
    said = dict(zip(PLACES, old, strict=False))
    return HotChannel(KEY, PlainCodec(), stored_in_order([
        say(f"m{n}", (ANN, BEN)[n % 2], said.get(n, everyday(n)), (COUNT - n) * SECOND_MS)
        for n in range(COUNT)
    ])).view()  # fmt: skip


def found(view, text, eligible=None):
    every = np.ones(COUNT, np.bool_)
    return rows_of_same_error(view, text, every if eligible is None else eligible).tolist()


@pytest.mark.parametrize(
    ("old", "question"),
    [
        ("the receiver left: Broken  pipe again", "and now it dies with a broken pipe, any idea?"),
        ("cannot allocate memory was overcommit", "fork says cannot allocate memory"),
        ("No such file or directory: a typo", "why do I get no such file or directory?"),
        ("连接被拒绝多半是端口没开", "一连就提示连接被拒绝，怎么办？"),
        ("提示内存不足就关掉几个程序", "又说内存不足，有什么办法？"),
        ("找不到文件或目录是路径里有空格", "运行就报找不到文件或目录"),
    ],
)  # fmt: skip
def test_an_error_text_is_found_wherever_it_stands(old, question):
    view = view_with(old)
    assert found(view, question) == [PLACES[0]]
    without = np.ones(COUNT, np.bool_)
    without[PLACES[0]] = False
    assert found(view, question, without) == []


def test_a_name_of_several_words_is_no_error():
    view = view_with("I liked Purple Mountain Lodge")
    assert found(view, "is the purple mountain lodge open?") == []
    assert found(view, "is the purple mountain lodge not open?") == []


def test_the_line_must_say_what_went_wrong_as_the_question_does():
    view = view_with("put it next to the blue toolbox drawer")
    assert found(view, "there is no blue toolbox drawer") == []


def test_the_same_words_in_another_order_are_no_phrase():
    assert found(view_with("the pipe is what was broken"), "a broken pipe?") == []


def test_what_many_rows_say_is_a_saying():
    old = ["a wobbly flange error"] * (RARE + 1)
    question = "the wobbly flange error?"
    assert found(view_with(*old[:RARE]), question) == list(PLACES[:RARE])
    assert found(view_with(*old), question) == []


@pytest.mark.parametrize("text", ["", "pipe", "?!", "nobody ever wrote these"])
def test_nothing_in_common(text):
    assert found(view_with(), text) == []
