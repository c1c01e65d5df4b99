"""The compiled scorer, and what tells before it which rows can reach a score.

It walks the rows in blocks that fit the first-level cache, one factor after the other: that makes
vector instructions of the loops, while the columns are still read once. A block of consecutive rows,
the usual one, reads its columns straight on; what no row of a block can have is left out.

For those who ask for good scores only, a block of rows is bounded by its nearest time, each of its rows by author and
parent and by who is mentioned. Words are not read: they add no more than their weight. What is left is scored
exactly; most blocks of a channel have nobody left.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numba as nb
import numpy as np

from .arrays import Float32, Float64, Int32, Int64
from .compile import F64, F64_2D, I32, READ_I32, READ_I64, helper, kernel
from .status import BAD_OFFSETS, OK, QUERY_NOT_SORTED, ROW_OUT_OF_RANGE
from .weights import Constants, Weights

BLOCK = 512  # rows a pass: what is kept of them takes 24 KB
GROUP = 32  # ids of consecutive rows that are looked at together
SLACK = 1e-5  # of the weights: more than rounding takes from a sum in float32
ENOUGH = 1e30  # more than any score, and far from the end of float32

ONE, LAST_DIGIT = np.uint32(1), np.uint32(31)
SECOND, ACROSS, THIRD = np.uint32(5), np.uint32(3), np.uint32(10)  # places of digits in bits

Digits: TypeAlias = tuple[np.uint32, np.uint32, np.uint32]

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first ending in zeros (fdlibm)
LN2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 1.5 * 2.0**52  # adding it leaves no room for a fraction

COLUMNS = nb.types.Tuple(  # ChannelColumns
    (READ_I64, READ_I32, READ_I32, READ_I64, READ_I32, READ_I64, READ_I32)
)
QUERY = nb.types.Tuple((nb.int64, nb.int64, nb.int64, READ_I32, READ_I32))  # QueryFeatures
PARAMETERS = nb.types.Tuple(  # of ScoreParameters: weights, constants, max_chain_depth, whether the link is logistic
    (nb.types.UniTuple(nb.float64, 5), nb.types.UniTuple(nb.float64, 4), nb.int64, nb.boolean)
)
Columns: TypeAlias = tuple[Int64, Int32, Int32, Int64, Int32, Int64, Int32]
Query: TypeAlias = tuple[int, int, int, Int32, Int32]
Parameters: TypeAlias = tuple[Weights, Constants, int, bool]


@kernel(nb.intp(READ_I32, nb.intp, I32))
def reply_path(parent: Int32, start: int, out: Int32) -> int:
    """Write ``start``, its parent, and so on into ``out`` until it is full, a message replies to nothing that is there,
    or a message comes a second time. Return how many.

    A cycle has a step to a later row: only after one are rows compared.
    """
    count = 0
    row = start
    suspicious = False
    while count < out.shape[0] and 0 <= row < parent.shape[0]:
        if suspicious:
            for j in range(count):
                if out[j] == row:
                    return count
        out[count] = row
        count += 1
        suspicious = suspicious or parent[row] >= row
        row = parent[row]
    return count


@helper
def _is_run(rows: Int32) -> bool:
    """Are the rows consecutive?"""
    gaps = np.int32(0)
    for j in range(rows.shape[0]):
        gaps |= rows[j] - rows[0] - np.int32(j)
    return gaps == 0


@helper
def _take(column: Int32 | Int64, rows: Int32, run: bool, out: Int32 | Int64) -> None:
    if run:
        part = column[rows[0] : rows[0] + rows.shape[0]]
        for j in range(rows.shape[0]):
            out[j] = part[j]
    else:
        for j in range(rows.shape[0]):
            out[j] = column[rows[j]]


@helper
def _offsets_are_good(offsets: Int64, n_ids: int, rows: Int32, run: bool) -> bool:
    """Is every span within the ids? Sign bits are gathered: no branch a row."""
    bad = 0
    if run:
        starts = offsets[rows[0] : rows[0] + rows.shape[0]]
        ends = offsets[rows[0] + 1 : rows[0] + rows.shape[0] + 1]
        for j in range(rows.shape[0]):
            bad |= starts[j] | ends[j] | (ends[j] - starts[j]) | (n_ids - ends[j])
    else:
        for j in range(rows.shape[0]):
            start, end = offsets[rows[j]], offsets[rows[j] + 1]
            bad |= start | end | (end - start) | (n_ids - end)
    return bad >= 0


@helper
def _ascends(ids: Int32) -> bool:
    for j in range(1, ids.shape[0]):  # noqa: SIM110 (compiled code knows no generators)
        if ids[j] <= ids[j - 1]:
            return False
    return True


@helper
def _known(wanted: Int32) -> Int32:
    """Those that can match: negative ids are nobody's. A copy, so that all are of one type to the compiler."""
    first = 0
    while first < wanted.shape[0] and wanted[first] < 0:
        first += 1
    return wanted[first:].copy()


