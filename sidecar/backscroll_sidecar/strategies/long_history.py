"""Ranks a long history by its candidates: what words, people, dates and meaning propose is scored, no other row.

The score is the one of the whole history (`memory.rank_memory`), of a history of the candidates and what stands beside
them. What it compares rows with - the best words, the best passage, the most and the least similar row - is among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import MEMORY_WEIGHTS, Few, LongHistory
from backscroll_sidecar.domain import MessageType
from backscroll_sidecar.ports import Nearby

QUESTION = np.uint8(MessageType.QUESTION)
"""A plain integer: comparing a column with an enum member takes ten times as long."""

LONG_ROWS = 100_000
"""From here on candidates are scored, below it every row. Microseconds of every row and of candidates, on shipped
chats, by words: 10,000 rows 90 and 600, 100,000 rows 550 and 740. With meaning: 10,000 rows 140 and 1,300, 100,000
rows 850 and 1,600, a million 17,000 and 2,100."""
WORDS_ROWS, BEST_ROWS = 1_024, 384
"""How many candidates are scored exactly: by words alone, and by words and meaning."""
MEANING_ROWS = 96
"""How many of the most similar rows are candidates."""
BESIDE_THESE = 64
"""What stands up to two rows beside so many of the best by words, and by meaning, is a candidate, too: an answer need
not share a word with what it answers."""
FOOT_ROWS = 16
"""So many of the least similar rows tell what is little."""
SAMPLE_ROWS, LOOKED_AT = 256, 16
"""So many rows tell how similar rows are on the whole, those that have no vector, too. They are some of so many times
as many at equal distances, since not every row counts."""
_WORDS, _PASSAGE, _WIDE, _MEANING, _DATE, _SPEAKER, _QUESTION, _ASKER, _TIME, _NUMBER = (
    MEMORY_WEIGHTS
)
USUAL_BEST = 0.45
"""Of the sum of its terms' weights, what the best row of a question gets by BM25."""
_BESIDE = np.array([-2, -1, 1, 2], np.int32)


class Proposed(NamedTuple):
    """A long history as a question sees it, and the rows that may be among the best.

    Attributes
    ----------
    rows : int32[k]
        Ascending.
    points : float32[k]
        What each may be worth, without its meaning, roughly.
    """

    history: LongHistory
    rows: NDArray[np.int32]
    points: NDArray[np.float32]


def proposed(
    history: LongHistory,
    author: NDArray[np.int32],
    message_type: NDArray[np.uint8],
    speakers: NDArray[np.int32],
    asker: int,
    about_asker: float,
    names_asker: NDArray[np.uint64] | None,
    spans: list[tuple[int, int, float]],
    has_time: NDArray[np.uint64] | None,
    has_number: NDArray[np.uint64] | None,
) -> Proposed:
    """Rows by the question's words, by people it names, by the asker if it is about the asker, of its dates.

    `spans`: the first row, the end and the value of each.
    """
    worth = [(history.by(author, user), _SPEAKER) for user in speakers.tolist()]
    if about_asker > 0.0:
        own = names_asker if asker < 0 else history.by(author, asker)
        if own is not None:
            worth.append((own if names_asker is None else own | names_asker, _ASKER * about_asker))
    worth += [(history.between(first, end), _DATE * value) for first, end, value in spans]
    best = float(history.idf.sum()) * USUAL_BEST / 10
    share = (_WORDS + _PASSAGE + _WIDE) * best / (1 + best)
    rows, points = history.candidates(worth, share)
    points += _QUESTION * (message_type[rows] == QUESTION)
    for bits, weight in ((has_time, _TIME), (has_number, _NUMBER)):
        if bits is not None:
            points += weight * history.marks(bits, rows)
    return Proposed(history, rows, points)


def by_words(proposed: Proposed, more: NDArray[np.int32]) -> Few:
    """The best candidates by what they are worth without meaning, what stands beside the very best, and `more` rows."""
    best = proposed.rows[_best(proposed.points, WORDS_ROWS)]
    return proposed.history.few(np.concatenate((best, _beside_best(proposed), more)))


def with_meaning(
    proposed: Proposed,
    eligible: NDArray[np.bool_],
    nearby: Nearby,
    more: NDArray[np.int32],
) -> tuple[Few, NDArray[np.float32] | None]:
    """The best candidates, those by meaning and `more` rows; float32[m]: how similar they are, None where none is.

    A row that has no vector is as similar as rows usually are.
    """
    history, rows, points = proposed
    near, least = nearby.nearest(MEANING_ROWS, eligible), nearby.least(FOOT_ROWS, eligible)
    # Walking to the least similar rows may miss them: the least of all that are looked at is what is little.
    looked_at = rows, least, near, _sample(eligible)
    similar = [nearby.cosines(some) for some in looked_at]
    every = np.concatenate(similar)
    if np.isnan(every).all():
        return by_words(proposed, more), None
    low, high = np.fmin.reduce(every, initial=1.0), np.fmax.reduce(every, initial=-1.0)
    least = np.concatenate(looked_at)[every == low]
    some = similar[-1][~np.isnan(similar[-1])]
    of_rows = np.nan_to_num(similar[0], nan=some.mean() if len(some) else low)
    points = points + np.float32(_MEANING / max(high - low, 1e-6)) * of_rows
    best = rows[_best(points, BEST_ROWS)]
    beside = (near[:BESIDE_THESE, None] + _BESIDE).ravel()
    few = history.few(np.concatenate((best, _beside_best(proposed), near, beside, least, more)))
    dense = np.full(len(few.rows), np.nan, np.float32)
    places = few.beside(1)
    dense[places] = nearby.cosines(few.rows[places])
    known = some if len(some) else dense[~np.isnan(dense)]
    dense[np.isnan(dense) & (few.chosen != 0)] = known.mean()
    return few, dense


def _best(points: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """int64[<= count]: the places of the highest, in any order."""
    if len(points) <= count:
        return np.arange(len(points))
    return np.argpartition(points, len(points) - count)[-count:]


def _beside_best(proposed: Proposed) -> NDArray[np.int32]:
    """int32[]: what stands up to two rows beside the best by words."""
    best = proposed.rows[_best(proposed.points, BESIDE_THESE)]
    return (best[:, None] + _BESIDE).ravel()


def _sample(eligible: NDArray[np.bool_]) -> NDArray[np.int32]:
    """int32[<= `SAMPLE_ROWS`]: some of the rows that count, over the whole history."""
    looked_at = LOOKED_AT * SAMPLE_ROWS
    rows = np.arange(0, len(eligible), len(eligible) // looked_at + 1, dtype=np.int32)
    rows = rows[eligible[rows]]
    return rows[:: len(rows) // SAMPLE_ROWS + 1]
