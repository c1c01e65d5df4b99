"""Compiled conversations: who belongs together when every message answers one earlier message or starts something.

Also the last part of a question's ranking: scores that see the conversations, and the order they make.

The cache wants a kernel and its parts in one file (see `compile`), so `_product` stands in `kernels_links`, too.
"""

from __future__ import annotations

from typing import TypeAlias

import numba as nb
import numpy as np

from .arrays import Float32, Float64, Int32, Int64, UInt8
from .compile import (
    F32_2D,
    F64_2D,
    I64,
    READ_F32_2D,
    READ_F64,
    READ_F64_2D,
    READ_I32,
    READ_I32_2D,
    U8,
    any_order_helper,
    helper,
    kernel,
)
from .link_columns import (
    CHANCE,
    CONVERSATION,
    LINK,
    LINK_LINEAR,
    MOST_ROWS,
    QUIET_OF_CONVERSATION,
    SCORE,
    TAIL_LINEAR,
    TOGETHER,
    TOP,
    WINDOW,
)

# fmt: off
(
    ITS_LINK, LINK_LOG, LINK_RANK, ITS_TOGETHER, TOGETHER_RANK, ANSWERED, STARTS, ANSWERS_ME, ANSWERED_BY_ME,
    WITH_MY_NEWEST, WITH_NEWEST_NAMING_ME, WITH_NEWEST, SIZE, SIZE_SINCE, TOGETHER_LOG, STARTS_NEW, SIZE_FOR_ME,
    LINK_MINE, TOGETHER_IF_NEW, TOGETHER_SHARE, AUTHOR_TOGETHER, AUTHOR_SHARE, AUTHOR_BEFORE, AUTHOR_AFTER,
    AUTHOR_LINK_LOG, LINK_OF_AUTHOR, AUTHOR_LINKED, AUTHOR_LINKED_SHARE,
) = range(28)
# fmt: on
N_BASE = len(CONVERSATION) - len(QUIET_OF_CONVERSATION)

LEAST = 1e-4
LOGS = np.log(np.arange(1.0, 2.0 + MOST_ROWS))


@helper
def _together(band: Float32, band_from: int, one: int, other: int) -> float:
    """Probability that two rows belong to one conversation; 0 where they are too far apart to be known."""
    late, early = max(one, other), min(one, other)
    if early < band_from or late - band_from >= band.shape[0] or late - early > WINDOW:
        return 0.0
    return band[late - band_from, late - early]


@kernel(nb.void(READ_I32_2D, READ_F64_2D, nb.intp, nb.intp, nb.intp, F32_2D), nogil=True)
def conversations(
    link_rows: Int32, link_p: Float64, band_from: int, first: int, last: int, band: Float32
) -> None:
    """Write to ``band[i, k]`` the probability that a row and the one k before it belong to one conversation, if every
    row picks its parent by itself: the chance of each link of the row times that its parent belongs with the other.

    Rows more than `WINDOW` apart, and rows before ``band_from``, are not known to belong together.
    """
    for row in range(first, last):
        at = row - band_from
        band[at, 0] = 1.0
        for back in range(1, WINDOW + 1):
            band[at, back] = 0.0
        reach = min(WINDOW, at)
        for k in range(TOP):
            parent = link_rows[at, k]
            p = link_p[at, k]
            gap = row - parent
            if parent < band_from or gap > WINDOW or p <= 0.0:
                continue
            for back in range(1, min(gap, reach + 1)):  # rows after the parent
                band[at, back] += p * band[row - back - band_from, gap - back]
            for back in range(gap, reach + 1):  # the parent and the rows before it
                band[at, back] += p * band[parent - band_from, back - gap]


@helper
def _log_ranks(values: Float64, out: Float64) -> None:
    """log(1 + place) of each value in descending order, of equal ones the later first.

    Insertion from the newest on: the newest are the likeliest, so hardly any moves.
    """
    m = values.shape[0]
    order = np.empty(m, np.int32)
    for k in range(m):
        moving = m - 1 - k
        hole = k
        while hole > 0 and values[order[hole - 1]] < values[moving]:
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = moving
    for k in range(m):
        out[order[k]] = LOGS[k] if k < LOGS.shape[0] else np.log1p(k)