@helper
def _digits(wanted: Int32) -> Digits:
    """Three sets of 32 bits: which lowest digits in base 32 the ids have, which second ones, which mixed ones."""
    low, high, mixed = np.uint32(0), np.uint32(0), np.uint32(0)
    for j in range(wanted.shape[0]):
        one = np.uint32(wanted[j])
        low = np.uint32(low | ONE << (one & LAST_DIGIT))
        high = np.uint32(high | ONE << (one >> SECOND & LAST_DIGIT))
        mixed = np.uint32(mixed | ONE << ((one >> ACROSS ^ one >> THIRD) & LAST_DIGIT))
    return low, high, mixed


@helper
def _may_be_in(digits: Digits, one: int) -> np.uint32:
    """The lowest bit is 1 where all three digits are known: a filter in front of the search, without a table."""
    unsigned = np.uint32(one)
    second, across = np.uint32(unsigned >> SECOND), np.uint32(unsigned >> ACROSS)
    mixed = np.uint32(np.uint32(across ^ np.uint32(unsigned >> THIRD)) & LAST_DIGIT)
    both = np.uint32(digits[0] >> np.uint32(unsigned & LAST_DIGIT))
    both = np.uint32(both & np.uint32(digits[1] >> np.uint32(second & LAST_DIGIT)))
    return np.uint32(both & np.uint32(digits[2] >> mixed))


@helper
def _is_in(wanted: Int32, one: int) -> bool:
    """Search. Called for what passed the filter only, that is seldom."""
    low = 0
    high = wanted.shape[0]
    while low < high:
        middle = (low + high) // 2
        if wanted[middle] < one:
            low = middle + 1
        else:
            high = middle
    return low < wanted.shape[0] and wanted[low] == one


