"""Compiled columns and reply links, and the first half of a question's ranking.

"Me" is the author of the message that may answer something (the question); a row "names" whom it mentions, calls first,
or answers by a platform's own edge. Channels, questions and models come as tuples, see `CHANNEL` and what follows it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numba as nb
import numpy as np

from .arrays import Float64, Int32, Int64, UInt8
from .compile import (
    F64,
    F64_2D,
    I32,
    I32_2D,
    READ_F64,
    READ_F64_2D,
    READ_I32,
    READ_I64,
    READ_U8,
    any_order_helper,
    helper,
    inlined,
    kernel,
)
from .link_columns import (
    BASE,
    CHANCE,
    COLUMNS,
    CROWD,
    FEW_LINES,
    LINK_LINEAR,
    MAX_EXTRA,
    MAX_NAMED,
    MAX_WORDS,
    NAMING_RATE,
    QUIET_OF,
    REACH,
    START,
    TAIL_LINEAR,
    TOP,
    WINDOW,
)

# fmt: off
(
    NAMED, CALLED, SHORTENED, NAMES_ME, CALLS_ME, SHORTENS_ME, NAMES_OTHER, CALLS_OTHER, SHARED_NAME, MUTUAL,
    NEWEST_OF_NAMED, NEWEST_NAMING_ME, ABSENT_NAMED_MINE, NAMES_NOBODY, AUTHOR_HABIT, AUTHOR_HABIT_NO_NAME,
    MY_HABIT_NO_NAME, PAIR_HABIT_NO_NAME, MINE, MINE_NEWEST, MINE_NEWEST_NO_NAME,
    MINE_DIRECTLY_BEFORE, MINE_NEWEST_SECONDS, MINE_LATER, AUTHOR_NEWEST, LATER_BY_AUTHOR, AUTHOR_NEWEST_NO_NAME,
    LAST_I_NAMED, LAST_I_NAMED_NEWEST, LAST_NAMING_ME, LAST_NAMING_ME_NEWEST, NEWEST_NOT_MINE, NAMES_ME_SINCE_MINE,
    FIRST_NAMING_ME_SINCE, OTHERS_UNNAMED_SINCE, NAMED_LATER, NAMED_LATER_COUNT, I_NAMED_LATER, ADDRESSEE_SPOKE_SINCE,
    UNANSWERED_QUESTION, AUTHOR_FIRST, AUTHOR_FIRST_QUESTION, AFTER_MINE, FROM_MINE, EXCHANGED, NEW_ASKER_QUESTION,
    NEW_ASKER_DISTANCE, AUTHOR_COUNT, HABIT_NO_NAME_MINE, TURNS_TAKEN, TURNS_SHARE, DISTANCE,
    DIRECTLY_BEFORE, SECOND_BEFORE, THIRD_BEFORE,
    BEYOND_TEN, BEYOND_THIRTY, AUTHORS_SINCE, OLDER, OLDER_MINE, AUTHOR_GOES_ON, AUTHOR_WENT_ON, QUESTION_GOES_ON,
    DISTANCE_NAMED, DISTANCE_MINE, SECONDS, SECONDS_PACE, GAP_BEFORE, PAUSE_DIRECTLY_BEFORE, SECONDS_MINE,
    WORDS_SHARED_SHARE, WORDS_WEIGHT, WORDS_WEIGHT_BEST, WORDS_SHARED, RAREST_SHARED, WEIGHT_NOT_MINE, LENGTH,
    SHORT_AFTER_QUESTION, SAME_SCRIPT, AUTHOR_SCRIPT, OLDER_WEIGHT, OLDER_RAREST, IDENTIFIER,
    IDENTIFIER_NEWEST, IDENTIFIER_OLDER, QUESTION, QUESTION_BY_MARK, QUESTION_QUESTION, QUESTION_STATEMENT, GREETS,
    GREETS_BOTH,
    THANKS, THANKED_NAMED_ME, THANKS_MINE, YES_NO_QUESTION, YES_NO_YOU, CORRECTION_MINE, GOES_ON_MINE_NEWEST,
    GOES_ON_DIRECTLY_BEFORE, COMMAND, COMMAND_BOTH, LAUGHS, LAUGH_DIRECTLY_BEFORE, HAS_LINK, LINK_AFTER_QUESTION,
    YOU_FIRST_PERSON, SECOND_PERSON_MINE, CASUAL, ANSWER,
) = range(109)
# fmt: on
N_BASE = len(BASE)
N_COLUMNS = len(COLUMNS)

# Bits of a message's cues (`analyze.reply_cues.FLAGS`) and its types (`domain.MessageType`).
Q_MARK, Q_WORD, THANK, YES_NO, GREET, CORRECTION, LINKED, VERSION, YOU, FIRST, GOES_ON, SHORT, LAUGH, COMMANDED = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192
)  # fmt: skip
FIRST_SCRIPT, SCRIPTS = 1 << 14, 3
SCRIPT = FIRST_SCRIPT * ((1 << SCRIPTS) - 1)
TYPE_QUESTION, TYPE_ANSWER, TYPE_CASUAL = 1, 2, 5

NO = -1
LOGS = np.log(np.arange(1.0, 2050.0))
MANY = 64
"""Rows far back that are looked at together for one that concerns the question."""


@helper
def _log1p(count: int) -> float:
    """log(1 + count) of a count."""
    return LOGS[count] if count < LOGS.shape[0] else np.log1p(count)


N_START = len(START)
QUIET_PLACE = START.index("quiet")


@helper
def _names_of(
    row: int, author: Int32, parent: Int32, offsets: Int64, ids: Int32, called: int, out: Int32
) -> int:
    """Whom a row names: by mention, by the first word, by a platform's reply; not itself.

    Who mentions more than `MAX_NAMED` mentions nobody in particular.
    """
    count = 0
    start, end = offsets[row], offsets[row + 1]
    if end - start <= MAX_NAMED:
        for k in range(start, end):
            if ids[k] != author[row]:
                out[count] = ids[k]
                count += 1
    for extra in range(2):
        user = called
        if extra == 1:
            user = author[parent[row]] if 0 <= parent[row] < row else NO
        known = user < 0 or user == author[row]
        for k in range(count):
            known = known or out[k] == user
        if not known:
            out[count] = user
            count += 1
    return count


@helper
def _names(row: int, user: int, author: Int32, parent: Int32, offsets: Int64, ids: Int32) -> bool:
    """Whether a row far back names a user, by mention or by a platform's reply."""
    for k in range(offsets[row], offsets[row + 1]):
        if ids[k] == user:
            return True
    return 0 <= parent[row] < row and author[parent[row]] == user


