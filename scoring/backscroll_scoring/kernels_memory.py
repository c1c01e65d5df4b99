"""The compiled score for long memory. See `reference_memory` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float32, Float64, Int32, Int64, UInt8, UInt64
from .compile import (
    F64,
    F64_2D,
    I32,
    READ_F32,
    READ_I32,
    READ_I64,
    READ_U8,
    READ_U64,
    helper,
    kernel,
)
from .status import BAD_OFFSETS, OK, ROW_OUT_OF_RANGE

NEAR = np.float32(0.2)
FAR = np.float32(0.1)
ANSWER = np.float32(0.3)
DENSE_NEAR = np.float32(0.25)
TENTH = np.float32(0.1)
ZERO = np.float32(0.0)
U8_2D = nb.types.Array(nb.uint8, 2, "C")
WORDS, PASSAGE, WIDE_PASSAGE, MEANING, DATE = range(5)
FLOATS = 5  # parts that are numbers; as many are signs
SPEAKER, QUESTION, ASKER, TIME_WORD, NUMBER = 1, 2, 4, 8, 16
PAD = 4  # rows before the first and after the last one that belong to nothing: no test at the ends
TABLE_TERMS = 10  # the sums of so many terms' weights are looked up, those of further terms added
LOWEST, HIGHEST = np.int32(-(2**31)), np.int32(2**31 - 1)


@helper
def _sittings(time_ms: Int64, n: int, sitting_ms: int) -> Float32:
    """1 where row i - 1 and row i are of one sitting, at place PAD + i."""
    joined = np.zeros(n + 2 * PAD, np.float32)
    inner, before, after = joined[PAD + 1 :], time_ms[: max(0, n - 1)], time_ms[1 : max(1, n)]
    for i in range(before.shape[0]):
        inner[i] = np.float32(after[i] - before[i] < sitting_ms)
    return joined


@helper
def _padded(values: Float32) -> Float32:
    out = np.zeros(values.shape[0] + 2 * PAD, np.float32)
    for i in range(values.shape[0]):
        out[PAD + i] = values[i]
    return out


@helper
def _answers(author: Int32, asks: UInt8, joined: Float32, n: int) -> Float32:
    """What of the row before a row takes beside NEAR: it asked and somebody else answers."""
    out = np.zeros(n, np.float32)
    rest, j1 = out[1:], joined[PAD + 1 :]
    before, after, asked = author[: max(0, n - 1)], author[1 : max(1, n)], asks[:n]
    for i in range(rest.shape[0]):
        rest[i] = ANSWER * j1[i] * np.float32(after[i] != before[i]) * np.float32(asked[i] != 0)
    return out


@helper
def _largest(values: Float32) -> np.float32:
    """Of values of which none is negative: their bits are ordered as they are, and integers compare in SIMD."""
    bits, best = values.view(np.int32), np.int32(0)
    for i in range(bits.shape[0]):
        best = max(best, bits[i])
    found = np.empty(1, np.int32)
    found[0] = best
    return found.view(np.float32)[0]


@helper
def _words(
    scores: Float32,
    joined: Float32,
    answers: Float32,
    weight: float,
    saturation: float,
    out: Float32,
) -> np.float32:
    """Part WORDS. Returns r / (r + saturation)."""
    n, s = scores.shape[0], _padded(scores)
    best = _largest(s)
    r = best * TENTH
    factor = np.float32(weight) * TENTH / (r + np.float32(saturation))
    back2, back1, next1, next2 = s[PAD - 2 :], s[PAD - 1 :], s[PAD + 1 :], s[PAD + 2 :]
    j0, j1, j2, j3 = joined[PAD - 1 :], joined[PAD:], joined[PAD + 1 :], joined[PAD + 2 :]
    for i in range(n):
        out[i] = scores[i] + NEAR * (j1[i] * back1[i] + j2[i] * next1[i])
    for i in range(n):
        out[i] += FAR * (j1[i] * j0[i] * back2[i] + j2[i] * j3[i] * next2[i])
    for i in range(n):
        out[i] = factor * (out[i] + answers[i] * back1[i])
    return r / (r + np.float32(saturation))


@helper
def _sums(idf: Float32) -> Float32:
    """float32[2 ** k]: the weight of every set of the first k = `TABLE_TERMS` terms, added from the first one on."""
    known = min(TABLE_TERMS, idf.shape[0])
    sums = np.zeros(1 << known, np.float32)
    for j in range(known):
        for terms in range(1 << j):
            sums[terms | 1 << j] = sums[terms] + idf[j]
    return sums


@helper
def _weigh(spread: UInt64, idf: Float32, sums: Float32, scale: float, out: Float32) -> None:
    """Part PASSAGE or WIDE_PASSAGE of rows whose passages have these terms."""
    low = np.uint64(sums.shape[0] - 1)
    for i in range(out.shape[0]):
        out[i] = sums[np.uint64(spread[i]) & low]
    for j in range(TABLE_TERMS, idf.shape[0]):
        for i in range(out.shape[0]):
            out[i] += idf[j] * np.float32((np.uint64(spread[i]) >> np.uint64(j)) & np.uint64(1))
    best = _largest(out)
    factor = np.float32(scale) / best if best > ZERO else ZERO
    for i in range(out.shape[0]):
        out[i] *= factor


@helper
def _passages(
    cover: UInt64, idf: Float32, near_scale: float, wide_scale: float, near: Float32, wide: Float32
) -> None:
    padded = cover.shape[0] + 2 * PAD
    if idf.shape[0] <= TABLE_TERMS:  # most questions: a quarter of the memory
        narrow = np.zeros(padded, np.uint16)
        _spread(narrow, cover, idf, near_scale, wide_scale, near, wide)
    else:
        whole = np.zeros(padded, np.uint64)
        _spread(whole, cover, idf, near_scale, wide_scale, near, wide)


@helper
def _spread(
    c: UInt64,
    cover: UInt64,
    idf: Float32,
    near_scale: float,
    wide_scale: float,
    near: Float32,
    wide: Float32,
) -> None:
    """`_passages` in numbers of whatever width has a bit for each term, `c` being 0."""
    n = cover.shape[0]
    for i in range(n):
        c[PAD + i] = cover[i]
    five = np.empty(n + PAD, c.dtype)  # of rows -2 to n + 1
    c1, c2, c3, c4 = c[1:], c[2:], c[3:], c[4:]
    for i in range(n + PAD):
        five[i] = c[i] | c1[i] | c2[i] | c3[i] | c4[i]
    sums = _sums(idf)
    _weigh(five[2:], idf, sums, near_scale, near)
    nine, five4 = c[:n], five[4:]
    for i in range(n):
        nine[i] = five[i] | five4[i]
    _weigh(nine, idf, sums, wide_scale, wide)


@helper
def _span(values: Float32, dense: Float32, eligible: UInt8) -> tuple[np.float32, np.float32]:
    """The least and the greatest of the eligible rows that have a vector; infinite where there are none.

    As integers in the order of the floats, which are compared in SIMD.
    """
    bits = values.view(np.int32)
    low, high = np.empty(bits.shape[0], np.int32), np.empty(bits.shape[0], np.int32)
    for i in range(bits.shape[0]):
        key = bits[i] if bits[i] >= 0 else bits[i] ^ HIGHEST
        counts = (eligible[i] != 0) & (dense[i] == dense[i])
        low[i] = key if counts else HIGHEST
        high[i] = key if counts else LOWEST
    least, most = HIGHEST, LOWEST
    for i in range(bits.shape[0]):
        least = min(least, low[i])
        most = max(most, high[i])
    if most < least:
        return np.float32(np.inf), np.float32(-np.inf)
    ends = np.empty(2, np.int32)
    ends[0], ends[1] = least, most
    for i in range(2):
        ends[i] = ends[i] if ends[i] >= 0 else ends[i] ^ HIGHEST
    found = ends.view(np.float32)
    return found[0], found[1]


@helper
def _mean(values: Float32, dense: Float32, eligible: UInt8) -> np.float32:
    """Of the eligible rows that have a vector."""
    total, known = 0.0, 0
    for i in range(values.shape[0]):
        if eligible[i] != 0 and dense[i] == dense[i]:
            total += values[i]
            known += 1
    return np.float32(total / known)


@helper
def _meaning(dense: Float32, joined: Float32, eligible: UInt8, weight: float, out: Float32) -> None:
    n = eligible.shape[0]
    d = np.zeros(n + 2 * PAD, np.float32)
    here, before, after = d[PAD:], d[PAD - 1 :], d[PAD + 1 :]
    missing = np.int32(0)
    for i in range(n):
        missing += np.int32(dense[i] != dense[i])
        here[i] = dense[i] if dense[i] == dense[i] else ZERO
    j1, j2 = joined[PAD:], joined[PAD + 1 :]
    for i in range(n):
        out[i] = here[i] + DENSE_NEAR * (j1[i] * before[i] + j2[i] * after[i])
    low, high = _span(out, dense, eligible)
    if not high > low:
        out[:] = ZERO
        return
    if missing != 0:
        mean = _mean(out, dense, eligible)
        for i in range(n):
            out[i] = out[i] if dense[i] == dense[i] else mean
    factor = np.float32(weight) / (high - low)
    for i in range(n):
        out[i] = (out[i] - low) * factor


@helper
def _flag_authors(author: Int32, user: int, flag: int, flags: UInt8) -> None:
    for i in range(flags.shape[0]):
        flags[i] |= np.uint8(flag) if author[i] == user else np.uint8(0)


@helper
def _flag_rows(marked: UInt8, flag: int, flags: UInt8) -> None:
    for i in range(marked.shape[0]):
        flags[i] |= np.uint8(flag) if marked[i] != 0 else np.uint8(0)


@helper
def _totals(parts: Float32, flags: UInt8, weights: Float32, eligible: UInt8) -> Float64:
    """float64[n]: the sum of each row's parts and signs; minus infinity where it is not eligible."""
    totals = np.empty(flags.shape[0], np.float64)
    words, passage, wide, meaning, date = parts[0], parts[1], parts[2], parts[3], parts[4]
    n, used = flags.shape[0], np.uint8(0)
    for i in range(n):
        used |= flags[i]
    signs = np.zeros(n, np.float64)
    for sign in range(FLOATS):
        bit, weight = np.uint8(1 << sign), np.float64(weights[FLOATS + sign])
        for i in range(n if used & bit else 0):
            signs[i] += weight if flags[i] & bit else 0.0
    for i in range(n):
        total = np.float64(words[i]) + np.float64(passage[i]) + np.float64(wide[i])
        total += np.float64(meaning[i]) + np.float64(date[i]) + signs[i]
        totals[i] = total if eligible[i] != 0 else -np.inf
    return totals


