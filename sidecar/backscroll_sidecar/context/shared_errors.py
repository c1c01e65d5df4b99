"""Which messages say the same error text as a question: words in a row that tell that something went wrong. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import rows_of_pairs
from backscroll_scoring.links import NO_ROWS
from backscroll_sidecar.analyze.ends import QUESTION_CHARS, ends_of
from backscroll_sidecar.analyze.error_texts import tells_error
from backscroll_sidecar.analyze.keywords import as_compared, in_order
from backscroll_sidecar.channels import ChannelView

MOST_WORDS = 64
"""Of a longer question the last words are compared: a paste ends with what went wrong."""
MOST_TOGETHER = 16
"""Two words that more rows have are a topic."""
MOST_READ = 32
"""Rows whose texts are read, the likeliest ones: some 5 microseconds each."""
RARE = 4
"""A phrase of more rows is a saying: it does not tell which of them is meant."""
UNLIKELY = 2.0
"""How unlikely it is that a row has a phrase's words by chance: one in e to the power of this."""


class Run(NamedTuple):
    """Words of a question from `first` to `last` that follow each other in a row, too, and what they are worth."""

    worth: float
    first: int
    last: int


def rows_of_same_error(
    view: ChannelView, text: str, eligible: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """int32[k], ascending: rows with the rarest error text of a text. Some 100 us, where it tells of an error at all.

    Such a text is two or more words that stand next to each other, stop words between them the same, in at most `RARE`
    rows. It is worth the sum of ``log((n + 1) / df)`` of its words, and must be worth ``log(n + 1) + UNLIKELY``: that
    many rows have such words by chance, ``exp(-UNLIKELY)``, however long the history.

    Parameters
    ----------
    eligible : bool[n]
        Other rows count nowhere.
    """
    n = len(eligible)
    if not (n and tells_error(text)):
        return NO_ROWS
    said, words = in_order(text)
    words = words[-MOST_WORDS:]
    if len(words) < 2:
        return NO_ROWS
    numbers = view.keyword_ids.numbers([word for word, _, _ in words])
    columns = view.columns
    counts, pairs = rows_of_pairs(
        view.lexicon.postings, np.array(numbers, np.int32), columns.keyword_offsets, columns.keyword_ids,
        eligible.view(np.uint8), MOST_TOGETHER,
    )  # fmt: skip
    worth = [math.log((n + 1) / count) if count > 0 else 0.0 for count in counts.tolist()]
    least = math.log(n + 1) + UNLIKELY
    together = defaultdict[int, list[int]](list)
    for place, rows in enumerate(pairs):
        for row in rows.tolist():
            together[row].append(place)
    likely = [(_best(places, worth), row) for row, places in together.items()]
    likely = sorted((one for one in likely if one[0].worth >= least), reverse=True)[:MOST_READ]
    lines, held = dict[int, str](), dict[int, list[int]]()
    for _, row in likely:
        lines[row] = line = as_compared(ends_of(view.texts[row], QUESTION_CHARS))
        held[row] = [i for i in together[row] if said[words[i][1] : words[i + 1][2]] in line]
    best, found = 0.0, NO_ROWS
    for row, places in held.items():
        run = _best(places, worth)
        if run.worth < least:
            continue
        before = words[run.first - 1][2] if run.first else 0
        behind = words[run.last + 1][1] if run.last + 1 < len(words) else len(said)
        inner = slice(words[run.first][1], words[run.last][2])
        phrase = _grown(said, inner, slice(before, behind), lines[row])
        if run.worth > best and tells_error(phrase):
            having = [other for other, line in lines.items() if phrase in line]
            if 0 < len(having) <= RARE:
                best, found = run.worth, np.array(sorted(having), np.int32)
    return found


def _grown(said: str, inner: slice, outer: slice, line: str) -> str:
    """A phrase with the stop words around it, as far as the line has them, too."""
    begin, end = inner.start, inner.stop
    while begin > outer.start and said[begin - 1 : end] in line:
        begin -= 1
    while end < outer.stop and said[begin : end + 1] in line:
        end += 1
    return said[begin:end].strip()


def _best(places: Sequence[int], worth: Sequence[float]) -> Run:
    """The run of most worth, given the places, ascending, of words that are followed by the next one."""
    best, first = Run(0.0, 0, 0), 0
    for i, place in enumerate(places):
        if i == len(places) - 1 or places[i + 1] != place + 1:
            run = Run(sum(worth[places[first] : place + 2]), places[first], place + 1)
            best, first = max(best, run), i + 1
    return best
