"""Whether a question speaks of a person other than its asker."""

import pytest

from backscroll_sidecar.analyze import speaks_of_nobody_else, speaks_of_self


@pytest.mark.parametrize(
    "text",
    [
        "when is the dentist appointment?",
        "what did the landlord promise?",
        "do you remember when the exam was?",
        "can you tell me when the exam was?",
        "生日是哪天来着？",
        "你还记得钥匙放在哪儿了吗？",
        "上次体检的结果怎么样？",
    ],
)
def test_nobody_else(text):
    """ "Do you remember" is said to the bot and speaks of nobody."""
    assert speaks_of_nobody_else(text)


@pytest.mark.parametrize(
    "text",
    [
        "where did she move?",
        "who painted the fence?",
        "do you remember what he said?",
        "what is your name?",
        "did anybody fix the printer?",
        "他的生日是哪天？",
        "你叫什么名字？",
        "谁修好了打印机？",
        "大家上次去了哪里？",
    ],
)
def test_somebody_else(text):
    assert not speaks_of_nobody_else(text)


def test_the_speaker_is_nobody_else():
    for text in ("when is my exam?", "我的生日是哪天？"):
        assert speaks_of_self(text)
        assert speaks_of_nobody_else(text)