@helper
def _ascending(values: Float32 | Float64, place: int) -> float:
    """The value that stands at this place when they ascend; they are put in another order.

    By Hoare's FIND (Communications of the ACM 4, 1961, algorithm 65); numba takes 6 s to compile `np.partition`.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return float(values[place])


@helper
def _reached(values: Float32 | Float64, count: int) -> float:
    """A bound that at least `count` values reach: each of more groups than that has one. None is NaN.

    Halves are laid onto each other, so that a group's values lie far apart and neighbours are compared in SIMD.
    """
    if not 0 < count <= values.shape[0]:
        return -np.inf
    most = values.copy() if values.shape[0] < 4 * count else values
    while most.shape[0] >= 4 * count:
        half = (most.shape[0] + 1) // 2
        first, second = most[:half], most[half:]
        greater = np.empty(half, values.dtype)
        greater[half - 1] = first[half - 1]  # of an odd number the one in the middle
        for i in range(second.shape[0]):
            greater[i] = first[i] if first[i] > second[i] else second[i]  # noqa: FURB136
        most = greater
    return _ascending(most, most.shape[0] - count)


@helper
def _best(totals: Float64, rows: Int32) -> int:
    """Write the rows with the highest totals, best first, of equal ones the later first; return how many."""
    bound, count = _reached(totals, rows.shape[0]), 0
    for row in range(totals.shape[0] - 1, -1, -1):
        total = totals[row]
        if total < bound or total == -np.inf:
            continue
        if count == rows.shape[0]:
            if count == 0 or total <= totals[rows[count - 1]]:
                continue
            count -= 1
        at = count
        while at > 0 and totals[rows[at - 1]] < total:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row
        count += 1
    return count


@helper
def _better(values: Float32, others: Int32, row: int) -> int:
    """How many of the others come before a row: a higher value, or the same and later."""
    count = 0
    for i in range(others.shape[0]):
        other = others[i]
        count += values[other] > values[row] or (values[other] == values[row] and other > row)
    return count


@helper
def _mark_nearest(values: Float32, rows: Int32, limit: int, out: UInt8) -> None:
    """See `reference_memory.nearest`. The last one in is found among those that may be, and no order of all is made."""
    known = np.empty(values.shape[0], np.float32)
    for i in range(known.shape[0]):
        known[i] = values[i] if values[i] == values[i] else -np.float32(np.inf)
    bound = np.float32(_reached(known, limit))
    able, n_able = np.empty(known.shape[0], np.int32), 0
    for i in range(known.shape[0]):  # told without a branch: no processor guesses well which are
        able[n_able] = i
        n_able += values[i] >= bound
    order, n_near = np.empty(rows.shape[0], np.int32), 0
    for i in range(rows.shape[0]):
        row = rows[i]
        out[i] = 0
        if not values[row] >= bound:
            continue
        at = n_near
        while at > 0:
            other = rows[order[at - 1]]
            if values[other] > values[row] or (values[other] == values[row] and other >= row):
                break
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        n_near += 1
    low, high = 0, n_near
    while low < high:
        middle = (low + high) // 2
        if _better(values, able[:n_able], rows[order[middle]]) < limit:
            low = middle + 1
        else:
            high = middle
    for i in range(low):
        out[order[i]] = 1


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(READ_F32, READ_U64, READ_F32, READ_I64, READ_I32, READ_U8, READ_U8, READ_F32),
        *(READ_I32, nb.int32, READ_U8, READ_I32, READ_F32, READ_U8, READ_U8),
        *(READ_F32, nb.float64, nb.intp, nb.boolean, I32, F64, F64_2D, U8_2D),
    ),
    nogil=True,
)
def memory_scores(
    scores: Float32,
    cover: UInt64,
    idf: Float32,
    time_ms: Int64,
    author: Int32,
    asks: UInt8,
    eligible: UInt8,
    dense: Float32,
    speakers: Int32,
    asker: int,
    names_asker: UInt8,
    date_spans: Int32,
    date_values: Float32,
    has_time: UInt8,
    has_number: UInt8,
    weights: Float32,
    saturation: float,
    sitting_ms: int,
    choose: bool,
    rows: Int32,
    totals: Float64,
    shares: Float64,
    by: UInt8,
) -> tuple[int, int]:
    """See `reference_memory.memory_scores`. The parts of all rows stay here: only those asked for are written out."""
    n, m = eligible.shape[0], rows.shape[0]
    if scores.shape[0] != n or cover.shape[0] != n or time_ms.shape[0] < n or author.shape[0] < n:
        return ROW_OUT_OF_RANGE, 0
    if asks.shape[0] < n or totals.shape[0] != m or shares.shape[0] != m or shares.shape[1] != 10:
        return ROW_OUT_OF_RANGE, 0
    if by.shape[0] != 2 or by.shape[1] not in (0, m):
        return ROW_OUT_OF_RANGE, 0
    for marked in (names_asker, has_time, has_number):
        if marked.shape[0] > n:
            return ROW_OUT_OF_RANGE, 0
    if date_spans.shape[0] != 2 * date_values.shape[0] or weights.shape[0] != 10:
        return BAD_OFFSETS, 0
    for i in range(0 if choose else m):
        if not 0 <= rows[i] < n:
            return ROW_OUT_OF_RANGE, 0
    joined = _sittings(time_ms, n, sitting_ms)
    answers = _answers(author, asks, joined, n)
    parts = np.empty((FLOATS, n), np.float32)
    sure = _words(scores, joined, answers, weights[0], saturation, parts[WORDS])
    _passages(
        *(cover, idf, weights[1] * sure, weights[2] * sure),
        *(parts[PASSAGE], parts[WIDE_PASSAGE]),
    )
    meaning, date = parts[MEANING], parts[DATE]
    for i in range(n):  # a slice that is set does not become vector instructions
        meaning[i] = ZERO
        date[i] = ZERO
    if dense.shape[0] == n:
        _meaning(dense, joined, eligible, weights[3], parts[MEANING])
    for d in range(date_values.shape[0]):
        for i in range(max(0, date_spans[2 * d]), min(n, date_spans[2 * d + 1])):
            parts[DATE, i] += weights[4] * date_values[d]
    flags = np.zeros(n, np.uint8)
    for user in speakers:
        _flag_authors(author, user, SPEAKER, flags)
    _flag_rows(asks[:n], QUESTION, flags)
    if asker >= 0:
        _flag_authors(author, asker, ASKER, flags)
    _flag_rows(names_asker, ASKER, flags)
    _flag_rows(has_time, TIME_WORD, flags)
    _flag_rows(has_number, NUMBER, flags)
    every = _totals(parts, flags, weights, eligible)
    count = _best(every, rows) if choose else m
    for i in range(count):
        row = rows[i]
        totals[i] = every[row]
        for part in range(FLOATS):
            shares[i, part] = parts[part, row]
            shares[i, FLOATS + part] = np.float32((flags[row] >> part) & 1) * weights[FLOATS + part]
    if by.shape[1] != 0:
        for i in range(count):
            by[0, i] = scores[rows[i]] > ZERO
            by[1, i] = 0
        if dense.shape[0] == n:
            _mark_nearest(dense, rows[:count], m, by[1])
    return OK, count
