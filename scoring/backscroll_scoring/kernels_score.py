"""The compiled scorer. See `reference` for what is computed.

It walks the rows in blocks that fit the first-level cache, one factor after the other: that makes
vector instructions of the loops, while the columns are still read once.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64
from .compile import F64, F64_2D, I32, READ_F64, READ_I32, READ_I64, helper, kernel
from .status import OK, ROW_OUT_OF_RANGE
from .weights import Constants, Weights

BLOCK = 256  # rows a pass: five factors of 8 bytes are 10 KB

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts, the first ending in zeros (fdlibm)
LN2_LOW = 1.90821492927058770002e-10
ROUND_TO_INTEGER = 1.5 * 2.0**52  # adding it leaves no room for a fraction


@kernel(nb.intp(READ_I32, nb.intp, I32))
def reply_path(parent: Int32, start: int, out: Int32) -> int:
    """See `reference`. A cycle has a step to a later row: only after one are rows compared."""
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
def _reply_chain(
    parent: Int32,
    rows: Int32,
    query_parent: int,
    chain: Int32,
    chain_values: Float64,
    sibling_score: float,
    out: Float64,
) -> None:
    if query_parent == -1:
        out[:] = 0.0
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
    ago_ms: Float64, author: Int32, query_author: int, window_ms: float, out: Float64
) -> None:
    for j in range(author.shape[0]):
        value = 1.0 - abs(ago_ms[j]) / window_ms
        counts = (author[j] == query_author) & (query_author >= 0) & (value > 0.0)
        out[j] = value if counts else 0.0


@helper
def _time_decay(ago_ms: Float64, decay_per_hour: float, powers: Float64, out: Float64) -> None:
    """exp(x) for x <= 0 as 2**k * exp(r), |r| <= ln(2) / 2, exp(r) by its Taylor series to r**13.

    The series leaves out less than 1e-17, rounding adds a few units of the last place: as good as
    libm's exp, and several times as fast because the loop becomes vector instructions. Below
    x = -708 the result is 0. ``powers`` is scratch.
    """
    bits = powers.view(np.int64)
    for j in range(out.shape[0]):
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
    for j in range(out.shape[0]):
        bits[j] = (bits[j] + 1023) << 52  # the bits of the number 2**k
    for j in range(out.shape[0]):
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


@kernel(
    nb.intp(
        *(READ_I64, READ_I32, READ_I32, READ_I32, nb.int64, nb.intp, nb.intp),
        *(nb.types.UniTuple(nb.float64, 5), nb.types.UniTuple(nb.float64, 4), nb.intp, nb.boolean),
        *(READ_F64, READ_F64, F64_2D, F64_2D, F64, F64),
    ),
    nogil=True,
)
def score_rows(
    time_ms: Int64,
    author: Int32,
    parent: Int32,
    rows: Int32,
    query_time: int,
    query_author: int,
    query_parent: int,
    weights: Weights,
    constants: Constants,
    max_chain_depth: int,
    logistic: bool,
    mentions: Float64,
    overlap: Float64,
    factors: Float64,
    shares: Float64,
    linear: Float64,
    scores: Float64,
) -> int:
    """See `reference.score_rows`."""
    decay_per_hour, window_ms, chain_decay, sibling_score = constants
    n = time_ms.shape[0]
    outside = 0
    for j in range(rows.shape[0]):
        row = np.int64(rows[j])
        outside |= row | (n - 1 - row)  # negative if either is
    if outside < 0:
        return ROW_OUT_OF_RANGE
    chain = np.empty(min(max_chain_depth, n), np.int32)
    chain = chain[: reply_path(parent, query_parent, chain)]
    chain_values = np.empty(chain.shape[0], np.float64)
    value = 1.0
    for step in range(chain.shape[0]):
        chain_values[step] = value
        value *= chain_decay

    explain = factors.shape[0] > 0
    factor = np.empty((5, BLOCK), np.float64)
    scratch = np.empty((3, BLOCK), np.float64)
    columns = np.empty((2, BLOCK), np.int32)
    for base in range(0, rows.shape[0], BLOCK):
        part = rows[base : base + BLOCK]
        m = part.shape[0]
        ago_ms, powers, total = scratch[0, :m], scratch[1, :m], scratch[2, :m]
        its_author, its_parent = columns[0, :m], columns[1, :m]
        for j in range(m):
            ago_ms[j] = float(query_time) - float(time_ms[part[j]])
        for j in range(m):
            its_author[j] = author[part[j]]
        for j in range(m):
            its_parent[j] = parent[part[j]]
        _reply_chain(
            its_parent, part, query_parent, chain, chain_values, sibling_score, factor[0, :m]
        )
        _user_continuity(ago_ms, its_author, query_author, window_ms, factor[1, :m])
        _time_decay(ago_ms, decay_per_hour, powers, factor[2, :m])
        for f, given in ((3, mentions), (4, overlap)):
            factor[f, :m] = given[base : base + m]
        total[:] = 0.0
        for f in range(5):
            for j in range(m):
                total[j] += factor[f, j] * weights[f]
        _link(total, logistic, scores[base : base + m])
        if explain:
            its_factors, its_shares = factors[base : base + m], shares[base : base + m]
            for j in range(m):
                for f in range(5):
                    its_factors[j, f] = factor[f, j]
                    its_shares[j, f] = factor[f, j] * weights[f]
            linear[base : base + m] = total
    return OK
