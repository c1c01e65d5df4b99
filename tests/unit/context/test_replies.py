"""Reply ranking over a channel's view: the same however the channel came about, and what it is for."""

import asyncio

import numpy as np
import pytest
from msgspec.structs import replace

from backscroll_scoring.links import BLOCK, WARM, ReplyLinks
from backscroll_sidecar.analyze import Analyzer, StaticRoster
from backscroll_sidecar.channels import HotChannel, reply_cache
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.question import resolve_question
from backscroll_sidecar.context.reply_ranker import (
    INLINE_ROWS,
    LATELY_SPOKE,
    catch_up,
    linked,
    older_of_speakers,
    rank_replies,
)
from backscroll_sidecar.domain import Analysis, Author, Fate, MessageState
from backscroll_sidecar.ports import Applied
from tests.kit.chats import (
    ANN,
    BEN,
    CAT,
    KEY,
    MINUTE_MS,
    NOON_MS,
    SECOND_MS,
    PlainCodec,
    say,
    stored_in_order,
)
from tests.kit.rooms import Room, ids_by_rank

LINES = [
    "did anybody get the scanner to work?", "Ann: yes, with the new driver", "which one?", "猫吃什么？", "它们吃鱼。",
    "thanks Ben", "see /etc/sane.d/dll.conf, line 12", "lol", "no idea", "Cat: try 2.4 instead", "我不知道",
    "and then?",
]  # fmt: skip
PEOPLE = (ANN, BEN, CAT)


