"""An inverted index of one channel: its keywords and character grams, in memory.

It is a cache: derived from the stored keywords and texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Packed, Postings, PostingsView, StringsView, StringTable, in_use
from backscroll_sidecar.channels.batch import Block, Terms
from backscroll_sidecar.channels.columns import Column

UNKNOWN = -1


class Words(Mapping[str, int]):
    """The numbers of a channel's words. To look up several at once costs about what one does."""

    __slots__ = ("_strings",)

    def __init__(self, strings: StringsView) -> None:
        self._strings = strings

    def __len__(self) -> int:
        return self._strings.count

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings.packed())

    def __getitem__(self, word: str) -> int:
        number = self._strings.find(word)
        if number == UNKNOWN:
            raise KeyError(word)
        return number

    def word(self, number: int) -> str:
        """The word with this number."""
        return self._strings[number]

    def packed(self) -> Packed:
        """All words in the order of their numbers."""
        return self._strings.packed()

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The number of each word, `UNKNOWN` for those the channel does not have."""
        return self._strings.numbers(words).tolist() if words else []

    def looked_up(self, words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """int32[k] twice: the number of each word, `UNKNOWN` for those the channel does not have; the same ascending,
        each of those with a negative number of its own.
        """
        return self._strings.looked_up(words)


@dataclass(frozen=True, slots=True, eq=False)
class LexiconView:
    """The index as a build reads it. Rows behind the view's count may show and are passed over."""

    postings: PostingsView
    ids: Words
    starts_with_digit: NDArray[np.bool_]

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The ids of terms that begin with a digit."""
        return np.flatnonzero(self.starts_with_digit).astype(np.int32)

    def term_ids(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The ids of the words the channel has, each once."""
        found = self.ids.numbers([*dict.fromkeys(words)])
        return np.array([number for number in found if number != UNKNOWN], np.int32)

    def in_use(self, ids: NDArray[np.int32], eligible: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """bool[k]: which of these ids of words, some `UNKNOWN`, a row of `eligible` (uint8[n]) has.

        Ids stay when the last row with a word is edited away, and come before a view knows their rows; a loaded
        channel has neither.
        """
        return in_use(self.postings, ids, eligible)


class Lexicon:
    """Numbers the words of one channel and keeps the index of its rows. Owned by the event loop."""

    __slots__ = ("_digits", "_postings", "_words")

    def __init__(self) -> None:
        self._words = StringTable()
        self._digits = Column(np.bool_)
        self._postings = Postings()

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        return self._words.nbytes + self._digits.nbytes + self._postings.nbytes

    def view(self) -> LexiconView:
        """The index as of now."""
        return LexiconView(self._postings.view(), Words(self._words.view()), self._digits.view())

    def trim(self) -> None:
        """Give spare capacity back."""
        self._words.trim()
        self._digits = self._digits.copy()
        self._postings.trim(len(self._words))

    def reserve(self, words: Sequence[Packed]) -> None:
        """Make room for these words as if all were new. `trim` gives back what was not needed."""
        self._words.reserve(words)

    def number(
        self, words: Packed, starts_with_digit: NDArray[np.bool_]
    ) -> NDArray[np.int32] | None:
        """int32[k]: the numbers of these words, all different; new ones get the next.

        None: they are the first, and the places they have are their numbers.
        """
        before = len(self._words)
        numbers = self._words.add(words, distinct=True)
        if not before and not len(self._postings):
            self._digits.extend(starts_with_digit)
            return None
        if len(self._words) > before:
            is_new = numbers >= before
            self._digits.extend(
                starts_with_digit[is_new]
            )  # words are distinct: in the order of their numbers
        return numbers

    def append(self, rows: NDArray[np.int32], terms: Terms) -> None:
        """Add these rows, given by the numbers of their terms."""
        if not isinstance(terms, Block):
            self._postings.reserve_terms(len(self._words))
            self._postings.append(rows, terms.words, terms.rows)
        elif terms.words is None:
            self._postings.begin(rows, terms.counts, terms.block)
        else:
            self._postings.reserve_terms(len(self._words))
            self._postings.append_block(rows, terms.words, terms.counts, terms.block)

    def replace(self, rows: NDArray[np.int32], terms: Terms) -> None:
        """Replace the terms of these rows."""
        self._postings.remove(rows)
        self.append(rows, terms)

    def renumber(self, new_rows: NDArray[np.int32]) -> None:
        """Row r is now ``new_rows[r]``; see `Postings.renumber`."""
        self._postings.renumber(new_rows)
