"""What of the whole history may answer a question: the list for long memory, asked for when the gate says so."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import msgspec
import numpy as np
import structlog
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import MAX_QUERY_TERMS
from backscroll_scoring.layout import CHUNK
from backscroll_scoring.links import Ranking
from backscroll_sidecar.analyze import only_asks
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.concurrency.deadline import Deadline
from backscroll_sidecar.concurrency.offload import INLINE_US, run
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.domain import Degradation, MessageType
from backscroll_sidecar.ports import Comparison
from backscroll_sidecar.strategies import SourceFailed, StrategyQuery, long_history
from backscroll_sidecar.strategies.history_router import (
    ASKS_PLAINLY,
    NEAR_ROWS,
    SITTING_ROWS,
    Reach,
    decisive_score,
    most_long_ago,
    reach_by_words,
    reaches,
    said_of_long_ago,
    sounds_long_ago,
    talk_before,
)
from backscroll_sidecar.strategies.memory import (
    Memory,
    MemoryQuestion,
    Sought,
    own_words,
    rank_memory,
    seek,
    talk_words,
    tells_old_time,
)
from backscroll_sidecar.strategies.names import Named, named_in
from backscroll_sidecar.strategies.talk import NO_TALK, TalkLines, talk_with_bot

log = structlog.get_logger(__name__)
_NEAR, _FAR = Reach.NEAR, Reach.FAR
_BY_WORDS, _BY_MEANING = "lexical", "semantic"

MEANING_SHARE = 0.5
"""Of the time left, what getting ready for meaning may take; without it the words decide."""

SEEK_TEXT = 1.6
"""Names, words and signs of a question, against words, tokens and type of it (`Question.read_us`)."""
SEEK_US, SEEK_US_PER_POSTING = 60.0, 0.042
"""Measured at 10,000 and 100,000 rows: at all; counting and scoring one posting."""
SEEK_US_PER_CHUNK = 0.1
"""Of that, where the first posting among so many rows is scored."""
SEEK_US_PER_ROW, SEEK_US_PER_MARKED_ROW = 0.0001, 0.0003
"""Counting the rows that count: where all do but a few named ones (measured at a million: 40 to 60 us); where some are
partial or recalled, or of another thread, so that marks are made of states first (110 to 210)."""
RANK_US, RANK_US_PER_ROW, RANK_US_PER_POSTING = 60.0, 0.008, 0.05
"""The same of ranking the whole history."""
PROPOSE_LONG_US, RANK_LONG_US = 1_000.0, 2_000.0
"""The same of a long history, however many rows it has: who are its candidates, and ranking them."""
WORDS_OF_ITS_OWN = 2
"""A question of fewer keywords that name something does not stand by itself in a talk."""
MOST_NEWER_ROWS = 1_000
"""Rows behind the question that may be passed over at once: some .04 us each that has a word of it."""

_AT = ("@", "\uff20")
_CALL = re.compile(r"[@\uff20](\S+)\s+(?=\S)")
"""A call at the beginning of a question. That of the bot says nothing of what is asked, and stands in the last lines,
since all who ask begin with it: they would seem to be what is meant."""


_BEHIND_A_NAME = ",.:;!?\uff0c\u3002\uff1a\uff1b\uff01\uff1f\u3001"
_EVERYBODY = frozenset(
    ("all", "everyone", "everybody", "here", "channel", "所有人", "全体成员", "大家")
)
"""Whom platforms call by these words: the bot is one of them at most."""


@runtime_checkable
class Meaning(Protocol):
    """The part of the semantic source that can say how similar every row is to a question."""

    async def compare(self, query: StrategyQuery) -> Comparison | None:
        """The question with the first `end` rows; None without a vector of it. Raises `SourceFailed`."""


class HistoryHits(msgspec.Struct, frozen=True, eq=False):
    """The best rows of the whole history; what could not be asked for them; whether each was compared.

    What an approximate search found is not `exhaustive`.
    """

    memory: Memory
    degradations: tuple[Degradation, ...] = ()
    exhaustive: bool = True

    def where(self, kept: NDArray[np.bool_]) -> HistoryHits:
        """The rows that are marked."""
        return HistoryHits(self.memory.where(kept), self.degradations, self.exhaustive)


async def look_up(
    query: StrategyQuery, question: Question, replies: Ranking, profile: Profile
) -> tuple[Reach, Sought | None]:
    """How far the question reaches and, unless that is near, its words in the history.

    What a platform says it answers is about the last lines, unless these are its asker's talk with the bot. Where
    nothing but the history was asked for it is as far as it goes. What is predicted to take long is done in a thread,
    unless it is plain without a look at the old rows: mostly it is, and they are what takes long.
    """
    is_gated = not profile.asks_memory_alone
    if not (profile.memory_sources and question.text):
        return _NEAR, None
    view, asker, answered = query.view, question.asker, question.explicit_parent_row
    asker_id = asker.id if asker else ""
    talk = talk_with_bot(view, replies, asker_id, question.self_ids, query.asked_at_ms)
    if answered >= 0 and is_gated and answered not in talk.rows:
        return _NEAR, None
    numbers = question.numbers()
    plain_us, scored_us = look_up_us(query, question, numbers, talk)
    asked = _asked(view, question, numbers, talk)
    if not is_gated:
        named = named_in(asked.text, view.people.by_name_part)
        if not _leans_on_talk(asked, named, said_of_long_ago(asked.text, speaks_of=False)):
            asked = replace(asked, talk=NO_TALK)
        return _FAR, await run(plain_us + scored_us, partial(seek, view, asked, query.eligible))
    is_small_talk = question.message_type is MessageType.CASUAL
    looking = partial(_look_up, query, asked, replies.starts_new, is_small_talk=is_small_talk)
    # Else who looks for the newest row that has a word may have to pass over all that have it and do not count.
    is_plain = query.excluded is not None and view.count - query.end <= MOST_NEWER_ROWS
    if is_plain and plain_us <= INLINE_US < plain_us + scored_us:
        far, sought = looking(old_rows=False)
        if far is not None:
            return far, sought
    far, sought = await run(plain_us + scored_us, looking)
    assert far is not None
    return far, sought


def _look_up(
    query: StrategyQuery,
    asked: MemoryQuestion,
    starts_new: float,
    *,
    is_small_talk: bool,
    old_rows: bool = True,
) -> tuple[Reach | None, Sought | None]:
    """What `look_up` says, with a look at nothing that could not change it; None without the rows it depends on.

    In a talk with the bot a question that asks plainly, and of whose own words the history has much, stands by itself.
    Any other line goes on with the talk, and what the history has of both decides (`settled`); thanks ask for nothing.
    """
    view, eligible, with_bot = query.view, query.eligible, asked.talk.with_bot
    if with_bot and not old_rows:
        return None, None
    talk = talk_before(view, eligible, query.asked_at_ms, all_count=_all_count_lately(query))
    named, sought = named_in(asked.text, view.people.by_name_part), None
    said = said_of_long_ago(asked.text, speaks_of=named.speaks_of)
    to_bot = asked.calls_bot or with_bot
    far = reaches(starts_new, talk, said, to_bot=to_bot)
    score = decisive_score(talk.pause_ms, said, calls_bot=to_bot)
    if most_long_ago(said) >= score and not (with_bot and _leans_on_talk(asked, named, said)):
        alone = replace(asked, talk=NO_TALK) if with_bot else asked
        sought = seek(view, alone, eligible, named)
        if tells_old_time(view, sought, len(eligible) - NEAR_ROWS):
            found = 1.0
        else:
            found = sounds_long_ago(sought, said, score if old_rows else math.inf)
        if found >= score:
            if not old_rows:
                return None, sought
            return reach_by_words(far, talk.pause_ms, said, found), sought
    if with_bot and not is_small_talk:
        return Reach.IN_TALK if far is not _FAR else far, seek(view, asked, eligible, named)
    if far is _NEAR:
        return far, None
    return far, sought or seek(view, asked, eligible, named)


def _leans_on_talk(asked: MemoryQuestion, named: Named, said: float) -> bool:
    """Whether a line of a talk says little without it: it asks nothing plainly, or little else ("when was it?")."""
    if said < ASKS_PLAINLY:
        return True
    return sum(not only_asks(word) for word in own_words(asked, named)) < WORDS_OF_ITS_OWN


def _all_count_lately(query: StrategyQuery) -> bool:
    """Whether the rows that tell the talk before a question are the last ones of all."""
    excluded = query.excluded
    return excluded is not None and (not excluded or excluded[-1] < query.end - SITTING_ROWS)


def look_up_us(
    query: StrategyQuery, question: Question, numbers: list[int], talk: TalkLines = NO_TALK
) -> tuple[float, float]:
    """Microseconds `look_up` takes, predicted: without a look at the old rows, and scoring them.

    `numbers` are those of the question's words. One hop to a thread and back costs 30 to 180 us, so it must save more:
    what is predicted to take less than `INLINE_US` is done at once. The number of rows alone does not tell: a word that
    every row has costs ten times what the rows do, and a near question in a channel of 10,000 rows has rare words.
    """
    lexicon, numbers = query.view.lexicon, numbers[:MAX_QUERY_TERMS]
    if numbers and min(numbers) < 0:
        words = question.keywords[:MAX_QUERY_TERMS]
        missing = [word for word, number in zip(words, numbers, strict=True) if number < 0]
        parts = [part for word in missing if not word.isascii() for part in word]
        # what the channel does not have is sought by its characters
        numbers += lexicon.ids.numbers(parts)
    if len(talk.rows):
        numbers = [*numbers, *talk_words(query.view, talk)]
    said = _said(lexicon.postings.counts, numbers)
    row_us = SEEK_US_PER_MARKED_ROW if query.excluded is None else SEEK_US_PER_ROW
    plain_us = SEEK_US + SEEK_TEXT * question.read_us + query.end * row_us
    if query.end >= long_history.LONG_ROWS:
        return plain_us, PROPOSE_LONG_US if said else 0.0
    return plain_us, SEEK_US_PER_POSTING * said + SEEK_US_PER_CHUNK * min(said, query.end / CHUNK)


def _said(counts: NDArray[np.int32], numbers: Sequence[int]) -> int:
    """How often the terms with these numbers were said."""
    known = len(counts)
    return sum(map(counts.item, [number for number in numbers if 0 <= number < known]))


def rank_rows_by_memory(view: ChannelView, question: Question, rows: NDArray[np.int32]) -> Memory:
    """The candidates' scores, in their order. All rows before the question count for what is rare and what is best."""
    eligible = question.eligible()
    asked = _asked(view, question, question.numbers())
    return rank_memory(view, seek(view, asked, eligible), rows=rows)