@helper
def _concerns(
    first: int, end: int, author: Int32, parent: Int32, offsets: Int64, ids: Int32, asker: int, named: Int32,
    want_naming: int,
) -> bool:  # fmt: skip
    """Whether one of these rows may be by who asks or is named or, if wanted, names who asks: told of many at once."""
    found, authors = np.uint8(0), author[first:end]
    for i in range(authors.shape[0]):
        found |= np.uint8(authors[i] == asker)
    for k in range(named.shape[0]):
        for i in range(authors.shape[0] if named[k] >= 0 else 0):
            found |= np.uint8(authors[i] == named[k])
    if want_naming > 0:
        parents, mentioned = parent[first:end], ids[offsets[first] : offsets[end]]
        for i in range(parents.shape[0]):
            found |= np.uint8(parents[i] >= 0)
        for i in range(mentioned.shape[0]):
            found |= np.uint8(mentioned[i] == asker)
    return found != 0


@helper
def _candidates(
    end: int, author: Int32, parent: Int32, offsets: Int64, ids: Int32, allowed: UInt8, allowed_from: int,
    asker: int, named: Int32, out: Int32,
) -> tuple[int, int]:  # fmt: skip
    """The rows that may be answered at row ``end``, ascending in ``out``; how many, and how many are older."""
    window = np.empty(WINDOW, np.int32)
    count = 0
    row = end - 1
    while row >= allowed_from and count < WINDOW:
        if allowed[row - allowed_from] != 0:
            window[count] = row
            count += 1
        row -= 1
    mine = 0
    naming_me = 0
    of_named = np.zeros(named.shape[0], np.int64)
    for j in range(count):
        if author[window[j]] == asker:
            mine += 1
        elif asker >= 0 and _names(window[j], asker, author, parent, offsets, ids):
            naming_me += 1
        for k in range(named.shape[0]):
            if named[k] >= 0 and author[window[j]] == named[k]:
                of_named[k] += 1
    want_mine = 0
    if asker >= 0:
        want_mine = 3 if mine < 3 else (1 if mine < 20 else 0)
    want_naming = 2 if asker >= 0 and naming_me < 2 else 0
    want_named = 0
    for k in range(named.shape[0]):
        of_named[k] = 2 if named[k] >= 0 and of_named[k] < 2 else 0
        want_named += of_named[k]
    older = np.empty(MAX_EXTRA, np.int32)
    extra = 0
    lowest = max(allowed_from, end - WINDOW - REACH)
    block = row + 1  # the first row of those that were looked at together
    while row >= lowest and extra < MAX_EXTRA and want_mine + want_naming + want_named > 0:
        if row < block:
            block = max(lowest, row - MANY + 1)
            if not _concerns(
                block, row + 1, author, parent, offsets, ids, asker, named, want_naming
            ):
                row = block - 1
                continue
        if allowed[row - allowed_from] != 0:
            take = False
            if want_mine > 0 and author[row] == asker:
                want_mine -= 1
                take = True
            for k in range(named.shape[0]):
                if of_named[k] > 0 and author[row] == named[k]:
                    of_named[k] -= 1
                    want_named -= 1
                    take = True
            speaks = offsets[row] < offsets[row + 1] or parent[row] >= 0
            if (
                want_naming > 0
                and speaks
                and not take
                and _names(row, asker, author, parent, offsets, ids)
            ):
                want_naming -= 1
                take = True
            if take:
                older[extra] = row
                extra += 1
        row -= 1
    for j in range(extra):
        out[j] = older[extra - 1 - j]
    for j in range(count):
        out[extra + j] = window[count - 1 - j]
    return extra + count, extra


@any_order_helper
def _product(weights: Float64, values: Float64) -> float:
    """The sum of the columns of `BASE`, weighted."""
    out = 0.0
    for k in range(N_BASE):
        out += weights[k] * values[k]
    return out


CHANNEL = nb.types.Tuple(  # LinkArrays
    (
        READ_I64, READ_I32, READ_I32, READ_I64, READ_I32, READ_I64, READ_I32, READ_U8, READ_I32,
        READ_I32, READ_I32, READ_I32, nb.int64,
    )
)  # fmt: skip
ASKED = nb.types.Tuple(
    (*[nb.int64] * 6, READ_I32, READ_I32, nb.int64, READ_I32, READ_I32)
)  # LinkQuestion
Channel: TypeAlias = tuple[Any, ...]
Question: TypeAlias = tuple[Any, ...]
MODEL = nb.types.Tuple(
    (READ_F64_2D, READ_F64, READ_F64)
)  # LinkModel.of_columns, and the start model


class Facts(NamedTuple):
    """What the columns of every candidate are told of the question and the window. No arrays: each costs a count of
    who holds it wherever it is read. Rows are places among the candidates, -1 for none.
    """

    m: int
    asker: int
    called: int
    flags: int
    question: bool
    my_newest: int
    newest_naming_me: int
    newest_not_mine: int
    first_since: int
    absent: bool
    no_name: float
    my_count: int
    habit: float
    naming: float
    best_weight: float
    pace: float
    pause: float
    crowd: int
    at_mine: int
    newest_identifier: int


class Writer(NamedTuple):
    """Who wrote a candidate."""

    person: int
    named: bool
    shortens: bool
    last_named: bool
    last_naming: bool
    lines: int
    exchanged: float
    turns: int
    naming: float
    script: float


class Candidate(NamedTuple):
    """One candidate: what its columns are made of."""

    j: int
    by: Writer
    flags: int
    called: int
    shortened: int
    names: int
    kind: int
    tokens: int
    mine: bool
    older: bool
    place: int
    at: int
    directly: bool
    question: bool
    shares_name: bool
    addressee_spoke: bool
    names_me: bool
    goes_on: bool
    went_on: bool
    is_first: bool
    distance: float
    seconds: float
    log_seconds: float
    gap: float


