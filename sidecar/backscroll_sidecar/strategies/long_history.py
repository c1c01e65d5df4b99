"""Ranks a long history by its candidates: what words, people, dates and meaning propose is scored exactly, no other row.

The score is the one of the whole history (`memory.rank_memory`), of a history of the candidates and what stands beside
them. What it compares rows with - the best words, the best passage, the most and the least similar row - is among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import MEMORY_WEIGHTS, Few, LongHistory

LONG_ROWS = 50_000
"""From here on candidates are scored, below it every row. Measured on shipped chats, words and meaning, microseconds:
XXX."""
MEANING_ROWS = 256
"""How many of the most similar rows are candidates."""
FOOT_ROWS, SAMPLE_ROWS = 16, 256
"""Of the least similar rows, and of rows at equal distances, so many tell what is little, and usual."""
_WORDS, _PASSAGE, _WIDE, _, _DATE, _SPEAKER, _, _ASKER, _, _ = MEMORY_WEIGHTS
USUAL_BEST = 0.45
"""Of the sum of its terms' weights, what the best row of a question gets by BM25."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearby:
    """Who can tell how similar single rows are to a question.

    Attributes
    ----------
    nearest : gives rows, int32[k]
        About so many of those that count (bool[n]) most similar to the question, and some of the least similar ones.
    cosines : gives float32[k]
        Of these rows, exactly; NaN without a vector.
    """

    nearest: Callable[[int, int, NDArray[np.bool_]], NDArray[np.int32]]
    cosines: Callable[[NDArray[np.int32]], NDArray[np.float32]]


def proposed(
    history: LongHistory,
    author: NDArray[np.int32],
    speakers: NDArray[np.int32],
    asker: int,
    names_asker: NDArray[np.uint64] | None,
    spans: list[tuple[int, int, float]],
) -> NDArray[np.uint64]:
    """uint64[w]: rows by the question's words, by people it names, by the asker if it is about the asker, of its dates.

    `spans`: the first row, the end and the value of each.
    """
    worth = [(history.by(author, user), _SPEAKER) for user in speakers.tolist()]
    if asker >= 0:
        own = history.by(author, asker)
        worth.append((own if names_asker is None else own | names_asker, _ASKER))
    worth += [(history.between(first, end), _DATE * value) for first, end, value in spans]
    best = float(history.idf.sum()) * USUAL_BEST / 10
    share = (_WORDS + _PASSAGE + _WIDE) * best / (1 + best)
    return history.candidates(worth, share)


def with_meaning(
    history: LongHistory,
    candidates: NDArray[np.uint64],
    eligible: NDArray[np.bool_],
    nearby: Nearby | None,
    more: NDArray[np.int32],
) -> tuple[Few, NDArray[np.float32] | None]:
    """The candidates, those by meaning and `more` rows; float32[m]: how similar they are, None where none is.

    A row that has no vector is as similar as rows usually are.
    """
    if nearby is None:
        return history.few(candidates, more), None
    near = nearby.nearest(MEANING_ROWS, FOOT_ROWS, eligible)
    sample = np.linspace(0, history.count - 1, SAMPLE_ROWS).astype(np.int32)
    few = history.few(candidates, np.concatenate((near, sample, more)))
    dense = np.full(len(few.rows), np.nan, np.float32)
    places = few.beside(1)
    dense[places] = nearby.cosines(few.rows[places])
    known = dense[few.places(sample[eligible[sample]])]
    known = known[~np.isnan(known)]
    if not len(known) and np.isnan(dense).all():
        return few, None
    usual = np.float32(known.mean() if len(known) else np.nanmean(dense))
    lacking = (few.chosen != 0) & np.isnan(dense)
    dense[lacking] = usual
    return few, dense
