"""Law 2 through a store: the same request gives the same answer before and after a restart, whatever happened."""

import asyncio
from itertools import cycle
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_scoring import lexical
from backscroll_sidecar.analyze import Analyzer, StaticRoster
from backscroll_sidecar.channels import Channels
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.opening import Opening
from backscroll_sidecar.context.profiles import PROFILES, ContextSettings
from backscroll_sidecar.domain import Author, Member, Mention, Message, Overrides, TextPart
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.ports import (
    AliasChange,
    AppendChange,
    Change,
    EditChange,
    EraseChange,
    MembersChange,
    RetractChange,
)
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.strategies import BUILTIN
from tests.kit.chats import (
    ANN,
    BOT,
    DAY_MS,
    KEY,
    MINUTE_MS,
    NOON_MS,
    PEOPLE,
    SECOND_MS,
    StillClock,
    say,
)
from tests.kit.examples import examples
from tests.kit.rooms import Built, EventList

WORDS = ["cat", "dog", "fish", "猫", "train", "@Anna", "?"]
CHINESE_WORDS = ["茄子", "番茄", "桌子"]
"""Some share characters: a word that no line has is sought by them."""
LINE_WORDS = [
    "bakery",
    "garden",
    "kitchen",
    "library",
    "hospital",
    "ticket",
    "window",
    "river",
    "dentist",
    "piano",
    "violin",
    "rabbit",
]
CODES = ["ORDER_77431", "10.0.4.17"]
KINDS = [*["append"] * 6, "edit", "recall", "alias", "erase", "erase user", "erase all", "members"]
USERS = sorted(PEOPLE)
NAMES = ["Ann", "Anna", "Benny", "小黑", ""]


@st.composite
def changes(
    draw: st.DrawFn, words: list[str] = WORDS, kinds: list[str] = KINDS, most_words: int = 4
) -> list[Change]:
    """What bots and people do to a channel, late and odd things included."""
    out: list[Change] = []
    analyzer, roster = Analyzer(), StaticRoster()
    used: list[str] = []

    texts = st.lists(st.sampled_from(words), min_size=1, max_size=most_words)

    def message(id: str) -> Message:
        user_id = draw(st.sampled_from(USERS))
        others = ["m0", "m9", "m99", *(f"m{n}" for n in range(20, 34))]
        target = draw(st.one_of(st.none(), st.sampled_from([*used, *others])))
        return say(
            id, Author(user_id, draw(st.sampled_from(NAMES))),
            " ".join(draw(texts)),
            draw(st.integers(0, 90 * MINUTE_MS)), reply_to=target or "",
            is_partial=draw(st.sampled_from([False, False, True])),
        )  # fmt: skip

    for n in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(kinds))
        if kind == "append" or not used:
            one = message(f"m{n}")
            used.append(one.id)
            out.append(
                AppendChange(
                    KEY, (one,), (analyzer.analyze(one, roster),), (one.sent_at_ms,), NOON_MS
                )
            )
            roster.note_author(one.author, one.id)
        elif kind == "edit":
            one = replace(message(draw(st.sampled_from(used))), mentions=(Mention("u2"),))
            out.append(EditChange(KEY, one, analyzer.analyze(one, roster), NOON_MS + n))
        elif kind == "recall":
            out.append(RetractChange(KEY, draw(st.sampled_from(used)), NOON_MS + n))
        elif kind == "alias":
            out.append(AliasChange(KEY, draw(st.sampled_from(used)), f"m{n + 20}"))
        elif kind == "erase":
            out.append(EraseChange(KEY, (draw(st.sampled_from(used)),), "", NOON_MS + n))
        elif kind == "erase user":
            out.append(EraseChange(KEY, (), draw(st.sampled_from(USERS)), NOON_MS + n))
        elif kind == "erase all":
            out.append(EraseChange(KEY, (), "", NOON_MS + n))
        else:
            aliases = tuple(
                draw(st.lists(st.sampled_from(["Anna", "boss"]), max_size=2, unique=True))
            )
            joined_ms = draw(st.one_of(st.none(), st.just(NOON_MS - 30 * MINUTE_MS)))
            member = Member(
                draw(st.sampled_from(USERS)),
                draw(st.sampled_from(NAMES)),
                aliases,
                joined_at_ms=joined_ms,
            )
            out.append(
                MembersChange(KEY, (member,), NOON_MS - draw(st.integers(0, 60)) * MINUTE_MS)
            )
    return out