def chat(count, edges=True):
    """A busy hour: every line of `LINES` in turn, by three people, some with a platform's edge."""
    return stored_in_order([
        say(
            f"m{n}", PEOPLE[(n * 5 + n // 7) % 3], f"{LINES[n % len(LINES)]} {n % 9}", (count - n) * 7 * SECOND_MS,
            reply_to=f"m{n - 2}" if edges and n % 17 == 5 else "",
        )
        for n in range(count)
    ])  # fmt: skip


def channel(stored=()):
    return HotChannel(KEY, PlainCodec(), stored)


def ranked(view, text="which driver?", asker=CAT, **fields):
    """The ranking of a question at noon, as plain values."""
    question = resolve_question(
        BuildRequest(KEY, text, asker=asker, asked_at_ms=NOON_MS, **fields),
        view,
        Analyzer(),
        NOON_MS,
    )
    state = linked(view, question.end)
    eligible = question.eligible()
    found = rank_replies(view, question, eligible, np.empty(0, np.int32), state)
    return (
        [view.message_ids[row] for row in found.rows], found.link.tolist(), found.together.tolist(),
        found.link_shares.tolist(), found.tail_shares.tolist(), found.starts_new,
    )  # fmt: skip


@pytest.mark.parametrize(
    "count", [3, WARM + BLOCK - 1, WARM + BLOCK, WARM + BLOCK + 1, 2 * WARM + 3 * BLOCK + 5]
)
def test_a_channel_that_grew_ranks_like_one_just_loaded(count):
    """Law 2: rows linked one by one, in lumps, or all at once after a restart: bit for bit the same."""
    stored = chat(count)
    grown, lumps = channel(), channel()
    for at, item in enumerate(stored):
        grown.publish(Applied(stored=(item,)))
        linked(grown.view(), at + 1)
        if at % 50 == 49:
            lumps.publish(Applied(stored=tuple(stored[at - 49 : at + 1])))
            ranked(lumps.view())
    lumps.publish(Applied(stored=tuple(stored)))
    expected = ranked(channel(stored).view())
    assert ranked(grown.view()) == expected
    assert ranked(lumps.view()) == expected
    assert ranked(grown.view()) == expected  # asked twice


@pytest.mark.parametrize("changed", [0, 180, 330, 398])
@pytest.mark.parametrize("how", ["edit", "recall", "late"])
def test_an_edit_a_recall_or_a_late_line_leaves_nothing_stale(changed, how):
    """Law 2: what was worked out from a row that is another one now is worked out again."""
    stored = chat(400)
    hot = channel(stored)
    before = ranked(hot.view())
    old_view = hot.view()
    item = stored[changed]
    if how == "edit":
        text = "Ann, which driver is it? 2.4"
        new = replace(
            item,
            revision=1,
            analysis=replace(
                Analyzer().analyze(replace(item.message, reply=None), StaticRoster()), text=text
            ),
        )
    elif how == "recall":
        new = replace(
            item, state=MessageState.RECALLED, analysis=Analysis("", item.analysis.message_type)
        )
    else:
        late = say("late", ANN, "which driver, Cat?", (400 - changed) * 7 * SECOND_MS - 1)
        new = replace(stored_in_order([late])[0], seq=1_000)
    hot.publish(Applied(stored=(new,)))
    rest = [one for one in stored if one.message.id != new.message.id]
    assert ranked(hot.view()) == ranked(channel([*rest, new]).view())
    assert ranked(old_view) == before  # whoever still reads the older generation


def test_a_question_about_the_past_ranks_as_it_did_then():
    stored = chat(600)
    now = channel(stored[:320])
    then = ranked(now.view(), text="which one?")
    hot = channel(stored)
    linked(hot.view(), 600)
    kept = hot.view().replies.state
    question = resolve_question(
        BuildRequest(KEY, "which one?", asker=CAT, asked_at_ms=stored[319].rank_time_ms),
        hot.view(),
        Analyzer(),
        NOON_MS,
    )
    assert question.end == 320
    state = linked(hot.view(), question.end)
    found = rank_replies(hot.view(), question, question.eligible(), np.empty(0, np.int32), state)
    assert [hot.view().message_ids[row] for row in found.rows] == then[0]
    assert hot.view().replies.state is kept


def test_older_rows_of_who_spoke_lately_are_those_they_would_be_ranked_with():
    """What is written ahead (0013) of old lines: what a question by one of the last who spoke takes, and no other's."""
    people = [Author(f"u{n}", f"Name{n}") for n in range(LATELY_SPOKE + 2)]
    stored = stored_in_order([
        say(f"m{n}", people[n % len(people) if n < 60 else n % 7], f"line {n}", 400 - n, mentions=(people[n % 3].id,))
        for n in range(400)
    ])  # fmt: skip
    view = channel(stored).view()
    assert not len(older_of_speakers(view))  # nothing is linked
    linked(view, 400)
    lately = {people[n % 7].id for n in range(7)} | {
        people[9].id
    }  # the last of the others who spoke
    older: dict[str, set[int]] = {}
    for person in people:
        question = resolve_question(
            BuildRequest(KEY, "and?", person, asked_at_ms=NOON_MS), view, Analyzer(), NOON_MS
        )
        state, nobody = linked(view, 400), np.empty(0, np.int32)
        found = rank_replies(view, question, question.eligible(), nobody, state)
        older[person.id] = set(found.older.tolist())
    expected = set().union(*(older[one] for one in lately))
    assert older_of_speakers(view).tolist() == sorted(expected)
    assert set().union(*older.values()) > expected > set()


def older_of(view, text, asker=CAT):
    """The ids of the older rows that a question is ranked with."""
    question = resolve_question(
        BuildRequest(KEY, text, asker=asker, asked_at_ms=NOON_MS), view, Analyzer(), NOON_MS
    )
    state = linked(view, question.end)
    found = rank_replies(view, question, question.eligible(), np.empty(0, np.int32), state)
    return [view.message_ids[row] for row in found.older]


@pytest.mark.parametrize(
    ("old", "question"),
    [
        ("0x80070057 shows up when it is full", "anyone seen 0x80070057?"),
        ("工单 OPS-7730 派给小李了", "OPS-7730 处理完了吗？"),
        ("the greeter application crashes on logout", "my greeter crashes as well"),
        ("call flushPendingWrites first", "where does flushPendingWrites belong?"),
    ],
)
def test_an_old_line_of_the_same_rare_words_is_a_candidate(old, question):
    """Whoever wrote it and however far back it stands, unless it was recalled or the words are everywhere."""
    stored = chat(2_000, edges=False)
    stranger = Author("stranger", "Stranger")
    found = stored_in_order([say("old", stranger, old, 1_990 * 7 * SECOND_MS)])[0]
    lines = sorted([*stored, replace(found, seq=5_000)], key=lambda one: one.rank_time_ms)
    assert "old" in older_of(channel(lines).view(), question)
    assert "old" not in older_of(channel(lines).view(), "which driver?")
    gone = replace(
        found,
        seq=5_000,
        state=MessageState.RECALLED,
        analysis=Analysis("", found.analysis.message_type),
    )
    hot = channel(lines)
    hot.publish(Applied(stored=(replace(gone, revision=1),)))
    assert "old" not in older_of(hot.view(), question)
    often = [say(f"o{n}", stranger, old, (1_900 - n) * 7 * SECOND_MS) for n in range(80)]
    common = stored_in_order([*often, *[say(f"x{n}", ANN, "lol", 200 - n) for n in range(150)]])
    assert not set(older_of(channel(common).view(), question)) - {"x0"}


def places_of(stored, ids, text, asker):
    """How likely each of these messages is answered, among them alone."""
    found, link, *_ = ranked(channel(stored).view(), text=text, asker=asker)
    chances = {one: chance for one, chance in zip(found, link, strict=True) if one in ids}
    return sorted(chances, key=lambda one: -chances[one])[:5], sum(chances.values())


def test_who_writes_in_another_script_and_names_everybody_changes_nothing():
    """A quiet crowd is read as if it were alone: habits, places and pace are those of the asker's crowd."""
    zh = [Author(f"zh{n}", f"群友{n}") for n in range(4)]
    said = "你看过这部电影吗", "看过，很好看", "谁演的", "不知道", "几点上映"
    quiet = [
        say(f"z{n}", zh[n % 4], said[n % 5] + "。" * (n % 3), (45 - n) * 60 * SECOND_MS)
        for n in range(45)
    ]  # fmt: skip
    loud = [
        say(f"e{n}", PEOPLE[n % 3], f"{PEOPLE[(n + 1) % 3].name}: try the other driver {n}",
            (45 - n) * 60 * SECOND_MS + 7, mentions=(PEOPLE[(n + 1) % 3].id,))
        for n in range(45)
    ]  # fmt: skip
    ids = {one.id for one in quiet}
    alone, all_alone = places_of(stored_in_order(quiet), ids, "那部电影几点上映？", zh[1])
    among, all_among = places_of(
        stored_in_order(sorted([*quiet, *loud], key=lambda one: one.sent_at_ms)), ids, "那部电影几点上映？", zh[1]
    )  # fmt: skip
    assert among[:3] == alone[:3]
    assert all_among > 0.95 * all_alone


async def test_many_missing_rows_are_linked_by_a_thread_once():
    """Law 9: more than a few rows never hold the event loop; who comes meanwhile waits for the same work."""
    stored = chat(300)
    hot = channel(stored[:-2])
    assert hot.view().replies.missing(298) > INLINE_ROWS
    one = asyncio.create_task(catch_up(hot.view(), 298))
    await asyncio.sleep(0)
    assert hot.view().replies.work is not None
    hot.publish(Applied(stored=tuple(stored[-2:])))
    other = await catch_up(hot.view(), 300)
    assert await one is other
    assert hot.view().replies.missing(300) == 0
    assert ranked(hot.view()) == ranked(channel(stored).view())


def test_links_are_copied_as_far_as_they_were_known(monkeypatch):
    """Law 2: a thread that goes on linking while the event loop copies leaves no rows that only seem to be known."""
    hot, fresh = channel(chat(120)), channel(chat(120))
    state = linked(hot.view(), 60)

    def copied_then_overtaken(*arrays):
        links = ReplyLinks(*arrays)
        linked(hot.view(), 120)
        return links

    monkeypatch.setattr(reply_cache, "ReplyLinks", copied_then_overtaken)
    copy = state.copied(119)
    assert state.upto == 120
    assert copy.upto == 60
    known = slice(0, copy.upto)
    true = linked(fresh.view(), 120).links
    np.testing.assert_array_equal(copy.links.chances[known], true.chances[known])


def test_the_parent_known_from_the_platform_comes_first():
    """An edge the platform knows is certain; its chain is kept whatever the scores say."""
    lines = [
        say(f"m{n}", PEOPLE[n % 3], LINES[n % len(LINES)], (200 - n) * MINUTE_MS)
        for n in range(150)
    ]
    lines[40] = replace(lines[40], reply=say("x", reply_to="m20").reply)
    built = Room(lines).build_now(
        "and now?", CAT, reply=say("x", reply_to="m40").reply, explain=True, profile="balanced"
    )
    assert ids_by_rank(built)[0] == "m40"
    assert "m20" in ids_by_rank(built)[:9]
    why = {one.message_id: one for one in built.explanation.candidates}
    assert why["m40"].score == 1.0


def test_who_is_named_is_answered():
    lines = [
        say("q", ANN, "how do I mount the disk?", 10 * MINUTE_MS),
        say("other", CAT, "nice weather today", 9 * MINUTE_MS),
        say("more", CAT, "really nice", 8 * MINUTE_MS),
    ]
    built = Room(lines).build_now("Ann: use mount /dev/sdb1", BEN, profile="balanced")
    assert ids_by_rank(built)[0] == "q"


def test_a_chinese_chat():
    """Reply ranking reads Chinese: the answer about fish belongs to the question about cats, not to the weather."""
    lines = [
        say("cat", ANN, "猫喜欢吃什么鱼？", 5 * MINUTE_MS), say("sky", CAT, "今天天气真好", 4 * MINUTE_MS),
        say("sun", CAT, "太阳很大", 3 * MINUTE_MS),
    ]  # fmt: skip
    built = Room(lines).build_now("猫喜欢吃金枪鱼。", BEN, profile="balanced", explain=True)
    assert ids_by_rank(built)[0] == "cat"
    for one in built.explanation.candidates:
        assert sum(one.shares) == pytest.approx(one.linear, abs=1e-9)


def test_older_messages_of_the_people_concerned_are_candidates():
    """What the asker said beyond the window, and what names the asker there, is looked at, and says why."""
    old = [
        say("mine", CAT, "my disk is broken", 300 * MINUTE_MS),
        say("to me", BEN, "hm", 299 * MINUTE_MS, mentions=("u3",)),
    ]
    noise = [say(f"n{n}", ANN, f"talk {n}", (200 - n) * MINUTE_MS) for n in range(120)]
    near = {"sources": ("thread", "recent")}
    room = Room([*old, *noise])
    built = room.build_now("any news?", CAT, profile="balanced", overrides=near, explain=True)
    sources = {one.message_id: one.sources for one in built.explanation.candidates}
    assert sources["mine"] == ("asker",)
    assert sources["to me"] == ("mention",)
    assert "n0" not in sources


def test_recalled_lines_take_no_place_in_the_window():
    stored = chat(150, edges=False)
    gone = {f"m{n}" for n in range(100, 140)}
    stored = [
        replace(one, state=MessageState.RECALLED, analysis=Analysis("", one.analysis.message_type))
        if one.message.id in gone else one
        for one in stored
    ]  # fmt: skip
    rows = ranked(channel(stored).view())[0]
    assert not gone & set(rows)
    assert len(rows) >= 100
    built = Room(stored).build_now("which driver?", CAT, profile="balanced", explain=True)
    assert {c.fate for c in built.explanation.candidates if c.message_id in gone} == {Fate.RECALLED}


def test_what_hidden_lines_say_changes_nothing():
    """A late joiner's answers: what they may not see is tied to nothing they see. Who sees all keeps the kept links."""
    ranked_as, kept = [], []
    for text in (
        "which driver for the scanner?",
        "猫吃什么？",
        "Cat: thanks, see /etc/sane.d/dll.conf",
    ):
        old = [
            say(f"h{n}", PEOPLE[n % 3], f"{text} {n % 7}", (300 - n) * MINUTE_MS) for n in range(60)
        ]
        stored = stored_in_order([*old, *(one.message for one in chat(90, edges=False))])
        view = channel(stored).view()
        hiding = view.hiding(np.arange(view.count) < len(old))
        for seen, into in ((hiding, ranked_as), (view, kept)):
            state = asyncio.run(catch_up(seen, seen.count))
            question = resolve_question(
                BuildRequest(KEY, "which driver?", asker=CAT, asked_at_ms=NOON_MS),
                seen,
                Analyzer(),
                NOON_MS,
            )
            found = rank_replies(seen, question, question.eligible(), np.empty(0, np.int32), state)
            into.append((found.rows.tolist(), found.together.tolist(), found.starts_new))
            assert (state is view.replies.state) == (seen is view)
    assert ranked_as[0] == ranked_as[1] == ranked_as[2]
    assert ranked_as[0][0][0] == 60
    assert kept[0] != kept[1]
