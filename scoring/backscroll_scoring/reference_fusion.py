"""The specification of `kernels_fusion` in plain Python; see `reference`."""

from __future__ import annotations

from itertools import cycle

from .arrays import Bool, Int32


def take_turns(first: Int32, second: Int32, pattern: Bool, rows: Int32, by_first: Bool) -> int:
    """Write the rows of two rankings, each once, until both have run out or `rows` is full; return how many.

    Parameters
    ----------
    first, second : int32[]
        Rows, best first.
    pattern : bool[p]
        Not empty, repeats: true takes the next row of `first`. A row that is in already costs no turn; the turns of a
        list that has run out are the other's.
    rows : int32[m], by_first : bool[m], written
        The rows in their new order, and whether the first list gave each its place.
    """
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
        taken.append(row)
    return len(taken)
