"""Which messages a question answers and which belong to its conversation: the reply model over a channel's view.

Links of the rows before a question are worked out once and kept (`channels.reply_cache`). They depend on
the rows before them alone, so a channel that grew in memory, one just loaded and one that was edited give the same.
Where rows are hidden from the asker they are worked out without them, and not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import count_rows, rows_alike
from backscroll_scoring.lexical import MAX_QUERY_TERMS
from backscroll_scoring.link_columns import MAX_NAMED, WINDOW, LinkArrays, LinkQuestion
from backscroll_scoring.link_model import shipped
from backscroll_scoring.links import (
    CAPACITY,
    NO_ROWS,
    NOBODY,
    Ranking,
    candidates,
    extend_links,
    new_links,
    rank,
    search_from,
    window_sizes,
)  # fmt: skip
from backscroll_sidecar.analyze.keywords import identifiers
from backscroll_sidecar.analyze.reply_cues import NamesLately, flags_of, names_called
from backscroll_sidecar.channels import (
    BLANK,
    HIDDEN,
    LIVE,
    RECALLED,
    WITHHELD,
    ChannelView,
)
from backscroll_sidecar.channels.reply_cache import LinkState
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.shared_errors import rows_of_same_error

CALLED_AMONG = 100
"""Rows before a message whose authors it may call by name."""
LATELY_SPOKE = 8
"""Who is expected to ask next: of the authors of IRC's lines 75 % are among the last so many, of KdConv's 92."""
LONGEST_PAUSE_MS, PAUSE_SEEN_MS = 30 * 60_000, 2 * 60_000
"""After a pause longer than the first the model sees the second: it has learnt from replies within minutes, and whether
the talk is over is for the router to say. (irc_dev an hour later: hit@5 .963, with the pause .961; .961 and .954 where
the history has each third place.)"""
MOST_ALIKE = 4
"""Rows of the same rare words: the one that is answered is among the first four or not at all."""
RARE = 4
"""An identifier of more rows is a topic: it does not tell which of them is answered."""
IDENTIFIER = 2.0
"""An error code or an address that two lines share tells more than a word that is as rare."""
INLINE_ROWS = 3
"""So many missing rows are linked at once, some 100 microseconds each; more go to a thread."""


async def catch_up(view: ChannelView, end: int) -> LinkState:
    """The link state for a question at row `end`: a few missing rows are linked at once, more by a thread.

    Linking goes on when the caller gives up; who comes meanwhile waits for it. A view that hides rows has links of its
    own, made for this question.
    """
    state = await _kept(view, end)
    if hides_any(view, state, end):
        return await asyncio.to_thread(linked_as_seen, view, state, end)
    return state


async def _kept(view: ChannelView, end: int) -> LinkState:
    cache = view.replies
    while cache.work is not None and not cache.work.done():
        await asyncio.shield(cache.work)
    if cache.missing(end) <= INLINE_ROWS:
        return linked(view, end)
    cache.work = asyncio.ensure_future(asyncio.to_thread(linked, view, end))
    cache.work.add_done_callback(_retrieve_exception)
    return await asyncio.shield(cache.work)


def _retrieve_exception(work: asyncio.Future[LinkState]) -> None:
    """Every waiter may have given up; then nobody else would look at the work's error."""
    if not work.cancelled():
        work.exception()


def linked(view: ChannelView, end: int) -> LinkState:
    """The link state for a question at row `end`, kept in the view's cache unless the question looks far back.

    Not to be called while another thread does for the same cache (`catch_up` sees to that).
    """
    state = view.replies.begun(end)
    if state.upto < end:
        _extend(view, state, end)
    return state


def _extend(view: ChannelView, state: LinkState, end: int) -> None:
    arrays, done, at = _arrays(view, state), state.upto, state.upto - state.cues_from
    flags, called, shortened = line_cues(view, done, end)
    to = end - state.cues_from
    state.flags[at:to], state.called[at:to], state.shortened[at:to] = flags, called, shortened
    done = max(done, state.links.first)
    if done < end:  # links are kept for all, whoever is shown the rows
        _link(view, arrays, state, done, end, to_hidden=True)
    state.upto = end


def _link(
    view: ChannelView, arrays: LinkArrays, state: LinkState, done: int, end: int, *, to_hidden: bool
) -> None:
    """Fill in the links of the rows from `done` to `end`: to no recalled or blank row, and `to_hidden` ones or not."""
    seen_from = search_from(done)
    state_of = view.state[seen_from:end]
    live = (state_of != RECALLED) & (state_of != BLANK)
    if not to_hidden:
        live &= (state_of != HIDDEN) & (state_of != WITHHELD)
    extend_links(arrays, live.view(np.uint8), seen_from, state.links, done, end, shipped())
    state.sizes = window_sizes(state.links, end)