@helper
def _members(
    rows: Int32, n_extra: int, band: Float32, band_from: int, before: Float64, since: Float64
) -> None:
    """How many belong to each row's conversation, in the mean: up to it, itself among them, and since. Every pair once.

    Where all rows of the window are candidates, as mostly, pairs are met in the order in which they are kept: ``since``
    is filled from its end on, four sums are added up at once.
    """
    m = rows.shape[0]
    consecutive = m > n_extra and rows[m - 1] - rows[n_extra] == m - 1 - n_extra
    backwards = np.zeros(m)
    for j in range(m):
        before[j], since[j] = 0.0, 0.0
    for j in range(n_extra, m):
        at = rows[j] - band_from
        if at < 0:
            continue
        line, reach = band[at], min(at, WINDOW)
        if consecutive:
            count = min(j - n_extra, reach)
            later, pairs = backwards[m - 1 - j :], line[: count + 1]
            for d in range(1, pairs.shape[0]):
                later[d] += pairs[d]
            a, b, c, e = 1.0, 0.0, 0.0, 0.0
            rest = 1 + (count & ~3)
            for d in range(1, rest, 4):
                a += pairs[d]
                b += pairs[d + 1]
                c += pairs[d + 2]
                e += pairs[d + 3]
            for d in range(rest, pairs.shape[0]):
                a += pairs[d]
            before[j] = (a + b) + (c + e)
            continue
        before[j] = 1.0
        for i in range(j - 1, n_extra - 1, -1):
            back = rows[j] - rows[i]
            if back > reach:
                break
            before[j] += line[back]
            since[i] += line[back]
    if consecutive:
        for j in range(m):
            since[j] = backwards[m - 1 - j]


@helper
def _sizes(
    rows: Int32, n_extra: int, band: Float32, band_from: int, size: Float64, size_since: Float64
) -> None:
    """What `_members` finds as the model sees it: log(1 + members), and of those since."""
    _members(rows, n_extra, band, band_from, size, size_since)
    for j in range(rows.shape[0]):
        size[j] = np.log(1.0 + (size[j] + size_since[j]))
        size_since[j] = np.log(1.0 + size_since[j])


@kernel(nb.void(READ_F32_2D, nb.intp, nb.intp, F64_2D), nogil=True)
def window_sizes(band: Float32, band_from: int, first: int, out: Float64) -> None:
    """See `links.window_sizes`."""
    _sizes(
        np.arange(first, first + out.shape[1]).astype(np.int32), 0, band, band_from, out[0], out[1]
    )


@helper
def _authors(rows: Int32, author: Int32, who: Int32) -> int:
    """The place of each row's author among all of them; how many they are."""
    people, count = np.empty(rows.shape[0], np.int32), 0
    for j in range(rows.shape[0]):
        place = count
        for k in range(count):
            if people[k] == author[rows[j]]:
                place = k
                break
        if place == count:
            people[place] = author[rows[j]]
            count += 1
        who[j] = place
    return count


@helper
def _likeliest(p: Float64, top: Int64) -> int:
    """The places of the likeliest, of equal ones the later first; how many they are."""
    left, count = p.copy(), min(top.shape[0], p.shape[0])
    for k in range(count):
        best = 0
        for j in range(p.shape[0]):
            if left[j] >= left[best]:
                best = j
        top[k] = best
        left[best] = -1.0
    return count


@helper
def _answers(
    rows: Int32, n_extra: int, author: Int32, me: int, link_rows: Int32, link_p: Float64, band_from: int,
    answered: Float64, answered_by_me: Float64, answers_me: Float64,
) -> None:  # fmt: skip
    """How much each row is answered in the window, and by me, and how likely it answers me: added to what is there."""
    m = rows.shape[0]
    for j in range(n_extra, m):
        at = rows[j] - band_from
        if at < 0:
            continue
        mine = me >= 0 and author[rows[j]] == me
        for k in range(TOP):
            parent = link_rows[at, k]
            if parent < 0:
                continue
            if me >= 0 and author[parent] == me:
                answers_me[j] += link_p[at, k]
            place = n_extra + parent - rows[n_extra]  # right where every row is a candidate
            if place < 0 or place >= m or rows[place] != parent:
                place = np.searchsorted(rows, parent)
            if place < m and rows[place] == parent:
                answered[place] += link_p[at, k]
                if mine:
                    answered_by_me[place] += link_p[at, k]