@helper
def _people(rows: Int32, author: Int32, who: Int32) -> Int32:
    """The authors in the order in which they first speak; the place of each row's among them is written to ``who``."""
    people, n_people = np.empty(rows.shape[0], np.int32), 0
    for j in range(rows.shape[0]):
        place = NO
        for k in range(n_people):
            if people[k] == author[rows[j]]:
                place = k
                break
        if place < 0:
            place = n_people
            people[place] = author[rows[j]]
            n_people += 1
        who[j] = place
    return people[:n_people]


@helper
def _named(
    rows: Int32, author: Int32, parent: Int32, offsets: Int64, mentions: Int32, called: Int32, people: Int32,
    ids: Int32, named: Int32, n_named: Int32,
) -> None:  # fmt: skip
    """Whom each row names, by id and by place among the people (-1: none of them)."""
    for j in range(rows.shape[0]):
        n_named[j] = _names_of(rows[j], author, parent, offsets, mentions, called[j], ids[j])
        for k in range(n_named[j]):
            named[j, k] = NO
            for p in range(people.shape[0]):
                if people[p] == ids[j, k]:
                    named[j, k] = p
                    break


@helper
def _scripts(
    who: Int32, n_extra: int, flags: Int32, asker: int, q_flags: int, alike: Float64
) -> None:
    """How alike the scripts are that each person and the asker write in: the share of lines that they have in common.

    Who wrote little is taken to write as the room does: as if there were one line more.
    """
    room = alike.shape[0]
    lines, all_lines = np.zeros((room, SCRIPTS)), np.zeros(SCRIPTS)
    for j in range(n_extra, who.shape[0]):
        for s in range(SCRIPTS):
            if (flags[j] & (FIRST_SCRIPT << s)) != 0:
                lines[who[j], s] += 1.0
                all_lines[s] += 1.0
    for s in range(SCRIPTS):
        if (q_flags & (FIRST_SCRIPT << s)) != 0:
            lines[asker, s] += 1.0
            all_lines[s] += 1.0
    total = all_lines[0] + all_lines[1] + all_lines[2]
    alike[:] = 1.0
    if max(all_lines[0], all_lines[1], all_lines[2]) == total:
        return
    for p in range(room):
        of_person = 1.0 + lines[p, 0] + lines[p, 1] + lines[p, 2]
        for s in range(SCRIPTS):
            lines[p, s] = (lines[p, s] + all_lines[s] / total) / of_person
    for p in range(room):
        if p != asker:
            alike[p] = 0.0
            for s in range(SCRIPTS):
                alike[p] += min(lines[p, s], lines[asker, s])


@helper
def _habits(who: Int32, n_extra: int, n_named: Int32, alike: Float64, naming: Float64) -> None:
    """The share of each person's lines that name somebody; of who wrote few it is nearer to that of the crowd."""
    room, m = alike.shape[0], who.shape[0]
    count, all_naming, all_count = np.zeros(room), 0.0, 0.0
    naming[:] = 0.0
    for j in range(n_extra, m):
        count[who[j]] += 1.0
        naming[who[j]] += n_named[j] > 0
    for p in range(room):
        if alike[p] >= CROWD:
            all_naming += naming[p]
            all_count += count[p]
    of_crowd = all_naming / max(1.0 / NAMING_RATE, all_count)
    for p in range(room):
        naming[p] = (naming[p] + FEW_LINES * of_crowd) / (count[p] + FEW_LINES)


@helper
def _places(who: Int32, n_extra: int, alike: Float64, at: Int32, before: Int32) -> tuple[int, int]:
    """By row how many of the crowd stand before it, and which is the last of those; how many there are, and of them in
    the window. Where there is none of the crowd everybody is.
    """
    m, count, in_window = who.shape[0], 0, 0
    for j in range(m):
        count += alike[who[j]] >= CROWD
    if count == 0:
        alike[:] = 1.0
    count, last = 0, NO
    for j in range(m):
        at[j], before[j] = count, last
        if alike[who[j]] >= CROWD:
            count += 1
            in_window += j >= n_extra
            last = j
    return count, in_window


@helper
def _mark(people: Int32, asked: Int32, out: UInt8) -> bool:
    """Mark the people that are asked for; whether one is none of them."""
    absent = False
    for k in range(asked.shape[0]):
        place = NO
        for p in range(people.shape[0]):
            if people[p] == asked[k]:
                place = p
        if place >= 0:
            out[place] = 1
        else:
            absent = True
    return absent


@helper
def _count(who: Int32, count: Int64, first: Int64) -> None:
    """Of each person how many rows, and the first one."""
    for j in range(who.shape[0]):
        count[who[j]] += 1
        if first[who[j]] < 0:
            first[who[j]] = j


@helper
def _cues(
    rows: Int32, n_extra: int, channel: Channel, flags: Int32, called: Int32, shortened: Int32
) -> None:
    """What the rows of the window say by cues; those before `cues_from` have none."""
    all_flags, all_called, all_shortened, cues_from = channel[9:]
    for j in range(n_extra, rows.shape[0]):
        if rows[j] >= cues_from:
            cue = rows[j] - cues_from
            flags[j], called[j], shortened[j] = all_flags[cue], all_called[cue], all_shortened[cue]


@helper
def _lately(who: Int32, alike: Float64, at: Int32, n_crowd: int) -> tuple[int, int, int]:
    """The newest row of the crowd, the twentieth before that, and how many lie between."""
    newest, last, gaps = who.shape[0] - 1, 0, 0
    for j in range(who.shape[0] - 1, -1, -1):
        if alike[who[j]] >= CROWD:
            place = n_crowd - 1 - at[j]
            newest = j if place == 0 else newest
            if place <= 20:
                last, gaps = j, place
    return newest, last, gaps