@helper
def _count(
    offsets: Int64, ids: Int32, rows: Int32, run: bool, wanted: Int32, digits: Digits, out: Float64
) -> bool:
    """Write how many of its ids are wanted for each row; False: none of any row.

    The ids of consecutive rows stand in one run: `GROUP` of them a step, whosever they are. Short
    loops mispredict.
    """
    for j in range(rows.shape[0]):
        out[j] = 0.0
    found = False
    if wanted.shape[0] == 0:
        return found
    if not run:
        for j in range(rows.shape[0]):
            for k in range(offsets[rows[j]], offsets[rows[j] + 1]):
                if _may_be_in(digits, ids[k]) & ONE and _is_in(wanted, ids[k]):
                    out[j] += 1.0
                    found = True
        return found
    first, last = offsets[rows[0]], offsets[rows[0] + rows.shape[0]]
    span = ids[first:last]
    groups = span[: span.shape[0] // GROUP * GROUP].reshape(-1, GROUP)
    j = 0
    for g in range(groups.shape[0] + 1):
        stop = span.shape[0]
        if g < groups.shape[0]:
            stop = GROUP * g + GROUP
            some = np.uint32(0)
            for i in range(GROUP):
                some = np.uint32(some | _may_be_in(digits, groups[g, i]))
            if some & ONE == 0:
                continue
        for k in range(GROUP * g, stop):
            if _may_be_in(digits, span[k]) & ONE and _is_in(wanted, span[k]):
                while first + k >= offsets[rows[0] + j + 1]:
                    j += 1
                out[j] += 1.0
                found = True
    return found


@helper
def _reply_chain(
    rows: Int32,
    parent: Int32,
    query_parent: int,
    chain: Int32,
    chain_values: Float64,
    sibling_score: float,
    out: Float64,
) -> None:
    if query_parent == -1:
        for j in range(rows.shape[0]):
            out[j] = 0.0
        return
    low = rows[0]
    high = rows[0]
    for j in range(rows.shape[0]):
        out[j] = sibling_score if parent[j] == query_parent else 0.0
        low = min(low, rows[j])
        high = max(high, rows[j])
    for step in range(chain.shape[0]):
        if low <= chain[step] <= high:
            for j in range(rows.shape[0]):
                if rows[j] == chain[step]:
                    out[j] = max(out[j], chain_values[step])


@helper
def _user_continuity(
    m: int, ago_ms: Float64, author: Int32, query_author: int, window_ms: float, out: Float64
) -> None:
    near = np.int32(0)
    for j in range(m):
        out[j] = 0.0
        near |= np.int32((abs(ago_ms[j]) < window_ms) & (author[j] == query_author))
    if near != 0 and query_author >= 0:
        for j in range(m):
            value = 1.0 - abs(ago_ms[j]) / window_ms
            counts = (author[j] == query_author) & (value > 0.0)
            out[j] = value if counts else 0.0


@helper
def _time_decay(
    m: int, ago_ms: Float64, decay_per_hour: float, powers: Float64, out: Float64
) -> None:
    """exp(x) for x <= 0 as 2**k * exp(r), |r| <= ln(2) / 2, exp(r) by its Taylor series to r**13.

    The series leaves out less than 1e-17, rounding adds a few units of the last place: as good as
    libm's exp, and several times as fast because the loop becomes vector instructions. Below
    x = -708 the result is 0. ``powers`` is scratch.
    """
    bits = powers.view(np.int64)
    for j in range(m):
        ago = ago_ms[j] if ago_ms[j] > 0.0 else 0.0  # noqa: FURB136 (max does not vectorise)
        exponent = -decay_per_hour * (ago / 3_600_000.0)
        x = exponent if exponent > -708.0 else -708.0  # noqa: FURB136
        shifted = x * LOG2_E + ROUND_TO_INTEGER  # its low bits are the integer k
        powers[j] = shifted
        k = shifted - ROUND_TO_INTEGER
        r = (x - k * LN2_HIGH) - k * LN2_LOW
        r2 = r * r
        odd = 1 / 6227020800.0
        odd = odd * r2 + 1 / 39916800.0
        odd = odd * r2 + 1 / 362880.0
        odd = odd * r2 + 1 / 5040.0
        odd = odd * r2 + 1 / 120.0
        odd = odd * r2 + 1 / 6.0
        even = 1 / 479001600.0
        even = even * r2 + 1 / 3628800.0
        even = even * r2 + 1 / 40320.0
        even = even * r2 + 1 / 720.0
        even = even * r2 + 1 / 24.0
        even = even * r2 + 0.5
        out[j] = 1.0 + (r + r2 * (even + r * odd)) if exponent >= -708.0 else 0.0
    for j in range(m):
        bits[j] = (bits[j] + 1023) << 52  # the bits of the number 2**k
    for j in range(m):
        out[j] *= powers[j]


@helper
def _link(total: Float64, logistic: bool, out: Float64) -> None:
    for j in range(out.shape[0]):
        if not logistic:
            floored = total[j] if total[j] > 0.0 else 0.0  # noqa: FURB136
            out[j] = floored if floored < 1.0 else 1.0  # noqa: FURB136
        elif total[j] >= 0.0:
            out[j] = 1.0 / (1.0 + math.exp(-total[j]))
        else:
            out[j] = math.exp(total[j]) / (1.0 + math.exp(total[j]))


@kernel(nb.intp(*(COLUMNS, READ_I32, QUERY, PARAMETERS, F64_2D, F64_2D, F64, F64)), nogil=True)
def score_rows(
    columns: Columns, rows: Int32, query: Query, parameters: Parameters, factors: Float64, shares: Float64,
    linear: Float64, scores: Float64,
) -> int:  # fmt: skip
    """Score m rows of a channel; see `score.Scored`.

    ``factors`` and ``shares`` given with 0 rows are, as ``linear``, left alone: only ``scores`` is wanted. Returns OK,
    ROW_OUT_OF_RANGE, QUERY_NOT_SORTED or BAD_OFFSETS; outputs are undefined unless OK.
    """
    time_ms, author, parent, keyword_offsets, keyword_ids, mention_offsets, mention_ids = columns
    query_time, query_author, query_parent, query_keywords, query_mentions = query
    weights, constants, max_chain_depth, logistic = parameters
    decay_per_hour, window_ms, chain_decay, sibling_score = constants
    n = time_ms.shape[0]
    if not (_ascends(query_keywords) and _ascends(query_mentions)):
        return QUERY_NOT_SORTED
    words, users = _known(query_keywords), _known(query_mentions)
    asker = np.empty(1 if query_author >= 0 else 0, np.int32)
    asker[:] = query_author
    word_digits, user_digits, asker_digits = _digits(words), _digits(users), _digits(asker)
    chain = np.empty(min(max_chain_depth, n), np.int32)
    chain = chain[: reply_path(parent, query_parent, chain)]
    chain_values = np.empty(chain.shape[0], np.float64)
    chance = 1.0
    for step in range(chain.shape[0]):
        chain_values[step] = chance
        chance *= chain_decay

    explain = factors.shape[0] > 0
    ago_ms, times = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.int64)
    its_author, its_parent = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    value, scratch, total = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for base in range(0, rows.shape[0], BLOCK):
        part = rows[base : base + BLOCK]
        m = part.shape[0]
        outside = 0
        for j in range(m):
            row = np.int64(part[j])
            outside |= row | (n - 1 - row)  # negative if either is
        if outside < 0:
            return ROW_OUT_OF_RANGE
        run = _is_run(part)
        if not (
            _offsets_are_good(keyword_offsets, keyword_ids.shape[0], part, run)
            and _offsets_are_good(mention_offsets, mention_ids.shape[0], part, run)
        ):
            return BAD_OFFSETS
        _take(time_ms, part, run, times)
        _take(author, part, run, its_author)
        _take(parent, part, run, its_parent)
        for j in range(m):
            ago_ms[j] = float(query_time) - float(times[j])
            total[j] = 0.0
        for f in range(5):
            if f == 0:
                _reply_chain(
                    part, its_parent, query_parent, chain, chain_values, sibling_score, value
                )
            elif f == 1:
                _user_continuity(m, ago_ms, its_author, query_author, window_ms, value)
            elif f == 2:
                _time_decay(m, ago_ms, decay_per_hour, scratch, value)
            elif f == 3:
                for j in range(m):
                    value[j] = 0.0
                for k in range(users.shape[0]):
                    for j in range(m):
                        value[j] = 0.5 if its_author[j] == users[k] else value[j]
                if _count(mention_offsets, mention_ids, part, run, asker, asker_digits, scratch):
                    for j in range(m):
                        value[j] += 0.5 * scratch[j]
                if _count(mention_offsets, mention_ids, part, run, users, user_digits, scratch):
                    for j in range(m):
                        related = value[j] + 0.3 * scratch[j]
                        value[j] = related if related < 1.0 else 1.0  # noqa: FURB136
            elif _count(keyword_offsets, keyword_ids, part, run, words, word_digits, value):
                for j in range(m):
                    if value[j] > 0.0:
                        its_words = keyword_offsets[part[j] + 1] - keyword_offsets[part[j]]
                        value[j] /= float(its_words + query_keywords.shape[0]) - value[j]
            weight = weights[f]
            for j in range(m):
                total[j] += value[j] * weight
            if explain:
                for j in range(m):
                    factors[base + j, f] = value[j]
                    shares[base + j, f] = value[j] * weight
        if explain:
            for j in range(m):
                linear[base + j] = total[j]
        _link(total[:m], logistic, scores[base : base + m])
    return OK