@any_order_helper
def _product(weights: Float64, values: Float64) -> float:
    """The sum of the columns, weighted."""
    out = 0.0
    for k in range(N_BASE):
        out += weights[k] * values[k]
    return out


@helper
def _window_sizes(
    rows: Int32, n_extra: int, band: Float32, band_from: int, sizes_from: int, sizes: Float64
) -> tuple[Float64, int]:
    """The sizes of rows in the window, and where in them that of the first candidate would be.

    ``sizes`` are taken where they are just those of the window.
    """
    m = rows.shape[0]
    n_window = m - n_extra
    if (
        n_window > 0
        and sizes.shape[1] == n_window
        and rows[n_extra] == sizes_from
        and rows[m - 1] == sizes_from + n_window - 1
    ):
        return sizes, -n_extra
    own_sizes = np.empty((2, m), np.float64)
    _sizes(rows, n_extra, band, band_from, own_sizes[0], own_sizes[1])
    return own_sizes, 0


@helper
def _by_author(
    rows: Int32,
    author: Int32,
    p: Float64,
    together: Float64,
    answered_by_me: Float64,
    answers_me: Float64,
) -> tuple[Int32, Int32, Float64, Float64, Float64, Float64, Float64]:
    """The place of each row's author; by author how many rows, the sums of ``together`` and of ``p``; ``together`` of
    the author's row before each one, and after it; by author how often one of us answered the other.
    """
    m = rows.shape[0]
    who = np.empty(m, np.int32)
    n_people = _authors(rows, author, who)
    count, last = np.zeros(n_people, np.int32), np.full(n_people, -1, np.int32)
    sum_together, sum_p = np.zeros(n_people, np.float64), np.zeros(n_people, np.float64)
    before, after = np.zeros(m, np.float64), np.zeros(m, np.float64)
    linked = np.zeros(n_people, np.float64)
    for j in range(m):
        a = who[j]
        count[a] += 1
        linked[a] += answered_by_me[j] + answers_me[j]
        sum_together[a] += together[j]
        sum_p[a] += p[j]
        if last[a] >= 0:
            before[j] = together[last[a]]
            after[last[a]] = together[j]
        last[a] = j
    return who, count, sum_together, sum_p, before, after, linked


@helper
def _of_base(weights: Float64, quiet: float) -> Float64:
    """The weights of the columns before the quiet ones: a quiet column is what it repeats, times quiet."""
    out = np.empty((weights.shape[0], N_BASE), np.float64)
    for i in range(weights.shape[0]):
        for k in range(N_BASE):
            out[i, k] = weights[i, k]
        for k in range(N_BASE, weights.shape[1]):
            out[i, QUIET_OF_CONVERSATION[k - N_BASE]] += quiet * weights[i, k]
    return out


@helper
def _with_question(
    p: Float64, rows: Int32, band: Float32, band_from: int, together: Float64
) -> float:
    """The chance of each row to be in one conversation with the question, by its likeliest links; their sum."""
    top, total = np.empty(TOP, np.int64), 0.0
    n_top = _likeliest(p, top)
    for j in range(rows.shape[0]):
        s = 0.0
        for k in range(n_top):
            if top[k] == j:
                s += p[j]
            else:
                s += p[top[k]] * _together(band, band_from, rows[top[k]], rows[j])
        together[j] = s
        total += s
    return total


LINKS = nb.types.Tuple(
    (READ_I32_2D, READ_F64_2D, READ_F64, READ_F32_2D, nb.int64)
)  # ReplyLinks.arrays
SIZES = nb.types.Tuple((nb.int64, READ_F64_2D))  # WindowSizes
FOUND = nb.types.Tuple((nb.intp, nb.intp, nb.intp, nb.intp, nb.intp, nb.float64, nb.float64))
Links: TypeAlias = tuple[Int32, Float64, Float64, Float32, int]
Found: TypeAlias = tuple[int, int, int, int, int, float, float]
"""What `kernels_links.question_links` returns."""


