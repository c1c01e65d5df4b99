"""Builds without a question: what of all that was said since some moment matters to who asks. Pure.

Scores are the sum of what a line is worth: for the asker, as an open question, by the facts and decisions in it, as the
start of a long thread, by its length. Small talk is worth nothing by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace as replace_fields
from numpy.typing import NDArray

from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.model import BuildRequest, CatchUp
from backscroll_sidecar.context.profiles import PREFERENCES, Profile, Route, plain
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import Ranked, by_score
from backscroll_sidecar.domain import Category, MessageType, Overrides
from backscroll_sidecar.errors import NotFound, Reason
from backscroll_sidecar.lines.line_safety import escape_name
from backscroll_sidecar.strategies import BUILTIN, Messages, Strategy, StrategyQuery
from backscroll_sidecar.summaries.facts import facts_of
from backscroll_sidecar.texts import Language, Texts, Wordings

SINCE = "since"
"""The name of the source."""
FACTORS = ("for_asker", "open_question", "facts", "thread", "length")
WEIGHTS = (0.55, 0.2, 0.25, 0.35, 0.1)
THRESHOLD = 0.06
"""A line of six words that nobody answers stays below it."""
MOST_MESSAGES = 200
"""Lines that are shown at most; mostly the budget decides."""
MOST_ROWS = 20_000
"""So many of the newest messages are looked at; before them only the count goes on."""
MOST_READ = 300
"""Lines whose facts are looked for: those that are best by all else."""
FACTS_US, ROW_US = 60.0, 0.6
BEST_FACTS, FULL_FACTS = 4, 6.0
"""So many of a line's facts count; the weight at which they count in full."""
FULL_TOKENS, FULL_THREAD = 40, 16
INFERRED, IN_SMALL_TALK, ANSWERED, INSIDE, NOTICE = 0.7, 0.5, 0.3, 0.3, 0.75
"""Of what is inferred, small talk, an answered question, a line inside of a thread; the facts of an announcement."""
NAMED_PEOPLE = 5
LANGUAGE_ROWS = 20
_NOBODY = -1


class Window(NamedTuple):
    """What was said since.

    Attributes
    ----------
    first : the first row of it that is looked at.
    message_count : of live messages in all of it.
    speakers : names of who said most, with the number of their messages.
    people_count : of all who said something.
    factors : float64[m, f], of the rows from `first` on.
    """

    first: int
    message_count: int
    speakers: tuple[tuple[str, int], ...]
    people_count: int
    factors: NDArray[np.float64]


class Since:
    """The source of everything that was said from a row on."""

    name = SINCE

    def __init__(self, first: int) -> None:
        self._first = first

    def gather(self, query: StrategyQuery) -> Messages:
        """All of it that may be a candidate."""
        marks = query.make_eligible()
        rows = np.flatnonzero(marks[self._first : query.end]) + self._first
        return Messages(Category.RECENT, rows.astype(np.int32))


# --- what is asked ---------------------------------------------------------------------------------


def with_question(
    request: BuildRequest, view: ChannelView, wordings: Wordings, language: Language | None
) -> BuildRequest:
    """The request with a question in the channel's language, where it has none of its own."""
    if request.question.strip() or request.trigger_message_id:
        return request
    newest = range(max(view.count - LANGUAGE_ROWS, 0), view.count)
    said = " ".join(view.texts[row] for row in newest)
    return replace_fields(request, question=wordings.of(language, said).catch_up_question)


def first_row(view: ChannelView, catch_up: CatchUp, end: int) -> int:
    """The first row that is new. Raises `NotFound`."""
    if not catch_up.since_message_id:
        times_ms = view.columns.time_ms[:end]
        return int(times_ms.searchsorted(catch_up.since_ms, side="left"))
    row = view.row_of(catch_up.since_message_id)
    if row < 0:
        raise NotFound(
            "no such message in this channel",
            field="catch_up.since_message_id",
            reason=Reason.MESSAGE_NOT_FOUND,
        )
    return min(row + 1, end)


def catching_up(route: Route, overrides: Overrides) -> Route:
    """The same where all that is new is ranked; limits of the request hold."""
    profile = route.profile
    most = profile.max_context if overrides.max_context is not None else MOST_MESSAGES
    least = THRESHOLD if overrides.relevance_threshold is None else overrides.relevance_threshold
    profile = replace(
        plain(profile, most),
        sources=(SINCE, PREFERENCES),
        threshold=least,
        least_context=0,
        keep_answered=False,
        max_messages=None,
        collapse_duplicates=True,
    )
    return replace_fields(route, profile=profile)


def sources(first: int) -> dict[str, Strategy]:
    """Those of a build that catches up."""
    return {SINCE: Since(first), PREFERENCES: BUILTIN[PREFERENCES]}


# --- what it is worth ------------------------------------------------------------------------------


def look_us(row_count: int) -> float:
    """Microseconds that `window_of` takes, predicted."""
    return ROW_US * min(row_count, MOST_ROWS) + FACTS_US * min(row_count, MOST_READ)


