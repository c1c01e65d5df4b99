"""Steps of a selection, compiled. See `selection` for what is computed."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Bool, Float64, Int32, Int64, UInt8
from .compile import (
    I64,
    READ_F64,
    READ_I32,
    READ_I64,
    READ_U8,
    U8,
    helper,
    kernel,
)
from .layout import (
    BELOW_THRESHOLD,
    BY_CHAIN,
    BY_EXCHANGE,
    BY_FATE,
    BY_FLOOR,
    BY_PIN,
    FLOOR,
    HEAD_COUNT,
    IN_CHAIN,
    IS_HIDDEN,
    IS_ORPHAN,
    IS_PINNED,
    IS_RECALLED,
    KEPT_STAGE,
    LEAST,
    LEAST_SCORE,
    LIFTS_FLOOR,
    NOT_VISIBLE,
    OVER_LIMIT,
    RANKED_ONLY,
    WAS_RECALLED,
)

READ_U32 = nb.types.Array(nb.uint32, 1, "C", readonly=True)
U32 = nb.types.Array(nb.uint32, 1, "C")


_UNSEEN = IS_RECALLED | IS_HIDDEN


@helper
def _mark_below(
    scores: Float64, order: Int64, stages: UInt8, flags: UInt8, rules: Float64, below: Bool
) -> None:
    """Mark who is below the threshold and not among the best."""
    for j in range(below.shape[0]):
        below[j] = scores[j] < rules[LEAST_SCORE] and stages[j] != rules[KEPT_STAGE]
    best = 0
    for k in range(order.shape[0]):
        if best == rules[LEAST]:
            break
        if not flags[order[k]] & _UNSEEN:
            below[order[k]] = False
            best += 1


@helper
def _mark_newest(flags: UInt8, floor: int, newest: Bool) -> None:
    """Mark the last so many of those that may be shown."""
    newest[:] = False
    left = floor
    for i in range(newest.shape[0]):
        j = newest.shape[0] - 1 - i
        if left > 0 and not flags[j] & _UNSEEN:
            newest[j] = True
            left -= 1


@helper
def _spread_in_parties(parties: Int32, marks: Bool) -> None:
    """Mark every member of a party of which one is marked."""
    marked = np.zeros(marks.shape[0], np.bool_)
    for j in range(parties.shape[0]):
        if parties[j] >= 0 and marks[j]:
            marked[parties[j]] = True
    for j in range(parties.shape[0]):
        if parties[j] >= 0 and marked[parties[j]]:
            marks[j] = True


@helper
def _leave_out(
    below: Bool, newest: Bool, flags: UInt8, parties: Int32, out: Bool, fate: UInt8, stage: UInt8
) -> None:
    """Leave out who is weak or not to be shown; of a party nobody, or all."""
    m = below.shape[0]
    strong = np.empty(m, np.bool_)
    for j in range(m):
        strong[j] = not below[j] or newest[j] or flags[j] & (IN_CHAIN | IS_PINNED) != 0
    _spread_in_parties(parties, strong)
    for j in range(m):
        out[j] = not strong[j] or flags[j] & _UNSEEN != 0
        fate[j], stage[j] = OVER_LIMIT, BY_FATE
        if flags[j] & IS_RECALLED:
            fate[j] = WAS_RECALLED
        elif flags[j] & IS_HIDDEN:
            fate[j] = NOT_VISIBLE
        elif not strong[j]:
            fate[j] = BELOW_THRESHOLD
    if parties.shape[0] == 0:
        return
    broken = np.empty(m, np.bool_)
    for j in range(m):
        broken[j] = out[j] or flags[j] & IS_ORPHAN != 0
    _spread_in_parties(parties, broken)
    for j in range(m):
        if broken[j] and not out[j]:
            out[j], fate[j], stage[j] = True, NOT_VISIBLE, BY_EXCHANGE


@helper
def _line_up(
    order: Int64, flags: UInt8, newest: Bool, rules: Float64, out: Bool, chosen: Int64, lifted: Bool
) -> int:
    """Write who is left, best first, and mark who was lifted."""
    m = out.shape[0]
    line, n = np.empty(m, np.int64), 0
    there = np.zeros(m, np.bool_)
    for k in range(order.shape[0]):
        there[order[k]] = True
        if not out[order[k]]:
            line[n] = order[k]
            n += 1
    for i in range(m):  # who is in no order comes last, the newest first
        j = m - 1 - i
        if not there[j] and not out[j]:
            line[n] = j
            n += 1
    for k in range(n):
        j = line[k]
        is_lifted = flags[j] & IN_CHAIN != 0 or (rules[LIFTS_FLOOR] != 0 and newest[j])
        lifted[j] = k >= rules[HEAD_COUNT] and is_lifted
    count = 0
    for lap in range(6):  # pins first; in each half the head, what is lifted, the rest
        for k in range(n):
            j = line[k]
            group = 0 if k < rules[HEAD_COUNT] else 1 if lifted[j] else 2
            if group == lap % 3 and (flags[j] & IS_PINNED != 0) == (lap < 3):
                chosen[count] = j
                count += 1
    return count


@kernel(nb.intp(READ_F64, READ_I64, READ_U8, READ_U8, READ_I32, READ_F64, I64, U8, U8))
def select(
    scores: Float64,
    order: Int64,
    stages: UInt8,
    flags: UInt8,
    parties: Int32,
    rules: Float64,
    chosen: Int64,
    fate: UInt8,
    stage: UInt8,
) -> int:
    """See `selection.select`."""
    m = flags.shape[0]
    if rules[RANKED_ONLY]:
        fate[:], stage[:] = BELOW_THRESHOLD, BY_FATE
        count = 0
        for j in range(m):
            if flags[j] & _UNSEEN:
                fate[j] = WAS_RECALLED if flags[j] & IS_RECALLED else NOT_VISIBLE
        for k in range(order.shape[0]):
            j = order[k]
            if not flags[j] & _UNSEEN:
                fate[j], stage[j] = OVER_LIMIT, stages[j]
                chosen[count] = j
                count += 1
        return count
    below, newest, out = np.empty(m, np.bool_), np.empty(m, np.bool_), np.empty(m, np.bool_)
    lifted = np.zeros(m, np.bool_)
    _mark_below(scores, order, stages, flags, rules, below)
    _mark_newest(flags, int(rules[FLOOR]), newest)
    _leave_out(below, newest, flags, parties, out, fate, stage)
    count = _line_up(order, flags, newest, rules, out, chosen, lifted)
    for k in range(count):
        j = chosen[k]
        if flags[j] & IS_PINNED:
            stage[j] = BY_PIN
        elif below[j] and parties.shape[0] > 0 and parties[j] >= 0:
            stage[j] = BY_EXCHANGE
        elif not below[j] and not lifted[j]:
            stage[j] = stages[j]
        else:
            stage[j] = BY_CHAIN if flags[j] & IN_CHAIN else BY_FLOOR
    return count