def _asked(
    view: ChannelView, question: Question, numbers: list[int], talk: TalkLines = NO_TALK
) -> MemoryQuestion:
    asker, self_ids, read = question.asker, question.self_ids, question.read
    text, calls_bot = _without_call(read, view.people, self_ids)
    return MemoryQuestion(
        text,
        question.asked_at_ms,
        asker.id if asker else "",
        asker.name if asker else "",
        question.keywords if text is read else None,
        numbers if text is read else None,
        calls_bot or any(map(question.mentioned.__contains__, self_ids)),
        question.dates,
        talk,
    )


def _without_call(text: str, people: People, self_ids: tuple[str, ...]) -> tuple[str, bool]:
    """The text without the call of the bot it begins with, and whether it begins with one.

    Who is called and neither known nor a bot of the request is taken for the bot: it need not have said anything yet. A
    call longer than what follows stays: where no spaces are written the question may stand in it.
    """
    call = _CALL.match(text) if text.startswith(_AT) else None
    if call is None:
        return text, False
    name = call[1].rstrip(_BEHIND_A_NAME)
    user = people.user_for_name(name) or people.user_for_name(call[1])
    known = name.casefold() in people.by_name_part or name.casefold() in _EVERYBODY
    if user not in self_ids and (user is not None or known):
        return text, False
    rest = text[call.end() :]
    return rest if len(rest) >= call.end() else text, True