@helper
def _turns(
    who: Int32, me: int, asker: int, ids: Int32, named: Int32, n_named: Int32, exchanged: Float64, turns: Int64,
    alike: Float64, last_named: UInt8, names_me: UInt8,
) -> tuple[int, int, int, int, float]:  # fmt: skip
    """What happened in the window: by person how often we named each other, how often one wrote after I had, and whom
    my last message that names anybody names; by row whether it names me.

    Returns my newest row, the newest that names me, the newest of others, the first that names me since mine, and the
    share of my messages that name nobody.
    """
    my_unnamed, mine = 0, 0
    seen = np.zeros(turns.shape[0], np.int64)
    my_newest, newest_naming_me, newest_not_mine = NO, NO, NO
    for j in range(who.shape[0]):
        if me >= 0 and who[j] == me:
            my_newest = j
            mine += 1
            my_unnamed += n_named[j] == 0
            if n_named[j] > 0:
                last_named[:] = 0
            for k in range(n_named[j]):
                if named[j, k] >= 0:
                    exchanged[named[j, k]] += 1.0
                    last_named[named[j, k]] = 1
        else:
            if alike[who[j]] >= CROWD:
                newest_not_mine = j
            if mine > seen[who[j]]:
                seen[who[j]] = mine
                turns[who[j]] += 1
            for k in range(n_named[j]):
                if asker >= 0 and ids[j, k] == asker:
                    names_me[j] = 1
                    newest_naming_me = j
                    exchanged[who[j]] += 1.0
    first_since = NO
    for j in range(my_newest + 1, who.shape[0]):
        if names_me[j] != 0:
            first_since = j
            break
    habit = my_unnamed / (mine + 1.0)
    return my_newest, newest_naming_me, newest_not_mine, first_since, habit


@helper
def _of_same_error(rows: Int32, same_error: Int32, identifier: Float64) -> int:
    """Mark the rows that repeat an error text as those of an identifier; the place of the newest of all, `NO` none."""
    newest, k = NO, 0
    for j in range(rows.shape[0]):
        while k < same_error.shape[0] and same_error[k] < rows[j]:
            k += 1
        if k < same_error.shape[0] and same_error[k] == rows[j]:
            identifier[j] = 1.0
        newest = j if identifier[j] > 0.0 else newest
    return newest


@helper
def _words(
    offsets: Int64, ids: Int32, rows: Int32, asked: Int32, identifiers: Int32, shared: Float64, share: Float64,
    weight: Float64, rarest_shared: Float64, identifier: Float64,
) -> float:  # fmt: skip
    """The question's words in each row: how many, their share of either's, BM25, the rarest's idf, whether one is an
    identifier; the best BM25.
    """
    m, n_words = rows.shape[0], asked.shape[0] if asked.shape[0] <= MAX_WORDS else 0
    found = np.zeros((m, n_words), np.uint8)
    df, mean_words = np.zeros(n_words, np.int64), 0.0
    is_identifier, at = np.zeros(n_words, np.uint8), 0
    for w in range(n_words):
        while at < identifiers.shape[0] and identifiers[at] < asked[w]:
            at += 1
        is_identifier[w] = at < identifiers.shape[0] and identifiers[at] == asked[w]
    for j in range(m):
        k, k_end = offsets[rows[j]], offsets[rows[j] + 1]
        mean_words += (k_end - k) / m
        w = 0
        while w < n_words and k < k_end:
            if asked[w] == ids[k]:
                found[j, w] = 1
                df[w] += 1
                shared[j] += 1.0
                w += 1
                k += 1
            elif asked[w] < ids[k]:
                w += 1
            else:
                k += 1
    best_weight = 0.0
    times = np.zeros(m + 1, np.int64)
    for j in range(m):
        if shared[j] > 0.0:
            size = float(offsets[rows[j] + 1] - offsets[rows[j]])
            times[:] = 0  # added up by frequency: word ids stand in another order after a restart
            for w in range(n_words):
                if found[j, w] != 0:
                    times[df[w]] += 1
                    if is_identifier[w] != 0:
                        identifier[j] = 1.0
            total, rarest = 0.0, 0.0
            for often in range(m, 0, -1):
                if times[often] > 0:
                    rarest = np.log(1.0 + (m - often + 0.5) / (often + 0.5))
                    total += times[often] * rarest
            weight[j] = 2.2 * total / (1.0 + 1.2 * (0.25 + 0.75 * size / max(1.0, mean_words)))
            best_weight = max(best_weight, weight[j])
            share[j] = shared[j] / (size + asked.shape[0] - shared[j])
            rarest_shared[j] = rarest
    return best_weight


@inlined
def _name_columns(y: Float64, c: Candidate, q: Facts, newest: bool) -> None:
    y[NAMED] = c.by.named
    y[CALLED] = q.called >= 0 and c.by.person == q.called
    y[SHORTENED] = c.by.shortens and not c.by.named
    y[NAMES_ME] = c.names_me
    y[CALLS_ME] = q.asker >= 0 and c.called == q.asker
    y[SHORTENS_ME] = q.asker >= 0 and c.shortened == q.asker and not c.names_me
    y[NAMES_OTHER] = c.names > 0 and not c.names_me
    y[CALLS_OTHER] = c.called >= 0 and c.called != q.asker
    y[SHARED_NAME] = c.shares_name
    y[ADDRESSEE_SPOKE_SINCE] = c.addressee_spoke
    y[MUTUAL] = c.by.named and c.names_me
    y[NEWEST_OF_NAMED] = (c.by.named or c.by.shortens) and newest
    y[NEWEST_NAMING_ME] = c.j == q.newest_naming_me
    y[ABSENT_NAMED_MINE] = c.mine and q.absent
    y[NAMES_NOBODY] = c.names == 0
    y[AUTHOR_HABIT] = c.by.naming
    y[AUTHOR_HABIT_NO_NAME] = q.no_name * c.by.naming
    if not c.mine:
        y[MY_HABIT_NO_NAME] = q.no_name * q.naming
        y[PAIR_HABIT_NO_NAME] = q.no_name * c.by.exchanged / (c.by.exchanged + c.by.turns + 1.0)


