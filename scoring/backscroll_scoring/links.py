"""Which earlier messages a message answers, and which belong to its conversation. Arrays in, arrays out.

Training and serving both come here, so that a column never means two things.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from . import kernels_conversations, kernels_links
from .arrays import Float32, Float64, Int32, Int64, UInt8
from .kernels_links import NEWEST_NAMING_ME
from .link_columns import (
    CHANCE,
    COLUMNS,
    CONVERSATION,
    LINK,
    LINK_LINEAR,
    MAX_EXTRA,
    MOST_ROWS,
    REACH,
    SCORE,
    START,
    TAIL_LINEAR,
    TOGETHER,
    TOP,
    WINDOW,
    LinkArrays,
    LinkQuestion,
)
from .link_model import FAMILIES_OF_COLUMNS, FAMILY_NAMES, Linear, LinkModel

NOBODY = -1
BLOCK = 128
WARM = 200
LOOK_BACK = 2 * WINDOW
"""Rows before the first linked one whose cues are known."""
CAPACITY = BLOCK + WARM

FIRST_LINKS = 7
"""So many of the likeliest links come before the rest of their conversation (measured: 5 to 8 are alike)."""
NO_ROWS = np.empty(0, np.int32)
_NO_MODEL = np.empty((0, len(COLUMNS)))
_NO_SUMS = (np.empty((0, len(CONVERSATION))), np.empty((0, 0)))

SHARES: tuple[str, ...] = (*FAMILY_NAMES, "constant")
"""What the shares of a ranking belong to."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplyLinks:
    """Predicted links of the rows from `first` on, and the conversations they make.

    Attributes
    ----------
    rows : int32[k, TOP]
        The likeliest rows each row answers, -1 none.
    chances : float64[k, TOP]
        Their probabilities; with `starts` they sum to at most 1.
    starts : float64[k]
        Probability that a row answers nothing.
    together : float32[k, WINDOW + 1]
        Probability that a row and the one so many rows before it belong to one conversation. It is most of what a
        channel's links take, in memory and in the processor's caches.
    """

    first: int
    rows: Int32
    chances: Float64
    starts: Float64
    together: Float32

    @property
    def arrays(self) -> tuple[Int32, Float64, Float64, Float32, int]:
        """As the kernels take them."""
        return self.rows, self.chances, self.starts, self.together, self.first


class WindowSizes(NamedTuple):
    """How large the conversations of the rows from `first` on are, counting no other rows but these.

    It is the same for every question asked at one place, so it is worked out when its rows are linked.

    `sizes` are float64[2, k]: log(1 + members, in the mean) of each row's conversation, and the same of those since.
    """

    first: int
    sizes: Float64


NO_SIZES = WindowSizes(0, np.empty((2, 0)))


class Asked(NamedTuple):
    """What a ranking was made of: enough to work out its shares when somebody asks for them."""

    arrays: LinkArrays
    links: ReplyLinks
    question: LinkQuestion
    model: LinkModel
    n_extra: int
    quiet: float


@dataclass(eq=False)
class Ranking:
    """The candidates of a question, entry i for row ``rows[i]``.

    Attributes
    ----------
    rows : int32[m]
        Ascending, without repeats.
    older, alike : int32[]
        Those among them that were looked for beyond the window; of these, those that the same rare words alone brought.
    parent : int
        The place of the row the question answers for sure; -1: not known, or no candidate.
    order : int64[m]
        Places, best first: a known parent, the `FIRST_LINKS` likeliest links with it, the rest by `tail_linear`.
    link_linear, tail_linear : float64[m]
        Scores of the second stage and of the tail: sums of the shares.
    link : float64[m]
        Probability that the question answers the row; they sum to 1 - `starts_new`.
    together : float64[m]
        Probability that the row belongs to the question's conversation.
    starts_new : float
        Probability that the question answers nothing of this.
    scores : float64[m]
        Each candidate's chance by what gave it its place in the order: `link` or `together`.
    stages : uint8[m]
        What that was: 0 the conversation, 1 the link, 2 it is the parent.
    numbers : float64[SCORE + 1, m]
        All of these numbers of the candidates, a row each in the order that `backscroll_scoring.link_columns` gives.
    """

    rows: Int32
    older: Int32
    alike: Int32
    parent: int
    order: Int64
    starts_new: float
    stages: UInt8
    numbers: Float64
    asked: Asked

    @property
    def link_linear(self) -> Float64:
        return self.numbers[LINK_LINEAR]

    @property
    def tail_linear(self) -> Float64:
        return self.numbers[TAIL_LINEAR]

    @property
    def link(self) -> Float64:
        return self.numbers[LINK]

    @property
    def together(self) -> Float64:
        return self.numbers[TOGETHER]

    @property
    def scores(self) -> Float64:
        return self.numbers[SCORE]

    @cached_property
    def columns(self) -> tuple[Float64, Float64]:
        """float64[COLUMNS, m], float64[CONVERSATION, m]: what the model saw; worked out when first asked for."""
        asked, rows = self.asked, self.rows
        x, _ = link_columns(asked.arrays, asked.question, rows, asked.n_extra)
        more = conversation_columns(
            asked.arrays, asked.links, rows, asked.n_extra, asked.question.author, x, self.numbers[CHANCE],
            self.starts_new, asked.quiet,
        )  # fmt: skip
        return np.ascontiguousarray(x.T), np.ascontiguousarray(more.T)

    @cached_property
    def link_shares(self) -> Float64:
        """float64[m, len(SHARES)]: what `link_linear` is the sum of; worked out when first asked for."""
        return _shares(*self.columns, self.asked.model.second)

    @cached_property
    def tail_shares(self) -> Float64:
        """float64[m, len(SHARES)]: what `tail_linear` is the sum of; worked out when first asked for."""
        return _shares(*self.columns, self.asked.model.tail)


