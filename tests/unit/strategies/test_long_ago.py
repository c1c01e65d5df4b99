"""The signs of a question about long ago."""

import math

import numpy as np
import pytest

from backscroll_scoring import Worth
from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.strategies.history_router import (
    NO_PAUSE,
    said_of_long_ago,
    sounds_long_ago,
    talk_before,
)
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

ANY = Worth(0.0, 0.0, -math.inf)
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


def sought_in(text, view):
    question = MemoryQuestion(text, NOON_MS, ANN.id, ANN.name)
    return seek(view, question, np.ones(view.count, np.bool_))


def score(text, least=-math.inf):
    sought = sought_in(text, view_of())
    said = said_of_long_ago(text, speaks_of=sought.named.speaks_of)
    return sounds_long_ago(sought, said, least)


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
    assert score(text) > 0.5


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
    assert score(text) < 0.5


@pytest.mark.parametrize("least", [0.2, 0.5, 0.65, 0.9])
@pytest.mark.parametrize(
    "text", ["which step fails?", "the trip to Lisbon", "小狗叫什么？", "thanks", "build puppy"]
)
def test_what_misses_a_score_is_told_without_the_old_rows(text, least):
    """Whether or not the old rows are read, the score is reached or missed alike."""
    exact, bound = score(text), score(text, math.inf)
    assert (score(text, least) >= least) == (exact >= least)
    assert bound >= exact


def test_near_words_pull_down():
    """What the last lines say, too, is not long ago."""
    far, near = (
        sought_in(f"what was the {of} like?", view_of()).best_before(34, ANY)
        for of in ("trip to Lisbon", "build")
    )
    assert far[0] > far[1] == 0
    assert near[1] > 0
    assert score("what was the trip to Lisbon like?") > score("what was the build like?")


def test_who_is_called_and_who_is_spoken_of():
    def speaks_of(text):
        return sought_in(text, view_of()).named.speaks_of

    assert speaks_of("where did Ben go?")
    assert not speaks_of("Ben, where did you go?")
    assert not speaks_of("where did you go, Ben?")
    assert not speaks_of("hey @Ben where is it")


def test_the_moment():
    """What the clock says of a question, whatever its text: the pause before it, and how far apart lines are."""
    view = view_of()
    every = np.ones(view.count, np.bool_)
    for all_count in (True, False):
        soon, late, early = (
            talk_before(view, every, NOON_MS + more_ms, all_count=all_count)
            for more_ms in (0, DAY_MS, -DAY_MS)
        )
        assert (soon.pause_ms, late.pause_ms, early.pause_ms) == (MINUTE_MS, MINUTE_MS + DAY_MS, 0)
        assert not soon.scattered
    few = view_of(count=2)  # behind lines that are months old
    assert talk_before(few, np.ones(few.count, np.bool_), NOON_MS, all_count=True).scattered
    nobody = HotChannel(KEY, PlainCodec()).view()
    for all_count in (True, False):
        talk = talk_before(nobody, np.ones(0, np.bool_), NOON_MS, all_count=all_count)
        assert talk == (NO_PAUSE, False)


def test_rows_that_do_not_count_make_no_moment():
    view = view_of()
    counts = np.ones(view.count, np.bool_)
    counts[-1] = False
    assert talk_before(view, counts, NOON_MS).pause_ms == 2 * MINUTE_MS