@helper
def _most(weight: float) -> float:
    """What a factor of 0 to 1 adds at most."""
    return max(weight, 0.0)


@helper
def _single(value: float) -> np.float32:
    return np.float32(min(value, ENOUGH))


@helper
def _outside(rows: Int32, run: bool, n: int) -> bool:
    """Is a row none of the n? Sign bits are gathered: no branch a row."""
    last = rows.shape[0] - 1
    bad = np.int64(rows[0]) | (n - 1 - np.int64(rows[last]))
    if not run:
        for j in range(rows.shape[0]):
            row = np.int64(rows[j])
            bad |= row | (n - 1 - row)
    return bool(bad < 0)


@helper
def _has_linked(parents: Int32, first: int, answered: int, chain: Int32) -> bool:
    """Does one of these consecutive rows answer what the question answers, or stand in its chain?"""
    found, sought = np.int32(0), np.int32(answered)
    for j in range(parents.shape[0]):
        found |= np.int32(parents[j] == sought)
    for step in range(chain.shape[0]):
        found |= np.int32(first <= chain[step] < first + parents.shape[0])
    return found != 0


@helper
def _add_for_mentions(
    offsets: Int64, ids: Int32, first: int, user: int, most: np.float32, bounds: Float32
) -> bool:
    """Raise the bounds of consecutive rows that mention the user; False: the offsets are none."""
    start, end = offsets[first], offsets[first + bounds.shape[0]]
    if not 0 <= start <= end <= ids.shape[0]:
        return False
    span = ids[start:end]
    sought, found = np.int32(user), np.int32(0)
    for k in range(span.shape[0]):
        found |= np.int32(span[k] == sought)
    if found != 0:
        j = 0
        for k in range(span.shape[0]):
            while j + 1 < bounds.shape[0] and start + k >= offsets[first + j + 1]:
                j += 1
            if span[k] == sought:
                bounds[j] += most
    return True


