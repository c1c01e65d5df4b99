"""Compiled columns and reply links, and the first half of a question's ranking.

See `reference_links` for what is computed.

Long on purpose. The cache wants a kernel and its parts in one file (see `compile`); and `link_columns` in parts, a
family of columns each, gave the same values at the same speed but took some 14 % longer to compile.
"""

from __future__ import annotations

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
    kernel,
)
from .link_columns import (
    BASE,
    CHANCE,
    COLUMNS,
    LINK_LINEAR,
    MAX_EXTRA,
    MAX_NAMED,
    MAX_WORDS,
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
    NEWEST_OF_NAMED, NEWEST_NAMING_ME, ABSENT_NAMED_MINE, NAMES_NOBODY, MINE, MINE_NEWEST, MINE_NEWEST_NO_NAME,
    MINE_DIRECTLY_BEFORE, MINE_NEWEST_SECONDS, MINE_LATER, AUTHOR_NEWEST, LATER_BY_AUTHOR, AUTHOR_NEWEST_NO_NAME,
    LAST_I_NAMED, LAST_I_NAMED_NEWEST, LAST_NAMING_ME, LAST_NAMING_ME_NEWEST, NEWEST_NOT_MINE, NAMES_ME_SINCE_MINE,
    FIRST_NAMING_ME_SINCE, OTHERS_UNNAMED_SINCE, NAMED_LATER, NAMED_LATER_COUNT, I_NAMED_LATER, ADDRESSEE_SPOKE_SINCE,
    UNANSWERED_QUESTION, AUTHOR_FIRST, AUTHOR_FIRST_QUESTION, AFTER_MINE, FROM_MINE, EXCHANGED, NEW_ASKER_QUESTION,
    NEW_ASKER_DISTANCE, AUTHOR_COUNT, HABIT_NO_NAME_MINE, DISTANCE, DIRECTLY_BEFORE, SECOND_BEFORE, THIRD_BEFORE,
    BEYOND_TEN, BEYOND_THIRTY, AUTHORS_SINCE, OLDER, OLDER_MINE, AUTHOR_GOES_ON, AUTHOR_WENT_ON, QUESTION_GOES_ON,
    DISTANCE_NAMED, DISTANCE_MINE, SECONDS, SECONDS_PACE, GAP_BEFORE, PAUSE_DIRECTLY_BEFORE, SECONDS_MINE,
    WORDS_SHARED_SHARE, WORDS_WEIGHT, WORDS_WEIGHT_BEST, WORDS_SHARED, RAREST_SHARED, WEIGHT_NOT_MINE, LENGTH,
    SHORT_AFTER_QUESTION, QUESTION, QUESTION_BY_MARK, QUESTION_QUESTION, QUESTION_STATEMENT, GREETS, GREETS_BOTH,
    THANKS, THANKED_NAMED_ME, THANKS_MINE, YES_NO_QUESTION, YES_NO_YOU, CORRECTION_MINE, GOES_ON_MINE_NEWEST,
    GOES_ON_DIRECTLY_BEFORE, COMMAND, COMMAND_BOTH, LAUGHS, LAUGH_DIRECTLY_BEFORE, HAS_LINK, LINK_AFTER_QUESTION,
    YOU_FIRST_PERSON, SECOND_PERSON_MINE, CASUAL, ANSWER,
) = range(96)
# fmt: on
N_BASE = len(BASE)
N_COLUMNS = len(COLUMNS)

# Bits of a message's cues (`analyze.reply_cues.FLAGS`) and its types (`domain.MessageType`).
Q_MARK, Q_WORD, THANK, YES_NO, GREET, CORRECTION, LINKED, VERSION, YOU, FIRST, GOES_ON, SHORT, LAUGH, COMMANDED = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192
)  # fmt: skip
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


_CHANNEL = (
    READ_I64, READ_I32, READ_I32, READ_I64, READ_I32, READ_I64, READ_I32, READ_U8, READ_I32,
    READ_I32, READ_I32, READ_I32, nb.intp,
)  # fmt: skip