@st.composite
def talks(draw: st.DrawFn) -> list[Change]:
    """Lines of long ago, Ann's talk with the bot, and edits, of one of the lines many times."""
    analyzer, roster, made = Analyzer(), StaticRoster(), dict[str, Message]()
    texts = st.lists(st.sampled_from([*LINE_WORDS, *CODES]), min_size=1, max_size=7).map(" ".join)
    people = st.sampled_from([PEOPLE[user_id] for user_id in USERS])
    for n in range(draw(st.integers(4, 24))):
        made[f"m{n}"] = say(f"m{n}", draw(people), draw(texts), 20 * DAY_MS - n * MINUTE_MS)
    for n in range(draw(st.integers(2, 6))):
        id, author = f"t{n}", (ANN, BOT)[n % 2]
        made[id] = say(id, author, draw(texts), 3 * MINUTE_MS - n * 20 * SECOND_MS)
    out: list[Change] = []
    for one in made.values():
        analysis = analyzer.analyze(one, roster)
        out.append(AppendChange(KEY, (one,), (analysis,), (one.sent_at_ms,), NOON_MS))
        roster.note_author(one.author, one.id)
    edited = draw(st.lists(st.sampled_from(sorted(made)), max_size=6))
    often = draw(st.integers(1, 30))
    for n, id in enumerate([*edited, *edited[:1] * often]):
        text = f"{draw(texts)} {n}" if n < len(edited) else f"{made[id].parts[0].text} {n}"
        one = replace(made[id], parts=(TextPart(text),))
        out.append(EditChange(KEY, one, analyzer.analyze(one, roster), NOON_MS + n))
    if draw(st.booleans()):
        joined_ms = NOON_MS - 20 * DAY_MS + draw(st.integers(0, 20)) * MINUTE_MS
        out.append(MembersChange(KEY, (Member(ANN.id, "Ann", joined_at_ms=joined_ms),), NOON_MS))
    return out


def essence(built: Built) -> dict:
    """All of an answer but ids, timings and cache flags, which stand apart in diagnostics."""
    told = built.explanation
    return {
        "known": built.channel_known,
        "items": built.items,
        "bytes": [payload.body for payload in built.payloads],
        "messages": built.messages,
        "text": built.text,
        "tokens": built.tokens,
        "rung": built.rung,
        "degradations": built.degradations,
        "explanation": told and (told.threshold, told.link, told.weights, told.candidates),
        "addressed": built.addressed,
        "trigger": built.trigger_fragment,
    }


@settings(max_examples=examples(100))
@given(changes(), st.data())
def test_a_build_is_the_same_after_a_restart(some_changes, data):
    """Law 2, N-08, P-27: same store, configuration and request: same items and payload bytes before and after a
    restart, whatever happened before, renames, aliases, erased people and late messages included."""
    requests = [
        BuildRequest(
            KEY, question, ANN, asked_at_ms=NOON_MS, profile=profile, explain=True,
            visible_since_membership=data.draw(st.booleans()),
            overrides=Overrides(relevance_threshold=data.draw(st.sampled_from([None, 0.0]))),
        )
        for profile, question in zip(PROFILES, cycle(["@Anna cat?", "boss: 小黑 dog"]), strict=False)
    ]  # fmt: skip

    check_same_after_restart(some_changes, requests, data)


@settings(max_examples=examples(100))
@given(changes(CHINESE_WORDS, ["append", "append", "edit", "recall"], most_words=1), st.data())
def test_words_that_come_and_go(some_changes, data):
    """Law 2: a word whose last line was edited or recalled is as unknown before a restart as after it."""
    requests = [
        BuildRequest(KEY, word, ANN, asked_at_ms=NOON_MS, profile="memory", explain=True)
        for word in CHINESE_WORDS
    ]
    check_same_after_restart(some_changes, requests, data)


@settings(max_examples=examples(60))
@given(talks(), st.sampled_from(LINE_WORDS), st.data())
def test_a_talk_with_the_bot_goes_on_after_a_restart(some_changes, word, data):
    """Law 2: which words of a talk are sought, what is rare and what is common, whatever was edited how often."""
    questions = ["so lonely then", "when?", f"it was {word} then?", f"anyone seen {CODES[0]}?"]
    requests = [
        BuildRequest(
            KEY, question, ANN, asked_at_ms=NOON_MS, profile=profile, explain=True,
            self_ids=(BOT.id,), visible_since_membership=data.draw(st.booleans()),
            overrides=Overrides(relevance_threshold=0.0),
        )
        for question in questions
        for profile in ("balanced", "memory")
    ]  # fmt: skip
    with patch.multiple(lexical, WALKED=data.draw(st.sampled_from([6, 1_024])), MOST_GONE=12):
        check_same_after_restart(some_changes, requests, data)


def check_same_after_restart(some_changes, requests, data):
    """Build from a channel that lived through the changes, and from one that is loaded afterwards."""

    async def scenario() -> None:
        store = InMemoryStore()
        live = Channels(store, WireCodec())
        for n, change in enumerate(some_changes):
            (applied,) = await store.apply([change])
            live.publish(KEY, applied)
            if n == 0 or data.draw(st.booleans()):
                await live.view(KEY)  # somebody builds: from now on the channel is hot
        for request in requests:
            answers = [
                Built(await _builder(c, store).build(request))
                for c in (live, Channels(store, WireCodec()))
            ]
            before, after = map(essence, answers)
            assert before == after

    asyncio.run(scenario())


def _builder(channels: Channels, store: InMemoryStore) -> ContextBuilder:
    settings, clock = ContextSettings(), StillClock()
    opening = Opening(channels, store, Analyzer(), settings, clock, None)
    return ContextBuilder(opening, BUILTIN, settings, clock, EventList(), AnswerFields())