@helper
def _far(
    ago_ms: float,
    at_least: float,
    weights: Weights,
    constants: Constants,
    by_chain: float,
    by_mention: float,
    by_asker: float,
) -> bool:
    """Is nothing of this age enough, nor anything older? All that is not told by time is taken to be there."""
    by_time, decay_per_hour = _most(weights[2]), constants[0]
    need = at_least - by_time * math.exp(-decay_per_hour * (max(ago_ms, 0.0) / 3_600_000.0))
    for f in range(5):
        need -= SLACK * _most(weights[f])
    own = by_asker if ago_ms < constants[1] else 0.0
    return bool(need - _most(weights[4]) > by_chain + own + by_mention)


@helper
def _first_near(
    rows: Int32, time_ms: Int64, query_time: int, at_least: float, weights: Weights, constants: Constants,
    by_chain: float, by_mention: float, by_asker: float,
) -> int:  # fmt: skip
    """Where the blocks of rows begin that are not far, of rows and times in order; below 0: a row outside."""
    n, total = time_ms.shape[0], rows.shape[0]
    if rows[0] < 0 or rows[total - 1] >= n:
        return -ROW_OUT_OF_RANGE
    begin = (total - 1) // BLOCK * BLOCK
    while begin > 0:  # one far block, and all before it are
        row = rows[begin - 1]
        if row < 0 or row >= n:
            return -ROW_OUT_OF_RANGE
        ago_ms = float(query_time) - float(time_ms[row])
        if _far(ago_ms, at_least, weights, constants, by_chain, by_mention, by_asker):
            break
        begin -= BLOCK
    return begin