async def search_history(
    query: StrategyQuery,
    sought: Sought,
    meaning: Meaning | None,
    deadline: Deadline,
    sources: Collection[str] = (_BY_WORDS, _BY_MEANING),
) -> HistoryHits:
    """Rank the whole history for the question; a source of similarities that fails is left out, named.

    Where one of `sources` is missing, there is nothing but what the other finds.
    """
    if _BY_WORDS not in sources:
        found = await search_history(query, sought.without_words(), meaning, deadline)
        return found.where(found.memory.found_by[1])
    if _BY_MEANING not in sources:
        found = await search_history(query, sought, None, deadline)
        return found.where(found.memory.found_by[0])
    if sought.is_long:
        us = RANK_LONG_US
    else:
        said = _said(sought.postings.counts, sought.terms.tolist())
        us = RANK_US + RANK_US_PER_ROW * query.end + RANK_US_PER_POSTING * said
    comparison, lost = await _comparison(query, sought, meaning, deadline, us)
    if comparison is not None and not sought.is_long:
        us += comparison.us
    return await run(us, partial(_best, query, sought, comparison, lost))


async def _comparison(
    query: StrategyQuery,
    sought: Sought,
    meaning: Meaning | None,
    deadline: Deadline,
    rank_us: float,
) -> tuple[Comparison | None, tuple[Degradation, ...]]:
    """What meaning needs, if there is time for it and for ranking behind it; else why there is none."""
    if meaning is None:
        return None, ()
    meant = sought.meant(query.question)
    asked = query if meant == query.question else replace(query, question=meant)
    reason = "TIMEOUT"
    try:
        found = await deadline.bound(
            meaning.compare(asked), MEANING_SHARE, partial(_match, sought, rank_us)
        )
        if found is None or deadline.allows(rank_us + (0 if sought.is_long else found.us)):
            return found, ()
    except SourceFailed as failed:
        reason = failed.reason
    except TimeoutError:
        pass
    except Exception as error:  # noqa: BLE001 - anybody's code, which costs the meaning only
        return None, (_failed(error),)
    return None, (Degradation("gather", reason, "semantic"),)