def likeliest_answered(
    view: ChannelView, first: int, end: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """What each of the rows from `first` to `end` answers most likely, -1 none, and with what probability.

    Some 100 us a row; nothing is kept.
    """
    rows, chances = np.full(end - first, NOBODY, np.int32), np.zeros(end - first)
    for since in range(first, end, CAPACITY):
        state, upto = LinkState.begun(since, None), min(end, since + CAPACITY)
        _extend(view, state, upto)
        count, links = upto - since, state.links
        best = links.chances[:count].argmax(axis=1)
        here = slice(since - first, upto - first)
        rows[here] = links.rows[np.arange(count), best]
        chances[here] = links.chances[np.arange(count), best]
    return rows, chances


def hides_any(view: ChannelView, state: LinkState, end: int) -> bool:
    """Whether the view hides a row that links of the rows before `end` may lead to."""
    seen = view.state[search_from(state.links.first) : end]
    return not view.all_live and bool(((seen == HIDDEN) | (seen == WITHHELD)).any())


def linked_as_seen(view: ChannelView, state: LinkState, end: int) -> LinkState:
    """The state with links that lead to no hidden row: some 10 to 60 us a row, of `CAPACITY` at most."""
    first = state.links.first
    own = replace(state, links=new_links(first), upto=end)
    if first < end:
        _link(view, _arrays(view, own), own, first, end, to_hidden=False)
    return own


def line_cues(
    view: ChannelView, first: int, last: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Cues of the rows from `first` to `last`: bits, who is called first, whose name is shortened. Some 20 us a row."""
    flags = np.zeros(last - first, np.int32)
    called = np.full(last - first, NOBODY, np.int32)
    shortened = called.copy()
    lowest = max(0, first - CALLED_AMONG)
    writers = view.name[lowest:last].tolist()
    authors = view.columns.author[lowest:last].tolist()
    user_of = dict(zip(writers, authors, strict=True))
    texts = view.texts[lowest:last]
    for row in range(first, last):
        at, since = row - lowest, max(0, row - CALLED_AMONG) - lowest
        names = {view.names[one]: user_of[one] for one in dict.fromkeys(writers[since:at])}
        flags[row - first] = flags_of(texts[at])
        called[row - first], shortened[row - first] = names_called(
            texts[at], NamesLately(names), authors[at], texts[since:at]
        )
    return flags, called, shortened


def names_before(view: ChannelView, end: int) -> NamesLately:
    """The names of those who wrote the last rows before `end`; of one name the last user. Kept in the view's cache."""
    cache = view.replies
    if cache.names is None or cache.names[0] != end:
        since = max(0, end - CALLED_AMONG)
        writers = zip(
            view.name[since:end].tolist(), view.columns.author[since:end].tolist(), strict=True
        )
        users = {view.names[name]: user for name, user in dict(writers).items()}
        cache.names = end, NamesLately(users)
    names: NamesLately = cache.names[1]
    return names


def older_of_speakers(view: ChannelView) -> NDArray[np.int32]:
    """int32[k]: rows before the window that a question of who spoke lately is ranked with, ascending.

    Of each person no more than `candidates` takes; nothing while no rows are linked. Some 100 us.
    """
    state, end = view.replies.state, view.count
    if state is None:
        return NO_ROWS
    seen_from = search_from(end)
    live = (view.state[seen_from:end] == LIVE).astype(np.uint8)
    newest_first = dict.fromkeys(view.columns.author[seen_from:end][::-1].tolist())
    arrays, older = _arrays(view, state), set[int]()
    for user in list(newest_first)[:LATELY_SPOKE]:
        asked = LinkQuestion(0, user, 0, 0, NOBODY, NOBODY, NO_ROWS, NO_ROWS, 0, NO_ROWS, NO_ROWS)
        rows, count = candidates(arrays, end, live, seen_from, asked)
        older.update(rows[:count].tolist())
    return np.array(sorted(older), np.int32)


def rank_replies(
    view: ChannelView,
    question: Question,
    eligible: NDArray[np.bool_],
    more: NDArray[np.int32],
    state: LinkState,
    *,
    by_words: bool = True,
) -> Ranking:
    """Rank what a question may answer: the newest eligible rows, a few older ones of the people concerned, and `more`.

    With `by_words` those of the same rare words, too. `state` is what `catch_up` gave for the question's end. Pure.
    """
    end = question.end
    if not view.all_live:
        eligible = eligible & (view.state[:end] == LIVE)
        more = more[view.state[more] == LIVE]
    same_error = rows_of_same_error(view, question.read, eligible)
    asked = link_question(view, question, eligible, same_error)
    return rank(
        _arrays(view, state),
        state.links,
        asked,
        end,
        eligible[search_from(end) :].view(np.uint8),
        shipped(),
        more=more,
        alike=alike_rows(view, asked, eligible) if by_words else NO_ROWS,
        parent=question.explicit_parent_row,
        sizes=state.sizes,
    )


def alike_rows(
    view: ChannelView,
    question: LinkQuestion,
    eligible: NDArray[np.bool_],
) -> NDArray[np.int32]:
    """int32[k]: rows before the window with the question's rare words, identifiers before all, and those with the same
    error text; ascending. Some 10 us.

    Rows behind `eligible` are not looked at.
    """
    cut = len(eligible) - WINDOW
    terms = question.words[-MAX_QUERY_TERMS:]  # unknown ones come first
    if cut <= 0 or not len(terms):
        return NO_ROWS
    boosts = np.ones(len(terms), np.float32)
    if len(question.identifiers):
        boosts[np.isin(terms, question.identifiers)] = IDENTIFIER
    alike = rows_alike(
        view.lexicon.postings, terms, boosts, eligible.view(np.uint8), cut, MOST_ALIKE
    )
    same_error = question.same_error[question.same_error < cut]
    return np.union1d(alike, same_error) if len(same_error) else alike


def rare_identifiers(
    view: ChannelView,
    text: str,
    keywords: Sequence[str],
    numbers: Sequence[int],
    eligible: NDArray[np.bool_],
) -> NDArray[np.int32]:
    """int32[k], ascending: the numbers of those of a text's keywords that are identifiers and that few rows have."""
    found = identifiers(text, keywords)
    known = [n for word, n in zip(keywords, numbers, strict=True) if n >= 0 and word in found]
    if not known:
        return NO_ROWS
    terms = np.array(sorted(known), np.int32)
    counts = count_rows(view.lexicon.postings, terms, eligible.view(np.uint8), RARE + 1)
    return terms[(counts > 0) & (counts <= RARE)]


def link_question(
    view: ChannelView,
    question: Question,
    eligible: NDArray[np.bool_],
    same_error: NDArray[np.int32],
) -> LinkQuestion:
    """A question as the reply model sees it: what it sees of a stored message, its rare identifiers and error text."""
    people, columns, end = view.people.index, view.columns, question.end
    asker = people.get(question.asker.id, NOBODY) if question.asker else NOBODY
    names = names_before(view, end)
    called, shortened = names_called(
        question.text,
        names,
        asker,
        (view.texts[row] for row in range(max(0, end - CALLED_AMONG), end)),  # seldom read
    )
    named = []
    if 0 < len(question.mentioned) <= MAX_NAMED:
        users = [people.get(user, NOBODY - 1) for user in question.mentioned]
        named = [user for user in users if user != asker]
    parent = question.explicit_parent_row
    answered = columns.author.item(parent) if 0 <= parent < end else NOBODY
    for user in (called, answered):
        if user not in (NOBODY, asker) and user not in named:
            named.append(user)
    asked_at_ms = question.asked_at_ms
    last_ms = columns.time_ms.item(end - 1) if end else asked_at_ms
    if asked_at_ms - last_ms >= LONGEST_PAUSE_MS:
        asked_at_ms = last_ms + PAUSE_SEEN_MS
    return LinkQuestion(
        asked_at_ms, asker, int(question.message_type), flags_of(question.text), called, shortened,
        np.array(named, np.int32) if named else NO_ROWS, question.keyword_ids(), question.token_count,
        rare_identifiers(view, question.read, question.keywords, question.numbers(), eligible),
        same_error,
    )  # fmt: skip


def _arrays(view: ChannelView, state: LinkState) -> LinkArrays:
    columns = view.explicit_columns
    return LinkArrays(
        columns.time_ms, columns.author, columns.parent, columns.mention_offsets, columns.mention_ids,
        columns.keyword_offsets, columns.keyword_ids, view.message_type, view.token_count,
        state.flags, state.called, state.shortened, state.cues_from,
    )  # fmt: skip