@kernel(
    nb.void(
        READ_I32, FOUND, READ_F64, READ_I32, nb.intp, LINKS, SIZES, F64_2D, READ_F64_2D, F64_2D
    ),
    nogil=True,
)
def conversation_columns(
    rows: Int32, found: Found, p: Float64, author: Int32, me: int, links: Links, sizes: tuple[int, Float64],
    x: Float64, weights: Float64, sums: Float64,
) -> None:  # fmt: skip
    """The columns of `CONVERSATION`: predicted links around each candidate, and its chance to be in one conversation
    with the question, with my newest message, with the newest naming me, with the newest of all.

    ``sizes`` are what `window_sizes` found, taken where they are just the window.
    ``x`` has a row a candidate; or, where sums are all that is wanted, one row for all with room for the columns before
    the quiet ones. ``sums`` are added what the columns of each candidate come to by each row of ``weights``.
    """
    _, n_extra, _, _, newest_naming_me, starts_new, quiet = found
    link_rows, link_p, starts, band, band_from = links
    m, my_newest, mass_mine = rows.shape[0], -1, 0.0
    for j in range(m):
        if me >= 0 and author[rows[j]] == me:
            my_newest = j
            mass_mine += p[j]
    together = np.empty(m, np.float64)
    size_for_me = _with_question(p, rows, band, band_from, together)
    link_rank, together_rank = np.empty(m, np.float64), np.empty(m, np.float64)
    _log_ranks(p, link_rank)
    _log_ranks(together, together_rank)
    answered, answered_by_me, answers_me = np.zeros(m), np.zeros(m), np.zeros(m)
    _answers(
        rows, n_extra, author, me, link_rows, link_p, band_from, answered, answered_by_me, answers_me
    )  # fmt: skip
    size, at_size = _window_sizes(rows, n_extra, band, band_from, sizes[0], sizes[1])
    who, counts, by_author, p_by_author, before, after, linked = _by_author(
        rows, author, p, together, answered_by_me, answers_me
    )
    linked_to_others = 1.0
    for j in range(m):
        linked_to_others += answered_by_me[j] + answers_me[j]
        if my_newest >= 0 and who[j] == who[my_newest]:
            linked_to_others -= answered_by_me[j] + answers_me[j]
    log_p = np.empty(p_by_author.shape[0], np.float64)
    for a in range(p_by_author.shape[0]):
        log_p[a] = np.log(max(LEAST, p_by_author[a]))
    of_base, log_size = _of_base(weights, quiet), np.log1p(size_for_me)
    for j in range(m):
        at, a = rows[j] - band_from, who[j]
        known = j >= n_extra and at >= 0
        y = x[min(j, x.shape[0] - 1)]
        y[ITS_LINK] = p[j]
        y[LINK_LOG] = np.log(max(LEAST, p[j]))
        y[LINK_RANK] = link_rank[j]
        y[ITS_TOGETHER] = together[j]
        y[TOGETHER_RANK] = together_rank[j]
        y[ANSWERED] = answered[j]
        y[STARTS] = starts[at] if known else 0.0
        y[ANSWERS_ME] = answers_me[j]
        y[ANSWERED_BY_ME] = answered_by_me[j]
        y[WITH_MY_NEWEST] = (
            _together(band, band_from, rows[j], rows[my_newest]) if my_newest >= 0 else 0.0
        )
        y[WITH_NEWEST_NAMING_ME] = (
            _together(band, band_from, rows[j], rows[newest_naming_me])
            if newest_naming_me >= 0
            else 0.0
        )
        y[WITH_NEWEST] = _together(band, band_from, rows[j], rows[m - 1])
        y[SIZE] = size[0, at_size + j] if known else 0.0
        y[SIZE_SINCE] = size[1, at_size + j] if known else 0.0
        y[TOGETHER_LOG] = np.log(max(LEAST, together[j]))
        y[STARTS_NEW] = starts_new
        y[SIZE_FOR_ME] = log_size
        y[LINK_MINE] = mass_mine
        y[TOGETHER_IF_NEW] = starts_new * together[j]
        y[TOGETHER_SHARE] = together[j] / (1e-3 + size_for_me)
        y[AUTHOR_TOGETHER] = (by_author[a] - together[j]) / max(1, counts[a] - 1)
        y[AUTHOR_SHARE] = by_author[a] / (1e-3 + size_for_me)
        y[AUTHOR_BEFORE] = before[j]
        y[AUTHOR_AFTER] = after[j]
        y[AUTHOR_LINK_LOG] = log_p[a]
        y[LINK_OF_AUTHOR] = p[j] / max(LEAST, p_by_author[a])
        y[AUTHOR_LINKED], y[AUTHOR_LINKED_SHARE] = 0.0, 0.0
        if my_newest < 0 or a != who[my_newest]:
            y[AUTHOR_LINKED] = np.log1p(linked[a])
            y[AUTHOR_LINKED_SHARE] = linked[a] / linked_to_others
        for k in range(N_BASE, y.shape[0]):
            y[k] = quiet * y[QUIET_OF_CONVERSATION[k - N_BASE]]
        for i in range(of_base.shape[0]):
            sums[i, j] += _product(of_base[i], y)