def first_row(end: int) -> int:
    """Where the links of a question at row ``end`` begin: at least `WARM` rows before it, at a multiple of `BLOCK`.

    A function of the place alone: a channel just loaded and one that grew in memory link the same rows.
    """
    return max(0, (end - WARM) // BLOCK * BLOCK)


def candidates(
    arrays: LinkArrays, end: int, allowed: UInt8, allowed_from: int, question: LinkQuestion
) -> tuple[Int32, int]:
    """Return the rows that may be answered at row ``end``, ascending, and how many are older than the window.

    `allowed` is uint8 for the rows from `allowed_from` to ``end``; rows before are not looked at.
    """
    named = question.names
    if question.shortened >= 0:
        named = np.append(named, np.int32(question.shortened))
    out = np.empty(WINDOW + MAX_EXTRA, np.int32)
    packed = kernels_links.candidates(
        end, arrays.author, arrays.parent, arrays.mention_offsets, arrays.mention_ids, allowed, allowed_from,
        question.author, named, out,
    )  # fmt: skip
    return out[: packed // 16], packed % 16


def with_rows(some: Int32, others: Sequence[int] | Int32) -> Int32:
    """Return both, int32[], ascending and without repeats. For a handful of rows."""
    return np.array(sorted({*some.tolist(), *map(int, others)}), np.int32)


def search_from(end: int) -> int:
    """The first row `candidates` looks at."""
    return max(0, end - WINDOW - REACH)


def link_columns(
    arrays: LinkArrays, question: LinkQuestion, rows: Int32, n_extra: int
) -> tuple[Float64, Float64]:
    """Return float64[m, COLUMNS] of the candidates, and float64[START] but for the scores' part."""
    x = np.empty((len(rows), len(COLUMNS)), np.float64)
    start = np.zeros(len(START), np.float64)
    if len(rows):
        kernels_links.link_columns(
            (*arrays,), rows, n_extra, (*question,), x, start, _NO_MODEL, _NO_MODEL
        )  # fmt: skip
    return x, start


def chances(scores: Float64, start: Float64, model: Linear) -> tuple[Float64, float]:
    """Return the softmax of the scores, and the probability that nothing is answered; completes `start`."""
    p = np.empty(len(scores), np.float64)
    weights = model.with_intercept
    return p, float(kernels_links.link_chances(scores, len(scores), start, weights, p))


def extend_links(
    arrays: LinkArrays,
    allowed: UInt8,
    allowed_from: int,
    links: ReplyLinks,
    done: int,
    end: int,
    model: LinkModel,
) -> None:
    """Fill in the links of the rows from ``done`` to ``end``; those before ``done`` stay as they are.

    Some 60 microseconds a row. Runs without the interpreter's lock.
    """
    at, to = done - links.first, end - links.first
    kernels_links.reply_links(
        (*arrays,), allowed, allowed_from, done, end, (*model.of_columns, model.start.with_intercept),
        (links.rows[at:to], links.chances[at:to], links.starts[at:to]),
    )  # fmt: skip
    kernels_conversations.conversations(
        links.rows, links.chances, links.first, done, end, links.together
    )


def window_sizes(links: ReplyLinks, end: int) -> WindowSizes:
    """What a ranking at row ``end`` takes of the rows before it, where all of them are candidates, worked out ahead."""
    first = max(links.first, end - WINDOW)
    out = np.empty((2, max(0, end - first)), np.float64)
    kernels_conversations.window_sizes(links.together, links.first, first, out)
    return WindowSizes(first, out)


def conversation_columns(
    arrays: LinkArrays, links: ReplyLinks, rows: Int32, n_extra: int, asker: int, x: Float64, p: Float64,
    starts_new: float, quiet: float,
) -> Float64:  # fmt: skip
    """Return float64[m, CONVERSATION]; `p` are the chances by the first stage."""
    naming = np.flatnonzero(x[:, NEWEST_NAMING_ME])
    out = np.empty((len(rows), len(CONVERSATION)), np.float64)
    newest_naming_me = int(naming[0]) if len(naming) else NOBODY
    found = (len(rows), n_extra, 0, NOBODY, newest_naming_me, starts_new, quiet)
    kernels_conversations.conversation_columns(
        rows, found, p, arrays.author, asker, links.arrays, (*NO_SIZES,), out, *_NO_SUMS
    )
    return out


def rank(
    arrays: LinkArrays,
    links: ReplyLinks,
    question: LinkQuestion,
    end: int,
    allowed: UInt8,
    model: LinkModel,
    *,
    more: Int32 = NO_ROWS,
    alike: Int32 = NO_ROWS,
    parent: int = NOBODY,
    sizes: WindowSizes = NO_SIZES,
) -> Ranking:
    """Rank what a question at row ``end`` may answer: links first, then who belongs to the same conversation.

    Parameters
    ----------
    allowed : uint8[end - search_from(end)]
        The rows that may be answered, from `search_from` on.
    more : int32[]
        Rows beside the `candidates`, ascending, without repeats. Of all together the newest `MOST_ROWS` are ranked.
    alike : int32[]
        Rows of the same rare words, ascending: ranked like `more`, and counted among `Ranking.older`.
    parent : int
        The row the question answers for sure, by a platform's own edge; -1: not known.
    sizes
        What `window_sizes` said of some end; of another one than this it is not taken.
    """
    if len(alike):
        more = with_rows(more, alike) if len(more) else alike
    room = min(MOST_ROWS, WINDOW + MAX_EXTRA + len(more))
    rows, older = np.empty(room, np.int32), np.empty(MAX_EXTRA, np.int32)
    numbers = np.empty((SCORE + 1, room))
    order, stages = np.empty(room, np.int64), np.empty(room, np.uint8)
    found = kernels_links.question_links(
        (*arrays,), allowed, search_from(end), end, more, parent, (*question,),
        (*model.of_columns, model.start.with_intercept), rows, older, numbers,
    )  # fmt: skip
    kernels_conversations.question_scores(
        found, rows, numbers, arrays.author, question.author, FIRST_LINKS, links.arrays, (*sizes,),
        model.of_conversations, order, stages,
    )  # fmt: skip
    m, n_extra, n_older, place, _, starts_new, quiet = found
    asked = Asked(arrays, links, question, model, n_extra, quiet)
    rows, older = rows[:m], older[:n_older]
    if len(alike):
        begin, end = rows.item(0), rows.item(n_extra - 1) if n_extra else NOBODY
        of_people = set(older.tolist())
        ranked = [row for row in alike.tolist() if begin <= row <= end and row not in of_people]
        alike, older = np.array(ranked, np.int32), with_rows(older, ranked)
    return Ranking(
        rows, older, alike, place, order[:m], starts_new, stages[:m], numbers[:, :m], asked
    )


def _shares(x: Float64, more: Float64, model: Linear) -> Float64:
    m = x.shape[1]
    shares = np.empty((len(SHARES), m), np.float64)
    kernels_links.family_shares(
        x, more, *model.terms, FAMILIES_OF_COLUMNS, shares, np.empty(m, np.float64)
    )
    return shares.T


def reply_order(link_linear: Float64, tail_linear: Float64, parent: int, first: int) -> Int64:
    """Return the places of m candidates, best first, int64[m].

    First the ``parent``, a place or -1, and the ``first`` likeliest links with it, then the rest by the tail; of equal
    scores the later candidate.
    """
    out = np.empty(len(link_linear), np.int64)
    kernels_conversations.reply_order(link_linear, tail_linear, parent, first, out)
    return out


def new_links(first: int) -> ReplyLinks:
    """Room for the links of the rows from ``first`` on, `CAPACITY` of them."""
    return ReplyLinks(
        first,
        np.full((CAPACITY, TOP), NOBODY, np.int32),
        np.zeros((CAPACITY, TOP), np.float64),
        np.ones(CAPACITY, np.float64),
        np.zeros((CAPACITY, WINDOW + 1), np.float32),
    )


def carry_links(old: ReplyLinks, new: ReplyLinks, upto: int) -> None:
    """Copy what is known of the rows from ``new.first`` to ``upto``; their conversations begin anew."""
    skip, count = new.first - old.first, upto - new.first
    for name in ("rows", "chances", "starts"):
        getattr(new, name)[:count] = getattr(old, name)[skip : skip + count]
    kernels_conversations.conversations(
        new.rows, new.chances, new.first, new.first, upto, new.together
    )
