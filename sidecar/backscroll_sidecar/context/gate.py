"""Is a question about the last lines, or about long ago? It decides which of two rankings gets the places. Pure.

Three signs: how likely the message starts something new (the reply model's word), the pause before it, and how it
sounds (`strategies.long_ago`). A wrong call must cost little: who is unsure takes turns (decision 0007).
"""

from __future__ import annotations

from enum import Enum

from backscroll_scoring import interleave, turns
from backscroll_scoring.arrays import Int32
from backscroll_sidecar.strategies.long_ago import LongAgo

PAUSE_MS = 30 * 60_000
"""After half an hour nobody answers the last line any more: 99 % of the replies in busy channels come in 92 s."""
UNSURE, SURE = 0.7, 0.9
"""Probability of starting something from which the history takes turns, and takes most of them."""
SOUNDS_LONG_AGO = 0.65
"""Score of the text from which a question in the middle of a talk takes turns, too; never more than that."""


class Reach(Enum):
    """How much of the ranking the history gets, beside the conversation."""

    NEAR = "near"
    TURNS = "turns"
    MOSTLY_FAR = "mostly_far"
    FAR = "far"


def reach(starts_new: float, long_ago: LongAgo, *, answers: bool) -> Reach:
    """The reach of a question.

    Parameters
    ----------
    starts_new : 0 to 1
        Probability that the question answers nothing that was said here.
    answers : bool
        Whether a platform says that it answers a message: then the last lines are what it is about.
    """
    if answers:
        return Reach.NEAR
    if long_ago.pause_ms >= PAUSE_MS:
        return Reach.FAR
    if starts_new > SURE:
        return Reach.MOSTLY_FAR
    if starts_new > UNSURE or long_ago.score >= SOUNDS_LONG_AGO:
        return Reach.TURNS
    return Reach.NEAR


FAR_FIRST = 10
"""After a pause the history has this many places to itself, then three of four."""


def united(near: Int32, far: Int32, reach: Reach) -> Int32:
    """int32[]: the rows of both rankings, each once; cut anywhere it is what a smaller maximum gives."""
    match reach:
        case Reach.NEAR:
            return near
        case Reach.TURNS:
            return interleave(near, far, turns(1, 2))
        case Reach.MOSTLY_FAR:
            return interleave(near, far, turns(3, 10))
        case Reach.FAR:
            first = [True] * min(FAR_FIRST, len(far))
            pattern = turns(3, 4)
            more = (len(near) + len(far)) // len(pattern) + 1
            return interleave(far, near, (*first, *pattern * more))