@kernel(
    nb.intp(
        *_CHANNEL, READ_I32, nb.intp, nb.intp, nb.int64, nb.intp, nb.intp, nb.intp, nb.intp, nb.intp, READ_I32,
        READ_I32, nb.intp, F64_2D, F64, READ_F64_2D, F64_2D,
    ),
    nogil=True,
)  # fmt: skip
def link_columns(
    time_ms: Int64, author: Int32, parent: Int32, mention_offsets: Int64, mention_ids: Int32,
    keyword_offsets: Int64, keyword_ids: Int32, message_type: UInt8, tokens: Int32,
    flags: Int32, called: Int32, shortened: Int32, cues_from: int,
    rows: Int32, m: int, n_extra: int,
    q_time: int, q_author: int, q_type: int, q_flags: int, q_called: int, q_shortened: int, q_names: Int32,
    q_words: Int32, q_tokens: int, x: Float64, start: Float64, weights: Float64, sums: Float64,
) -> int:  # fmt: skip
    """See `reference_links.link_columns`. Where ``x`` has room for no more than `BASE`, the quiet ones are left out.

    ``x`` has a row a candidate, or one row for all, which is then forgotten; ``sums`` get what the columns of each
    candidate come to by each row of ``weights``. Returns the place of the newest candidate that names the asker.
    """
    n_words = q_words.shape[0] if q_words.shape[0] <= MAX_WORDS else 0
    # -- who: authors and named people as places in a list of this window's authors
    people = np.empty(m, np.int32)
    who = np.empty(m, np.int32)
    n_people = 0
    for j in range(m):
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
    me = NO
    for k in range(n_people):
        if q_author >= 0 and people[k] == q_author:
            me = k
    named_ids = np.empty((m, MAX_NAMED + 2), np.int32)
    named_who = np.empty((m, MAX_NAMED + 2), np.int32)
    n_named = np.zeros(m, np.int32)
    naming = 0
    flag = np.zeros(m, np.int32)
    call = np.full(m, NO, np.int32)
    short = np.full(m, NO, np.int32)
    for j in range(m):
        row = rows[j]
        if j >= n_extra and row >= cues_from:
            flag[j] = flags[row - cues_from]
            call[j] = called[row - cues_from]
            short[j] = shortened[row - cues_from]
        n_named[j] = _names_of(
            row, author, parent, mention_offsets, mention_ids, call[j], named_ids[j]
        )
        for k in range(n_named[j]):
            named_who[j, k] = NO
            for p in range(n_people):
                if people[p] == named_ids[j, k]:
                    named_who[j, k] = p
                    break
        naming += j >= n_extra and n_named[j] > 0
    quiet = max(0.0, 1.0 - naming / max(1.0, 0.15 * (m - n_extra)))
    # -- what happened in the window
    is_named = np.zeros(n_people + 1, np.uint8)  # by the question
    absent = 0
    for k in range(q_names.shape[0]):
        place = NO
        for p in range(n_people):
            if people[p] == q_names[k]:
                place = p
        if place >= 0:
            is_named[place] = 1
        else:
            absent = 1
    no_name = 1.0 if q_names.shape[0] == 0 and q_shortened < 0 else 0.0
    count = np.zeros(n_people + 1, np.int64)
    first = np.full(n_people + 1, NO, np.int64)
    exchanged = np.zeros(n_people + 1, np.float64)
    names_me = np.zeros(m, np.uint8)
    my_unnamed = 0
    last_named = np.zeros(n_people + 1, np.uint8)  # by my last message that names anybody
    my_newest, newest_naming_me, newest_not_mine = NO, NO, NO
    for j in range(m):
        count[who[j]] += 1
        if first[who[j]] < 0:
            first[who[j]] = j
        mine = me >= 0 and who[j] == me
        if mine:
            my_newest = j
            my_unnamed += n_named[j] == 0
            if n_named[j] > 0:
                last_named[:] = 0
            for k in range(n_named[j]):
                if named_who[j, k] >= 0:
                    exchanged[named_who[j, k]] += 1.0
                    last_named[named_who[j, k]] = 1
        else:
            newest_not_mine = j
            for k in range(n_named[j]):
                if q_author >= 0 and named_ids[j, k] == q_author:
                    names_me[j] = 1
                    newest_naming_me = j
                    exchanged[who[j]] += 1.0
    my_count = count[me] if me >= 0 else 0
    habit = my_unnamed / (my_count + 1.0)
    # -- words
    shared = np.zeros(m, np.float64)
    found = np.zeros((m, n_words), np.uint8)
    df = np.zeros(n_words, np.int64)
    mean_words = 0.0
    for j in range(m):
        k, k_end = keyword_offsets[rows[j]], keyword_offsets[rows[j] + 1]
        mean_words += (k_end - k) / m
        w = 0
        while w < n_words and k < k_end:
            if q_words[w] == keyword_ids[k]:
                found[j, w] = 1
                df[w] += 1
                shared[j] += 1.0
                w += 1
                k += 1
            elif q_words[w] < keyword_ids[k]:
                w += 1
            else:
                k += 1
    weight, share, rarest_shared = np.zeros(m), np.zeros(m), np.zeros(m)
    best_weight = 0.0
    times = np.zeros(m + 1, np.int64)
    for j in range(m):
        if shared[j] > 0.0:
            size = float(keyword_offsets[rows[j] + 1] - keyword_offsets[rows[j]])
            times[:] = 0  # added up by frequency: word ids stand in another order after a restart
            for w in range(n_words):
                if found[j, w] != 0:
                    times[df[w]] += 1
            total, rarest = 0.0, 0.0
            for often in range(m, 0, -1):
                if times[often] > 0:
                    rarest = np.log(1.0 + (m - often + 0.5) / (often + 0.5))
                    total += times[often] * rarest
            weight[j] = 2.2 * total / (1.0 + 1.2 * (0.25 + 0.75 * size / max(1.0, mean_words)))
            best_weight = max(best_weight, weight[j])
            share[j] = shared[j] / (size + q_words.shape[0] - shared[j])
            rarest_shared[j] = rarest
    # -- the columns, the newest candidate first
    later = np.zeros(n_people + 1, np.int64)
    named_later = np.zeros(n_people + 1, np.int64)
    i_named = np.zeros(n_people + 1, np.uint8)
    authors_since = 0
    mine_later = 0
    n_window = m - n_extra
    last = max(0, m - 21)
    pace = max(0.0, (time_ms[rows[m - 1]] - time_ms[rows[last]]) / 1000.0) / max(1, m - 1 - last)
    pause = np.log1p(max(0.0, (q_time - time_ms[rows[m - 1]]) / 1000.0))
    q_question = q_type == TYPE_QUESTION or (q_flags & Q_MARK) != 0
    first_since = NO
    for j in range(my_newest + 1, m):
        if names_me[j] != 0:
            first_since = j
            break
    of_base = np.empty(
        (weights.shape[0], N_BASE), np.float64
    )  # a quiet column is what it repeats, times quiet
    for i in range(weights.shape[0]):
        for k in range(N_BASE):
            of_base[i, k] = weights[i, k]
        for k in range(N_BASE, N_COLUMNS):
            of_base[i, QUIET_OF[k - N_BASE]] += quiet * weights[i, k]
    for j in range(m - 1, -1, -1):
        row, a, f = rows[j], who[j], flag[j]
        y = x[min(j, x.shape[0] - 1)]
        for k in range(y.shape[0]):
            y[k] = 0.0
        mine = me >= 0 and a == me
        older = j < n_extra
        away = m - j if not older else n_window + max(0, rows[min(n_extra, m - 1)] - row) + 1
        distance = _log1p(away - 1)
        seconds = max(0.0, (q_time - time_ms[row]) / 1000.0)
        log_seconds = np.log1p(seconds)
        directly = j == m - 1 and not older
        question = message_type[row] == TYPE_QUESTION or (f & Q_MARK) != 0
        named = is_named[a] != 0
        is_newest = later[a] == 0
        shortens = q_shortened >= 0 and people[a] == q_shortened
        # names
        y[NAMED] = named
        y[CALLED] = q_called >= 0 and people[a] == q_called
        y[SHORTENED] = shortens and not named
        y[NAMES_ME] = names_me[j]
        y[CALLS_ME] = q_author >= 0 and call[j] == q_author
        y[SHORTENS_ME] = q_author >= 0 and short[j] == q_author and names_me[j] == 0
        y[NAMES_OTHER] = n_named[j] > 0 and names_me[j] == 0
        y[CALLS_OTHER] = call[j] >= 0 and call[j] != q_author
        for k in range(n_named[j]):
            for i in range(q_names.shape[0]):
                if named_ids[j, k] == q_names[i]:
                    y[SHARED_NAME] = 1.0
            if named_who[j, k] >= 0 and later[named_who[j, k]] > 0:
                y[ADDRESSEE_SPOKE_SINCE] = 1.0
        y[MUTUAL] = named and names_me[j] != 0
        y[NEWEST_OF_NAMED] = (named or shortens) and is_newest
        y[NEWEST_NAMING_ME] = j == newest_naming_me
        y[ABSENT_NAMED_MINE] = mine and absent == 1
        y[NAMES_NOBODY] = n_named[j] == 0
        # turns
        y[MINE] = mine
        y[MINE_NEWEST] = j == my_newest
        y[MINE_NEWEST_NO_NAME] = no_name if j == my_newest else 0.0
        y[MINE_DIRECTLY_BEFORE] = mine and directly
        y[MINE_NEWEST_SECONDS] = log_seconds if j == my_newest else 0.0
        y[MINE_LATER] = _log1p(mine_later) if mine else 0.0
        y[AUTHOR_NEWEST] = is_newest
        y[LATER_BY_AUTHOR] = _log1p(min(10, later[a]))
        y[AUTHOR_NEWEST_NO_NAME] = no_name if is_newest else 0.0
        y[LAST_I_NAMED] = last_named[a]
        y[LAST_I_NAMED_NEWEST] = last_named[a] != 0 and is_newest
        if newest_naming_me >= 0 and a == who[newest_naming_me]:
            y[LAST_NAMING_ME] = 1.0
            y[LAST_NAMING_ME_NEWEST] = is_newest
        y[NEWEST_NOT_MINE] = j == newest_not_mine
        y[NAMES_ME_SINCE_MINE] = names_me[j] != 0 and j > my_newest
        y[FIRST_NAMING_ME_SINCE] = j == first_since
        y[OTHERS_UNNAMED_SINCE] = first_since < 0 and not mine
        y[NAMED_LATER] = named_later[a] > 0
        y[NAMED_LATER_COUNT] = _log1p(named_later[a])
        y[I_NAMED_LATER] = i_named[a]
        y[UNANSWERED_QUESTION] = question and is_newest and named_later[a] == 0
        y[AUTHOR_FIRST] = first[a] == j
        y[AUTHOR_FIRST_QUESTION] = first[a] == j and question
        y[AFTER_MINE] = my_newest >= 0 and j > my_newest
        y[FROM_MINE] = _log1p(abs(j - my_newest)) if my_newest >= 0 else 0.0
        y[EXCHANGED] = np.log1p(exchanged[a]) if exchanged[a] > 0.0 and not mine else 0.0
        y[NEW_ASKER_QUESTION] = my_count == 0 and question
        y[NEW_ASKER_DISTANCE] = distance if my_count == 0 else 0.0
        y[AUTHOR_COUNT] = _log1p(count[a] - 1)
        y[HABIT_NO_NAME_MINE] = no_name * habit if mine else 0.0
        # distance
        y[DISTANCE] = distance
        y[DIRECTLY_BEFORE] = directly
        y[SECOND_BEFORE] = j == m - 2 and not older
        y[THIRD_BEFORE] = j == m - 3 and not older
        y[BEYOND_TEN] = max(0.0, distance - LOGS[9])
        y[BEYOND_THIRTY] = max(0.0, distance - LOGS[29])
        y[AUTHORS_SINCE] = _log1p(authors_since)
        y[OLDER] = older
        y[OLDER_MINE] = older and mine
        goes_on = j + 1 < m and who[j + 1] == a
        y[AUTHOR_GOES_ON] = goes_on
        y[AUTHOR_WENT_ON] = j > 0 and who[j - 1] == a
        y[QUESTION_GOES_ON] = question and goes_on
        y[DISTANCE_NAMED] = distance if named else 0.0
        y[DISTANCE_MINE] = distance if mine else 0.0
        # time
        y[SECONDS] = log_seconds
        y[SECONDS_PACE] = np.log1p(seconds / (pace + 1.0))
        y[GAP_BEFORE] = (
            np.log1p(max(0.0, (time_ms[row] - time_ms[rows[j - 1]]) / 1000.0)) if j > 0 else 0.0
        )
        y[PAUSE_DIRECTLY_BEFORE] = pause if directly else 0.0
        y[SECONDS_MINE] = log_seconds if mine else 0.0
        # text
        y[WORDS_SHARED_SHARE] = share[j]
        y[RAREST_SHARED] = rarest_shared[j]
        y[WORDS_WEIGHT] = weight[j]
        y[WORDS_WEIGHT_BEST] = weight[j] / best_weight if best_weight > 0.0 else 0.0
        y[WORDS_SHARED] = np.log1p(shared[j]) if shared[j] > 0.0 else 0.0
        y[WEIGHT_NOT_MINE] = 0.0 if mine else weight[j]
        y[LENGTH] = _log1p(max(0, tokens[row]))
        y[SHORT_AFTER_QUESTION] = (q_flags & SHORT) != 0 and question
        # cues
        y[QUESTION] = question
        y[QUESTION_BY_MARK] = (f & Q_MARK) != 0
        y[QUESTION_QUESTION] = question and q_question
        y[QUESTION_STATEMENT] = question and not q_question
        y[GREETS] = (f & GREET) != 0
        y[GREETS_BOTH] = (f & q_flags & GREET) != 0
        y[THANKS] = (f & THANK) != 0
        if (q_flags & THANK) != 0:
            y[THANKED_NAMED_ME] = names_me[j]
            y[THANKS_MINE] = mine
        if (q_flags & YES_NO) != 0:
            y[YES_NO_QUESTION] = question
            y[YES_NO_YOU] = (f & YOU) != 0 and not mine
        y[CORRECTION_MINE] = (q_flags & CORRECTION) != 0 and j == my_newest
        if (q_flags & GOES_ON) != 0:
            y[GOES_ON_MINE_NEWEST] = j == my_newest
            y[GOES_ON_DIRECTLY_BEFORE] = directly
        y[COMMAND] = (f & COMMANDED) != 0
        y[COMMAND_BOTH] = (f & q_flags & COMMANDED) != 0
        y[LAUGHS] = (f & LAUGH) != 0
        y[LAUGH_DIRECTLY_BEFORE] = (q_flags & LAUGH) != 0 and directly
        y[HAS_LINK] = (f & LINKED) != 0
        y[LINK_AFTER_QUESTION] = (q_flags & LINKED) != 0 and question
        if (q_flags & YOU) != 0:
            y[YOU_FIRST_PERSON] = (f & FIRST) != 0 and not mine
            y[SECOND_PERSON_MINE] = mine
        y[CASUAL] = message_type[row] == TYPE_CASUAL
        y[ANSWER] = message_type[row] == TYPE_ANSWER
        for k in range(N_BASE, y.shape[0]):
            y[k] = quiet * y[QUIET_OF[k - N_BASE]]
        for i in range(of_base.shape[0]):
            sums[i, j] = _product(of_base[i], y)
        # what the older candidates will see
        authors_since += is_newest
        later[a] += 1
        mine_later += mine
        for k in range(n_named[j]):
            if named_who[j, k] >= 0:
                named_later[named_who[j, k]] += 1
                if mine:
                    i_named[named_who[j, k]] = 1
    start[5] = my_count == 0
    start[6] = no_name
    start[7] = absent
    start[8] = (q_flags & GREET) != 0
    start[9] = q_question
    start[10] = np.log1p(max(0, q_tokens))
    start[11] = quiet
    start[12] = (q_flags & YES_NO) != 0
    start[13] = np.log1p(m - my_newest) if my_newest >= 0 else np.log1p(2 * WINDOW)
    start[14] = first_since >= 0
    start[15] = (q_flags & (THANK | LAUGH | CORRECTION)) != 0
    return newest_naming_me


