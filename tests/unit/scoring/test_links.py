"""The reply model's kernels against a plain statement; its weights file; shares that add up (law 7)."""

import json
import math
from functools import partial

import numba
import numpy as np
import pytest

from backscroll_scoring.link_columns import (
    BASE,
    COLUMNS,
    CONVERSATION,
    FAMILIES,
    START,
    WINDOW,
    LinkArrays,
    LinkQuestion,
)
from backscroll_scoring.link_model import FAMILIES_OF_COLUMNS, WEIGHTS_FILE, load, shipped
from backscroll_scoring.links import (
    FIRST_LINKS,
    MOST_ROWS,
    SHARES,
    ReplyLinks,
    candidates,
    chances,
    conversation_columns,
    extend_links,
    link_columns,
    new_links,
    rank,
    reply_order,
    search_from,
    window_sizes,
)  # fmt: skip
from tests.kit.examples import seeds
from tests.reference import links as plain


def csr(lists):
    offsets = np.cumsum([0] + [len(one) for one in lists]).astype(np.int64)
    return offsets, np.array([i for one in lists for i in one], np.int32)


def room(seed, n=150, people=9, cues_from=0, named=0.3, edges=0.1):
    """A chat with everything in it: names, edges, pauses, equal times, cues, words said often and once."""
    rng = np.random.default_rng(seed)
    some = lambda most, k: np.sort(rng.choice(most, rng.integers(0, k), replace=False)).tolist()  # noqa: E731
    mentions = [some(people, 4) if rng.random() < named else [] for _ in range(n)]
    words = [some(40, 8) for _ in range(n)]
    parent = np.where(rng.random(n) < edges, np.arange(n) - rng.integers(1, 120, n), -1)
    nobody = rng.random((2, n)) < 0.8
    users = np.where(nobody, -1, rng.integers(0, people, (2, n))).astype(np.int32)[:, cues_from:]
    return LinkArrays(
        np.cumsum(rng.integers(0, 90_000, n) * (rng.random(n) < 0.8)).astype(np.int64),
        rng.integers(0, people, n).astype(np.int32),
        np.maximum(parent, -1).astype(np.int32),
        *csr(mentions),
        *csr(words),
        rng.integers(1, 6, n).astype(np.uint8),
        rng.integers(1, 60, n).astype(np.int32),
        rng.integers(0, 2**17, n - cues_from).astype(np.int32),
        users[0].copy(), users[1].copy(), cues_from,
    )  # fmt: skip


def asked(seed, people=9):
    rng = np.random.default_rng(seed + 1000)
    users = np.sort(rng.choice(people + 2, rng.integers(0, 3), replace=False)).astype(np.int32)
    words = np.sort(rng.choice(np.arange(-3, 40), rng.integers(0, 8), replace=False)).astype(
        np.int32
    )
    return LinkQuestion(
        10_000_000 if seed % 3 else 0, int(rng.integers(-1, people)), int(rng.integers(1, 6)),
        int(rng.integers(0, 2**17)), int(users[0]) if len(users) else -1, int(rng.integers(-1, people)),
        users, words, int(rng.integers(1, 80)), words[::2].copy(),
        np.flatnonzero(rng.random(400) < 0.05).astype(np.int32),
    )  # fmt: skip


def allowed_rows(seed, n):
    return (np.random.default_rng(seed).random(n) < (0.9 if seed % 2 else 1.0)).astype(np.uint8)


SEEDS = range(2 if numba.config.DISABLE_JIT else 12)
FEWER = seeds(len(SEEDS), 6)
"""Every kind of room comes once in six."""


@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_and_columns_are_those_of_the_plain_model(seed):
    n = (1, 2, 40, 150, 400)[seed % 5]
    arrays = room(
        seed, n, cues_from=n // 4 if seed % 4 == 0 else 0, named=(0.0, 0.05, 0.5)[seed % 3]
    )
    question = asked(seed)
    allowed = allowed_rows(seed, n)
    rows, n_extra = candidates(arrays, n, allowed, 0, question)
    expected = plain.candidates(arrays, n, lambda row: bool(allowed[row]), question)
    assert (rows.tolist(), n_extra) == expected
    if not len(rows):
        return
    x, start = link_columns(arrays, question, rows, n_extra)
    columns, starts = plain.link_columns(arrays, question, rows.tolist(), n_extra)
    for j, one in enumerate(columns):
        got = dict(zip(COLUMNS, x[j].tolist(), strict=True))
        assert got == pytest.approx(one, abs=1e-9), rows[j]
    for name, value in starts.items():
        assert start[START.index(name)] == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("edges", [0.0, 0.02])
