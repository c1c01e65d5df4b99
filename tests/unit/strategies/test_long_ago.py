"""The signs of a question about long ago."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.strategies.long_ago import NO_PAUSE, long_ago, most_long_ago
from backscroll_sidecar.strategies.memory import MemoryQuestion, seek
from tests.kit.chats import (
    ANN,
    BEN,
    DAY_MS,
    KEY,
    MINUTE_MS,
    NOON_MS,
    PlainCodec,
    say,
    stored_in_order,
)

OLD = [
    "we adopted a puppy called Rex in spring", "我们春天领养了一只小狗叫豆豆", "the trip to Lisbon was great",
    "里斯本的旅行很棒",
]  # fmt: skip


def view_of(count=60):
    old = [say(f"o{n}", BEN, text, (90 - n) * DAY_MS) for n, text in enumerate(OLD)]
    talk = [
        say(f"t{n}", (ANN, BEN)[n % 2], f"the build fails on step {n}", (count - n) * MINUTE_MS)
        for n in range(count)
    ]
    return HotChannel(KEY, PlainCodec(), stored_in_order([*old, *talk])).view()


def signs(text, view=None, asked_at_ms=NOON_MS):
    view = view or view_of()
    question = MemoryQuestion(text, asked_at_ms, ANN.id, ANN.name)
    eligible = np.ones(view.count, np.bool_)
    sought = seek(view, question, eligible)
    return long_ago(most_long_ago(view, question, sought.named, eligible), sought)


@pytest.mark.parametrize(
    "text",
    [
        "What was the puppy Ben adopted called?",
        "When did we talk about Lisbon?",
        "领养的小狗叫什么来着？",
        "之前说的里斯本旅行是什么时候？",
    ],
)
def test_long_ago(text):
    """Two languages: a question about what was said months ago scores above the middle."""
    assert signs(text).score > 0.5


@pytest.mark.parametrize(
    "text",
    [
        "thanks, that fixed it",
        "which step fails?",
        "Ben: can you try it now?",
        "好的，我现在试试这个",
        "这个怎么弄？",
        "ok",
        "yes",
    ],
)
def test_about_the_last_lines(text):
    """Talk about what is before everybody's eyes scores below the middle."""
    assert signs(text).score < 0.5


@pytest.mark.parametrize("score", [0.2, 0.5, 0.65, 0.9])
@pytest.mark.parametrize(
    "text", ["which step fails?", "the trip to Lisbon", "小狗叫什么？", "thanks", "build puppy"]
)
def test_what_misses_a_score_is_told_without_the_old_rows(text, score):
    """Whether or not the old rows are read, the score is reached or missed alike."""
    view = view_of()
    eligible = np.ones(view.count, np.bool_)
    sought = seek(view, MemoryQuestion(text, NOON_MS, ANN.id, ANN.name), eligible)
    most = most_long_ago(view, sought.question, sought.named, eligible)
    exact, bound = long_ago(most, sought), long_ago(most, sought, math.inf)
    assert (long_ago(most, sought, score).score >= score) == (exact.score >= score)
    assert bound.far >= exact.far
    assert bound.near <= exact.near


def test_near_words_pull_down():
    far, near = signs("what was the trip to Lisbon like?"), signs("what was the build like?")
    assert far.far > far.near == 0
    assert near.near > 0
    assert far.score > near.score


def test_who_is_called_and_who_is_spoken_of():
    assert signs("where did Ben go?").speaks_of
    assert not signs("Ben, where did you go?").speaks_of
    assert not signs("where did you go, Ben?").speaks_of
    assert not signs("hey @Ben where is it").speaks_of


def test_the_pause_is_told_not_scored():
    """The clock is another sign's business: the text's score is the same whenever it is asked."""
    soon, late = signs("when was Lisbon?"), signs("when was Lisbon?", asked_at_ms=NOON_MS + DAY_MS)
    assert (soon.pause_ms, late.pause_ms) == (MINUTE_MS, MINUTE_MS + DAY_MS)
    assert soon.score == late.score
    assert signs("when?", HotChannel(KEY, PlainCodec()).view()).pause_ms == NO_PAUSE