def _match(sought: Sought, rank_us: float) -> None:
    """Count the question's words while it is embedded, where that is done on the loop anyway."""
    if rank_us <= INLINE_US:
        sought.look()


def _best(
    query: StrategyQuery,
    sought: Sought,
    comparison: Comparison | None,
    lost: tuple[Degradation, ...],
) -> HistoryHits:
    """The best rows of the history, by words and by meaning, if there is one."""
    if sought.is_long:
        return _best_of_long(query, sought, comparison, lost)
    dense, exhaustive = None, True
    if comparison is not None:
        try:
            similar = comparison.make()
            dense, exhaustive = similar.values if similar.known else None, similar.exhaustive
        except Exception as error:  # noqa: BLE001 - as above
            lost = (_failed(error),)
    memory = rank_memory(query.view, sought, dense, limit=query.recall_limit).positive()
    return HistoryHits(memory, lost, exhaustive)


def _best_of_long(
    query: StrategyQuery,
    sought: Sought,
    comparison: Comparison | None,
    lost: tuple[Degradation, ...],
) -> HistoryHits:
    """The same of a history whose candidates are looked for: never exhaustive."""
    limit = query.recall_limit
    try:
        nearby = None if comparison is None else comparison.nearby
        memory = rank_memory(query.view, sought, nearby, limit=limit)
    except Exception as error:
        if comparison is None:
            raise
        lost = (_failed(error),)
        memory = rank_memory(query.view, sought, limit=limit)
    return HistoryHits(memory.positive(), lost, exhaustive=False)


def _failed(error: Exception) -> Degradation:
    log.warning("source failed", source="semantic", error=type(error).__name__, exc_info=error)
    return Degradation("gather", "ERROR", "semantic")