@pytest.mark.parametrize("named", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("n", [400, 2_000])
@pytest.mark.parametrize("seed", SEEDS)
def test_older_candidates_among_many_people_are_those_of_the_plain_model(seed, n, named, edges):
    """Most rows far back do not concern the question: they are passed over together, and none of the others."""
    arrays, question = room(seed, n, 400, named=named, edges=edges), asked(seed, people=400)
    allowed = allowed_rows(seed, n)
    rows, n_extra = candidates(arrays, n, allowed, 0, question)
    expected = plain.candidates(arrays, n, lambda row: bool(allowed[row]), question)
    assert (rows.tolist(), n_extra) == expected


@pytest.mark.parametrize("seed", FEWER)
def test_links_and_conversations_are_those_of_the_plain_model(seed):
    """The recursion against the exact slow one; each row's links against columns, scores and softmax."""
    n, model = 130, shipped()
    arrays, allowed = room(seed, n), allowed_rows(seed, n)
    first = 20 if seed % 2 else 0
    links = new_links(first)
    for done, end in ((first, first + 7), (first + 7, n)):
        extend_links(arrays, allowed, 0, links, done, end, model)
    listed = []
    for row in range(first, n):
        at = row - first
        both = zip(links.rows[at].tolist(), links.chances[at].tolist(), strict=True)
        listed.append([(r, p) for r, p in both if r >= 0])
        assert sum(p for _, p in listed[-1]) + links.starts[at] <= 1 + 1e-9
    for row in range(first, n, 13):
        expected = expected_links(arrays, allowed, row, model)
        assert [r for r, _ in listed[row - first]] == [r for r, _ in expected]
        assert [p for _, p in listed[row - first]] == pytest.approx(
            [p for _, p in expected], abs=1e-9
        )
    together = plain.conversations(listed, first)
    for late in range(first, n):
        for early in range(max(first, late - WINDOW), late + 1):
            assert links.together[late - first, late - early] == pytest.approx(
                together(late, early),
                abs=1e-6,  # kept in 32 bits
            )
    question = asked(seed)
    rows, n_extra = candidates(arrays, n, allowed, 0, question)
    x, start = link_columns(arrays, question, rows, n_extra)
    p, starts_new = chances(x @ model.first.weights + model.first.intercept, start, model.start)
    k = n - first
    known = ReplyLinks(
        first, links.rows[:k], links.chances[:k], links.starts[:k], links.together[:k]
    )
    more = conversation_columns(
        arrays, known, rows, n_extra, question.author, x, p, starts_new, 0.4
    )
    naming = np.flatnonzero(x[:, BASE.index("newest_naming_me")])
    expected = plain.conversation_columns(
        arrays, question, rows.tolist(), n_extra, p.tolist(), starts_new, 0.4, listed, known.starts.tolist(), first,
        int(naming[0]) if len(naming) else -1,
    )  # fmt: skip
    for j, one in enumerate(expected):
        assert dict(zip(CONVERSATION, more[j].tolist(), strict=True)) == pytest.approx(
            one, abs=1e-6
        ), rows[j]


def expected_links(arrays, allowed, row, model):
    if not allowed[row]:
        return []
    if 0 <= arrays.parent[row] < row:
        return [(int(arrays.parent[row]), 1.0)]
    named = plain.people_named(arrays, row, int(arrays.called[row]))
    words = arrays.keyword_ids[arrays.keyword_offsets[row] : arrays.keyword_offsets[row + 1]]
    question = LinkQuestion(
        int(arrays.time_ms[row]), int(arrays.author[row]), int(arrays.message_type[row]), int(arrays.flags[row]),
        int(arrays.called[row]), int(arrays.shortened[row]), np.array(sorted(named), np.int32), words,
        int(arrays.tokens[row]), words[:0], words[:0],
    )  # fmt: skip
    rows, n_extra = plain.candidates(arrays, row, lambda r: bool(allowed[r]), question)
    if not rows:
        return []
    columns, start = plain.link_columns(arrays, question, rows, n_extra)
    weights = model.first.weights.tolist()
    named_weights = dict(zip(COLUMNS, weights, strict=True))
    scores = [
        model.first.intercept + sum(w * c[name] for name, w in named_weights.items())
        for c in columns
    ]
    p, starts_new = plain.link_chances(scores, model.start.with_intercept.tolist(), start)
    return plain.top_links(p, rows, starts_new)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_add_up_and_chances_are_chances(seed):
    """Law 7: a candidate's shares sum to its score, in both models; what is called a probability is one."""
    arrays, question, n = room(seed), asked(seed), 150
    allowed, links = np.ones(n, np.uint8), new_links(0)
    extend_links(arrays, allowed, 0, links, 0, n, shipped())
    rows, n_extra = candidates(arrays, n, allowed, 0, question)
    known = ReplyLinks(0, links.rows[:n], links.chances[:n], links.starts[:n], links.together[:n])
    ranking = rank(arrays, known, question, n, allowed, shipped())
    assert ranking.rows.tolist() == rows.tolist()
    assert ranking.older.tolist() == rows[:n_extra].tolist()
    # The same sums, taken in another order.
    np.testing.assert_allclose(_sum(ranking.link_shares), ranking.link_linear, atol=1e-12)
    np.testing.assert_allclose(_sum(ranking.tail_shares), ranking.tail_linear, atol=1e-12)
    assert ranking.link_shares.shape == (len(rows), len(SHARES))
    assert ranking.link.sum() + ranking.starts_new == pytest.approx(1.0)
    assert ((ranking.together >= 0) & (ranking.together <= 1)).all()
    told = rank(arrays, known, question, n, allowed, shipped(), parent=int(rows[3]))
    assert (told.starts_new, told.link[3], told.link.sum()) == (0.0, 1.0, 1.0)
    x, start = link_columns(arrays, question, rows, n_extra)
    p, starts_new = chances(
        x @ shipped().first.weights + shipped().first.intercept, start, shipped().start
    )
    quiet = start[START.index("quiet")]
    more = conversation_columns(
        arrays, known, rows, n_extra, question.author, x, p, starts_new, quiet
    )
    np.testing.assert_allclose(ranking.columns[0].T, x, atol=0)
    np.testing.assert_allclose(ranking.columns[1].T, more, atol=1e-6)
    second = shipped().second
    for j in (0, len(rows) - 1):
        terms = second.weights * ([*x[j], *more[j]] - second.means)
        expected = np.bincount(FAMILIES_OF_COLUMNS, terms)
        np.testing.assert_allclose(ranking.link_shares[j], [*expected, second.constant], atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_replies_is_the_plain_one(seed):
    """A known parent, the likeliest links, the rest by the tail; of equal scores the later first."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 30))
    link, tail = (rng.integers(0, 5, m).astype(np.float64) for _ in range(2))
    for parent in (-1, int(rng.integers(0, m))):
        for first in (0, 7, m, m + 1):
            expected = plain.reply_order(link.tolist(), tail.tolist(), parent, first)
            assert reply_order(link, tail, parent, first).tolist() == expected


@pytest.mark.parametrize("seed", FEWER)
def test_the_ranking_of_a_question_is_the_plain_one(seed):
    """Both kernels together, with rows from elsewhere among the candidates and with a parent that is known."""
    n = 330 if seed % 2 and not numba.config.DISABLE_JIT else 60
    first, model = 20, shipped()
    arrays, question, allowed = room(seed, n), asked(seed), allowed_rows(seed, n)
    rng = np.random.default_rng(seed)
    links = new_links(first)
    extend_links(arrays, allowed, 0, links, first, n, model)
    listed = [
        [(r, p) for r, p in zip(rows, chances, strict=True) if r >= 0]
        for rows, chances in zip(links.rows.tolist(), links.chances.tolist(), strict=True)
    ][: n - first]
    more = np.flatnonzero(allowed)[rng.random(int(allowed.sum())) < (0.0, 0.1, 0.9)[seed % 3]]
    more = more.astype(np.int32)
    told = int(rng.choice(more)) if len(more) and seed % 4 == 0 else -1
    found = rank(
        arrays, links, question, n, allowed[search_from(n) :], model, more=more, parent=told
    )
    rows, by_link, by_tail, starts_new, order = plain.question_ranking(
        arrays, question, n, lambda row: bool(allowed[row]), more.tolist(), told, model,
        listed, links.starts.tolist(), first, MOST_ROWS, FIRST_LINKS,
    )  # fmt: skip
    assert found.rows.tolist() == rows
    assert found.link_linear.tolist() == pytest.approx(by_link, abs=1e-6)
    assert found.tail_linear.tolist() == pytest.approx(by_tail, abs=1e-6)
    assert found.starts_new == pytest.approx(starts_new, abs=1e-9)
    assert found.order.tolist() == order
    chances = plain.question_chances(by_link, by_tail, starts_new, found.parent, order, FIRST_LINKS)
    for got, expected in zip((found.link, found.together, found.scores), chances, strict=False):
        assert got.tolist() == pytest.approx(expected, abs=1e-6)
    assert found.stages.tolist() == chances[-1]
    assert found.parent == (rows.index(told) if told in rows else -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_worked_out_ahead_change_nothing(seed):
    """They are taken where all rows of the window are candidates, and are to the last digit what a ranking finds."""
    first, n = (0, 60) if numba.config.DISABLE_JIT else (20, 200)
    arrays, question, model = room(seed, n), asked(seed), shipped()
    links = new_links(first)
    extend_links(arrays, np.ones(n, np.uint8), 0, links, first, n, model)
    ends = (n, n - 1, n - 30)
    for end in ends:
        for hidden in ((), (end - 5,)):
            allowed = np.ones(end, np.uint8)
            allowed[list(hidden)] = 0
            asks = partial(rank, arrays, links, question, end, allowed[search_from(end) :], model)
            found = asks().numbers.tolist()
            for ahead in ends:
                assert asks(sizes=window_sizes(links, ahead)).numbers.tolist() == found
            sizes = window_sizes(links, end)
            wrong = asks(sizes=sizes._replace(sizes=sizes.sizes + 1.0)).numbers.tolist()
            assert (wrong == found) == bool(hidden)  # so they are taken, and only then


def _sum(shares):
    out = np.zeros(len(shares))
    for column in shares.T:
        out += column
    return out


def test_nothing_to_answer_starts_something():
    arrays = room(1, 1)
    ranking = rank(arrays, new_links(0), asked(1), 1, np.zeros(1, np.uint8), shipped())
    assert ranking.starts_new == 1.0
    assert len(ranking.order) == len(ranking.link) == len(ranking.link_shares) == 0


def test_the_weights_file_is_sane(tmp_path):
    """Every column has its mean, scale and weight, all finite; another version's file is refused."""
    data = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    assert "CC BY 4.0" in data["about"]
    assert "Apache-2.0" in data["about"]
    for model in data["models"].values():
        for row in model["columns"].values():
            assert all(map(math.isfinite, row.values()))
            assert row["scale"] > 0
    assert len(set(COLUMNS + CONVERSATION)) == len(COLUMNS) + len(CONVERSATION)
    assert set(FAMILIES_OF_COLUMNS.tolist()) == set(range(len(FAMILIES) + 1))
    del data["models"]["first"]["columns"]["named"]
    (tmp_path / "old.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match="first"):
        load(tmp_path / "old.json")


def test_what_an_answer_looks_like():
    """The likeliest row is the one whose author is named, and, where nobody is, the last question of another one."""
    quiet = room(3, 6, people=3)
    n = 6
    plainly = LinkArrays(
        np.arange(n, dtype=np.int64) * 20_000, np.array([0, 1, 2, 0, 1, 2], np.int32), np.full(n, -1, np.int32),
        *csr([[]] * n), *csr([[]] * n), np.array([3, 3, 1, 3, 3, 3], np.uint8), quiet.tokens,
        np.array([0, 0, 1, 0, 0, 0], np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32),
    )  # fmt: skip
    question = LinkQuestion(
        130_000,
        0,
        3,
        0,
        1,
        -1,
        np.array([1], np.int32),
        np.empty(0, np.int32),
        8,
        np.empty(0, np.int32),
        np.empty(0, np.int32),
    )
    links = new_links(0)
    extend_links(plainly, np.ones(n, np.uint8), 0, links, 0, n, shipped())
    known = ReplyLinks(0, links.rows[:n], links.chances[:n], links.starts[:n], links.together[:n])
    ranking = rank(plainly, known, question, n, np.ones(n, np.uint8), shipped())
    assert plainly.author[ranking.rows[int(np.argmax(ranking.link))]] == 1
