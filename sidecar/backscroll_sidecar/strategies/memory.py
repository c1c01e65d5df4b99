"""Searches the whole history of a channel for what answers a question. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import (
    MAX_QUERY_TERMS,
    MEMORY_FACTORS,
    Few,
    LongHistory,
    Matches,
    MemoryCues,
    PostingsView,
    Worth,
    bm25,
    bound_bm25,
    count_rows,
    rows_with,
    score_memory,
    top_order,
)
from backscroll_sidecar.analyze import (
    NUMBER_WORDS,
    PLAIN_DATES,
    TIME_WORDS,
    DateStyle,
    asks_how_many,
    asks_when,
    date_spans,
    identifiers,
    is_stop_word,
    keywords,
    speaks_of_nobody_else,
    speaks_of_self,
)
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.ports import Nearby
from backscroll_sidecar.scripts import is_unspaced
from backscroll_sidecar.strategies import long_history
from backscroll_sidecar.strategies.long_history import QUESTION, Proposed
from backscroll_sidecar.strategies.names import Named, named_in
from backscroll_sidecar.strategies.talk import NO_TALK, TalkLines

UNSAID_ASKER, UNSAID_ASKER_ELSEWHERE = 0.5, 0.2
"""How surely a question that speaks of no person at all is about its asker; and one whose words others said."""
CHARACTER_BOOST = 0.5
"""A word that no row has is searched by its characters, each at half its weight."""

IDENTIFIER_BOOST, RARE_ROWS = 3.0, 4
"""What an identifier counts for that at most so many rows have."""
TALK = "talk"
"""The factor of words that only the talk has."""
TALK_BOOST = 0.3
"""What a word of the talk weighs beside one of the question, for the surest of its lines. (madial_zh_dev and
madial_en_dev in the middle of their talks, the history alone: recall@10 .753 and .782; with .5 .745 and .755; words of
the talk without its meaning .602 and .629; neither .591 and .598.)"""
MOST_TALK_TERMS = 8
"""So many words of a talk are sought, those that tell most: by the surest line each stands in and how rare it is. With
all of them madial finds .708 and .715, with eight .715 and .725, at a third of the time in 10,000 rows."""
MOST_COUNTED = 1_024
"""A word of the talk that so many rows have tells as little as one that more have: who counts them stops there."""
MOST_TALK_CHARS = 200
"""Of each line of the talk, what is embedded: bots answer at length."""
NO_CUES = MemoryCues()
_ONES = np.ones(MAX_QUERY_TERMS, np.float32)

Bools = NDArray[np.bool_]


class MemoryQuestion(msgspec.Struct, frozen=True):
    """A question to the history.

    Attributes
    ----------
    text : trimmed.
    asker_id, asker_name : empty when unknown.
    keywords, numbers : of the text and their numbers in the channel, where they are known already.
    calls_bot : whether it called the bot by name.
    dates : how the dates in it are read.
    talk : the lines it goes on from. They are part of what is sought, and no answer to it.
    """

    text: str
    asked_at_ms: int
    asker_id: str = ""
    asker_name: str = ""
    keywords: tuple[str, ...] | None = None
    numbers: Sequence[int] | None = None
    calls_bot: bool = False
    dates: DateStyle = PLAIN_DATES
    talk: TalkLines = NO_TALK


@dataclass(eq=False)
class Sought:
    """A question as one channel understands it.

    Attributes
    ----------
    named : Named
        The people it names, and its text without their names, which is embedded.
    terms : int32[k], boosts : float32[k]
        The words of that text, -1 for one the channel does not have, and their weights.
    eligible : uint8[n]
        Rows that count.
    postings, offsets : the index, and the word count of each row.
    view : the channel.
    is_long : whether candidates are looked for, and no other row is scored.
    talk_terms : int
        So many of the terms, the last ones, are words of the talk alone.
    said : tuple of str
        The lines of the talk, newest first, cut.
    """

    question: MemoryQuestion
    named: Named
    terms: NDArray[np.int32]
    boosts: NDArray[np.float32]
    eligible: NDArray[np.uint8]
    postings: PostingsView
    offsets: NDArray[np.int64]
    view: ChannelView
    is_long: bool
    talk_terms: int = 0
    said: tuple[str, ...] = ()
    _matches: Matches | None = field(default=None, init=False, repr=False)
    _proposed: Proposed | None = field(default=None, init=False, repr=False)
    _about_asker: float | None = field(default=None, init=False, repr=False)

    def meant(self, text: str) -> str:
        """What is embedded: the question without the names in it, `text` where nothing is left, and the talk.

        The question comes first: of a long text an embedder reads the beginning.
        """
        return "\n".join((self.named.rest.strip() or text, *self.said))

    @property
    def about_asker(self) -> float:
        """0 to 1: how surely the question is about its asker. Computed on first access."""
        if self._about_asker is None:
            self._about_asker = _about_asker(self.view, self)
        return self._about_asker

    @property
    def matches(self) -> Matches:
        """How the rows match the words. Computed on first access.

        No `cached_property`: in Python 3.11 its lock is shared by all instances, so the loop would wait for threads.
        """
        if self._matches is None:
            self._matches = self._match()
        return self._matches

    def _match(self) -> Matches:
        return bm25(self.postings, self.offsets, self.terms, self.boosts, self.eligible)

    def without_words(self) -> Sought:
        """The same question without words to search for."""
        return replace(self, terms=self.terms[:0], boosts=self.boosts[:0], talk_terms=0)

    def best_before(self, row: int, worth: Worth) -> tuple[float, float]:
        """The best BM25 before `row` and from it on; upper bounds where the exact values are not `worth` it."""
        bounds = bound_bm25(
            self.postings, self.offsets, self.terms, self.boosts, self.eligible, row
        )
        if worth.is_beyond(*bounds):
            return bounds
        if self.is_long:
            last = np.arange(row, len(self.eligible), dtype=np.int32)
            words = self.proposed.history.words
            before = words(self.proposed.rows[: self.proposed.rows.searchsorted(row)])
            return float(before.max(initial=0)), float(words(last).max(initial=0))
        return self.matches.best(row)

    @property
    def proposed(self) -> Proposed:
        """A long history as this question sees it, and its rows worth an exact look. Made on first access."""
        if self._proposed is None:
            self._proposed = _proposed(self.view, self)
        return self._proposed

    def look(self) -> None:
        """Do now what the ranking begins with: while a question is embedded."""
        _ = self.proposed if self.is_long else self.matches


class Memory(msgspec.Struct, frozen=True, eq=False):
    """The best rows for a question.

    Attributes
    ----------
    rows : int32[m]
        Best first; of equal scores the later row first.
    scores : float64[m]
        Sum of the shares; about -.15 to 3. `link` makes a probability of it.
    shares : float64[m, f]
        Weight times factor, in the order of `factors`.
    weights : f numbers
    found_by : bool[2, m]
        Rows that share words with the question; rows among the most similar to it. bool[2, 0] for given rows.
    """

    rows: NDArray[np.int32]
    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: tuple[float, ...]
    found_by: Bools
    factors: tuple[str, ...] = MEMORY_FACTORS

    @property
    def is_by_words(self) -> bool:
        """Whether the scores were made without meaning."""
        return self.weights[MEMORY_FACTORS.index("meaning")] == 0.0

    def with_talk(self, sought: Sought, matches: Matches) -> Memory:
        """With what words of the talk alone bring a row, by their weight, apart from its words: a factor of its own."""
        own = len(sought.terms) - sought.talk_terms
        bits = np.uint64(1) << np.arange(len(sought.terms), dtype=np.uint64)
        weighs = ((matches.cover[self.rows, None] & bits) != 0) * matches.idf
        part = weighs[:, own:].sum(1) / np.maximum(weighs.sum(1), 1e-9)
        by_talk = self.shares[:, 0] * part
        shares = np.column_stack((self.shares, by_talk))
        shares[:, 0] -= by_talk
        weights, factors = (*self.weights, self.weights[0]), (*self.factors, TALK)
        return Memory(self.rows, self.scores, shares, weights, self.found_by, factors)

    def positive(self) -> Memory:
        """Without the rows that score 0 or less."""
        if not len(self.scores) or self.scores.item(-1) > 0:
            return self
        count = np.count_nonzero(self.scores > 0)  # best first
        best = self.rows[:count], self.scores[:count], self.shares[:count]
        return Memory(*best, self.weights, self.found_by[:, :count], self.factors)

    def among(self, rows: NDArray[np.int32], known: Bools) -> Memory:
        """These given rows, of which those marked are the ones scored; the others do not count: minus infinity."""
        scores = np.full(len(rows), -np.inf)
        shares = np.zeros((len(rows), len(self.factors)))
        scores[known], shares[known] = self.scores, self.shares
        return Memory(rows, scores, shares, self.weights, self.found_by, self.factors)

    def where(self, kept: Bools) -> Memory:
        """The rows that are marked."""
        best = self.rows[kept], self.scores[kept], self.shares[kept]
        return Memory(*best, self.weights, self.found_by[:, kept], self.factors)


MEMORY_LINK = (5.8, -9.1)
"""Slope and offset of `link`."""


def link(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that a line is part of the answer: logistic(slope x score + offset).

    Fitted on 3,925 lines of 160 questions in Chinese and English.
    """
    slope, offset = MEMORY_LINK
    return 1.0 / (1.0 + np.exp(-slope * scores - offset))