@inlined
def _turn_columns(
    y: Float64, c: Candidate, q: Facts, later: int, named_later: int, i_named: int, mine_later: int
) -> None:
    newest = later == 0
    y[MINE] = c.mine
    y[MINE_NEWEST] = c.j == q.my_newest
    y[MINE_NEWEST_NO_NAME] = q.no_name if c.j == q.my_newest else 0.0
    y[MINE_DIRECTLY_BEFORE] = c.mine and c.directly
    y[MINE_NEWEST_SECONDS] = c.log_seconds if c.j == q.my_newest else 0.0
    y[MINE_LATER] = _log1p(mine_later) if c.mine else 0.0
    y[AUTHOR_NEWEST] = newest
    y[LATER_BY_AUTHOR] = _log1p(min(10, later))
    y[AUTHOR_NEWEST_NO_NAME] = q.no_name if newest else 0.0
    y[LAST_I_NAMED] = c.by.last_named
    y[LAST_I_NAMED_NEWEST] = c.by.last_named and newest
    y[LAST_NAMING_ME] = c.by.last_naming
    y[LAST_NAMING_ME_NEWEST] = c.by.last_naming and newest
    y[NEWEST_NOT_MINE] = c.j == q.newest_not_mine
    y[NAMES_ME_SINCE_MINE] = c.names_me and c.j > q.my_newest
    y[FIRST_NAMING_ME_SINCE] = c.j == q.first_since
    y[OTHERS_UNNAMED_SINCE] = q.first_since < 0 and not c.mine
    y[NAMED_LATER] = named_later > 0
    y[NAMED_LATER_COUNT] = _log1p(named_later)
    y[I_NAMED_LATER] = i_named
    y[UNANSWERED_QUESTION] = c.question and newest and named_later == 0
    y[AUTHOR_FIRST] = c.is_first
    y[AUTHOR_FIRST_QUESTION] = c.is_first and c.question
    y[AFTER_MINE] = q.my_newest >= 0 and c.j > q.my_newest
    y[FROM_MINE] = _log1p(abs(c.at - q.at_mine)) if q.my_newest >= 0 else 0.0
    y[EXCHANGED] = np.log1p(c.by.exchanged) if c.by.exchanged > 0.0 and not c.mine else 0.0
    y[NEW_ASKER_QUESTION] = q.my_count == 0 and c.question
    y[NEW_ASKER_DISTANCE] = c.distance if q.my_count == 0 else 0.0
    y[AUTHOR_COUNT] = _log1p(c.by.lines - 1)
    y[HABIT_NO_NAME_MINE] = q.no_name * q.habit if c.mine else 0.0
    y[TURNS_TAKEN] = _log1p(c.by.turns)
    y[TURNS_SHARE] = c.by.turns / (max(q.my_count, c.by.lines) + 1.0)


@inlined
def _place_columns(y: Float64, c: Candidate, q: Facts, authors_since: int) -> None:
    """Distance and time."""
    y[DISTANCE] = c.distance
    y[DIRECTLY_BEFORE] = c.directly
    y[SECOND_BEFORE] = c.place == 1
    y[THIRD_BEFORE] = c.place == 2
    y[BEYOND_TEN] = max(0.0, c.distance - LOGS[9])
    y[BEYOND_THIRTY] = max(0.0, c.distance - LOGS[29])
    y[AUTHORS_SINCE] = _log1p(authors_since)
    y[OLDER] = c.older
    y[OLDER_MINE] = c.older and c.mine
    y[AUTHOR_GOES_ON] = c.goes_on
    y[AUTHOR_WENT_ON] = c.went_on
    y[QUESTION_GOES_ON] = c.question and c.goes_on
    y[DISTANCE_NAMED] = c.distance if c.by.named else 0.0
    y[DISTANCE_MINE] = c.distance if c.mine else 0.0
    y[SECONDS] = c.log_seconds
    y[SECONDS_PACE] = np.log1p(c.seconds / (q.pace + 1.0))
    y[GAP_BEFORE] = np.log1p(c.gap)
    y[PAUSE_DIRECTLY_BEFORE] = q.pause if c.directly else 0.0
    y[SECONDS_MINE] = c.log_seconds if c.mine else 0.0


@inlined
def _text_columns(
    y: Float64,
    c: Candidate,
    q: Facts,
    shared: float,
    share: float,
    weight: float,
    rarest: float,
    identifier: float,
) -> None:
    y[WORDS_SHARED_SHARE] = share
    y[RAREST_SHARED] = rarest
    y[WORDS_WEIGHT] = weight
    y[WORDS_WEIGHT_BEST] = weight / q.best_weight if q.best_weight > 0.0 else 0.0
    y[WORDS_SHARED] = np.log1p(shared) if shared > 0.0 else 0.0
    y[WEIGHT_NOT_MINE] = 0.0 if c.mine else weight
    y[LENGTH] = _log1p(max(0, c.tokens))
    y[SHORT_AFTER_QUESTION] = (q.flags & SHORT) != 0 and c.question
    y[SAME_SCRIPT] = (
        (c.flags & q.flags & SCRIPT) != 0 or (c.flags & SCRIPT) == 0 or (q.flags & SCRIPT) == 0
    )
    y[AUTHOR_SCRIPT] = c.by.script
    y[IDENTIFIER] = identifier
    y[IDENTIFIER_NEWEST] = c.j == q.newest_identifier
    if c.older:
        y[IDENTIFIER_OLDER] = identifier
        y[OLDER_WEIGHT] = weight
        y[OLDER_RAREST] = rarest


@inlined
def _cue_columns(y: Float64, c: Candidate, q: Facts) -> None:
    y[QUESTION] = c.question
    y[QUESTION_BY_MARK] = (c.flags & Q_MARK) != 0
    y[QUESTION_QUESTION] = c.question and q.question
    y[QUESTION_STATEMENT] = c.question and not q.question
    y[GREETS] = (c.flags & GREET) != 0
    y[GREETS_BOTH] = (c.flags & q.flags & GREET) != 0
    y[THANKS] = (c.flags & THANK) != 0
    if (q.flags & THANK) != 0:
        y[THANKED_NAMED_ME] = c.names_me
        y[THANKS_MINE] = c.mine
    if (q.flags & YES_NO) != 0:
        y[YES_NO_QUESTION] = c.question
        y[YES_NO_YOU] = (c.flags & YOU) != 0 and not c.mine
    y[CORRECTION_MINE] = (q.flags & CORRECTION) != 0 and c.j == q.my_newest
    if (q.flags & GOES_ON) != 0:
        y[GOES_ON_MINE_NEWEST] = c.j == q.my_newest
        y[GOES_ON_DIRECTLY_BEFORE] = c.directly
    y[COMMAND] = (c.flags & COMMANDED) != 0
    y[COMMAND_BOTH] = (c.flags & q.flags & COMMANDED) != 0
    y[LAUGHS] = (c.flags & LAUGH) != 0
    y[LAUGH_DIRECTLY_BEFORE] = (q.flags & LAUGH) != 0 and c.directly
    y[HAS_LINK] = (c.flags & LINKED) != 0
    y[LINK_AFTER_QUESTION] = (q.flags & LINKED) != 0 and c.question
    if (q.flags & YOU) != 0:
        y[YOU_FIRST_PERSON] = (c.flags & FIRST) != 0 and not c.mine
        y[SECOND_PERSON_MINE] = c.mine
    y[CASUAL] = c.kind == TYPE_CASUAL
    y[ANSWER] = c.kind == TYPE_ANSWER


