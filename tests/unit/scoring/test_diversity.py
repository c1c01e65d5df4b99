"""P-05: near-duplicates and maximal marginal relevance, on lines people write."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import (
    FeatureSets,
    ShingleCache,
    mmr_order,
    set_similarity,
    shingle_sets,
    top_order,
)

KEYS = "The keys are under the blue flower pot next to the back door"
CAT = "我家的猫每天早上六点钟准时叫我起床给它开罐头"


def gone(*texts, authors=None, order=None, **options):
    """Which of the texts go, best first as given."""
    return gone_of(shingle_sets(texts), authors, order, **options)


def gone_of(sets, authors=None, order=None, **options):
    m = len(sets)
    kept, seq, who = ShingleCache(), np.arange(m), np.zeros(m) if authors is None else authors
    kept.add(seq, sets)
    places = np.arange(m) if order is None else np.array(order)
    thinned = kept.without_repeats(
        seq, np.array(who, np.int32), seq.astype(np.int32), places, np.ones(m, np.bool_), **options
    )
    return thinned.go.tolist()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (KEYS, "the keys are under the blue flower pot, next to the back door!!", True),
        (KEYS, KEYS.upper() + " :)", True),
        (KEYS, "> " + KEYS, True),
        (KEYS, "The spare keys are with the neighbour across the street", False),
        (KEYS, KEYS + "?", False),
        (CAT, "我家的猫每天早上六点钟准时叫我起床，给它开罐头。", True),
        (CAT, "我家的猫每天早上六点钟准时叫我起床给它开罐头哈哈", True),
        (CAT, "我家的狗每天晚上都要出去散步两个小时才肯睡觉", False),
        (CAT, CAT + "？", False),
        ("ＡＢＣ　１２３", "abc 123", True),
        ("ok", "OK.", True),
        ("ok", "no", False),
        ("好的", "好的！", True),
        ("好的", "好吧", False),
        ("👍", "👍", True),
        ("👍", "👎", False),
        ("...", "…", False),
        ("", "", False),
        ("we deploy at 15:00 to the staging cluster", "we deploy at 16:00 to the staging cluster", False),
        ("会议改到下午3点在二楼大会议室", "会议改到下午4点在二楼大会议室", False),
        ("1.5 litres", "15 litres", False),
    ],
)  # fmt: skip
def test_what_is_a_near_duplicate(one, other, same):
    """P-05: case, punctuation and a few characters make no difference; another number or a question mark does. In
    Chinese as in English."""
    assert gone(one, other) == gone(other, one) == [1] * same


def test_the_best_ranked_stays():
    """P-05: golden ranking: of three alike the first in the order, whatever their rows."""
    texts = [KEYS, CAT, KEYS + "!", CAT + "。", "something else"]
    assert gone(*texts, order=[3, 4, 2, 1, 0]) == [1, 0]


def test_short_lines_of_different_people_are_votes():
    """P-05: three people say "me too"; one repeats it. A long line passed on is a copy, whoever passes it on."""
    assert gone("me too", "me too", "Me too!", authors=[1, 2, 1]) == [2]
    assert gone(KEYS, KEYS, authors=[1, 2]) == [1]
    assert gone("好的", "好的", authors=[1, 2]) == []
    assert gone(CAT, CAT, authors=[1, 2]) == [1]
    assert gone("me too", "me too", authors=[-1, -1]) == []
    assert gone("me too", "me too", authors=[1, 2], across_authors=0) == [1]


def test_the_threshold():
    """P-05: by hand: {1, 2, 3, 4} and {1, 2, 3, 5} share 3 of 5."""
    ids = np.array([1, 2, 3, 4, 1, 2, 3, 5], np.int32)
    sets = FeatureSets(np.array([0, 4, 8], np.int64), ids, np.zeros(2, np.int64))
    assert gone_of(sets, threshold=0.6) == [1]
    assert gone_of(sets, threshold=0.601) == []
    assert set_similarity(sets)(1).tolist() == [0.6, 1]


def test_mmr_by_hand():
    """P-05: golden ranking, lambda .5. a, b, c score .9 .8 .6; b is half like a, c like nothing: a, then c with
    .3 before b with .4 - .25, then b."""
    ids = np.array([1, 2, 3, 1, 2, 4, 9], np.int32)
    sets = FeatureSets(np.array([0, 3, 6, 7], np.int64), ids, np.zeros(3, np.int64))
    similarity = set_similarity(sets)
    assert similarity(0).tolist() == [1, 0.5, 0]
    scores = np.array([0.9, 0.8, 0.6])
    assert mmr_order(scores, similarity, relevance=0.5).tolist() == [0, 2, 1]
    assert mmr_order(scores, similarity, relevance=0.9).tolist() == [0, 1, 2]
    assert mmr_order(scores, similarity, relevance=0.5, limit=2).tolist() == [0, 2]
    assert mmr_order(scores, similarity, relevance=0.5, limit=0).tolist() == []


def plain_mmr(scores, alike, relevance, rows):
    """The formula, one candidate at a time."""
    left = sorted(range(len(scores)), key=lambda i: (-scores[i], -rows[i], -i))
    chosen = []
    while left:
        worth = [
            relevance * scores[i]
            - (1 - relevance) * max((alike[j][i] for j in chosen), default=0.0)
            for i in left
        ]
        chosen.append(left.pop(worth.index(max(worth))))
    return chosen


@settings(deadline=None)
@given(st.data())
def test_mmr_is_the_formula_and_can_be_cut(data):
    """P-05: equal to the plain twin; a smaller limit is a prefix; lambda 1 is the ranking itself."""
    m = data.draw(st.integers(0, 8))
    words = data.draw(st.lists(st.sets(st.integers(0, 6)), min_size=m, max_size=m))
    scores = np.array(data.draw(st.lists(st.floats(0, 1), min_size=m, max_size=m)), np.float64)
    rows = np.array(data.draw(st.lists(st.integers(0, 9), min_size=m, max_size=m)), np.int32)
    relevance = data.draw(st.floats(0, 1))
    sets = FeatureSets(
        np.cumsum([0] + [len(one) for one in words]).astype(np.int64),
        np.array([i for one in words for i in sorted(one)], np.int32),
        np.zeros(m, np.int64),
    )
    similarity = set_similarity(sets)
    whole = mmr_order(scores, similarity, relevance=relevance, rows=rows).tolist()
    alike = [similarity(i).tolist() for i in range(m)]
    assert whole == plain_mmr(scores.tolist(), alike, relevance, rows.tolist())
    for limit in range(m + 2):
        cut = mmr_order(scores, similarity, relevance=relevance, rows=rows, limit=limit)
        assert cut.tolist() == whole[:limit]
    alone = mmr_order(scores, similarity, relevance=1.0, rows=rows)
    np.testing.assert_array_equal(alone, top_order(scores, rows))


NONE = np.zeros(0, np.int32)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: shingle_sets(["a"], size=0), ValueError, "size"),
        (lambda: set_similarity(shingle_sets(["a"]))(1), IndexError, "outside"),
        (lambda: set_similarity(shingle_sets(["a"]))(-1), IndexError, "outside"),
        (lambda: mmr_order(np.zeros(1), np.zeros, relevance=1.1), ValueError, "relevance"),
        (lambda: mmr_order(np.zeros(1), np.zeros, limit=-1), ValueError, "limit"),
        (lambda: FeatureSets(np.zeros(1, np.int64), NONE, np.zeros(1, np.int64)), ValueError, "offsets"),
    ],
)  # fmt: skip
def test_arguments_are_checked(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("offsets", [[0, 2], [-1, 1], [1, 0], [0, -1]])
def test_broken_offsets_are_refused_not_followed(offsets):
    sets = FeatureSets(np.array(offsets, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="offsets"):
        set_similarity(sets)(0)
