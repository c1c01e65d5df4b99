"""The reply model one candidate at a time, by the names of its columns and by sets.

"Me" is the author of the message that may answer something (the question); a row "names" whom it mentions, calls first,
or answers by a platform's own edge.
"""

import math
from functools import cache

import numpy as np

from backscroll_scoring.link_columns import (
    BASE,
    COLUMNS,
    CONVERSATION,
    CROWD,
    FEW_LINES,
    MAX_EXTRA,
    MAX_NAMED,
    MAX_WORDS,
    NAMING_RATE,
    QUIET,
    REACH,
    START,
    TOP,
    WINDOW,
)

QUESTION_TYPE, ANSWER_TYPE, CASUAL_TYPE = 1, 2, 5
FLAGS = (
    "question_mark", "question_word", "thanks", "yes_no", "greeting", "correction", "link", "version", "you",
    "first_person", "goes_on", "short", "laugh", "command", "alphabet", "ideographs", "other_script",
)  # fmt: skip
SCRIPTS = {"alphabet", "ideographs", "other_script"}
LEAST = 1e-4


def people_named(a, row, called):
    """Whom a row names, itself left out; more than `MAX_NAMED` mentions name nobody in particular."""
    ids = a.mention_ids[a.mention_offsets[row] : a.mention_offsets[row + 1]].tolist()
    named = {called, *(ids if len(ids) <= MAX_NAMED else ())}
    if 0 <= a.parent[row] < row:
        named.add(int(a.author[a.parent[row]]))
    return {user for user in named if user >= 0 and user != a.author[row]}


def names(a, row, user):
    """Whether a row names a user by mention or by a platform's edge, as it is looked for among many rows."""
    ids = a.mention_ids[a.mention_offsets[row] : a.mention_offsets[row + 1]].tolist()
    return user in ids or (0 <= a.parent[row] < row and a.author[a.parent[row]] == user)


def candidates(a, end, allowed, q):
    """The last `WINDOW` allowed rows, and at most `MAX_EXTRA` older ones within `REACH`, newest first: 3 of me where I
    have under 3 in the window (1 under 20), 2 of each named person with under 2, 2 that name me if under 2 do.
    """
    earlier = [row for row in range(end - 1, -1, -1) if allowed(row)]
    window = earlier[:WINDOW]
    mine = sum(a.author[row] == q.author for row in window)
    want_mine = 0 if q.author < 0 else 3 if mine < 3 else 1 if mine < 20 else 0
    naming = sum(a.author[r] != q.author and names(a, r, q.author) for r in window)
    want_naming = 2 if q.author >= 0 and naming < 2 else 0
    people = [*q.names.tolist(), *([q.shortened] if q.shortened >= 0 else [])]
    want = {
        user: 2 for user in people if user >= 0 and sum(a.author[r] == user for r in window) < 2
    }
    older = []
    for row in earlier[WINDOW:]:
        if row < end - WINDOW - REACH or len(older) == MAX_EXTRA:
            break
        author, take = int(a.author[row]), False
        if want_mine and author == q.author:
            want_mine, take = want_mine - 1, True
        if want.get(author, 0):
            want[author], take = want[author] - 1, True
        if not take and want_naming and names(a, row, q.author):
            want_naming, take = want_naming - 1, True
        if take:
            older.append(row)
    return sorted(older + window), len(older)


def scripts_alike(who, cue, seen, me, asked):
    """By person, what the scripts of their lines and of the asker's have in common, 0 to 1; one line more, as the room
    writes, is added to everybody's. Lines before the window are not looked at.
    """
    lines = [(who[j], s) for j in range(len(who)) if seen[j] for s in cue[j] & SCRIPTS]
    lines += [(me, s) for s in asked & SCRIPTS]
    total = len(lines)
    room = {s: sum(one == s for _, one in lines) for s in SCRIPTS}
    if max(room.values()) == total:
        return dict.fromkeys({*who, me}, 1.0)

    def shares(person):
        own = [s for one, s in lines if one == person]
        return {s: (own.count(s) + room[s] / total) / (len(own) + 1) for s in SCRIPTS}

    mine = shares(me)
    return {
        person: 1.0 if person == me else sum(min(shares(person)[s], mine[s]) for s in SCRIPTS)
        for person in {*who, me}
    }