@helper
def _of_base(weights: Float64, quiet: float) -> Float64:
    """The weights of the columns of `BASE`: a quiet column is what it repeats, times quiet."""
    out = np.empty((weights.shape[0], N_BASE), np.float64)
    for i in range(weights.shape[0]):
        for k in range(N_BASE):
            out[i, k] = weights[i, k]
        for k in range(N_BASE, N_COLUMNS):
            out[i, QUIET_OF[k - N_BASE]] += quiet * weights[i, k]
    return out


@helper
def _start(q: Facts, quiet: float, tokens: int, start: Float64) -> None:
    """The columns of `START` but for the scores' part."""
    start[5] = q.my_count == 0
    start[6] = q.no_name
    start[7] = q.absent
    start[8] = (q.flags & GREET) != 0
    start[9] = q.question
    start[10] = np.log1p(max(0, tokens))
    start[11] = quiet
    start[12] = (q.flags & YES_NO) != 0
    start[13] = np.log1p(q.crowd - q.at_mine) if q.my_newest >= 0 else np.log1p(2 * WINDOW)
    start[14] = q.first_since >= 0
    start[15] = (q.flags & (THANK | LAUGH | CORRECTION)) != 0


@kernel(nb.intp(*(CHANNEL, READ_I32, nb.intp, ASKED, F64_2D, F64, READ_F64_2D, F64_2D)), nogil=True)
def link_columns(
    channel: Channel, rows: Int32, n_extra: int, question: Question, x: Float64, start: Float64,
    weights: Float64, sums: Float64,
) -> int:  # fmt: skip
    """Every column of m candidates, of which the first ``n_extra`` are older than the window; all of `START` but for
    the scores. Where ``x`` has room for no more than `BASE`, the quiet ones are left out.

    ``x`` has a row a candidate, or one row for all, which is then forgotten; ``sums`` get what the columns of each
    candidate come to by each row of ``weights``. Returns the place of the newest candidate that names the asker.
    """
    time_ms, author, parent, mention_offsets, mention_ids, keyword_offsets, keyword_ids = channel[
        :7
    ]
    message_type, tokens = channel[7:9]
    q_time, asker, q_type, q_flags, q_called = question[:5]
    q_shortened, q_names, q_words, q_tokens, identifiers, same_error = question[5:]
    m = rows.shape[0]
    who, flags = np.empty(m, np.int32), np.zeros(m, np.int32)
    called, shortened = np.full(m, NO, np.int32), np.full(m, NO, np.int32)
    _cues(rows, n_extra, channel, flags, called, shortened)
    people, me = _people(rows, author, who), NO
    for k in range(people.shape[0]):
        if asker >= 0 and people[k] == asker:
            me = k
    ids, named = np.empty((m, MAX_NAMED + 2), np.int32), np.empty((m, MAX_NAMED + 2), np.int32)
    n_named, names_me = np.zeros(m, np.int32), np.zeros(m, np.uint8)
    _named(
        rows, author, parent, mention_offsets, mention_ids, called, people, ids, named, n_named
    )  # fmt: skip
    room = people.shape[0] + 1
    my_place = me if me >= 0 else room - 1
    alike, naming = np.empty(room), np.empty(room)
    _scripts(who, n_extra, flags, my_place, q_flags, alike)
    at, before = np.empty(m, np.int32), np.empty(m, np.int32)
    n_crowd, n_window = _places(who, n_extra, alike, at, before)
    _habits(who, n_extra, n_named, alike, naming)
    quiet = max(0.0, 1.0 - naming[my_place] / NAMING_RATE)
    is_named, last_named = np.zeros(room, np.uint8), np.zeros(room, np.uint8)
    absent = _mark(people, q_names, is_named)
    count, first, exchanged = np.zeros(room, np.int64), np.full(room, NO, np.int64), np.zeros(room)
    _count(who, count, first)
    turns = np.zeros(room, np.int64)
    my_newest, naming_me, not_mine, first_since, habit = _turns(
        who, me, asker, ids, named, n_named, exchanged, turns, alike, last_named, names_me
    )
    shared, share, weight = np.zeros(m), np.zeros(m), np.zeros(m)
    rarest, identifier = np.zeros(m), np.zeros(m)
    best_weight = _words(
        keyword_offsets, keyword_ids, rows, q_words, identifiers, shared, share, weight, rarest, identifier
    )  # fmt: skip
    newest_identifier = _of_same_error(rows, same_error, identifier)
    newest, last, gaps = _lately(who, alike, at, n_crowd)
    q = Facts(
        m, asker, q_called, q_flags, q_type == TYPE_QUESTION or (q_flags & Q_MARK) != 0, my_newest, naming_me, not_mine,
        first_since, absent, 1.0 if q_names.shape[0] == 0 and q_shortened < 0 else 0.0, count[me] if me >= 0 else 0,
        habit, naming[my_place], best_weight,
        max(0.0, (time_ms[rows[newest]] - time_ms[rows[last]]) / 1000.0) / max(1, gaps),
        np.log1p(max(0.0, (q_time - time_ms[rows[newest]]) / 1000.0)),
        n_crowd, at[my_newest] if my_newest >= 0 else 0, newest_identifier,
    )  # fmt: skip
    later, named_later = np.zeros(room, np.int64), np.zeros(room, np.int64)
    i_named = np.zeros(room, np.uint8)
    authors_since, mine_later, next_author = 0, 0, NO
    of_base = _of_base(weights, quiet)
    for j in range(m - 1, -1, -1):  # the newest candidate first
        row, a = rows[j], who[j]
        y = x[min(j, x.shape[0] - 1)]
        for k in range(y.shape[0]):
            y[k] = 0.0
        mine, older, kind = me >= 0 and a == me, j < n_extra, message_type[row]
        in_crowd, place = alike[a] >= CROWD, NO
        away = n_crowd - at[j] - in_crowd + 1  # this many rows of the crowd before the question
        if older:
            gap = max(0, rows[min(n_extra, m - 1)] - row)
            if n_window < m - n_extra:
                gap = gap * n_window // (m - n_extra)
            away = n_window + gap + 1
        elif in_crowd:
            place = away - 1
        seconds = max(0.0, (q_time - time_ms[row]) / 1000.0)
        shares_name, spoke = False, False
        for k in range(n_named[j]):
            for i in range(q_names.shape[0]):
                shares_name |= ids[j, k] == q_names[i]
            spoke |= named[j, k] >= 0 and later[named[j, k]] > 0
        by = Writer(
            people[a], is_named[a] != 0, q_shortened >= 0 and people[a] == q_shortened, last_named[a] != 0,
            naming_me >= 0 and a == who[naming_me], count[a], exchanged[a], turns[a], naming[a], alike[a],
        )  # fmt: skip
        c = Candidate(
            j, by, flags[j], called[j], shortened[j], n_named[j], kind, tokens[row], mine, older, place, at[j],
            place == 0, kind == TYPE_QUESTION or (flags[j] & Q_MARK) != 0, shares_name, spoke, names_me[j] != 0,
            next_author == a, before[j] >= 0 and who[before[j]] == a,
            first[a] == j, _log1p(away - 1), seconds, np.log1p(seconds),
            max(0.0, (time_ms[row] - time_ms[rows[before[j]]]) / 1000.0) if before[j] >= 0 else 0.0,
        )  # fmt: skip
        _name_columns(y, c, q, later[a] == 0)
        _turn_columns(y, c, q, later[a], named_later[a], i_named[a], mine_later)
        _place_columns(y, c, q, authors_since)
        _text_columns(y, c, q, shared[j], share[j], weight[j], rarest[j], identifier[j])
        _cue_columns(y, c, q)
        for k in range(N_BASE, y.shape[0]):
            y[k] = quiet * y[QUIET_OF[k - N_BASE]]
        for i in range(of_base.shape[0]):
            sums[i, j] = _product(of_base[i], y)
        # what the older candidates will see
        if in_crowd:
            authors_since += later[a] == 0
            next_author = a
        later[a] += 1
        mine_later += mine
        for k in range(n_named[j]):
            if named[j, k] >= 0:
                named_later[named[j, k]] += 1
                if mine:
                    i_named[named[j, k]] = 1
    _start(q, quiet, q_tokens, start)
    return naming_me