@kernel(nb.float64(F64, nb.intp, F64, READ_F64, F64), nogil=True)
def link_chances(
    scores: Float64, m: int, start: Float64, start_weights: Float64, p: Float64
) -> float:
    """See `reference_links.link_chances`."""
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
    """See `reference_links.candidates`. Returns count * 16 + how many of them are older."""
    m, extra = _candidates(
        end, author, parent, mention_offsets, mention_ids, allowed, allowed_from, asker, named, out
    )
    return m * 16 + extra


@kernel(
    nb.void(
        *_CHANNEL, READ_U8, nb.intp, nb.intp, nb.intp, READ_F64_2D, READ_F64, READ_F64, I32_2D, F64_2D, F64,
    ),
    nogil=True,
)  # fmt: skip
def reply_links(
    time_ms: Int64, author: Int32, parent: Int32, mention_offsets: Int64, mention_ids: Int32,
    keyword_offsets: Int64, keyword_ids: Int32, message_type: UInt8, tokens: Int32,
    flags: Int32, called: Int32, shortened: Int32, cues_from: int,
    allowed: UInt8, allowed_from: int, first: int, last: int,
    weights: Float64, offsets: Float64, start_weights: Float64,
    link_rows: Int32, link_p: Float64, starts: Float64,
) -> None:  # fmt: skip
    """See `reference_links.reply_links`."""
    x = np.empty((1, N_BASE), np.float64)
    rows = np.empty(WINDOW + MAX_EXTRA, np.int32)
    scores = np.empty((1, WINDOW + MAX_EXTRA), np.float64)
    p = np.empty(WINDOW + MAX_EXTRA, np.float64)
    start = np.empty(N_START, np.float64)
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
        n_names = _names_of(row, author, parent, mention_offsets, mention_ids, called[cue], names)
        n_wanted = n_names
        if shortened[cue] >= 0:
            names[n_names] = shortened[cue]
            n_wanted += 1
        m, extra = _candidates(
            row, author, parent, mention_offsets, mention_ids, allowed, allowed_from, author[row], names[:n_wanted],
            rows,
        )  # fmt: skip
        if m == 0:
            continue
        words = keyword_ids[keyword_offsets[row] : keyword_offsets[row + 1]]
        link_columns(
            time_ms, author, parent, mention_offsets, mention_ids, keyword_offsets, keyword_ids, message_type, tokens,
            flags, called, shortened, cues_from, rows, m, extra,
            time_ms[row], author[row], message_type[row], flags[cue], called[cue], shortened[cue], names[:n_names],
            words, tokens[row], x, start, weights[:1], scores,
        )  # fmt: skip
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
    """See `reference_links.family_shares`."""
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
        *_CHANNEL, READ_U8, nb.intp, nb.intp, READ_I32, nb.intp,
        nb.int64, nb.intp, nb.intp, nb.intp, nb.intp, nb.intp, READ_I32, READ_I32, nb.intp,
        READ_F64_2D, READ_F64, READ_F64, I32, I32, F64_2D,
    ),
    nogil=True,
)  # fmt: skip
def question_links(
    time_ms: Int64, author: Int32, parent: Int32, mention_offsets: Int64, mention_ids: Int32,
    keyword_offsets: Int64, keyword_ids: Int32, message_type: UInt8, tokens: Int32,
    flags: Int32, called: Int32, shortened: Int32, cues_from: int,
    allowed: UInt8, allowed_from: int, end: int, more: Int32, told: int,
    q_time: int, q_author: int, q_type: int, q_flags: int, q_called: int, q_shortened: int, q_names: Int32,
    q_words: Int32, q_tokens: int,
    weights: Float64, offsets: Float64, start_weights: Float64,
    rows: Int32, older: Int32, numbers: Float64,
) -> tuple[int, int, int, int, int, float, float]:  # fmt: skip
    """See `reference_ranking.question_ranking`.

    ``numbers`` get, a row each, the chances by the first stage and the sums over `COLUMNS` by the other two models.
    Returns m, how many stand before the window, how many of those were looked for, the places of ``told`` and of the
    newest that names the asker, the chance that nothing is answered, how quiet it is about names.
    """
    named = np.empty(q_names.shape[0] + 1, np.int32)
    for k in range(q_names.shape[0]):
        named[k] = q_names[k]
    named[q_names.shape[0]] = q_shortened
    found = np.empty(WINDOW + MAX_EXTRA, np.int32)
    count, n_older = _candidates(
        end, author, parent, mention_offsets, mention_ids, allowed, allowed_from, q_author, named, found,
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
    newest_naming_me = link_columns(
        time_ms, author, parent, mention_offsets, mention_ids, keyword_offsets, keyword_ids, message_type, tokens,
        flags, called, shortened, cues_from, rows[:m], m, n_extra,
        q_time, q_author, q_type, q_flags, q_called, q_shortened, q_names, q_words, q_tokens, x, start, weights, sums,
    )  # fmt: skip
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