def seek(
    view: ChannelView, question: MemoryQuestion, eligible: Bools, named: Named | None = None
) -> Sought:
    """Find the question's words in the rows below ``len(eligible)``. Recalled and partial rows do not count.

    `named`: the people it names, where they are known already.
    """
    mask, talk = live_rows(view, eligible).view(np.uint8), question.talk
    if len(talk.rows):
        mask = mask.copy()
        mask[talk.rows] = 0
        mask[talk.since_pause] = 0
    if named is None:
        named = named_in(question.text, view.people.by_name_part)
    words, numbers = own_words(question, named), question.numbers
    if words is not question.keywords:
        numbers = _numbers(view, words, question)
    elif numbers is None:
        numbers = view.lexicon.ids.numbers(words)
    terms, boosts = _terms(view, words, numbers, mask)
    boosts = _by_identifiers(view, named.rest, words, terms, boosts, mask)
    talk_terms, said = 0, ()
    if len(talk.rows):
        own = len(terms)
        terms, boosts = _with_talk(view, talk, terms, boosts, mask)
        talk_terms = len(terms) - own
        said = tuple(view.texts[row][:MOST_TALK_CHARS] for row in talk.rows.tolist())
    index, offsets = view.lexicon.postings, view.columns.keyword_offsets
    is_long = len(mask) >= long_history.LONG_ROWS
    return Sought(
        question, named, terms, boosts, mask, index, offsets, view, is_long, talk_terms, said
    )


