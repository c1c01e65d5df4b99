"""The words of one channel and where they stand: an inverted index over keywords and character grams, in memory.

It is a cache: derived from the stored keywords and texts, never stored (law 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Postings, PostingsView, in_use
from backscroll_sidecar.scripts import grams, is_gram

UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class LexiconView:
    """The index as a build reads it. Rows behind the view's count may show and are passed over.

    `numbers` are the ids of terms that begin with a digit.
    """

    postings: PostingsView
    ids: Mapping[str, int]
    numbers: Sequence[int]

    def term_ids(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The ids of the words the channel has, each once."""
        end = len(self.postings.tail)  # terms that came later may lie behind it
        known = {self.ids.get(word, UNKNOWN): None for word in words}
        return np.array([number for number in known if 0 <= number < end], np.int32)

    def ids_in_use(self, words: Iterable[str], eligible: NDArray[np.uint8]) -> dict[str, int]:
        """The ids of the words that a row of `eligible` (uint8[n]) has.

        Ids stay when the last row with a word is edited away, and come before a view knows their rows; a loaded
        channel has neither (law 2).
        """
        end = len(self.postings.tail)
        found = [(word, self.ids.get(word, UNKNOWN)) for word in words]
        found = [(word, number) for word, number in found if 0 <= number < end]
        terms = np.array([number for _, number in found], np.int32)
        used = in_use(self.postings, terms, eligible).tolist()
        return {word: number for (word, number), has in zip(found, used, strict=True) if has}


class Lexicon:
    """Builds and keeps the index of one channel. Owned by the event loop."""

    __slots__ = ("_ids", "_numbers", "_postings")

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._numbers: list[int] = []
        self._postings = Postings()

    @property
    def nbytes(self) -> int:
        """Memory of the postings, and some 100 bytes a term."""
        return self._postings.nbytes + 100 * len(self._ids)

    def view(self) -> LexiconView:
        """What is there now."""
        return LexiconView(self._postings.view(), self._ids, self._numbers)

    def append(self, first: int, rows: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Add the rows from `first` on, given as text and keywords."""
        self._postings.append(first, [self._terms(text, words) for text, words in rows])

    def replace(self, rows: Mapping[int, tuple[str, Sequence[str]]]) -> None:
        """Other texts, given as text and keywords, in the place of those that were there."""
        self._postings.remove(np.array(list(rows), np.int32))
        for row, (text, words) in rows.items():
            self._postings.append(row, [self._terms(text, words)])

    def renumber(self, new_rows: NDArray[np.int32]) -> None:
        """Row r is now ``new_rows[r]``; see `Postings.renumber`."""
        self._postings.renumber(new_rows)

    def _terms(self, text: str, words: Sequence[str]) -> list[int]:
        ids = self._ids
        found = dict.fromkeys(words)
        if not text.isascii():
            found = dict.fromkeys(grams(text)) | {w: None for w in words if not is_gram(w)}
        out = []
        for word in found:
            number = ids.get(word)
            if number is None:
                number = ids[word] = len(ids)
                if word[0].isdigit():
                    self._numbers.append(number)
            out.append(number)
        return out