def naming_habits(who, n_extra, naming, crowd, people):
    """By person the share of lines in the window that name somebody, and `FEW_LINES` as the crowd does."""
    lines = [(who[j], bool(naming[j])) for j in range(n_extra, len(who))]
    of_crowd = [names_one for person, names_one in lines if person in crowd]
    rate = sum(of_crowd) / max(1.0 / NAMING_RATE, len(of_crowd))
    return {
        person: (sum(one for who, one in lines if who == person) + FEW_LINES * rate)
        / (sum(who == person for who, _ in lines) + FEW_LINES)
        for person in people
    }


def link_columns(a, q, rows, n_extra):
    """Every column of every candidate, by name; and what the start model sees, but for the scores."""
    m, window = len(rows), len(rows) - n_extra
    asked = {flag for at, flag in enumerate(FLAGS) if q.flags >> at & 1}
    seen = [j >= n_extra and rows[j] >= a.cues_from for j in range(m)]
    cue = [
        {
            flag
            for at, flag in enumerate(FLAGS)
            if seen[j] and int(a.flags[rows[j] - a.cues_from]) >> at & 1
        }
        for j in range(m)
    ]
    call = [int(a.called[rows[j] - a.cues_from]) if seen[j] else -1 for j in range(m)]
    short = [int(a.shortened[rows[j] - a.cues_from]) if seen[j] else -1 for j in range(m)]
    who = [int(a.author[row]) for row in rows]
    naming = [people_named(a, row, call[j]) for j, row in enumerate(rows)]
    q_names = set(q.names.tolist())
    me = q.author
    mine = [me >= 0 and author == me for author in who]
    names_me = [me >= 0 and not mine[j] and me in naming[j] for j in range(m)]
    kinds = [int(a.message_type[row]) for row in rows]
    question = [kinds[j] == QUESTION_TYPE or "question_mark" in cue[j] for j in range(m)]
    q_question = q.message_type == QUESTION_TYPE or "question_mark" in asked
    no_name = float(not q_names and q.shortened < 0)
    absent = any(user not in who for user in q_names)
    my_newest = max((j for j in range(m) if mine[j]), default=-1)
    newest_naming_me = max((j for j in range(m) if names_me[j]), default=-1)
    asker = me if me in who else "somebody else"
    script = scripts_alike(who, cue, [j >= n_extra for j in range(m)], asker, asked)
    if not any(script[author] >= CROWD for author in who):
        script = dict.fromkeys(script, 1.0)
    crowd = {person for person, share in script.items() if share >= CROWD}
    crowd_rows = [j for j in range(m) if who[j] in crowd]
    n_window = sum(j >= n_extra for j in crowd_rows)
    at = [sum(i < j for i in crowd_rows) for j in range(m)]
    newest_not_mine = max((j for j in crowd_rows if not mine[j]), default=-1)
    first_since = min((j for j in range(my_newest + 1, m) if names_me[j]), default=-1)
    i_named_last = next((naming[j] for j in range(m - 1, -1, -1) if mine[j] and naming[j]), set())
    habit = sum(mine[j] and not naming[j] for j in range(m)) / (sum(mine) + 1.0)
    habits = naming_habits(who, n_extra, naming, crowd, {*who, asker})
    quiet = max(0.0, 1.0 - habits[asker] / NAMING_RATE)
    words = set(q.words.tolist()) if len(q.words) <= MAX_WORDS else set()
    row_words = [
        set(a.keyword_ids[a.keyword_offsets[r] : a.keyword_offsets[r + 1]].tolist()) for r in rows
    ]
    mean_words = sum(map(len, row_words)) / max(1, m)
    idf = {w: _idf(m, sum(w in found for found in row_words)) for w in words}
    identifiers = [words & found & set(q.identifiers.tolist()) for found in row_words]
    said_alike = set(q.same_error.tolist())
    identifiers = [found or row in said_alike for found, row in zip(identifiers, rows, strict=True)]
    newest_identifier = max((j for j in range(m) if identifiers[j]), default=-1)
    weight = [_bm25([idf[w] for w in words & found], len(found), mean_words) for found in row_words]
    lately = crowd_rows[-21:]
    newest_row = rows[lately[-1]]
    pace = max(0.0, (a.time_ms[newest_row] - a.time_ms[rows[lately[0]]]) / 1000.0) / max(
        1, len(lately) - 1
    )
    out = []
    for j, row in enumerate(rows):
        author, since = who[j], range(j + 1, m)
        older, before = j < n_extra, [i for i in crowd_rows if i < j]
        place = sum(i > j for i in crowd_rows) if not older and author in crowd else -1
        directly = place == 0
        away = sum(i > j for i in crowd_rows) + 1
        if older:
            gap = max(0, rows[min(n_extra, m - 1)] - row)
            away = n_window + (gap * n_window // window if n_window < window else gap) + 1
        distance = math.log(away)
        seconds = max(0.0, (q.time_ms - int(a.time_ms[row])) / 1000.0)
        log_seconds = math.log1p(seconds)
        later = sum(who[i] == author for i in since)
        newest, named = later == 0, author in q_names
        shortens = q.shortened >= 0 and author == q.shortened
        named_later = sum(author in naming[i] for i in since)
        shared = words & row_words[j]
        goes_on = next((who[i] for i in crowd_rows if i > j), None) == author
        turns = len({sum(mine[:i]) for i in range(m) if who[i] == author and any(mine[:i])})
        exchanged = sum(names_me[i] for i in range(m) if who[i] == author) + sum(
            author in naming[i] for i in range(m) if mine[i]
        )
        naming_me = newest_naming_me >= 0 and author == who[newest_naming_me]
        c = dict.fromkeys(BASE, 0.0)
        c.update(
            named=named, called=q.called >= 0 and author == q.called, shortened=shortens and not named,
            names_me=names_me[j], calls_me=me >= 0 and call[j] == me,
            shortens_me=me >= 0 and short[j] == me and not names_me[j], names_other=bool(naming[j]) and not names_me[j],
            calls_other=call[j] >= 0 and call[j] != me, shared_name=bool(naming[j] & q_names),
            mutual=named and names_me[j], newest_of_named=(named or shortens) and newest,
            newest_naming_me=j == newest_naming_me, absent_named_mine=mine[j] and absent, names_nobody=not naming[j],
            author_habit=habits[author], author_habit_no_name=no_name * habits[author],
            my_habit_no_name=no_name * habits[asker] * (not mine[j]),
            pair_habit_no_name=no_name * exchanged / (exchanged + turns + 1.0) * (not mine[j]),
        )  # fmt: skip
        c.update(
            mine=mine[j], mine_newest=j == my_newest, mine_newest_no_name=no_name * (j == my_newest),
            mine_directly_before=mine[j] and directly, mine_newest_seconds=log_seconds * (j == my_newest),
            mine_later=math.log1p(sum(mine[i] for i in since)) * mine[j], author_newest=newest,
            later_by_author=math.log1p(min(10, later)), author_newest_no_name=no_name * newest,
            last_i_named=author in i_named_last, last_i_named_newest=author in i_named_last and newest,
            last_naming_me=naming_me, last_naming_me_newest=naming_me and newest, newest_not_mine=j == newest_not_mine,
            names_me_since_mine=names_me[j] and j > my_newest, first_naming_me_since=j == first_since,
            others_unnamed_since=first_since < 0 and not mine[j], named_later=named_later > 0,
            named_later_count=math.log1p(named_later),
            i_named_later=any(mine[i] and author in naming[i] for i in since),
            addressee_spoke_since=any(who[i] in naming[j] for i in since),
            unanswered_question=question[j] and newest and not named_later, author_first=who.index(author) == j,
            author_first_question=who.index(author) == j and question[j], after_mine=0 <= my_newest < j,
            from_mine=math.log1p(abs(at[j] - at[my_newest])) if my_newest >= 0 else 0.0,
            exchanged=0.0 if mine[j] else math.log1p(exchanged), new_asker_question=not any(mine) and question[j],
            new_asker_distance=0.0 if any(mine) else distance, author_count=math.log(who.count(author)),
            habit_no_name_mine=no_name * habit * mine[j], turns_taken=math.log1p(turns * (not mine[j])),
            turns_share=turns * (not mine[j]) / (max(sum(mine), who.count(author)) + 1.0),
        )  # fmt: skip
        c.update(
            distance=distance, directly_before=directly, second_before=place == 1,
            third_before=place == 2, beyond_ten=max(0.0, math.log(away / 10)),
            beyond_thirty=max(0.0, math.log(away / 30)), authors_since=math.log1p(len({who[i] for i in since} & crowd)),
            older=older, older_mine=older and mine[j], author_goes_on=goes_on,
            author_went_on=bool(before) and who[before[-1]] == author, question_goes_on=question[j] and goes_on,
            distance_named=distance * named, distance_mine=distance * mine[j],
        )  # fmt: skip
        gap = (
            max(0.0, int(a.time_ms[row] - a.time_ms[rows[before[-1]]]) / 1000.0) if before else 0.0
        )
        pause = math.log1p(max(0.0, (q.time_ms - int(a.time_ms[newest_row])) / 1000.0))
        c.update(
            seconds=log_seconds, seconds_pace=math.log1p(seconds / (pace + 1.0)), gap_before=math.log1p(gap),
            pause_directly_before=pause * directly, seconds_mine=log_seconds * mine[j],
        )  # fmt: skip
        c.update(
            words_shared_share=len(shared) / (len(row_words[j]) + len(q.words) - len(shared)) if shared else 0.0,
            words_weight=weight[j], words_weight_best=weight[j] / max(weight) if max(weight) else 0.0,
            words_shared=math.log1p(len(shared)), rarest_shared=max((idf[w] for w in shared), default=0.0),
            weight_not_mine=weight[j] * (not mine[j]), length=math.log1p(max(0, int(a.tokens[row]))),
            short_after_question="short" in asked and question[j],
            same_script=not cue[j] & SCRIPTS or not asked & SCRIPTS or bool(cue[j] & asked & SCRIPTS),
            author_script=script[author], older_weight=older * weight[j],
            older_rarest=older * max((idf[w] for w in shared), default=0.0),
            identifier=bool(identifiers[j]), identifier_newest=j == newest_identifier,
            identifier_older=older and bool(identifiers[j]),
        )  # fmt: skip
        both = asked & cue[j]
        c.update(
            question=question[j], question_by_mark="question_mark" in cue[j],
            question_question=question[j] and q_question,
            question_statement=question[j] and not q_question, greets="greeting" in cue[j],
            greets_both="greeting" in both, thanks="thanks" in cue[j],
            thanked_named_me="thanks" in asked and names_me[j], thanks_mine="thanks" in asked and mine[j],
            yes_no_question="yes_no" in asked and question[j],
            yes_no_you="yes_no" in asked and "you" in cue[j] and not mine[j],
            correction_mine="correction" in asked and j == my_newest,
            goes_on_mine_newest="goes_on" in asked and j == my_newest,
            goes_on_directly_before="goes_on" in asked and directly, command="command" in cue[j],
            command_both="command" in both, laughs="laugh" in cue[j],
            laugh_directly_before="laugh" in asked and directly, has_link="link" in cue[j],
            link_after_question="link" in asked and question[j],
            you_first_person="you" in asked and "first_person" in cue[j] and not mine[j],
            second_person_mine="you" in asked and mine[j], casual=kinds[j] == CASUAL_TYPE,
            answer=kinds[j] == ANSWER_TYPE,
        )  # fmt: skip
        c.update({f"quiet_{name}": quiet * c[name] for name in QUIET})
        out.append({name: float(value) for name, value in c.items()})
    start = {
        "new_asker": float(not any(mine)), "names_nobody": no_name, "absent_named": float(absent),
        "greets": float("greeting" in asked), "question": float(q_question), "length": math.log1p(max(0, q.tokens)),
        "quiet": quiet, "yes_no": float("yes_no" in asked),
        "since_mine": math.log1p(len(crowd_rows) - at[my_newest] if my_newest >= 0 else 2 * WINDOW),
        "named_since": float(first_since >= 0),
        "closes": float(bool(asked & {"thanks", "laugh", "correction"})),
    }  # fmt: skip
    return out, start


def _idf(m, often):
    return math.log(1.0 + (m - often + 0.5) / (often + 0.5))


def _bm25(idfs, size, mean):
    """BM25 with k1 1.2 and b .75 over sets of keywords; how often a word stands in the candidates is its frequency."""
    return 2.2 * sum(idfs) / (1.0 + 1.2 * (0.25 + 0.75 * size / max(1.0, mean)))


def link_chances(scores, weights, start):
    """Softmax of the scores; the logistic start model over it and over `start`, which it completes."""
    best, *others = sorted(scores, reverse=True)
    mass = [math.exp(score - best) for score in scores]
    p = [one / sum(mass) for one in mass]
    start.update(
        best_score=best, log_sum=best + math.log(sum(mass)), best_chance=max(p),
        entropy=-sum(one * math.log(one) for one in p if one > 0.0),
        lead=min(10.0, best - max(others, default=-math.inf)),
    )  # fmt: skip
    z = weights[-1] + sum(
        w * value for w, value in zip(weights, (start[name] for name in START), strict=False)
    )
    return p, 1.0 / (1.0 + math.exp(-z))


def conversations(links, first):
    """Return the probability that two rows belong to one conversation, if every row picks its parent by itself.

    It is the chance of each link of the later row times the chance that its parent belongs with the other one.
    ``links[row - first]`` holds a row's parents and their chances. Rows more than `WINDOW` apart, and rows before
    ``first``, are not known to belong together.
    """

    @cache
    def together(one, other):
        late, early = max(one, other), min(one, other)
        if late == early:
            return 1.0
        if late - early > WINDOW or early < first:
            return 0.0
        return sum(
            p * together(parent, early)
            for parent, p in links[late - first]
            if parent >= first and late - parent <= WINDOW and p > 0.0
        )

    return together


def conversation_columns(
    a, q, rows, n_extra, p, starts_new, quiet, links, starts, first, newest_naming_me
):
    """The columns of `CONVERSATION`, by name: predicted links around each candidate, and its chance to be in one
    conversation with the question, with my newest message, with the newest naming me, with the newest of all.
    """
    known_together = conversations(links, first)

    def together(one, other):
        return known_together(one, other) if min(one, other) >= first else 0.0

    m = len(rows)
    top = sorted(range(m), key=lambda j: (-p[j], -j))[:TOP]
    mine = [q.author >= 0 and a.author[row] == q.author for row in rows]
    my_newest = max((j for j in range(m) if mine[j]), default=-1)
    known = [j >= n_extra and rows[j] >= first for j in range(m)]
    s = [sum(p[k] * (1.0 if k == j else together(rows[k], rows[j])) for k in top) for j in range(m)]

    def replies_to(j):
        return [
            (i, chance)
            for i in range(m)
            if known[i]
            for parent, chance in links[rows[i] - first]
            if parent == rows[j]
        ]

    def answers_me(j):
        return sum(
            chance
            for parent, chance in (links[rows[j] - first] if known[j] else ())
            if parent >= 0 and q.author >= 0 and a.author[parent] == q.author
        )

    out = []
    for j, row in enumerate(rows):
        replies = replies_to(j)
        members = [(i, together(row, rows[i])) for i in range(m) if known[i] and known[j]]
        c = {
            "link": p[j], "link_log": math.log(max(LEAST, p[j])), "link_rank": _log_rank(p, j), "together": s[j],
            "together_rank": _log_rank(s, j), "answered": sum(chance for _, chance in replies),
            "starts": starts[row - first] if known[j] else 0.0,
            "answers_me": answers_me(j),
            "answered_by_me": sum(chance for i, chance in replies if mine[i]),
            "with_my_newest": together(row, rows[my_newest]) if my_newest >= 0 else 0.0,
            "with_newest_naming_me": together(row, rows[newest_naming_me]) if newest_naming_me >= 0 else 0.0,
            "with_newest": together(row, rows[-1]), "size": math.log1p(sum(chance for _, chance in members)),
            "size_since": math.log1p(sum(chance for i, chance in members if i > j)),
            "together_log": math.log(max(LEAST, s[j])), "starts_new": starts_new, "size_for_me": math.log1p(sum(s)),
            "link_mine": sum(p[i] for i in range(m) if mine[i]), "together_if_new": starts_new * s[j],
            "together_share": s[j] / (1e-3 + sum(s)),
        }  # fmt: skip
        own = [i for i in range(m) if a.author[rows[i]] == a.author[row]]
        between = [
            sum(chance for k, chance in replies_to(i) if mine[k]) + answers_me(i) for i in range(m)
        ]
        others = 1.0 + sum(between[i] for i in range(m) if not mine[i])
        link_to_author = sum(p[i] for i in own)
        c |= {
            "author_together": (sum(s[i] for i in own) - s[j]) / max(1, len(own) - 1),
            "author_share": sum(s[i] for i in own) / (1e-3 + sum(s)),
            "author_before": next((s[i] for i in reversed(own) if i < j), 0.0),
            "author_after": next((s[i] for i in own if i > j), 0.0),
            "author_link_log": math.log(max(LEAST, link_to_author)),
            "link_of_author": p[j] / max(LEAST, link_to_author),
            "author_linked": 0.0 if mine[j] else math.log1p(sum(between[i] for i in own)),
            "author_linked_share": 0.0 if mine[j] else sum(between[i] for i in own) / others,
        }
        for name in CONVERSATION[len(c) :]:
            c[name] = quiet * c[name.removeprefix("quiet_")]
        out.append(c)
    return out


def _log_rank(values, j):
    """log(1 + how many come before), the highest first, of equal ones the later."""
    before = sum((value, i) > (values[j], j) for i, value in enumerate(values))
    return math.log1p(before)


def top_links(p, rows, starts):
    """The `TOP` likeliest rows and their chances, of equal ones the later first."""
    best = sorted(range(len(p)), key=lambda j: (-p[j], -j))[:TOP]
    return [(rows[j], p[j] * (1.0 - starts)) for j in best]


def reply_order(link_linear, tail_linear, parent, first):
    """Places of m candidates, best first: a known parent, the ``first`` likeliest links with it, the rest by the tail.

    Of equal scores the later candidate comes first. ``parent`` is a place, -1: not known.
    """
    every = range(len(link_linear))
    by_link = sorted(every, key=lambda j: (j != parent, -link_linear[j], -j))
    return by_link[:first] + sorted(by_link[first:], key=lambda j: (-tail_linear[j], -j))


def question_ranking(
    a, q, end, allowed, more, told, model, links, starts, first, most, first_links
):
    """A question's candidates, their scores by both models, the chance that it answers none, and their order."""
    found, n_older = candidates(a, end, allowed, q)
    rows = sorted({*found, *more})[-most:]
    window = found[n_older] if n_older < len(found) else end
    n_extra = sum(row < window for row in rows)
    if not rows:
        return [], [], [], 1.0, []
    columns, start = link_columns(a, q, rows, n_extra)
    x = np.array([[c[name] for name in COLUMNS] for c in columns])
    weights = model.start.with_intercept.tolist()
    p, starts_new = link_chances(_scores(model.first, x), weights, start)
    if told in rows:
        p, starts_new = [float(row == told) for row in rows], 0.0
    naming = [j for j, c in enumerate(columns) if c["newest_naming_me"]]
    around = conversation_columns(
        a, q, rows, n_extra, p, starts_new, start["quiet"], links, starts, first, naming[-1] if naming else -1
    )  # fmt: skip
    x = np.hstack([x, [[c[name] for name in CONVERSATION] for c in around]])
    by_link, by_tail = (_scores(one, x) for one in (model.second, model.tail))
    parent = rows.index(told) if told in rows else -1
    return rows, by_link, by_tail, starts_new, reply_order(by_link, by_tail, parent, first_links)


def _scores(linear, x):
    return ((x - linear.means) @ linear.weights + linear.constant).tolist()


def question_chances(by_link, by_tail, starts_new, parent, order, first):
    """What the scores of `question_ranking` are the chances of: that each candidate is answered (softmax, unless the
    parent is known), that it belongs to the conversation (logistic); the one that gave it its place, and which it was.
    """
    every = range(len(order))
    mass = [math.exp(by_link[j] - max(by_link)) for j in every]
    link = [one / sum(mass) * (1.0 - starts_new) for one in mass]
    if parent >= 0:
        link = [float(j == parent) for j in every]
    together = [1.0 / (1.0 + math.exp(-by_tail[j])) for j in every]
    stages = [2 if j == parent else int(j in order[:first]) for j in every]
    scores = [link[j] if j in order[:first] else together[j] for j in every]
    return link, together, scores, stages