@kernel(nb.float64(F64, nb.intp, F64, READ_F64, F64), nogil=True)
def link_chances(
    scores: Float64, m: int, start: Float64, start_weights: Float64, p: Float64
) -> float:
    """Write the softmax of m scores to ``p``; return the start model's chance that nothing is answered.

    It is logistic over what the scores come to, which is written to ``start``, and over the rest of it.
    """
    best, second = -np.inf, -np.inf
    for j in range(m):
        if scores[j] > best:
            best, second = scores[j], best
        elif scores[j] > second:
            second = scores[j]
    total = 0.0
    for j in range(m):
        p[j] = np.exp(scores[j] - best)
        total += p[j]
    entropy = 0.0
    for j in range(m):
        p[j] /= total
        if p[j] > 0.0:
            entropy -= p[j] * np.log(p[j])
    start[0] = best
    start[1] = best + np.log(total)
    start[2] = 1.0 / total
    start[3] = entropy
    start[4] = min(10.0, best - second)
    z = start_weights[N_START]
    for k in range(N_START):
        z += start_weights[k] * start[k]
    return 1.0 / (1.0 + np.exp(-z))


@kernel(
    nb.intp(
        nb.intp, READ_I32, READ_I32, READ_I64, READ_I32, READ_U8, nb.intp, nb.intp, READ_I32, I32,
    ),
    nogil=True,
)  # fmt: skip
def candidates(
    end: int, author: Int32, parent: Int32, mention_offsets: Int64, mention_ids: Int32, allowed: UInt8,
    allowed_from: int, asker: int, named: Int32, out: Int32,
) -> int:  # fmt: skip
    """The last `WINDOW` allowed rows, and at most `MAX_EXTRA` older ones within `REACH`, ascending: 3 of me where I
    have under 3 in the window (1 under 20), 2 of each named person with under 2, 2 that name me if under 2 do.

    Returns count * 16 + how many of them are older.
    """
    m, extra = _candidates(
        end, author, parent, mention_offsets, mention_ids, allowed, allowed_from, asker, named, out
    )
    return m * 16 + extra


LINKS = nb.types.Tuple((I32_2D, F64_2D, F64))  # rows, chances and starts of ReplyLinks


@kernel(nb.void(*(CHANNEL, READ_U8, nb.intp, nb.intp, nb.intp, MODEL, LINKS)), nogil=True)
def reply_links(
    channel: Channel, allowed: UInt8, allowed_from: int, first: int, last: int,
    model: tuple[Float64, Float64, Float64], links: tuple[Int32, Float64, Float64],
) -> None:  # fmt: skip
    """The `TOP` likeliest rows that each row from ``first`` to ``last`` answers, of equal ones the later first."""
    time_ms, author, parent, mention_offsets, mention_ids, keyword_offsets, keyword_ids = channel[
        :7
    ]
    message_type, tokens, flags, all_called, all_shortened, cues_from = channel[7:]
    (weights, offsets, start_weights), (link_rows, link_p, starts) = model, links
    x, start = np.empty((1, N_BASE), np.float64), np.empty(N_START, np.float64)
    rows = np.empty(WINDOW + MAX_EXTRA, np.int32)
    scores = np.empty((1, WINDOW + MAX_EXTRA), np.float64)
    p = np.empty(WINDOW + MAX_EXTRA, np.float64)
    names = np.empty(MAX_NAMED + 3, np.int32)
    for row in range(first, last):
        at = row - first
        link_rows[at] = NO
        link_p[at] = 0.0
        starts[at] = 1.0
        if allowed[row - allowed_from] == 0:
            continue
        if 0 <= parent[row] < row:
            link_rows[at, 0] = parent[row]
            link_p[at, 0] = 1.0
            starts[at] = 0.0
            continue
        cue = row - cues_from
        called, shortened = all_called[cue], all_shortened[cue]
        n_names = _names_of(row, author, parent, mention_offsets, mention_ids, called, names)
        n_wanted = n_names
        if shortened >= 0:
            names[n_names] = shortened
            n_wanted += 1
        m, extra = _candidates(
            row, author, parent, mention_offsets, mention_ids, allowed, allowed_from, author[row],
            names[:n_wanted], rows,
        )  # fmt: skip
        if m == 0:
            continue
        words = keyword_ids[keyword_offsets[row] : keyword_offsets[row + 1]]
        question = (
            time_ms[row], np.int64(author[row]), np.int64(message_type[row]), np.int64(flags[cue]),
            np.int64(called), np.int64(shortened), names[:n_names], words, np.int64(tokens[row]),
            words[:0], words[:0],
        )  # fmt: skip
        link_columns(channel, rows[:m], extra, question, x, start, weights[:1], scores)
        for j in range(m):
            scores[0, j] += offsets[0]
        p0 = link_chances(scores[0], m, start, start_weights, p)
        starts[at] = p0
        for k in range(min(TOP, m)):
            best = 0
            for j in range(m):
                if p[j] >= p[best]:  # of equal ones the later
                    best = j
            link_rows[at, k] = rows[best]
            link_p[at, k] = p[best] * (1.0 - p0)
            p[best] = -1.0