@helper
def _sort(scores: Float64, places: Int64) -> None:
    """Insertion: the highest score first, of equal ones the larger place. Some hundred places, nearly in order."""
    for k in range(1, places.shape[0]):
        moving = places[k]
        hole = k
        while hole > 0:
            other = places[hole - 1]
            before = scores[moving] > scores[other]
            if not (before or (scores[moving] == scores[other] and moving > other)):
                break
            places[hole] = other
            hole -= 1
        places[hole] = moving


@kernel(nb.void(READ_F64, READ_F64, nb.intp, nb.intp, I64), nogil=True)
def reply_order(
    link_linear: Float64, tail_linear: Float64, parent: int, first: int, out: Int64
) -> None:
    """See `links.reply_order`."""
    m = out.shape[0]
    for j in range(m):
        out[j] = m - 1 - j
    for k in range(
        min(first, m)
    ):  # the best of those left comes to the front, the others keep their order
        best = k
        for i in range(k, m):
            if out[i] == parent:
                best = i
                break
            if link_linear[out[i]] > link_linear[out[best]]:
                best = i
        chosen = out[best]
        for i in range(best, k, -1):
            out[i] = out[i - 1]
        out[k] = chosen
    _sort(tail_linear, out[min(first, m) :])


@kernel(
    nb.void(
        *(FOUND, READ_I32, F64_2D, READ_I32, nb.intp, nb.intp, LINKS, SIZES),
        *(nb.types.Tuple((READ_F64_2D, READ_F64)), I64, U8),
    ),
    nogil=True,
)
def question_scores(
    found: Found, rows: Int32, numbers: Float64, author: Int32, me: int, first: int, links: Links,
    sizes: tuple[int, Float64], model: tuple[Float64, Float64], order: Int64, stages: UInt8,
) -> None:  # fmt: skip
    """All scores and chances of a question's candidates, and their order: see `links.Ranking`.

    ``rows``, ``order``, ``stages`` and the rows of ``numbers`` have room for more than m. ``numbers`` come with the
    chances by the first stage and the sums over `COLUMNS`, and leave with all scores and chances.
    """
    m, _, _, parent, _, starts_new, _ = found
    weights, constants = model
    rows, p, order = rows[:m], numbers[CHANCE, :m], order[:m]
    by_link, by_tail = numbers[LINK_LINEAR, :m], numbers[TAIL_LINEAR, :m]
    for j in range(m):
        by_link[j] += constants[0]
        by_tail[j] += constants[1]
    x = np.empty((1, N_BASE), np.float64)
    both = numbers[LINK_LINEAR : TAIL_LINEAR + 1]
    conversation_columns(rows, found, p, author, me, links, sizes, x, weights, both)
    reply_order(by_link, by_tail, parent, first, order)
    link, together = numbers[LINK, :m], numbers[TOGETHER, :m]
    scores = numbers[SCORE, :m]
    best, total = -np.inf, 0.0
    for j in range(m):
        best = max(best, by_link[j])
    for j in range(m):
        link[j] = np.exp(by_link[j] - best)
        total += link[j]
        together[j] = 1.0 / (1.0 + np.exp(-by_tail[j]))
    for j in range(m):
        link[j] = link[j] / total * (1.0 - starts_new) if parent < 0 else p[j]
        scores[j] = together[j]
        stages[j] = 0
    for k in range(min(first, m)):
        scores[order[k]] = link[order[k]]
        stages[order[k]] = 1
    if parent >= 0:
        stages[parent] = 2
