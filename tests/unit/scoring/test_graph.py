"""N-02: the reply graph around a question. `test_graph_values` tests everything else."""

import numpy as np
import pytest

from backscroll_scoring import GraphParameters, graph_scores, kernels_graph
from backscroll_scoring.graph import MOST_STEPS

BOT, ANN, BEN, CAI, DAN = range(5)
ROOM = [
    # author, parent
    (ANN, -1),  # 0  "who has the keys?"
    (BEN, 0),  # 1  answers 0
    (CAI, 0),  # 2  answers 0
    (BOT, 2),  # 3  the bot answers 2
    (DAN, -1),  # 4  "晚上吃什么？"
    (ANN, 3),  # 5  answers the bot
    (BEN, 5),  # 6  answers that
    (DAN, 1),  # 7  answers 1: a cousin
    (BOT, 4),  # 8  the bot answers 4
    (CAI, 8),  # 9  answers the bot there
    (CAI, 9),  # 10 goes on
    (BEN, -1),  # 11 talk beside all this
    (ANN, 5),  # 12 the question's sibling: answers 5, too
    (CAI, 12),  # 13 answers the sibling
]
AUTHOR = np.array([author for author, _ in ROOM], np.int32)
PARENT = np.array([parent for _, parent in ROOM], np.int32)
OWN = np.array([BOT], np.int32)


def values(parent=PARENT, author=AUTHOR, end=None, bot=OWN, **changes):
    question = {k: changes.pop(k) for k in ("question_parent", "question_row") if k in changes}
    found = graph_scores(
        parent,
        author,
        **({"question_parent": 5} | question),
        end=len(parent) if end is None else end,
        own_authors=bot,
        parameters=GraphParameters(**changes),
    )
    assert found.rows.dtype == np.int32
    return dict(zip(found.rows.tolist(), found.values.round(12).tolist(), strict=True))


def test_a_room_by_hand():
    """N-02: parents, siblings, cousins, what answers the bot's own lines; the best way counts."""
    assert values() == {
        5: 1.0,  # the parent
        3: 0.8,  # its parent
        2: 0.64,
        0: 0.512,
        6: 0.6,  # sibling
        12: 0.6,
        13: 0.36,  # answers a sibling
        1: 0.3072,  # .512 * .6: answers the root
        7: 0.18432,  # .512 * .6 ** 2
        8: 0.5,  # the bot's own line elsewhere; row 3, as an ancestor, is worth more than that
        9: 0.3,
        10: 0.18,
    }


def test_without_the_bot():
    """N-02: nobody told who the bot is: only the tree of the question."""
    assert set(values(bot=None)) == {0, 1, 2, 3, 5, 6, 7, 12, 13}
    assert values(bot=None, question_parent=-1) == {}


def test_a_question_that_answers_nothing():
    """N-02: only what hangs on the bot's lines; row 3 and what follows, row 8 and what follows."""
    assert values(question_parent=-1) == {
        3: 0.5, 5: 0.3, 6: 0.18, 12: 0.18, 13: 0.108,
        8: 0.5, 9: 0.3, 10: 0.18,
    }  # fmt: skip


def test_answers_to_the_question_itself():
    """N-02: the question stored as row 12, seen later: what answers it counts, it itself does not."""
    got = values(question_row=12)
    assert 12 not in got
    assert got[13] == 0.6


def test_the_bot_has_several_ids():
    got = values(bot=np.array([BOT, BEN], np.int32), question_parent=-1)
    assert got[11] == 0.5


def test_nothing_after_the_end_is_seen():
    """N-02: asked before rows 6 to 13 were there."""
    assert set(values(end=6)) == {0, 1, 2, 3, 5}


def test_depths_decay_and_end():
    """N-02: steps beyond the most are not gone; a decay of 0 stops at once."""
    assert values(bot=None, max_up=1, max_down=1) == {5: 1, 6: 0.6, 12: 0.6}
    assert values(bot=None, max_up=2, max_down=0) == {5: 1, 3: 0.8}
    assert values(bot=None, up=0.0, down=0.0) == {5: 1}
    assert values(max_up=0, question_parent=5, own_lines=1) == {8: 0.5, 9: 0.3, 10: 0.18}
    assert values(max_up=0, bot=OWN, own_lines=0) == {}


def test_reach_bounds_what_is_looked_at():
    """N-02: a sibling seven rows later is out of a reach of six; ancestors are known, however far."""
    assert set(values(bot=None, reach=6)) == {5, 3, 2, 0, 1, 6}
    assert set(values(bot=None, reach=0)) == {5, 3, 2, 0}


@pytest.mark.parametrize("parent", [[1, 2, 0], [0, 1, 2], [1, 0, 1], [2, 2, 1], [-7, 99, 0]])
def test_circles_and_parents_that_are_no_rows_end(parent):
    """N-02: cycle guard: every way ends, every value stays in (0, 1]."""
    found = values(
        parent=np.array(parent, np.int32),
        author=np.zeros(3, np.int32),
        question_parent=2,
        max_up=MOST_STEPS,
        max_down=MOST_STEPS,
        up=1.0,
        down=1.0,
    )
    assert found
    assert all(0 < value <= 1 for value in found.values())
    assert found[2] == 1


def test_a_parent_later_than_its_answer():
    """N-02: clocks differ: row 0 answers row 2; the question answers row 2."""
    parent, author = np.array([2, -1, -1], np.int32), np.array([0, 1, 2], np.int32)
    got = graph_scores(parent, author, question_parent=2, end=3)
    assert got.rows.tolist() == [0, 2]


def test_a_column_for_candidates():
    """N-02: as a column of the scorer: 0 for what is not connected."""
    found = graph_scores(PARENT, AUTHOR, question_parent=5, end=14)
    asked = np.array([11, 5, 4, 6, 13], np.int32)
    assert found.column(asked).tolist() == pytest.approx([0, 1, 0, 0.6, 0.36])
    nothing = graph_scores(PARENT, AUTHOR, question_parent=-1, end=14)
    assert nothing.column(asked).tolist() == [0] * 5


class Counted(np.ndarray):
    """An array that counts how often one of its values is read."""

    reads = 0

    def __getitem__(self, key):
        Counted.reads += 1
        return super().__getitem__(key)


def test_the_work_is_bounded_in_a_channel_of_100_000():
    """N-02: only rows near the question's tree and the bot's lines are looked at, not the channel."""
    n = 100_000
    parent = np.arange(-1, n - 1, dtype=np.int32).view(Counted)
    starts, worth = np.array([500, n - 1], np.int32), np.array([1.0, 0.5])
    out = np.empty(2 * 21, np.int32), np.empty(2 * 21)
    plain = getattr(kernels_graph.tree_values, "py_func", kernels_graph.tree_values)
    Counted.reads = 0
    count = plain(parent, n, starts, worth, 0.6, 4, 10, *out)
    assert count == 5 + 1
    assert Counted.reads <= 2 * 21 * 5


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"up": 1.1}, "up must be"),
        ({"down": -0.1}, "down must be"),
        ({"own": float("nan")}, "own must be"),
        ({"max_up": -1}, "max_up must be"),
        ({"max_down": MOST_STEPS + 1}, "max_down must be"),
        ({"own_lines": -1}, "own_lines must be"),
        ({"reach": -1}, "reach must not"),
        ({"end": 15}, "end must be"),
        ({"author": AUTHOR[:3]}, "one entry a row"),
    ],
)
def test_arguments_are_checked(change, text):
    with pytest.raises(ValueError, match=text):
        values(**change)