def window_of(view: ChannelView, question: Question, since: int) -> Window:
    """Everything from a row on, up to the question."""
    end, first = question.end, max(since, question.end - MOST_ROWS)
    is_live = view.state[first:end] == LIVE
    asker = question.asker
    user = _NOBODY if asker is None else view.people.index.get(asker.id, _NOBODY)
    factors = np.zeros((end - first, len(FACTORS)))
    factors[:, 0] = _for_asker(view, first, end, user)
    followers, answers = _followers(view, first, end, is_live)
    kind = view.message_type[first:end]
    is_small_talk = kind == MessageType.CASUAL
    is_own = view.columns.author[first:end] == user
    factors[:, 1] = (kind == MessageType.QUESTION) * np.where(answers > 0, ANSWERED, 1.0)
    is_start = view.columns.parent[first:end] < first
    threads = np.minimum(np.log1p(followers) / np.log1p(FULL_THREAD), 1.0)
    factors[:, 3] = threads * np.where(is_start, 1.0, INSIDE)
    factors[:, 4] = np.minimum(view.token_count[first:end] / FULL_TOKENS, 1.0)
    factors[is_small_talk, 0] *= IN_SMALL_TALK
    factors[is_small_talk, 1:] = 0.0
    factors[is_own, 1:3] = 0.0
    factors[is_own, 4] = 0.0
    _add_facts(view, first, factors, is_live & ~is_small_talk & ~is_own)
    factors[kind == MessageType.NOTIFICATION, 2] = NOTICE
    all_live = view.state[since:end] == LIVE
    said = Counter(view.columns.author[since:end][all_live].tolist())
    names, ids = view.people.names, view.people.ids
    most = said.most_common(NAMED_PEOPLE)
    speakers = tuple((names[one] or ids[one], count) for one, count in most)
    return Window(first, int(all_live.sum()), speakers, len(said), factors)


def _for_asker(view: ChannelView, first: int, end: int, user: int) -> NDArray[np.float64]:
    """1 for what names or answers the asker, less where that is inferred."""
    out = np.zeros(end - first)
    if user == _NOBODY:
        return out
    columns = view.columns
    own = columns.author[:end] == user
    for edges, worth in ((columns.parent, INFERRED), (view.explicit_columns.parent, 1.0)):
        parent = edges[first:end]
        known = np.flatnonzero(parent >= 0)
        known = known[own[np.minimum(parent[known], end - 1)] & (parent[known] < end)]
        out[known] = worth
    offsets = columns.mention_offsets[first : end + 1]
    named = np.flatnonzero(columns.mention_ids[offsets[0] : offsets[-1]] == user) + offsets[0]
    out[np.searchsorted(offsets, named, side="right") - 1] = 1.0
    out[own[first:]] = 0.0
    return out


def _followers(
    view: ChannelView, first: int, end: int, is_live: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many lines go back to each row, directly or not, and how many directly."""
    size, answers = np.zeros(end - first, np.int64), np.zeros(end - first, np.int64)
    parents = (view.columns.parent[first:end] - first).tolist()
    for place in range(len(parents) - 1, -1, -1):
        parent = parents[place]
        if 0 <= parent < place and is_live[place]:
            size[parent] += size[place] + 1
            answers[parent] += 1
    return size, answers


def _add_facts(
    view: ChannelView, first: int, factors: NDArray[np.float64], may_have: NDArray[np.bool_]
) -> None:
    """What the facts and decisions of the best lines are worth."""
    places = np.flatnonzero(may_have)
    by_rest = factors[places] @ np.array(WEIGHTS)
    best = places[np.argsort(-by_rest, kind="stable")[:MOST_READ]]
    for place in best.tolist():
        weights = sorted((one.weight for one in facts_of(view.texts[first + place])), reverse=True)
        factors[place, 2] = min(sum(weights[:BEST_FACTS]) / FULL_FACTS, 1.0)


def ranker(
    window: Window,
) -> Callable[[ChannelView, Question, Gathered, Profile], Ranked]:
    """What ranks candidates by a window."""

    def ranked(
        view: ChannelView, question: Question, gathered: Gathered, profile: Profile
    ) -> Ranked:
        del view, question, profile  # the window has read them
        factors = window.factors[np.maximum(gathered.rows - window.first, 0)]
        shares = factors * np.array(WEIGHTS)
        shares[gathered.rows < window.first] = 0.0
        linear = shares.sum(axis=1)
        scores = np.clip(linear, 0.0, 1.0)
        return Ranked(
            scores, by_score(len(scores)), lambda: (shares, linear), FACTORS, WEIGHTS, "identity"
        )

    return ranked


# --- what is said of it ----------------------------------------------------------------------------


class Told(NamedTuple):
    """What stands in a summary's place."""

    text: str
    upto_seq: int = 0
    newest_ms: int = 0


def told(window: Window, since_ms: int, zone: tzinfo, texts: Texts) -> Told:
    """How much was said, and by whom; that nothing was."""
    moment = datetime.fromtimestamp(since_ms / 1_000, UTC).astimezone(zone)
    since = f"{moment:%Y-%m-%d %H:%M}"
    if not window.message_count:
        return Told(texts.nothing_since.format(since=since))
    names = [f"{escape_name(name)} {count}" for name, count in window.speakers]
    if window.people_count > len(window.speakers):
        names.append("…")
    return Told(
        texts.said_since.format(
            since=since,
            messages=window.message_count,
            people=window.people_count,
            names=texts.names_separator.join(names),
        )
    )


def since_ms(view: ChannelView, catch_up: CatchUp) -> int:
    """The moment that is caught up from."""
    if not catch_up.since_message_id:
        return catch_up.since_ms
    return view.columns.time_ms.item(view.row_of(catch_up.since_message_id))