@helper
def _linear(
    x: Float64, more: Float64, weights: Float64, means: Float64, constant: float, family: Int32,
    shares: Float64, linear: Float64,
) -> None:  # fmt: skip
    """A column of all rows at once, in the order of the columns, so that shares say exactly what was added up."""
    m, n, last = x.shape[1], x.shape[0], shares.shape[0] - 1
    both = n + more.shape[0]
    sums = np.empty(m, np.float64)
    for f in range(last):
        for j in range(m):
            shares[f, j] = 0.0
    k = 0
    while k < both:  # a run of columns of one family
        f = family[k]
        for j in range(m):
            sums[j] = 0.0
        while k < both and family[k] == f:
            w, mean = weights[k], means[k]
            if k < n:
                for j in range(m):
                    sums[j] += w * (x[k, j] - mean)
            else:
                for j in range(m):
                    sums[j] += w * (more[k - n, j] - mean)
            k += 1
        for j in range(m):
            shares[f, j] += sums[j]
    for j in range(m):
        shares[last, j] = constant
        linear[j] = 0.0
    for f in range(last + 1):
        for j in range(m):
            linear[j] += shares[f, j]


_MODEL = (READ_F64, READ_F64, nb.float64)


@kernel(nb.void(READ_F64_2D, READ_F64_2D, *_MODEL, READ_I32, F64_2D, F64), nogil=True)
def family_shares(
    x: Float64, more: Float64, weights: Float64, means: Float64, constant: float, family: Int32,
    shares: Float64, linear: Float64,
) -> None:  # fmt: skip
    """What each family of columns adds to each candidate's score, and last the constant; and their sums.

    ``x`` and ``more`` are float64[c, m] and float64[d, m]; ``family`` is that of each of the c + d columns.
    """
    _linear(x, more, weights, means, constant, family, shares, linear)


@helper
def _with_more(found: Int32, more: Int32, rows: Int32) -> int:
    """The newest of both lists, ascending and without repeats, as many as ``rows`` holds; how many."""
    i, k, hole = found.shape[0] - 1, more.shape[0] - 1, rows.shape[0]
    while hole > 0 and (i >= 0 or k >= 0):
        row = found[i] if k < 0 or (i >= 0 and found[i] > more[k]) else more[k]
        i -= i >= 0 and found[i] == row
        k -= k >= 0 and more[k] == row
        hole -= 1
        rows[hole] = row
    m = rows.shape[0] - hole
    for j in range(m):
        rows[j] = rows[hole + j]
    return m


@kernel(
    nb.types.Tuple((nb.intp, nb.intp, nb.intp, nb.intp, nb.intp, nb.float64, nb.float64))(
        *(CHANNEL, READ_U8, nb.intp, nb.intp, READ_I32, nb.intp, ASKED, MODEL, I32, I32, F64_2D)
    ),
    nogil=True,
)
def question_links(
    channel: Channel, allowed: UInt8, allowed_from: int, end: int, more: Int32, told: int, question: Question,
    model: tuple[Float64, Float64, Float64], rows: Int32, older: Int32, numbers: Float64,
) -> tuple[int, int, int, int, int, float, float]:  # fmt: skip
    """A question's candidates and the chance that it answers none; `question_scores` does the rest.

    ``numbers`` get, a row each, the chances by the first stage and the sums over `COLUMNS` by the other two models.
    Returns m, how many stand before the window, how many of those were looked for, the places of ``told`` and of the
    newest that names the asker, the chance that nothing is answered, how quiet it is about names.
    """
    _, author, parent, mention_offsets, mention_ids = channel[:5]
    _, asker, _, _, _, shortened, names = question[:7]
    weights, offsets, start_weights = model
    named = np.empty(names.shape[0] + 1, np.int32)
    for k in range(names.shape[0]):
        named[k] = names[k]
    named[names.shape[0]] = shortened
    found = np.empty(WINDOW + MAX_EXTRA, np.int32)
    count, n_older = _candidates(
        end, author, parent, mention_offsets, mention_ids, allowed, allowed_from, asker, named, found,
    )  # fmt: skip
    for k in range(n_older):
        older[k] = found[k]
    m = _with_more(found[:count], more, rows)
    n_extra = m
    while n_extra > 0 and count > n_older and rows[n_extra - 1] >= found[n_older]:
        n_extra -= 1
    if m == 0:
        return 0, 0, 0, NO, NO, 1.0, 0.0
    x, sums = np.empty((1, N_BASE), np.float64), np.empty((3, m), np.float64)
    start = np.zeros(N_START, np.float64)
    newest_naming_me = link_columns(channel, rows[:m], n_extra, question, x, start, weights, sums)
    scores = sums[0]
    for j in range(m):
        scores[j] += offsets[0]
        numbers[LINK_LINEAR, j] = sums[1, j] + offsets[1]
        numbers[TAIL_LINEAR, j] = sums[2, j] + offsets[2]
    p = numbers[CHANCE, :m]
    starts_new = link_chances(scores, m, start, start_weights, p)
    place = NO
    for j in range(m):
        if told >= 0 and rows[j] == told:
            place = j
    if place >= 0:
        p[:m] = 0.0
        p[place] = 1.0
        starts_new = 0.0
    return m, n_extra, n_older, place, newest_naming_me, starts_new, start[QUIET_PLACE]
