"""Compiled shingles and their comparison."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64
from .compile import F64, I32, I64, READ_BOOL, READ_I32, READ_I64, helper, kernel
from .intrinsics import bit_count
from .layout import HEAD
from .status import BAD_OFFSETS, NOT_KEPT, OK, ROW_OUT_OF_RANGE

HASH_BITS = 31  # so that no product of hashes overflows
HASHES = 2**HASH_BITS - 1
BASE = 0x61C88647
LAST_MARK = 4095
SIGNATURE_SHIFT, SIGNATURE_MASK = HASH_BITS - 6, 63  # a hash's first bits say which bit
LARGEST_SET = 2**31
FULL_WIDTH, FULL_WIDTH_END, FULL_WIDTH_SHIFT = 0xFF01, 0xFF5E, 0xFEE0
PUNCTUATION = (
    (0x00, 0x22), (0x27, 0x2A), (0x2C, 0x2C), (0x2E, 0x2E), (0x3A, 0x3B), (0x3F, 0x3F), (0x5B, 0x5D),
    (0x5F, 0x60), (0x7B, 0xA9), (0xAB, 0xB4), (0xB6, 0xB9), (0xBB, 0xBF), (0x2000, 0x206F),
    (0x3000, 0x303F), (0xFE00, 0xFE0F), (0xFF5F, 0xFF65),
)  # fmt: skip
"""First and last code point of what does not count, by plane order: white space, punctuation, variation selectors."""


ASCII_COUNTS = np.array(
    [not any(first <= code <= last for first, last in PUNCTUATION) for code in range(128)], np.int64
)
"""A table: whether the next character is a space, no processor guesses well."""


@helper
def _counts(code: int) -> int:
    if 0 <= code < 128:
        return ASCII_COUNTS[code]
    if 0x4E00 <= code <= 0x9FFF:  # nearly always
        return 1
    for first, last in PUNCTUATION:
        if first <= code <= last:
            return 0
    return 1


@helper
def _insert(table: Int32, at: int, h: int) -> int:
    """Put a hash into the run of ascending ones that holds its place; return how many it adds, 0 or 1."""
    while 0 <= table[at] < h:
        at += 1
    if table[at] == h:
        return 0
    while table[at] >= 0:
        h, table[at] = table[at], h
        at += 1
    table[at] = h
    return 1


@kernel(nb.intp(READ_I32, READ_I64, nb.intp, I64, I32, I64), nogil=True)
def shingles(
    codes: Int32, ends: Int64, size: int, out_offsets: Int64, out_ids: Int32, out_facts: Int64
) -> int:
    """Cut m case-folded texts into shingles; return how many ids were written.

    Sorted and told apart in one go: each hash goes to the place in a table that its first bits say, or behind it,
    in order (linear probing; the table has twice the room, and some behind).
    """
    longest = 0
    start = 0
    for t in range(ends.shape[0]):
        longest = max(longest, ends[t] - start)
        start = ends[t]
    kept = np.empty(longest, np.int64)  # wide, so that hashes are
    table = np.full(5 * longest + 2, -1, np.int32)
    total = 0
    start = 0
    out_offsets[0] = 0
    for t in range(ends.shape[0]):
        length = 0
        numbers = 0
        in_number = False
        asks = False
        for c in range(start, ends[t]):
            code = int(codes[c])
            if FULL_WIDTH <= code <= FULL_WIDTH_END:
                code -= FULL_WIDTH_SHIFT
            if 48 <= code <= 57:
                numbers = ((numbers + code) * BASE) & HASHES
                in_number = True
            elif in_number:
                numbers = ((numbers + 1) * BASE) & HASHES
                in_number = False
            asks = asks or code == 63
            kept[length] = code
            length += _counts(code)
        if in_number:
            numbers = ((numbers + 1) * BASE) & HASHES
        start = ends[t]
        out_facts[t] = 2 * numbers + (1 if asks else 0)
        wide = min(size, length)
        many = length - wide + 1 if length > 0 else 0
        shift = HASH_BITS
        while (1 << (HASH_BITS - shift)) < 2 * many:
            shift -= 1
        h = 0
        oldest = 1
        for i in range(wide):
            h = ((h + kept[i]) * BASE) & HASHES
            oldest = (oldest * BASE) & HASHES
        stop = total
        for i in range(many):
            stop += _insert(table, h >> shift, h)
            if i + wide < length:
                h = (h - kept[i] * oldest + kept[i + wide]) & HASHES
                h = (h * BASE) & HASHES
        at = 0
        while total < stop:
            out_ids[total] = table[at]
            total += 1 if table[at] >= 0 else 0
            table[at] = -1
            at += 1
        out_offsets[t + 1] = total
    return total


@helper
def _shared(ids: Int32, a: int, a_end: int, b: int, b_end: int) -> int:
    count = 0
    while a < a_end and b < b_end:
        x = ids[a]
        y = ids[b]
        count += x == y
        a += x <= y
        b += y <= x
    return count


@helper
def _place(values: Int32 | Int64, wanted: int) -> int:
    """Where the first of these ascending values is that is not below the wanted one."""
    low, high = 0, values.shape[0]
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _is_in(ids: Int32, wanted: int) -> bool:
    at = _place(ids, wanted)
    return at < ids.shape[0] and ids[at] == wanted


@helper
def _like_enough(size: int, threshold: float) -> tuple[int, int]:
    """The least and the greatest size of a set that may be like one of `size`: smaller / larger reaches the threshold.

    By the division that tells, so that no rounding comes in between.
    """
    least, most = int(threshold * size) + 2, int(min(size / threshold, LARGEST_SET)) - 2
    while least > 1 and (least > size or (least - 1) / size >= threshold):
        least -= 1
    most = max(most, size)
    while most < LARGEST_SET and size / (most + 1) >= threshold:
        most += 1
    return least, most


@helper
def _bad(offsets: Int64, n_ids: int) -> bool:
    bad = offsets[0] | (n_ids - offsets[-1])
    for i in range(offsets.shape[0] - 1):
        bad |= offsets[i + 1] - offsets[i]
    return bad < 0


@kernel(nb.intp(READ_I64, READ_I32, nb.intp, F64), nogil=True)
def jaccard(offsets: Int64, ids: Int32, place: int, out: Float64) -> int:
    """Write the Jaccard similarity of set ``place`` to each of the m sets into ``out``: shared / in either.

    OK, BAD_OFFSETS or ROW_OUT_OF_RANGE.
    """
    if _bad(offsets, ids.shape[0]):
        return BAD_OFFSETS
    if not 0 <= place < out.shape[0]:
        return ROW_OUT_OF_RANGE
    own = ids[offsets[place] : offsets[place + 1]]
    marks = np.zeros(LAST_MARK + 1, np.uint8)  # a filter in front of the search
    for i in range(own.shape[0]):
        marks[own[i] & LAST_MARK] = 1
    for i in range(out.shape[0]):
        common = 0
        for k in range(offsets[i], offsets[i + 1]):
            if marks[ids[k] & LAST_MARK] != 0 and _is_in(own, ids[k]):
                common += 1
        either = own.shape[0] + offsets[i + 1] - offsets[i] - common
        out[i] = common / either if common > 0 else 0.0
    return OK


@helper
def _collapse(
    starts: Int64,
    ends: Int64,
    ids: Int32,
    facts: Int64,
    author: Int32,
    order: Int32,
    threshold: float,
    across_authors: int,
    leaders: Int32,
) -> None:
    """Write for each place of ``order`` the first kept place it repeats, -1 if it is kept itself.

    Nearly all pairs fall by facts, sizes or signatures.

    A signature has a bit for the first bits of each id. Every bit it has and another has not is a member the other
    lacks, and to be alike enough a set may have only few such.
    """
    kept = np.empty(order.shape[0], np.int32)
    kept_facts, kept_sizes = np.empty(kept.shape[0], np.int64), np.empty(kept.shape[0], np.int64)
    signatures, n_kept = np.empty(kept.shape[0], np.uint64), 0
    near = np.empty_like(kept)
    for i in range(order.shape[0]):
        place = order[i]
        first, last = starts[place], ends[place]
        size, bits = last - first, np.uint64(0)
        for k in range(first, last):
            bits |= np.uint64(1) << np.uint64(ids[k] >> SIGNATURE_SHIFT & SIGNATURE_MASK)
        leaders[i] = -1
        least, most = _like_enough(size, threshold) if size > 0 else (1, 0)
        n_near = 0  # told without a branch: no processor guesses well which sets are of a size
        for k in range(n_kept):
            near[n_near] = k
            is_near = (kept_sizes[k] >= least) & (kept_sizes[k] <= most)
            n_near += is_near & (kept_facts[k] == facts[place])
        for k in near[:n_near]:
            small, large, other = min(size, kept_sizes[k]), max(size, kept_sizes[k]), kept[k]
            same = author[other] == author[place] and author[place] >= 0
            if not same and small < across_authors:
                continue
            # common / (small + large - common) >= threshold allows so many beyond the common ones;
            # one more, lest rounding decide
            apart = int(small - threshold / (1.0 + threshold) * (small + large)) + 1
            lacking = bits & ~signatures[k] if small == size else signatures[k] & ~bits
            if np.int64(bit_count(lacking)) > apart:
                continue
            common = _shared(ids, first, last, starts[other], ends[other])
            if common / (small + large - common) >= threshold:
                leaders[i] = other
                break
        if leaders[i] < 0:
            kept[n_kept], kept_facts[n_kept], kept_sizes[n_kept] = place, facts[place], size
            signatures[n_kept] = bits
            n_kept += 1


@helper
def _start(numbers: Int64, starts: Int32, number: int) -> int:
    """Where the set with this number begins, -1 where none is kept."""
    at = _place(numbers, number)
    return starts[at] if at < numbers.shape[0] and numbers[at] == number else -1


@kernel(
    nb.types.UniTuple(nb.intp, 2)(
        *(READ_I32, READ_I64, READ_I32, READ_I64, READ_I32, READ_I32, READ_I64, READ_BOOL),
        *(nb.intp, nb.float64, nb.intp, I64),
    ),
    nogil=True,
)
def without_repeats(
    words: Int32,
    numbers: Int64,
    starts: Int32,
    seq: Int64,
    author: Int32,
    rows: Int32,
    order: Int64,
    marks: Bool,
    maximum: int,
    threshold: float,
    across_authors: int,
    out: Int64,
) -> tuple[int, int]:
    """An order of candidates without the marked ones that repeat a better one. The sets are read where they lie.

    Looked at is the order up to the last marked one, with a `maximum` (-1: none) no further than could move up into it:
    no more can move up than there are marked.

    Parameters
    ----------
    words : int32[]
        Kept sets: of each `HEAD` words, and the ids.
    numbers, starts : int64[c], int32[c]
        Their numbers, ascending, and where in `words` each begins.
    seq, author : int64[n], int32[n]
        By row: the number of its set, and who said it.
    rows, order, marks : int32[m], int64[k], bool[k]
        Candidates; their places, best first; which of the order may go.
    out : int64[k], written
        The places that stay, behind them those that go, each in their order.

    Returns
    -------
    (int, int)
        OK and how many stay. NOT_KEPT where a set is not there, and how many of the order are looked at, which is
        written as it is. ROW_OUT_OF_RANGE: a place or row outside. BAD_OFFSETS: arrays of other lengths, or no set.
    """
    k, last, count = order.shape[0], 0, 0
    if marks.shape[0] != k or out.shape[0] != k or starts.shape[0] != numbers.shape[0]:
        return BAD_OFFSETS, 0
    for i in range(k):
        count += marks[i]
        last = i + 1 if marks[i] else last
    most = last if maximum < 0 else min(last, maximum + count)
    begins, ends, facts = (
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
    )
    by, leaders = np.empty(most, np.int32), np.empty(most, np.int32)
    for i in range(most):
        if not 0 <= order[i] < rows.shape[0]:
            return ROW_OUT_OF_RANGE, 0
        row = rows[order[i]]
        if not 0 <= row < min(seq.shape[0], author.shape[0]):
            return ROW_OUT_OF_RANGE, 0
        start = _start(numbers, starts, seq[row])
        if start < 0:
            for j in range(k):
                out[j] = order[j]
            return NOT_KEPT, most
        if start + HEAD > words.shape[0] or not 0 <= words[start] <= words.shape[0] - start - HEAD:
            return BAD_OFFSETS, 0
        by[i], begins[i], ends[i] = author[row], start + HEAD, start + HEAD + words[start]
        facts[i] = np.int64(words[start + 2]) << 32 | np.int64(words[start + 1]) & 0xFFFF_FFFF
    in_order = np.arange(most, dtype=np.int32)
    _collapse(begins, ends, words, facts, by, in_order, threshold, across_authors, leaders)
    stays, goes = 0, k
    for i in range(k):
        if i < most and marks[i] and leaders[i] >= 0:
            goes -= 1
            out[goes] = order[i]  # turned round below
        else:
            out[stays] = order[i]
            stays += 1
    for i in range((k - stays) // 2):
        out[stays + i], out[k - 1 - i] = out[k - 1 - i], out[stays + i]
    return OK, stays