def own_words(question: MemoryQuestion, named: Named) -> Sequence[str]:
    """The keywords of a question without the names in it."""
    if question.keywords is not None and named.rest == question.text:
        return question.keywords
    return keywords(named.rest)


def talk_words(view: ChannelView, talk: TalkLines) -> dict[int, float]:
    """The words of a talk, by number: the weight of the surest line each stands in."""
    offsets, ids = view.columns.keyword_offsets, view.columns.keyword_ids
    found: dict[int, float] = {}
    for row, weight in zip(talk.rows.tolist(), talk.weights.tolist(), strict=True):
        for term in ids[offsets[row] : offsets[row + 1]].tolist():
            found[term] = max(found.get(term, 0.0), weight)
    return found


def _with_talk(
    view: ChannelView,
    talk: TalkLines,
    terms: NDArray[np.int32],
    boosts: NDArray[np.float32],
    eligible: NDArray[np.uint8],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The question's words and those words of the talk that eligible rows have and that tell most.

    What tells alike stands in the order of the alphabet: numbers of words are others after a restart.
    """
    found, postings = talk_words(view, talk), view.lexicon.postings
    known = found.keys() - set(terms.tolist())
    new = np.array([term for term in known if 0 <= term < len(postings.counts)], np.int32)
    counts = count_rows(postings, new, eligible, MOST_COUNTED, len(postings.pool))
    total = np.count_nonzero(eligible)
    order = sorted(
        (-found[term] * math.log(1.0 + total / (1.0 + said)), view.lexicon.ids.word(term), term)
        for term, said in zip(new.tolist(), counts.tolist(), strict=True)
        if said
    )
    surest = [term for _, _, term in order[: min(MOST_TALK_TERMS, MAX_QUERY_TERMS - len(terms))]]
    weights = [TALK_BOOST * found[term] for term in surest]
    return (
        np.concatenate((terms, np.array(surest, np.int32))),
        np.concatenate((boosts, np.array(weights, np.float32))),
    )


def _numbers(view: ChannelView, words: Sequence[str], question: MemoryQuestion) -> Sequence[int]:
    """The numbers of words. Those of the whole question are mostly known."""
    if question.keywords is not None and question.numbers is not None:
        known = dict(zip(question.keywords, question.numbers, strict=True))
        if known.keys() >= set(words):
            return [known[word] for word in words]
    return view.lexicon.ids.numbers(words)


def live_rows(view: ChannelView, eligible: Bools) -> Bools:
    """bool[n]: the eligible rows that are neither recalled nor partial."""
    if view.all_live:
        return eligible
    live: Bools = eligible & (view.state[: len(eligible)] == LIVE)
    return live


def rank_memory(
    view: ChannelView,
    sought: Sought,
    dense: NDArray[np.float32] | Nearby | None = None,
    *,
    limit: int = 64,
    rows: NDArray[np.int32] | None = None,
) -> Memory:
    """The `limit` best rows, or with `rows` those rows in that order.

    Parameters
    ----------
    dense : float32[n], optional
        Similarity of each row to the question, NaN where a row has no vector; of a long history who can tell it.
        Without it the words decide.

    Raises
    ------
    ValueError
        `dense` has another length than the rows that may be ranked.
    """
    if sought.is_long:
        assert not isinstance(dense, np.ndarray)
        return _rank_long(view, sought, dense, limit, rows)
    assert dense is None or isinstance(dense, np.ndarray)
    about_asker = sought.about_asker
    found = Memory(
        *score_memory(
            sought.matches,
            view.columns.time_ms,
            view.columns.author,
            (view.message_type[: len(sought.eligible)] == QUESTION).view(np.uint8),
            sought.eligible,
            _cues(view, sought, dense, about_asker=about_asker > 0.0),
            limit=limit,
            rows=rows,
            asker_share=about_asker,
        )
    )
    return found.with_talk(sought, sought.matches) if sought.talk_terms else found


def _rank_long(
    view: ChannelView,
    sought: Sought,
    nearby: Nearby | None,
    limit: int,
    rows: NDArray[np.int32] | None,
) -> Memory:
    wanted, dense = np.empty(0, np.int32) if rows is None else rows, None
    if nearby is None:
        few = long_history.by_words(sought.proposed, wanted)
    else:
        few, dense = long_history.with_meaning(
            sought.proposed, sought.eligible.view(np.bool_), nearby, wanted
        )
    at, places = np.maximum(few.rows, 0), few.places(wanted)
    known = places >= 0
    cues = _cues_among(view, sought, few, dense)
    scored = Memory(
        *score_memory(
            few.matches,
            view.columns.time_ms[at],
            view.columns.author[at],
            (view.message_type[at] == QUESTION).view(np.uint8),
            few.chosen,
            cues,
            limit=limit,
            rows=None if rows is None else places[known],
            asker_share=sought.about_asker,
        )
    )
    if sought.talk_terms:
        scored = scored.with_talk(sought, few.matches)
    scored = msgspec.structs.replace(scored, rows=few.rows[scored.rows])
    return scored if known.all() else scored.among(wanted, known)


def best_by_words(sought: Sought, limit: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """int32[<= limit], float64[<= limit]: rows that have a word of the question, best first, and their BM25."""
    if sought.is_long:
        rows = sought.proposed.rows
        scores = sought.proposed.history.words(rows).astype(np.float64)
        rows, scores = rows[scores > 0], scores[scores > 0]
    else:
        rows = sought.matches.rows()
        scores = sought.matches.scores[rows].astype(np.float64)
    order = top_order(scores, rows, limit=limit)
    return rows[order], scores[order]


def _terms(
    view: ChannelView,
    words: Sequence[str],
    numbers: Sequence[int],
    eligible: NDArray[np.uint8],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The ids of the words; for an unspaced word that no row has, those of its characters."""
    lexicon = view.lexicon
    ids = np.array(numbers, np.int32)
    if len(ids) <= MAX_QUERY_TERMS and "".join(words).isascii():
        return ids, _ONES[: len(ids)]  # who counts them passes over those that no row has
    used = lexicon.in_use(ids, eligible)
    terms = ids[used]
    lost = [word for word, has in zip(words, used.tolist(), strict=True) if not has]
    boosts = np.ones(len(terms), np.float32)
    if parts := _characters(lost, frozenset(words)):
        ids = np.array(lexicon.ids.numbers(parts), np.int32)
        ids = ids[lexicon.in_use(ids, eligible)]
        terms = np.concatenate((terms, ids))
        boosts = np.append(boosts, np.full(len(ids), CHARACTER_BOOST, np.float32))
    return terms[:MAX_QUERY_TERMS], boosts[:MAX_QUERY_TERMS]


def _by_identifiers(
    view: ChannelView,
    text: str,
    words: Sequence[str],
    terms: NDArray[np.int32],
    boosts: NDArray[np.float32],
    eligible: NDArray[np.uint8],
) -> NDArray[np.float32]:
    """The weights, higher for an address, a code or another identifier that few rows have: it tells which is meant."""
    found = identifiers(text, words)
    if not found:
        return boosts
    postings, ids = view.lexicon.postings, view.lexicon.term_ids(found)
    ids = ids[ids < len(postings.counts)]
    rare = ids[count_rows(postings, ids, eligible, RARE_ROWS + 1) <= RARE_ROWS]
    return np.where(np.isin(terms, rare), IDENTIFIER_BOOST * boosts, boosts).astype(np.float32)


def _characters(lost: Sequence[str], words: frozenset[str]) -> list[str]:
    """The characters of longer words without spaces, each once, that are not sought as words themselves."""
    apart = [word for word in lost if not word.isascii() and len(word) > 1 and is_unspaced(word)]
    return [
        character
        for character in dict.fromkeys(chain.from_iterable(apart))
        if character not in words and not is_stop_word(character)
    ]


def _about_asker(view: ChannelView, sought: Sought) -> float:
    """0 to 1: how surely the question is about its asker: it says "I", or speaks of no person at all."""
    question, users = sought.question, sought.named.users
    if not (question.asker_id and users <= {_asker(view, sought)}):
        return 0.0
    lowered, surely = question.text.lower(), 0.0
    if speaks_of_self(lowered):
        surely = 1.0
    elif speaks_of_nobody_else(lowered):
        surely = UNSAID_ASKER_ELSEWHERE if _is_said_by_others(view, sought) else UNSAID_ASKER
    if (sought.boosts > 1.0).any():
        surely /= 2  # what has an identifier may be anybody's line
    return surely


def _is_said_by_others(view: ChannelView, sought: Sought) -> bool:
    """Whether the question's rarest word stands in few lines, and in none of the asker's or with their name.

    Also where no word of it was ever said, and no talk tells what is meant: "what happened in May?".
    """
    own = sought.terms[: len(sought.terms) - sought.talk_terms]
    known = own[(own >= 0) & (own < len(sought.postings.counts))]
    counts = count_rows(sought.postings, known, sought.eligible, RARE_ROWS + 1)
    if not counts.any():
        return len(own) > 0 and not sought.talk_terms
    fewest = counts[counts > 0].min()
    if fewest > RARE_ROWS:
        return False
    rarest = known[counts == fewest][0]
    rows = rows_with(sought.postings, rarest[None], sought.eligible).nonzero()[0]
    by_asker = view.columns.author[rows] == _asker(view, sought)
    return len(rows) > 0 and not (by_asker | (_naming(view, sought)[rows] > 0)).any()


def _cues(
    view: ChannelView, sought: Sought, dense: NDArray[np.float32] | None, *, about_asker: bool
) -> MemoryCues:
    lowered, none = sought.question.text.lower(), NO_CUES
    starts, values = _spans(view, sought)
    return MemoryCues(
        none.dense if dense is None else dense,
        _speakers(sought),
        _asker(view, sought) if about_asker else -1,
        _naming(view, sought) if about_asker else none.names_asker,
        starts,
        values,
        _having(view, sought, TIME_WORDS) if asks_when(lowered) else none.has_time,
        _having(view, sought, NUMBER_WORDS, view.lexicon.numbers)
        if asks_how_many(lowered)
        else none.has_number,
    )


def _speakers(sought: Sought) -> NDArray[np.int32]:
    users = sought.named.users
    return np.array(sorted(users), np.int32) if users else NO_CUES.speakers


def _asker(view: ChannelView, sought: Sought) -> int:
    """The asker, -1 unknown."""
    asker_id = sought.question.asker_id
    return view.people.index.get(asker_id, -1) if asker_id else -1


def _proposed(view: ChannelView, sought: Sought) -> Proposed:
    history = LongHistory(
        sought.postings, sought.offsets, sought.terms, sought.boosts, sought.eligible
    )
    about_asker = sought.about_asker
    rows, values = _spans(view, sought)
    bounds = rows.reshape(-1, 2).tolist()
    has_time, has_number = _bits_having(view, sought, history)
    return long_history.proposed(
        history,
        view.columns.author,
        view.message_type,
        _speakers(sought),
        _asker(view, sought),
        about_asker,
        _bits_naming(view, sought, history) if about_asker > 0.0 else None,
        [(start, end, value) for (start, end), value in zip(bounds, values.tolist(), strict=True)],
        has_time,
        has_number,
    )


def _bits_having(
    view: ChannelView, sought: Sought, history: LongHistory
) -> tuple[NDArray[np.uint64] | None, NDArray[np.uint64] | None]:
    """uint64[w] twice: the rows that have a word of time, and a number; None where the question asks for none."""
    lowered, ids = sought.question.text.lower(), view.lexicon.term_ids

    has_time = has_number = None
    if asks_when(lowered):
        has_time = history.having(ids(TIME_WORDS), "time")
    if asks_how_many(lowered):
        numbers = np.concatenate((ids(NUMBER_WORDS), view.lexicon.numbers))
        has_number = history.having(numbers, "number")
    return has_time, has_number


def _bits_naming(
    view: ChannelView, sought: Sought, history: LongHistory
) -> NDArray[np.uint64] | None:
    """uint64[w]: the rows that have all words of the asker's name; None: none."""
    words = keywords(sought.question.asker_name)
    terms = view.lexicon.term_ids(words)
    if not words or len(terms) < len(words):
        return None
    bits = history.asked.copy()
    for place in range(len(terms)):
        bits &= history.having(terms[place : place + 1])
    return bits


def _cues_among(
    view: ChannelView, sought: Sought, few: Few, dense: NDArray[np.float32] | None
) -> MemoryCues:
    """What `_cues` says of all rows, of these few."""
    history, none = sought.proposed.history, NO_CUES
    is_about_asker = sought.about_asker > 0.0
    naming = _bits_naming(view, sought, history) if is_about_asker else None
    has_time, has_number = _bits_having(view, sought, history)
    starts, values = _spans(view, sought)

    def marks(bits: NDArray[np.uint64] | None, nothing: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return nothing if bits is None else history.marks(bits, few.rows)

    return MemoryCues(
        none.dense if dense is None else dense,
        _speakers(sought),
        _asker(view, sought) if is_about_asker else -1,
        marks(naming, none.names_asker),
        np.searchsorted(few.ascending(), starts).astype(np.int32) if len(starts) else starts,
        values,
        marks(has_time, none.has_time),
        marks(has_number, none.has_number),
    )


def _having(
    view: ChannelView, sought: Sought, words: Sequence[str], more: NDArray[np.int32] | None = None
) -> NDArray[np.uint8]:
    terms = view.lexicon.term_ids(words)
    if more is not None:
        terms = np.concatenate([terms, more])
    return rows_with(view.lexicon.postings, terms, sought.eligible)


def _naming(view: ChannelView, sought: Sought) -> NDArray[np.uint8]:
    """uint8[n]: 1 where a row has all words of the asker's name."""
    words = keywords(sought.question.asker_name)
    terms = view.lexicon.term_ids(words)
    if not words or len(terms) < len(words):
        return np.zeros(len(sought.eligible), np.uint8)
    found = rows_with(view.lexicon.postings, terms, sought.eligible)
    names: NDArray[np.uint8] = (found == len(terms)).view(np.uint8)
    return names


def tells_old_time(view: ChannelView, sought: Sought, cut: int) -> bool:
    """Whether the question names a time that is over before row `cut`, and of which there are rows that count."""
    rows, _ = _spans(view, sought)
    spans = rows.reshape(-1, 2).tolist()
    return any(end <= cut and sought.eligible[start:end].any() for start, end in spans)


def _spans(view: ChannelView, sought: Sought) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The rows of each span of time the question names, and their values."""
    times = view.columns.time_ms[: len(sought.eligible)]
    asked = sought.question
    if not len(times):
        return NO_CUES.date_spans, NO_CUES.date_values
    # a member may be called April
    spans = date_spans(sought.named.rest, asked.asked_at_ms, times.item(0), asked.dates)
    if not spans:
        return NO_CUES.date_spans, NO_CUES.date_values
    bounds = np.array([(span.start_ms, span.end_ms) for span in spans], np.int64).ravel()
    values = np.array([span.value for span in spans], np.float32)
    return np.searchsorted(times, bounds).astype(np.int32), values
