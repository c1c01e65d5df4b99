"""The specification of `kernels_fusion` in plain Python; see `reference`."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from backscroll_scoring.arrays import Bool, Int32, UInt32
from backscroll_scoring.layout import BY_MEANING, BY_NEITHER, BY_WORDS


def take_turns(
    first: Int32, second: Int32, pattern: Bool, rows: Int32, by_first: Bool, places: Int32
) -> int:
    """Write the rows of two rankings, each once, until both have run out or `rows` is full; return how many.

    Parameters
    ----------
    first, second : int32[]
        Rows, best first.
    pattern : bool[p]
        Not empty, repeats: true takes the next row of `first`. A row that is in already costs no turn; the turns of a
        list that has run out are the other's.
    rows : int32[m], by_first : bool[m], places : int32[m], written
        The rows in their new order, whether the first list gave each its place, and where in its list it stands.
    """
    lists = {True: first.tolist(), False: second.tolist()}
    left = {True: first.tolist()[::-1], False: second.tolist()[::-1]}
    taken: list[int] = []
    for turn in cycle(pattern.tolist()):
        while True:
            mine = turn if left[turn] else not turn
            if not left[mine] or len(taken) == len(rows):
                return len(taken)
            row = left[mine].pop()
            if row not in taken:
                break
        rows[len(taken)], by_first[len(taken)] = row, mine
        places[len(taken)] = lists[mine].index(row)
        taken.append(row)
    return len(taken)


def add_marked(
    rows: Int32,
    marks: UInt32,
    flags: Bool,
    more: Int32,
    more_marks: UInt32,
    flag: bool,
    out: Int32,
    out_marks: UInt32,
    out_flags: Bool,
) -> int:
    """Write the rows of two ascending lists, ascending, each once; return how many.

    Parameters
    ----------
    marks : uint32[m], more_marks : uint32[k]
        Bits of each list's rows; those of both have both.
    flags : bool[m]
        Of the first list's rows; the others have `flag`.
    out : int32[>= m + k], out_marks : uint32[>= m + k], out_flags : bool[>= m + k], written
    """
    bits = dict(zip(rows.tolist(), marks.tolist(), strict=True))
    own = dict(zip(rows.tolist(), flags.tolist(), strict=True))
    for row, mark in zip(more.tolist(), more_marks.tolist(), strict=True):
        bits[row] = bits.get(row, 0) | mark
    out[: len(bits)] = sorted(bits)
    out_marks[: len(bits)] = [bits[row] for row in sorted(bits)]
    out_flags[: len(bits)] = [own.get(row, flag) for row in sorted(bits)]
    return len(bits)


def add_recalled(
    rows: Int32,
    marks: UInt32,
    flags: Bool,
    more: Int32,
    by_words: Bool,
    by_meaning: Bool,
    first: int,
    out: Int32,
    out_marks: UInt32,
    out_flags: Bool,
    places: Int32,
) -> tuple[int, int]:
    """Write ascending rows and those of a ranking, ascending, each once; return how many, and the ranking's sources.

    Parameters
    ----------
    marks, flags : uint32[m], bool[m]
        Bit i of a row's mark: source i proposed it. Rows of the ranking alone have the flag.
    more : int32[k]
        The ranking, each row once.
    by_words, by_meaning : bool[k]
        Which of three sources a row of the ranking comes from: words, meaning, both, or, by neither, the third.
    first : the number of the first source of the ranking; those without rows have no number.
    out, out_marks, out_flags : [>= m + k], written
    places : int32[k], written
        Where the rows of the ranking are in `out`.
    """
    kinds = [
        (BY_WORDS * bool(words) + BY_MEANING * bool(meaning)) or BY_NEITHER
        for words, meaning in zip(by_words, by_meaning, strict=True)
    ]
    sources = 0
    for kind in kinds:
        sources |= kind
    present = [kind for kind in (BY_WORDS, BY_MEANING, BY_NEITHER) if kind & sources]
    added = np.array(
        [sum(1 << first + i for i, one in enumerate(present) if one & kind) for kind in kinds],
        np.uint32,
    )
    order = np.argsort(more)
    count = add_marked(
        rows, marks, flags, more[order], added[order], True, out, out_marks, out_flags
    )
    places[:] = np.searchsorted(out[:count], more)
    return count, sources
