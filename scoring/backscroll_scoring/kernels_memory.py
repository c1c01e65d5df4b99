"""The compiled score for long memory."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float32, Float64, Int32, Int64, UInt8, UInt64
from .compile import (
    F64,
    F64_2D,
    I32,
    READ_BOOL,
    READ_F32,
    READ_I32,
    READ_I64,
    READ_U8,
    READ_U64,
    helper,
    kernel,
)
from .layout import BESIDE, CHUNK
from .status import BAD_OFFSETS, OK, ROW_OUT_OF_RANGE

MATCHES = nb.types.Tuple((READ_F32, READ_U64, READ_F32, READ_BOOL))
COLUMNS = nb.types.Tuple((READ_I64, READ_I32, READ_U8, READ_U8))
CUES = nb.types.Tuple((READ_F32, READ_I32, nb.int64, READ_U8, READ_I32, READ_F32, READ_U8, READ_U8))

NEAR = np.float32(0.2)
FAR = np.float32(0.1)
ANSWER = np.float32(0.3)
DENSE_NEAR = np.float32(0.25)
TENTH = np.float32(0.1)
ZERO = np.float32(0.0)
BOOL_2D = nb.types.Array(nb.boolean, 2, "C")
WORDS, PASSAGE, WIDE_PASSAGE, MEANING, DATE = range(5)
FLOATS = 5  # parts that are numbers; as many are signs
SCALED = 4  # of these, those known when all rows have been seen: (value - least) * scale
SPEAKER, QUESTION, ASKER, TIME_WORD, NUMBER = 1, 2, 4, 8, 16
PAD = BESIDE  # rows before the first and after the last one that belong to nothing: no test at the ends
TABLE_TERMS = 10  # the sums of so many terms' weights are looked up, those of further terms added
BLOCK = 512
"""Rows at a time: what is made of them is read again before it leaves the first cache. (All rows at once took 1.2 times
as long in builds of 10,000 and of 100,000 messages, and 2.5 times the memory.)"""
FEW = 64
"""Values looked at together for one that reaches a bound."""
PEAKS = 32
"""So many peaks of a block's values are kept, each the most of every 32nd. The best are told by these, and blocks whose
peaks are no good are not read again: scores of 10,000 rows take a twentieth less, of 100,000 a tenth."""
LAPS = BLOCK // PEAKS
"""A loop of this known length is unrolled, so that the one around it, over neighbours, becomes vector instructions."""
WINDOW = CHUNK + 2 * PAD
LOWEST, HIGHEST = np.int32(-(2**31)), np.int32(2**31 - 1)


@helper
def _window(values: Float32 | UInt64, first: int, out: Float32 | UInt64) -> None:
    """The values from PAD rows before `first` on, 0 where there is no row."""
    ahead = max(0, PAD - first)
    there, inner = values[first - PAD + ahead :], out[ahead:]
    count = min(inner.shape[0], there.shape[0])
    for i in range(ahead):
        out[i] = 0
    for i in range(count):
        inner[i] = there[i]
    for i in range(count, inner.shape[0]):
        inner[i] = 0


@helper
def _sittings(time_ms: Int64, first: int, sitting_ms: int, joined: Float32) -> None:
    """1 where a row is of one sitting with the row before it, from PAD rows before `first` on."""
    ahead = max(0, PAD + 1 - first)
    before, inner = time_ms[first - PAD + ahead - 1 :], joined[ahead:]
    after = before[1:]
    count = min(inner.shape[0], after.shape[0])
    for i in range(ahead):
        joined[i] = ZERO
    for i in range(count):
        inner[i] = np.float32(after[i] - before[i] < sitting_ms)
    for i in range(count, inner.shape[0]):
        inner[i] = ZERO


@helper
def _best_score(scores: Float32, active: Bool) -> np.float32:
    """The largest of the active chunks. None is negative: their bits are ordered as they are, and compare in SIMD."""
    bits, best, found = scores.view(np.int32), np.int32(0), np.empty(1, np.int32)
    for chunk in range(active.shape[0]):
        if active[chunk]:
            here = bits[chunk * CHUNK : (chunk + 1) * CHUNK]
            for i in range(here.shape[0]):
                best = max(best, here[i])
    found[0] = best
    return found.view(np.float32)[0]


@helper
def _around(values: Float32 | UInt64, active: Bool, chunk: int, out: Float32 | UInt64) -> None:
    """The values of an active chunk and PAD rows on both sides, 0 where there is no row, or nothing is known of it."""
    _window(values, chunk * CHUNK, out)
    for i in range(PAD if chunk > 0 and not active[chunk - 1] else 0):
        out[i] = 0
    for i in range(PAD if chunk + 1 < active.shape[0] and not active[chunk + 1] else 0):
        out[CHUNK + PAD + i] = 0


@helper
def _words(
    scores: Float32,
    active: Bool,
    author: Int32,
    asks: UInt8,
    joined: Float32,
    chunk: int,
    room: Float32,
    out: Float32,
) -> None:
    """Part WORDS of a chunk of rows. `joined` begins PAD rows before the first of them; `room` is room."""
    n, first = scores.shape[0], chunk * CHUNK
    s, answers = room[0, :WINDOW], room[1, :CHUNK]
    _around(scores, active, chunk, s)
    for i in range(min(CHUNK, n - first)):
        row = np.uintp(first + i)
        answers[i] = ZERO
        if row > 0:
            before = row - np.uintp(1)
            other = (author[row] != author[before]) & (asks[before] != 0)
            answers[i] = ANSWER if other else ZERO
    for i in range(min(CHUNK, n - first)):
        near = joined[i + PAD] * s[i + PAD - 1] + joined[i + PAD + 1] * s[i + PAD + 1]
        far = joined[i + PAD] * joined[i + PAD - 1] * s[i + PAD - 2]
        far += joined[i + PAD + 1] * joined[i + PAD + 2] * s[i + PAD + 2]
        total = s[i + PAD] + NEAR * near + FAR * far
        out[np.uintp(first + i)] = total + answers[i] * joined[i + PAD] * s[i + PAD - 1]


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
def _weigh(
    spread: UInt64, idf: Float32, sums: Float32, out: Float32, bits: Int32, first: int
) -> np.int32:
    """What the passages of a chunk weigh, by their terms; the bits of the most of that.

    None is negative, so their bits, `out` as integers, are ordered as they are, and integers compare in SIMD.
    """
    low, size, best = np.uint64(sums.shape[0] - 1), min(CHUNK, out.shape[0] - first), np.int32(0)
    for i in range(size):
        out[np.uintp(first + i)] = sums[np.uint64(spread[i]) & low]
    for j in range(TABLE_TERMS, idf.shape[0]):
        for i in range(size):
            has = (np.uint64(spread[i]) >> np.uint64(j)) & np.uint64(1)
            out[np.uintp(first + i)] += idf[j] * np.float32(has)
    for i in range(size):
        best = max(best, bits[np.uintp(first + i)])
    return best


@helper
def _passages(
    active: Bool, cover: UInt64, idf: Float32, near: Float32, wide: Float32
) -> tuple[np.float32, np.float32]:
    """Parts PASSAGE and WIDE_PASSAGE of the active chunks; the most of each."""
    if idf.shape[0] <= TABLE_TERMS:  # most questions: a quarter of the memory
        return _spread(np.empty((3, WINDOW), np.uint16), active, cover, idf, near, wide)
    return _spread(np.empty((3, WINDOW), np.uint64), active, cover, idf, near, wide)


@helper
def _spread(
    room: UInt64, active: Bool, cover: UInt64, idf: Float32, near: Float32, wide: Float32
) -> tuple[np.float32, np.float32]:
    """`_passages` in numbers of whatever width has a bit for each term."""
    sums, most = _sums(idf), np.zeros(2, np.int32)
    near_bits, wide_bits = near.view(np.int32), wide.view(np.int32)
    c, five, nine = room[0], room[1], room[2]
    for chunk in range(active.shape[0]):
        if not active[chunk]:
            continue
        first = chunk * CHUNK
        _around(cover, active, chunk, c)
        for i in range(CHUNK + PAD):  # of rows -2 to CHUNK + 1
            five[i] = c[i] | c[i + 1] | c[i + 2] | c[i + 3] | c[i + 4]
        for i in range(CHUNK):
            nine[i] = five[i] | five[i + 4]
        for i in range(CHUNK):
            c[i] = five[i + 2]
        most[0] = max(most[0], _weigh(c, idf, sums, near, near_bits, first))
        most[1] = max(most[1], _weigh(nine, idf, sums, wide, wide_bits, first))
    found = most.view(np.float32)
    return found[0], found[1]


@helper
def _meaning(own: Float32, joined: Float32, out: Float32) -> bool:
    """Part MEANING of a block of rows; whether one of them or beside them has no vector.

    Where no neighbour is known the row stands in for it. Else it would lose where all cosines are high.
    """
    missing = np.uint8(0)
    for i in range(own.shape[0]):
        missing |= np.uint8(own[i] != own[i])
    before, here, after = own[PAD - 1 :], own[PAD:], own[PAD + 1 :]
    j1, j2 = joined[PAD:], joined[PAD + 1 :]
    for i in range(out.shape[0]):
        row = here[i] if here[i] == here[i] else ZERO
        first = before[i] if before[i] == before[i] else row
        second = after[i] if after[i] == after[i] else row
        beside = row + row + j1[i] * (first - row) + j2[i] * (second - row)
        out[i] = row + DENSE_NEAR * beside
    return missing != 0


@helper
def _note_peaks(values: Float32 | Float64, first: int, peaks: Float32 | Float64) -> None:
    """Write the peaks of a block of values, which begins at row `first`: minus infinity where there is none but NaN."""
    out = peaks[first // BLOCK * PEAKS :][:PEAKS]
    for i in range(PEAKS):
        out[i] = -np.inf
    for i in range(PEAKS if values.shape[0] == BLOCK else 0):
        most = out[i]
        for lap in range(LAPS):
            value = values[lap * PEAKS + i]
            most = value if value > most else most  # noqa: FURB136 - NaN is none
        out[i] = most
    for row in range(values.shape[0] if values.shape[0] < BLOCK else 0):
        value, most = values[row], out[row % PEAKS]
        out[row % PEAKS] = value if value > most else most  # noqa: FURB136


@helper
def _room_for_peaks(n: int) -> int:
    """How many peaks n values have."""
    return (n + BLOCK - 1) // BLOCK * PEAKS


@helper
def _widen(span: Int32, values: Float32, dense: Float32, eligible: UInt8, keys: Int32) -> None:
    """Take the eligible rows of a block that have a vector into the least and the greatest value there is.

    As integers in the order of the floats, which are compared in SIMD. `keys` is room.
    """
    bits, low, high = values.view(np.int32), keys[0], keys[1]
    for i in range(bits.shape[0]):
        key = bits[i] if bits[i] >= 0 else bits[i] ^ HIGHEST
        counts = (eligible[i] != 0) & (dense[i] == dense[i])
        low[i] = key if counts else HIGHEST
        high[i] = key if counts else LOWEST
    least, most = span[0], span[1]
    for i in range(bits.shape[0]):
        least = min(least, low[i])
        most = max(most, high[i])
    span[0], span[1] = least, most


@helper
def _ends(span: Int32) -> Float32:
    """The two values as floats."""
    for i in range(2):
        span[i] = span[i] if span[i] >= 0 else span[i] ^ HIGHEST
    return span.view(np.float32)


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
def _flag_authors(author: Int32, user: int, flag: int, flags: UInt8) -> None:
    for i in range(flags.shape[0]):
        flags[i] |= np.uint8(flag) if author[i] == user else np.uint8(0)


@helper
def _flag_rows(marked: UInt8, flag: int, flags: UInt8) -> None:
    for i in range(marked.shape[0]):
        flags[i] |= np.uint8(flag) if marked[i] != 0 else np.uint8(0)


@helper
def _totals(
    active: Bool,
    parts: Float32,
    scales: Float32,
    date: Float32,
    flags: UInt8,
    weights: Float32,
    eligible: UInt8,
    totals: Float64,
    peaks: Float64,
) -> None:
    """The sum of each row's parts and signs; minus infinity where it is not eligible. And the peaks of these."""
    used, signs, undated = np.uint8(0), np.empty(BLOCK, np.float64), np.zeros(BLOCK, np.float32)
    for i in range(flags.shape[0]):
        used |= flags[i]
    near_scale, wide_scale = scales[0, PASSAGE], scales[0, WIDE_PASSAGE]
    words_scale, meaning_scale, least = scales[0, WORDS], scales[0, MEANING], scales[1, MEANING]
    all_words, all_near, all_wide = parts[WORDS], parts[PASSAGE], parts[WIDE_PASSAGE]
    for first in range(0, flags.shape[0], BLOCK):
        out, marks, counts = totals[first : first + BLOCK], flags[first:], eligible[first:]
        for i in range(out.shape[0]):
            signs[i] = 0.0
        for sign in range(FLOATS):
            bit, weight = np.uint8(1 << sign), np.float64(weights[FLOATS + sign])
            for i in range(out.shape[0] if used & bit else 0):
                signs[i] += weight if marks[i] & bit else 0.0
        meaning = parts[MEANING, first:]
        dated = date[first:] if date.shape[0] else undated
        for i in range(out.shape[0]):
            out[i] = 0.0
        for chunk in range(first // CHUNK, min(active.shape[0], (first + BLOCK) // CHUNK)):
            if active[chunk]:
                base = chunk * CHUNK
                for i in range(min(CHUNK, flags.shape[0] - base)):
                    row = np.uintp(base + i)
                    total = np.float64(all_words[row] * words_scale)
                    total += np.float64(all_near[row] * near_scale)
                    totals[row] = total + np.float64(all_wide[row] * wide_scale)
        for i in range(out.shape[0]):
            total = out[i] + np.float64((meaning[i] - least) * meaning_scale)
            total = total + np.float64(dated[i]) + signs[i]
            out[i] = total if counts[i] != 0 else -np.inf
        _note_peaks(out, first, peaks)


@helper
def _beside(
    active: Bool,
    scores: Float32,
    dense: Float32,
    time_ms: Int64,
    author: Int32,
    asks: UInt8,
    eligible: UInt8,
    sitting_ms: int,
    words: Float32,
    meaning: Float32,
    span: Int32,
    peaks: Float32,
) -> bool:
    """Parts WORDS, of the active chunks, and MEANING, with what stands beside each row; whether a row has no vector.

    `span`: the least and the greatest of MEANING, see `_widen`. `peaks`: those of `dense`.
    """
    room, keys = np.empty((4, BLOCK + 2 * PAD), np.float32), np.empty((2, BLOCK), np.int32)
    missing, chunks = False, BLOCK // CHUNK
    for first in range(0, words.shape[0], BLOCK):
        size = min(BLOCK, words.shape[0] - first)
        joined, window = room[0, : size + 2 * PAD], room[1, : size + 2 * PAD]
        _sittings(time_ms, first, sitting_ms, joined)
        for chunk in range(first // CHUNK, min(active.shape[0], first // CHUNK + chunks)):
            if active[chunk]:
                at = chunk * CHUNK - first
                _words(scores, active, author, asks, joined[at:], chunk, room[2:], words)
        if dense.shape[0] == words.shape[0]:
            here = meaning[first : first + BLOCK]
            _window(dense, first, window)
            missing |= _meaning(window, joined, here)
            _widen(span, here, dense[first:], eligible[first:], keys)
            _note_peaks(dense[first : first + size], first, peaks)
    return missing


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
def _enough(values: Float32 | Float64, peaks: Float32 | Float64, count: int) -> bool:
    """Whether there are peaks enough, and fewer than values, to tell by them a bound that `count` values reach."""
    return peaks.shape[0] >= 2 * count and peaks.shape[0] < values.shape[0]


@helper
def _reaching(
    values: Float32 | Float64, peaks: Float32 | Float64, bound: float | np.float32
) -> Int32:
    """The places of the values that reach a bound, ascending: few, so that most blocks have none."""
    places, count = np.empty(values.shape[0], np.int32), 0
    for block in range(0, values.shape[0], BLOCK):
        highest, has_one = peaks[block // BLOCK * PEAKS :][:PEAKS], np.uint8(0)
        for i in range(PEAKS):
            has_one |= np.uint8(highest[i] >= bound)
        for first in range(block, min(values.shape[0], block + BLOCK) if has_one else 0, FEW):
            some, has_one = values[first : first + FEW], np.uint8(0)
            for i in range(some.shape[0]):
                has_one |= np.uint8(some[i] >= bound)
            for i in range(some.shape[0] if has_one else 0):
                # told without a branch: no processor guesses well which are
                places[count] = first + i
                count += some[i] >= bound
    return places[:count]


@helper
def _best(totals: Float64, peaks: Float64, rows: Int32) -> int:
    """Write the rows with the highest totals, best first, of equal ones the later first; return how many."""
    telling = peaks if _enough(totals, peaks, rows.shape[0]) else totals
    able, count = _reaching(totals, peaks, _reached(telling, rows.shape[0])), 0
    for i in range(able.shape[0] - 1, -1, -1):
        row = able[i]
        total = totals[row]
        if total == -np.inf:
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
def _known(values: Float32) -> Float32:
    """The values; minus infinity for NaN."""
    out = np.empty(values.shape[0], np.float32)
    for i in range(out.shape[0]):
        out[i] = values[i] if values[i] == values[i] else -np.float32(np.inf)
    return out


@helper
def _mark_nearest(values: Float32, peaks: Float32, rows: Int32, limit: int, out: Bool) -> None:
    """Which rows are among the `limit` with the highest values; of equal ones the later rows are, NaN is not.

    The last one in is found among those that may be, and no order of all is made.
    """
    telling = peaks if _enough(values, peaks, limit) else _known(values)
    bound = np.float32(_reached(telling, limit))
    able = _reaching(values, peaks, bound)
    order, n_near = np.empty(rows.shape[0], np.int32), 0
    for i in range(rows.shape[0]):
        row = rows[i]
        out[i] = False
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
        if _better(values, able, rows[order[middle]]) < limit:
            low = middle + 1
        else:
            high = middle
    for i in range(low):
        out[order[i]] = True


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(MATCHES, COLUMNS, CUES),
        *(READ_F32, nb.float64, nb.intp, nb.boolean, I32, F64, F64_2D, BOOL_2D),
    ),
    nogil=True,
)
def memory_scores(
    matches: tuple[Float32, UInt64, Float32, Bool],
    columns: tuple[Int64, Int32, UInt8, UInt8],
    cues: tuple[Float32, Int32, int, UInt8, Int32, Float32, UInt8, UInt8],
    weights: Float32,
    saturation: float,
    sitting_ms: int,
    choose: bool,
    rows: Int32,
    totals: Float64,
    shares: Float64,
    by: Bool,
) -> tuple[int, int]:
    """See `memory.score_memory`. The parts of all rows stay here: only those asked for are written out.

    Parameters
    ----------
    matches, cues
        `lexical.Matches` and `memory.MemoryCues`, as tuples.
    columns
        time_ms, author, asks and eligible.
    weights : float32[10]
    choose
        True: write the best rows, best first, of equal ones the later first; no row that is not eligible. False: they
        are given.
    rows : int32[m], totals : float64[m], shares : float64[m, 10], written
        See `memory.MemoryScores`.
    by : bool[2, m] or bool[2, 0], written
        Where there is room: true for a row that shares a word with the question; for one that is among the m nearest.

    Returns
    -------
    int
        OK; ROW_OUT_OF_RANGE when an array is too short, BAD_OFFSETS when spans and values do not match.
    int
        How many rows have scores now.
    """
    scores, cover, idf, active = matches
    time_ms, author, asks, eligible = columns
    dense, speakers, asker, names_asker, date_spans, date_values, has_time, has_number = cues
    n, m = eligible.shape[0], rows.shape[0]
    if scores.shape[0] != n or cover.shape[0] != n or time_ms.shape[0] < n or author.shape[0] < n:
        return ROW_OUT_OF_RANGE, 0
    if (
        active.shape[0] * CHUNK < n
        or asks.shape[0] < n
        or totals.shape[0] != m
        or shares.shape[0] != m
        or shares.shape[1] != 10
    ):
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
    parts, scales = np.empty((SCALED, n), np.float32), np.zeros((2, SCALED), np.float32)
    r = _best_score(scores, active) * TENTH
    sure = r / (r + np.float32(saturation))
    scales[0, WORDS] = weights[WORDS] * TENTH / (r + np.float32(saturation))
    most_near, most_wide = _passages(active, cover, idf, parts[PASSAGE], parts[WIDE_PASSAGE])
    if most_near > ZERO:
        scales[0, PASSAGE] = weights[PASSAGE] * sure / most_near
    if most_wide > ZERO:
        scales[0, WIDE_PASSAGE] = weights[WIDE_PASSAGE] * sure / most_wide
    span = np.empty(2, np.int32)
    span[0], span[1] = HIGHEST, LOWEST
    near_peaks = np.empty(_room_for_peaks(dense.shape[0]), np.float32)
    missing = _beside(
        *(active, scores, dense, time_ms[:n], author, asks, eligible, sitting_ms),
        *(parts[WORDS], parts[MEANING], span, near_peaks),
    )
    meaning, ends = parts[MEANING], _ends(span)
    if ends[1] > ends[0]:
        if missing:
            mean = _mean(meaning, dense, eligible)
            for i in range(n):
                meaning[i] = meaning[i] if dense[i] == dense[i] else mean
        scales[0, MEANING], scales[1, MEANING] = weights[MEANING] / (ends[1] - ends[0]), ends[0]
    else:
        for i in range(n):  # a slice that is set does not become vector instructions
            meaning[i] = ZERO
    date = np.zeros(n if date_values.shape[0] else 0, np.float32)
    for d in range(date_values.shape[0]):
        for i in range(max(0, date_spans[2 * d]), min(n, date_spans[2 * d + 1])):
            date[i] += weights[DATE] * date_values[d]
    flags = np.zeros(n, np.uint8)
    for user in speakers:
        _flag_authors(author, user, SPEAKER, flags)
    _flag_rows(asks[:n], QUESTION, flags)
    if asker >= 0:
        _flag_authors(author, asker, ASKER, flags)
    _flag_rows(names_asker, ASKER, flags)
    _flag_rows(has_time, TIME_WORD, flags)
    _flag_rows(has_number, NUMBER, flags)
    every, peaks = np.empty(n, np.float64), np.empty(_room_for_peaks(n), np.float64)
    _totals(active, parts, scales, date, flags, weights, eligible, every, peaks)
    count = _best(every, peaks, rows) if choose else m
    for i in range(count):
        row = rows[i]
        totals[i] = every[row]
        for part in range(SCALED):
            is_there = part == MEANING or active[row // CHUNK]
            value = parts[part, row] - scales[1, part] if is_there else ZERO
            shares[i, part] = value * scales[0, part]
        shares[i, DATE] = date[row] if date.shape[0] else ZERO
        for part in range(FLOATS):
            shares[i, FLOATS + part] = np.float32((flags[row] >> part) & 1) * weights[FLOATS + part]
    if by.shape[1] != 0:
        for i in range(count):
            by[0, i] = active[rows[i] // CHUNK] and scores[rows[i]] > ZERO
            by[1, i] = False
        if dense.shape[0] == n:
            _mark_nearest(dense, near_peaks, rows[:count], m, by[1])
    return OK, count
