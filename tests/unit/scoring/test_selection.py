"""Selections and unions against what sets and sorting say. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import Rules, select, take_turns, turns, unite
from backscroll_scoring.layout import (
    IN_CHAIN,
    IS_HIDDEN,
    IS_ORPHAN,
    IS_PINNED,
    IS_RECALLED,
    OTHERS,
    OWN,
)
from tests.kit.examples import examples
from tests.reference import selection as reference

MANY = settings(deadline=None, max_examples=examples(300))
NOBODY = np.empty(0, np.int32)


@st.composite
def cases(draw):
    """Candidates of every kind, and rules."""
    m = draw(st.integers(0, 9))

    def each(of):
        return draw(st.lists(of, min_size=m, max_size=m))

    flag = st.sampled_from(
        [0, 0, 0, 0, IS_RECALLED, IS_HIDDEN, IN_CHAIN, IS_PINNED, IN_CHAIN | IS_PINNED]
    )
    order = draw(st.permutations(range(m)))
    rules = Rules(
        draw(st.sampled_from([-1.0, 0.3, 0.5, 2.0])),
        draw(st.integers(0, 4)),
        draw(st.integers(0, 4)),
        draw(st.integers(0, 4)),
        draw(st.sampled_from([-1, 3])),
        draw(st.booleans()),
        draw(st.sampled_from([False, False, False, True])),
    )
    flags = each(flag)
    groups = each(st.integers(-2, 2)) if draw(st.booleans()) and not rules.ranked_only else []
    parties = [groups.index(one) if one >= 0 else -1 for one in groups]
    if rules.ranked_only:
        flags = [one & (IS_RECALLED | IS_HIDDEN) for one in flags]
    flags = [
        one | (IS_ORPHAN if parties and parties[j] >= 0 and draw(st.integers(0, 5)) == 0 else 0)
        for j, one in enumerate(flags)
    ]
    return (
        each(st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8])),
        order[: draw(st.integers(0, m))],
        each(st.integers(0, 4)),
        flags,
        parties,
        rules,
    )


@MANY
@given(cases())
def test_a_selection(case):
    """The fate of everybody, what decided it, and who stays in which order."""
    scores, order, stages, flags, parties, rules = case
    chosen, fate, stage = select(
        np.array(scores, np.float64),
        np.array(order, np.int64),
        np.array(stages, np.uint8),
        np.array(flags, np.uint8),
        np.array(parties, np.int32),
        rules,
    )
    expected = reference.select(*case)
    assert chosen.tolist() == expected[0]
    assert fate.tolist() == expected[1]
    assert stage.tolist() == expected[2]


def test_a_smaller_head_or_floor_by_hand():
    """Scores .9 .1 .2 .8; the chain comes right behind the best, the floor keeps the newest."""
    known = np.array([0.9, 0.1, 0.2, 0.8]), np.array([0, 3, 2, 1]), np.full(4, 4, np.uint8)
    flags = np.array([0, IN_CHAIN, 0, 0], np.uint8)
    chosen, _, _ = select(*known, flags, NOBODY, Rules(0.5, head=1))
    assert chosen.tolist() == [0, 1, 3]
    chosen, _, _ = select(*known, np.zeros(4, np.uint8), NOBODY, Rules(0.95, floor=2))
    assert chosen.tolist() == [3, 2]


@st.composite
def rankings(draw):
    """Candidates, a ranking of some of them, and another one."""
    rows = sorted(draw(st.sets(st.integers(0, 30), min_size=1, max_size=10)))
    near = sorted(draw(st.sets(st.sampled_from(rows))))
    far = draw(st.lists(st.integers(0, len(rows) - 1), unique=True, max_size=6))
    return rows, near, draw(st.permutations(range(len(near)))), far


@MANY
@given(rankings(), st.lists(st.booleans(), min_size=1, max_size=5))
def test_two_rankings_take_turns(given_, pattern):
    """A row that is in is passed over; a list that has run out leaves its turns to the other."""
    rows, near, order, far = given_
    scores, stages = np.linspace(0, 1, len(near)), np.arange(len(near), dtype=np.uint8)
    linear, link = np.linspace(3, -1, len(far)), (2.0, -0.5)
    both = take_turns(
        np.array(rows, np.int32),
        (np.array(near, np.int32), np.array(order, np.int64), scores, stages),
        (np.array(far, np.int32), linear),
        np.array(pattern),
        link,
    )
    places = [rows.index(near[one]) for one in order]
    taken = reference.take_turns(places, far, pattern)
    assert list(zip(both.order.tolist(), both.by_far.tolist(), strict=True)) == taken
    by_near = {rows.index(row): (scores[i], stages[i]) for i, row in enumerate(near)}
    expected = dict.fromkeys(range(len(rows)), (0.0, 0)) | by_near
    expected = reference.scores_of_turns(expected, taken, linear.tolist(), link)
    assert both.scores == pytest.approx([expected[j][0] for j in range(len(rows))])
    assert both.stages.tolist() == [expected[j][1] for j in range(len(rows))]


def test_a_ranking_of_others_is_no_ranking_of_these():
    rows, near = np.array([1, 2], np.int32), np.array([1, 3], np.int32)
    ranked = near, np.array([0, 1]), np.zeros(2), np.zeros(2, np.uint8)
    far = NOBODY, np.empty(0)
    assert take_turns(rows, ranked, far, np.array([True]), (1.0, 0.0)) is None


def test_seven_of_ten_turns():
    pattern = turns(7, 10)
    assert len(pattern) == 10
    assert sum(pattern) == 7
    assert pattern[0]


@MANY
@given(st.data())
def test_a_union(data):
    """Each row once, ascending, with the marks of whoever proposed it; what only the history has is a reference."""
    n = 15
    author = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    older = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    alike = sorted(data.draw(st.sets(st.sampled_from(older)))) if older else []
    far = data.draw(st.lists(st.integers(0, n - 1), unique=True, max_size=6))
    by = [data.draw(st.lists(st.booleans(), min_size=len(far), max_size=len(far))) for _ in "wm"]
    asked = data.draw(st.sampled_from([(-1, -1), (0, -1), (1, 0)]))
    marks = [1 << row % 3 for row in rows]
    united = unite(
        (
            np.array(rows, np.int32),
            np.array(marks, np.uint32),
            np.array([row % 2 == 0 for row in rows], bool),
        ),
        np.array(author, np.int32),
        np.array(older, np.int32),
        np.array(alike, np.int32),
        np.array(far, np.int32),
        np.array(by, bool).reshape(2, len(far)),
        (*asked, -1, -1, -1),
        1,
        3,
    )
    talk = [row for row in older if asked != (-1, -1) or row not in rows]
    added = [
        {row for row in talk if author[row] == 1 and row not in alike},
        {row for row in talk if author[row] != 1 and row not in alike},
        {row for row, has in zip(far, by[0], strict=True) if has} | ({*talk} & {*alike}),
        {row for row, has in zip(far, by[1], strict=True) if has},
        {row for row, *has in zip(far, *by, strict=True) if not any(has)},
    ]
    assert united.rows.tolist() == sorted({*rows, *older, *far})
    assert united.present == sum(1 << i for i, some in enumerate(added) if some)
    new = [i for i, some in enumerate(added) if some and not (i in (OWN, OTHERS) and asked[i] >= 0)]
    number = {i: 3 + new.index(i) for i in new} | {
        i: asked[i] for i in (OWN, OTHERS) if asked[i] >= 0
    }
    for row, mark, is_reference in zip(
        united.rows.tolist(), united.marks.tolist(), united.references.tolist(), strict=True
    ):
        expected = 1 << row % 3 if row in rows else 0
        for i, some in enumerate(added):
            expected |= (1 << number[i]) if row in some else 0
        assert mark == expected
        assert is_reference == (row % 2 == 0 if row in rows else row in far)
