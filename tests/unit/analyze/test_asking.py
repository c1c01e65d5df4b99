"""What the words of a question say of when it was."""

import pytest

from backscroll_sidecar.analyze import only_asks, recall_signs


@pytest.mark.parametrize(
    ("text", "asks_plainly"),
    [
        ("When is the dentist appointment?", True),
        ("When is the dentist appointment", True),
        ("上次说的餐厅叫什么", True),
        ("我之前说我的猫叫什么来着", True),
        ("你还记得王伟的妹妹在哪里读书吗", True),
        ("did Ann ever say when she moves", True),
        ("I felt so lonely then", False),
        ("was thinking about it", False),
        ("没什么，随便说说", False),
        ("thanks, what is this?", False),
        ("好的呢", False),
        ("ok", False),
    ],
)
def test_who_asks_plainly_needs_no_mark(text: str, asks_plainly: bool):
    assert (recall_signs(text) >= 0.5) is asks_plainly


def test_asked_to_remember_nobody_points_at_the_talk():
    assert recall_signs("do you remember when Ann moved?") > recall_signs(
        "did you see when Ann moved?"
    )


@pytest.mark.parametrize(
    ("word", "asks"),
    [("when", True), ("哪天", True), ("来着", True), ("dentist", False), ("牙医", False)],
)
def test_words_that_only_ask(word: str, asks: bool):
    assert only_asks(word) is asks