@helper
def _add_for_people(
    offsets: Int64, ids: Int32, first: int, author: Int32, asker: int, mentioned: Int32, mention: np.float32,
    bounds: Float32,
) -> bool:  # fmt: skip
    """Raise the bounds of rows by or about who is mentioned, or about who asks; False: the offsets are none."""
    if asker >= 0 and not _add_for_mentions(offsets, ids, first, asker, mention, bounds):
        return False
    nothing = np.float32(0.0)
    for k in range(mentioned.shape[0]):
        user = mentioned[k]
        if user < 0:
            continue
        for j in range(bounds.shape[0]):
            bounds[j] += mention if author[j] == user else nothing
        if not _add_for_mentions(offsets, ids, first, user, mention, bounds):
            return False
    return True


@helper
def _add_for_chain(
    rows: Int32, run: bool, chain: Int32, by_chain: np.float32, bounds: Float32
) -> None:
    """Raise the bounds of rows that stand in the chain."""
    for step in range(chain.shape[0]):
        if run:
            place = chain[step] - rows[0]
            if 0 <= place < bounds.shape[0]:
                bounds[place] += by_chain
        else:
            for j in range(bounds.shape[0]):
                bounds[j] += by_chain if rows[j] == chain[step] else np.float32(0.0)


@kernel(nb.intp(*(COLUMNS, READ_I32, QUERY, PARAMETERS, nb.float64, nb.boolean, I32)), nogil=True)
def may_reach(
    columns: Columns, rows: Int32, query: Query, parameters: Parameters, at_least: float, in_order: bool, places: Int32
) -> int:  # fmt: skip
    """Write the positions in ``rows`` of those whose sum may reach `at_least`, ascending; return how many.

    None is left out that gets there with all the question's words in it. ``at_least`` is above 0; ``in_order``: rows
    ascend without repeats, and so do the times of the channel. Below 0: -ROW_OUT_OF_RANGE, -BAD_OFFSETS.
    """
    time_ms, author, parent, _, _, mention_offsets, mention_ids = columns
    query_time, query_author, query_parent, _, query_mentions = query
    weights, constants, max_chain_depth, _ = parameters
    decay_per_hour, window_ms, _, sibling_score = constants
    n, total = time_ms.shape[0], rows.shape[0]
    chain = np.empty(min(max_chain_depth, n), np.int32)
    length, row = 0, query_parent
    while length < chain.shape[0] and 0 <= row < n:
        chain[length] = row
        row = parent[row]
        length += 1
    by_chain = _most(weights[0]) if query_parent != -1 else 0.0
    by_asker, by_time = _most(weights[1]), _most(weights[2])
    rate, time_bound = _single(decay_per_hour / 3_600_000.0), _single(by_time)
    anyone = query_author >= 0
    for k in range(query_mentions.shape[0]):
        anyone |= query_mentions[k] >= 0
    by_mention = _most(weights[3]) if anyone else 0.0
    sibling, mention = _single(by_chain * sibling_score), _single(by_mention)
    answered, asker, nothing = np.int32(query_parent), np.int32(query_author), np.float32(0.0)
    bounds, times = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.int64)
    authors, parents = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    begin, count, by_own = 0, 0, by_asker if query_author >= 0 else 0.0
    if in_order and total:
        begin = _first_near(
            rows, time_ms, query_time, at_least, weights, constants, by_chain, by_mention, by_own
        )  # fmt: skip
        if begin < 0:
            return begin
    for base in range(begin, total, BLOCK):
        part = rows[base : base + BLOCK]
        m, first = part.shape[0], part[0]
        run = _is_run(part)
        if _outside(part, run, n):
            return -ROW_OUT_OF_RANGE
        if not run:
            for j in range(m):
                times[j], authors[j] = time_ms[part[j]], author[part[j]]
                parents[j] = parent[part[j]]
        its_time = time_ms[first : first + m] if run else times[:m]
        its_author = author[first : first + m] if run else authors[:m]
        its_parent = parent[first : first + m] if run else parents[:m]

        newest = its_time[0]
        for j in range(m):
            newest = its_time[j] if its_time[j] > newest else newest  # noqa: FURB136 (max does not vectorise)
        least_ms = float(query_time) - float(newest)
        fresh = math.exp(-decay_per_hour * (max(least_ms, 0.0) / 3_600_000.0))
        need = at_least - by_time * fresh - _most(weights[4])
        for f in range(5):
            need -= SLACK * _most(weights[f])
        if not run:
            need -= by_mention  # rows far apart: anybody may be mentioned
        near = query_author >= 0 and least_ms < window_ms
        own = _single(by_asker) if near else nothing
        if need > by_chain + own + by_mention:
            continue
        if (
            run
            and need > own + by_mention
            and not _has_linked(its_parent, first, query_parent, chain[:length])
        ):
            continue  # mostly: so only numbers, times and parents are read
        for j in range(m):
            bounds[j] = nothing
        if need <= 0.0:  # near rows: each by its own time, e**-x <= 1 / (1 + x)
            need += by_time * fresh
            for j in range(m):
                passed = np.float32(float(query_time) - float(its_time[j]))
                x = rate * (passed if passed > nothing else nothing)  # noqa: FURB136
                bounds[j] = time_bound / (np.float32(1.0) + x)

        for j in range(m):
            bounds[j] += sibling if its_parent[j] == answered else nothing
        if near:
            for j in range(m):
                bounds[j] += own if its_author[j] == asker else nothing
        if run and anyone and not _add_for_people(
            mention_offsets, mention_ids, first, its_author, query_author, query_mentions, mention, bounds[:m]
        ):  # fmt: skip
            return -BAD_OFFSETS
        _add_for_chain(part, run, chain[:length], _single(by_chain), bounds[:m])
        enough, some = np.float32(need), np.int32(0)
        for j in range(m):
            some |= np.int32(bounds[j] >= enough)
        if some != 0:
            for j in range(m):
                if bounds[j] >= enough:
                    places[count] = base + j
                    count += 1
    return count


