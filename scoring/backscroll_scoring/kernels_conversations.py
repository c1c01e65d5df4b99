"""Compiled conversations: who belongs together when every message answers one earlier message or starts something.

Also the last part of a question's ranking: scores that see the conversations, and the order they make.

See `reference_links` for what is computed, `kernels` for who may call.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import (
    F64,
    F64_2D,
    I64,
    READ_F64,
    READ_F64_2D,
    READ_I32,
    READ_I32_2D,
    U8,
    helper,
    kernel,
)
from .link_columns import (
    CHANCE,
    LINK,
    LINK_LINEAR,
    MOST_ROWS,
    SCORE,
    TAIL_LINEAR,
    TOGETHER,
    TOP,
    WINDOW,
)

LEAST = 1e-4
LOGS = np.log(np.arange(1.0, 2.0 + MOST_ROWS))


@helper
def _together(band: Float64, band_from: int, one: int, other: int) -> float:
    """Probability that two rows belong to one conversation; 0 where they are too far apart to be known."""
    late, early = max(one, other), min(one, other)
    if early < band_from or late - band_from >= band.shape[0] or late - early > WINDOW:
        return 0.0
    return band[late - band_from, late - early]


@kernel(nb.void(READ_I32_2D, READ_F64_2D, nb.intp, nb.intp, nb.intp, F64_2D), nogil=True)
def conversations(
    link_rows: Int32, link_p: Float64, band_from: int, first: int, last: int, band: Float64
) -> None:
    """See `reference_links.conversations`."""
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
    rows: Int32, n_extra: int, band: Float64, band_from: int, before: Float64, since: Float64
) -> None:
    """How many belong to each row's conversation, in the mean: up to it, and since. Every pair once.

    Where all rows of the window are candidates, as mostly, pairs are met in the order in which they are kept: ``since``
    is filled from its end on, four sums are added up at once.
    """
    m = rows.shape[0]
    consecutive = m > n_extra and rows[m - 1] - rows[n_extra] == m - 1 - n_extra
    backwards = np.zeros(m)
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
def _by_author(
    rows: Int32, author: Int32, p: Float64, together: Float64, size: float, x: Float64
) -> None:
    """The columns that add up what is known of all candidates by one author."""
    m = rows.shape[0]
    people, who = np.empty(m, np.int32), np.empty(m, np.int32)
    count, newest = np.zeros(m, np.int32), np.full(m, -1, np.int32)
    sum_together, sum_p = np.zeros(m, np.float64), np.zeros(m, np.float64)
    n_people = 0
    for j in range(m):
        place = n_people
        for k in range(n_people):
            if people[k] == author[rows[j]]:
                place = k
                break
        if place == n_people:
            people[place] = author[rows[j]]
            n_people += 1
        who[j] = place
        count[place] += 1
        sum_together[place] += together[j]
        sum_p[place] += p[j]
        x[23, j] = 0.0
        x[22, j] = 0.0
        if newest[place] >= 0:
            x[22, j] = together[newest[place]]
            x[23, newest[place]] = together[j]
        newest[place] = j
    log_p = np.empty(n_people, np.float64)
    for place in range(n_people):
        log_p[place] = np.log(max(LEAST, sum_p[place]))
    for j in range(m):
        with_author, link_to_author = sum_together[who[j]], sum_p[who[j]]
        x[20, j] = (with_author - together[j]) / max(1, count[who[j]] - 1)
        x[21, j] = with_author / (1e-3 + size)
        x[24, j] = log_p[who[j]]
        x[25, j] = p[j] / max(LEAST, link_to_author)


@kernel(
    nb.void(
        READ_I32, nb.intp, READ_F64, nb.float64, nb.float64, READ_I32, nb.intp, nb.intp,
        READ_I32_2D, READ_F64_2D, READ_F64, READ_F64_2D, nb.intp, F64_2D, F64,
    ),
    nogil=True,
)  # fmt: skip
def conversation_columns(
    rows: Int32, n_extra: int, p: Float64, starts_new: float, quiet: float, author: Int32, me: int,
    newest_naming_me: int,
    link_rows: Int32, link_p: Float64, starts: Float64, band: Float64, band_from: int, x: Float64, together: Float64,
) -> None:  # fmt: skip
    """See `reference_links.conversation_columns`."""
    m = rows.shape[0]
    top = np.empty(TOP, np.int64)
    left = p.copy()
    n_top = min(TOP, m)
    for k in range(n_top):
        best = 0
        for j in range(m):
            if left[j] >= left[best]:
                best = j
        top[k] = best
        left[best] = -1.0
    my_newest, mass_mine = -1, 0.0
    for j in range(m):
        if me >= 0 and author[rows[j]] == me:
            my_newest = j
            mass_mine += p[j]
    size = 0.0
    for j in range(m):
        s = 0.0
        for k in range(n_top):
            if top[k] == j:
                s += p[j]
            else:
                s += p[top[k]] * _together(band, band_from, rows[top[k]], rows[j])
        together[j] = s
        size += s
    _log_ranks(p, x[2])
    _log_ranks(together, x[4])
    for j in range(m):
        x[5, j] = 0.0
        x[8, j] = 0.0
    for j in range(n_extra, m):  # what is answered, by whom
        at = rows[j] - band_from
        if at < 0:
            continue
        mine = me >= 0 and author[rows[j]] == me
        to_me = 0.0
        for k in range(TOP):
            parent = link_rows[at, k]
            if parent < 0:
                continue
            if me >= 0 and author[parent] == me:
                to_me += link_p[at, k]
            place = n_extra + parent - rows[n_extra]  # right where every row is a candidate
            if place < 0 or place >= m or rows[place] != parent:
                place = np.searchsorted(rows, parent)
            if place < m and rows[place] == parent:
                x[5, place] += link_p[at, k]
                if mine:
                    x[8, place] += link_p[at, k]
        x[7, j] = to_me
    before, since = np.zeros(m), np.zeros(m)  # members of its conversation, itself among the first
    _members(rows, n_extra, band, band_from, before, since)
    log_size = np.log1p(size)
    for j in range(m):
        at = rows[j] - band_from
        known = j >= n_extra and at >= 0
        x[0, j] = p[j]
        x[1, j] = np.log(max(LEAST, p[j]))
        x[3, j] = together[j]
        x[6, j] = starts[at] if known else 0.0
        if not known:
            x[7, j] = 0.0
        x[9, j] = _together(band, band_from, rows[j], rows[my_newest]) if my_newest >= 0 else 0.0
        x[10, j] = (
            _together(band, band_from, rows[j], rows[newest_naming_me])
            if newest_naming_me >= 0
            else 0.0
        )
        x[11, j] = _together(band, band_from, rows[j], rows[m - 1])
        x[12, j] = np.log(1.0 + (before[j] + since[j]))
        x[13, j] = np.log(1.0 + since[j])
        x[14, j] = np.log(max(LEAST, together[j]))
        x[15, j] = starts_new
        x[16, j] = log_size
        x[17, j] = mass_mine
        x[18, j] = starts_new * together[j]
        x[19, j] = together[j] / (1e-3 + size)
    _by_author(rows, author, p, together, size, x)
    for j in range(m):
        x[26, j] = quiet * x[1, j]
        x[27, j] = quiet * x[2, j]
        x[28, j] = quiet * x[14, j]
        x[29, j] = quiet * x[4, j]
        x[30, j] = quiet * x[7, j]
        x[31, j] = quiet * x[9, j]
        x[32, j] = quiet * x[5, j]
        x[33, j] = quiet * x[20, j]
        x[34, j] = quiet * x[21, j]


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
    """See `reference_links.reply_order`."""
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
        nb.intp, READ_I32, nb.intp, F64_2D, nb.float64, nb.float64, READ_I32, nb.intp, nb.intp, nb.intp,
        nb.intp, READ_I32_2D, READ_F64_2D, READ_F64, READ_F64_2D, nb.intp,
        READ_F64_2D, READ_F64_2D, READ_F64, I64, U8,
    ),
    nogil=True,
)  # fmt: skip
def question_scores(
    m: int, rows: Int32, n_extra: int, numbers: Float64, starts_new: float, quiet: float, author: Int32, me: int,
    newest_naming_me: int, parent: int, first: int,
    link_rows: Int32, link_p: Float64, starts: Float64, band: Float64, band_from: int,
    weights: Float64, means: Float64, constants: Float64, order: Int64, stages: UInt8,
) -> None:  # fmt: skip
    """See `reference_ranking.question_ranking` and `question_chances`.

    ``rows``, ``order``, ``stages`` and the rows of ``numbers`` have room for more than m. ``numbers`` come with the
    chances by the first stage and the sums over `COLUMNS`, and leave with all scores and chances.
    """
    rows, p, order = rows[:m], numbers[CHANCE, :m], order[:m]
    by_link, by_tail = numbers[LINK_LINEAR, :m], numbers[TAIL_LINEAR, :m]
    more = np.empty((weights.shape[1], m), np.float64)
    sums = np.empty(m, np.float64)
    conversation_columns(
        rows, n_extra, p, starts_new, quiet, author, me, newest_naming_me,
        link_rows, link_p, starts, band, band_from, more, sums,
    )  # fmt: skip
    for model in range(weights.shape[0]):
        for j in range(m):
            sums[j] = 0.0
        for k in range(weights.shape[1]):
            weight, mean = weights[model, k], means[model, k]
            for j in range(m):
                sums[j] += weight * (more[k, j] - mean)
        for j in range(m):
            at = LINK_LINEAR + model
            numbers[at, j] = numbers[at, j] + sums[j] + constants[model]
    reply_order(by_link, by_tail, parent, first, order)
    link, together, scores = numbers[LINK, :m], numbers[TOGETHER, :m], numbers[SCORE, :m]
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
