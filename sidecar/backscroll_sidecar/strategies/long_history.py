"""Ranks a long history by its candidates: what words, people, dates and meaning propose is scored, no other row.

The score is the one of the whole history (`memory.rank_memory`), of a history of the candidates and what stands beside
them. What it compares rows with - the best words, the best passage, the most and the least similar row - is among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import MEMORY_WEIGHTS, Few, LongHistory
from backscroll_sidecar.ports import Nearby

LONG_ROWS = 100_000
"""From here on candidates are scored, below it every row. Measured on shipped chats, in a busy process, microseconds of
every row and of candidates: by words 10,000 rows 75 and 190, 100,000 rows 450 and 380; with meaning 10,000
rows 105 and 450, 100,000 rows 880 and 800, a million 17,000 and more, and 4,000 to 5,500."""
BEST_ROWS = 384
"""How many of the candidates stay when they were scored exactly, but for their meaning."""
MEANING_ROWS, BESIDE_THESE = 192, 64
"""How many of the most similar rows are candidates; and of how many what stands up to two rows beside them, too."""
FOOT_ROWS = 96
"""So many of the least similar rows tell what is little."""
SAMPLE_ROWS, LOOKED_AT = 256, 16
"""So many rows tell how similar rows are on the whole, those that have no vector, too. They are some of so many times
as many at equal distances, since not every row counts."""
_WORDS, _PASSAGE, _WIDE, _, _DATE, _SPEAKER, _, _ASKER, _, _ = MEMORY_WEIGHTS
KIND_ROWS, KIND_BEST = 2_048, 96
"""Of the rows of each person and of each span of time that a question speaks of, so many newest are compared with it by
meaning, and so many are candidates."""
USUAL_BEST = 0.45
"""Of the sum of its terms' weights, what the best row of a question gets by BM25."""


class Proposed(NamedTuple):
    """A long history as a question sees it, and what it proposes.

    Attributes
    ----------
    candidates : uint64[w]
        Rows as bits.
    equals : int32[k]
        The next ones by words: meaning says which of them are candidates.
    kinds : some uint64[w]
        The rows of each person and of each span of time that the question speaks of.
    """

    history: LongHistory
    candidates: NDArray[np.uint64]
    equals: NDArray[np.int32]
    kinds: list[NDArray[np.uint64]]


def proposed(
    history: LongHistory,
    author: NDArray[np.int32],
    speakers: NDArray[np.int32],
    asker: int,
    about_asker: float,
    names_asker: NDArray[np.uint64] | None,
    spans: list[tuple[int, int, float]],
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
    return Proposed(history, *history.candidates(worth, share), [bits for bits, _ in worth])


def with_meaning(
    proposed: Proposed,
    eligible: NDArray[np.bool_],
    nearby: Nearby | None,
    more: NDArray[np.int32],
) -> tuple[Few, NDArray[np.float32] | None]:
    """The candidates, those by meaning and `more` rows; float32[m]: how similar they are, None where none is.

    A row that has no vector is as similar as rows usually are.
    """
    history, candidates, equals, kinds = proposed
    if nearby is None:
        return history.few(candidates, more), None
    near, least = nearby.nearest(MEANING_ROWS, eligible), nearby.least(FOOT_ROWS, eligible)
    of_kinds = [_most_similar(history.newest(bits, KIND_ROWS), nearby) for bits in kinds]
    of_kinds.append(_most_similar(equals, nearby))
    beside = (near[:BESIDE_THESE, None] + np.array([-2, -1, 1, 2], np.int32)).ravel()
    few = history.few(candidates, np.concatenate((near, beside, least, more, *of_kinds)))
    dense = np.full(len(few.rows), np.nan, np.float32)
    places = few.beside(1)
    dense[places] = nearby.cosines(few.rows[places])
    some = nearby.cosines(_sample(eligible))
    known = np.concatenate((some[~np.isnan(some)], dense[~np.isnan(dense)][:1]))
    if not len(known):
        return few, None
    dense[np.isnan(dense) & (few.chosen != 0)] = known.mean()
    return few, dense


def _sample(eligible: NDArray[np.bool_]) -> NDArray[np.int32]:
    """int32[<= `SAMPLE_ROWS`]: some of the rows that count, over the whole history."""
    looked_at = LOOKED_AT * SAMPLE_ROWS
    rows = np.arange(0, len(eligible), len(eligible) // looked_at + 1, dtype=np.int32)
    rows = rows[eligible[rows]]
    return rows[:: len(rows) // SAMPLE_ROWS + 1]


def _most_similar(rows: NDArray[np.int32], nearby: Nearby) -> NDArray[np.int32]:
    """int32[<= `KIND_BEST`]: those of the rows that are most similar to the question."""
    if len(rows) <= KIND_BEST:
        return rows
    values = np.nan_to_num(nearby.cosines(rows), nan=-2.0)
    return rows[np.argpartition(values, len(rows) - KIND_BEST)[-KIND_BEST:]]
