"""What a selection, a union and two rankings that take turns must give, by sets and sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence

from backscroll_scoring import Rules
from backscroll_scoring.layout import (
    BELOW_THRESHOLD,
    BY_CHAIN,
    BY_EXCHANGE,
    BY_FATE,
    BY_FLOOR,
    BY_MEMORY,
    BY_PIN,
    IN_CHAIN,
    IS_HIDDEN,
    IS_ORPHAN,
    IS_PINNED,
    IS_RECALLED,
    NOT_VISIBLE,
    OVER_LIMIT,
    WAS_RECALLED,
)


def select(
    scores: Sequence[float],
    order: Sequence[int],
    stages: Sequence[int],
    flags: Sequence[int],
    parties: Sequence[int],
    rules: Rules,
) -> tuple[list[int], list[int], list[int]]:
    """Who stays, best first, and the fate and stage of everybody."""
    everybody = range(len(flags))
    party = {
        j: {i for i in everybody if parties and parties[i] == parties[j] >= 0} for j in everybody
    }
    seen = {j for j in everybody if not flags[j] & (IS_RECALLED | IS_HIDDEN)}
    if rules.ranked_only:
        below, newest = set(everybody) - set(order), set[int]()
        strong = set(order)
    else:
        best = [j for j in order if j in seen][: rules.least]
        below = {j for j in everybody if scores[j] < rules.least_score} - set(best)
        below -= {j for j in everybody if stages[j] == rules.kept_stage}
        newest = set(sorted(seen)[-rules.floor :] if rules.floor else ())
        kept = {j for j in everybody if flags[j] & (IN_CHAIN | IS_PINNED)}
        strong = (set(everybody) - below) | newest | kept
        strong |= {i for j in strong for i in party[j]}
    out = set(everybody) - (strong & seen)
    broken = out | {j for j in everybody if flags[j] & IS_ORPHAN and not rules.ranked_only}
    parted = (
        set() if rules.ranked_only else {i for j in broken for i in party[j] | ({j} & broken)} - out
    )
    fate, stage = [OVER_LIMIT] * len(flags), [BY_FATE] * len(flags)
    for j in everybody:
        if j not in strong:
            fate[j] = BELOW_THRESHOLD
        if flags[j] & IS_HIDDEN:
            fate[j] = NOT_VISIBLE
        if flags[j] & IS_RECALLED:
            fate[j] = WAS_RECALLED
        if j in parted:
            fate[j], stage[j] = NOT_VISIBLE, BY_EXCHANGE
    left = [
        j
        for j in (*order, *sorted(set(everybody) - set(order), reverse=True))
        if j not in out | parted
    ]
    lifted = {
        j
        for j in left[rules.head :]
        if not rules.ranked_only and (flags[j] & IN_CHAIN or (rules.lifts_floor and j in newest))
    }
    place = {j: (left.index(j) >= rules.head and (2 - (j in lifted)), left.index(j)) for j in left}
    pinned = {j for j in left if flags[j] & IS_PINNED and not rules.ranked_only}
    chosen = sorted(left, key=lambda j: (j not in pinned, *place[j]))
    for j in chosen:
        if j in pinned:
            stage[j] = BY_PIN
        elif j in below and party[j]:
            stage[j] = BY_EXCHANGE
        elif j not in below and j not in lifted:
            stage[j] = stages[j]
        else:
            stage[j] = BY_CHAIN if flags[j] & IN_CHAIN else BY_FLOOR
    return chosen, fate, stage


def take_turns(
    first: Sequence[int], second: Sequence[int], pattern: Sequence[bool]
) -> list[tuple[int, int]]:
    """Places in the order in which two lists give them; and where the second list has it, if it gave it, else -1."""
    lists, taken = [list(first), list(second)], list[tuple[int, int]]()
    while any(lists):
        mine = pattern[len(taken) % len(pattern)] if all(lists) else bool(lists[0])
        place = lists[not mine].pop(0)
        if place not in [known for known, _ in taken]:
            taken.append((place, -1 if mine else second.index(place)))
    return taken


def scores_of_turns(
    scores: dict[int, tuple[float, int]],
    taken: Sequence[tuple[int, int]],
    linear: Sequence[float],
    link: tuple[float, float],
) -> dict[int, tuple[float, int]]:
    """Score and stage of each place; `scores`: by the first list."""
    by_far = {
        place: (1 / (1 + math.exp(-link[0] * linear[at] - link[1])), BY_MEMORY)
        for place, at in taken
        if at >= 0
    }
    return scores | by_far