@kernel(
    nb.intp(*(COLUMNS, READ_I32, QUERY, PARAMETERS, nb.float64, nb.boolean, I32, F64)), nogil=True
)
def score_reaching(
    columns: Columns, rows: Int32, query: Query, parameters: Parameters, at_least: float, in_order: bool,
    places: Int32, scores: Float64,
) -> int:  # fmt: skip
    """Write the positions in ``rows`` of those that reach a score, ascending, and their scores; return how many.

    With the logistic link all are scored. Below 0: -ROW_OUT_OF_RANGE, -QUERY_NOT_SORTED, -BAD_OFFSETS.
    """
    count = rows.shape[0]
    if parameters[3]:
        for j in range(count):
            places[j] = j
    else:
        count = may_reach(columns, rows, query, parameters, at_least, in_order, places)
        if count < 0:
            return count
    some = np.empty(count, np.int32)
    for j in range(count):
        some[j] = rows[places[j]]
    no_table, no_column = np.empty((0, 5), np.float64), np.empty(0, np.float64)
    status = score_rows(columns, some, query, parameters, no_table, no_table, no_column, scores)
    if status != OK:
        return -status
    reached = 0
    for j in range(count):
        if scores[j] >= at_least:
            places[reached], scores[reached] = places[j], scores[j]
            reached += 1
    return reached
