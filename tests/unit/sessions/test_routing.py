"""Who answers a message, and why."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import AuthorKind, Mention
from backscroll_sidecar.sessions.modes.base import Unaddressed
from backscroll_sidecar.sessions.participants import (
    Participant,
    ParticipantKind,
    Presence,
    ReplyRule,
    name_clash,
)
from backscroll_sidecar.sessions.routing import (
    MOST_OF_A_PERSONA,
    Ignored,
    IgnoredReason,
    Lookup,
    Routed,
    RouteReason,
    Rules,
    Said,
    Target,
    route,
)
from tests.unit.analyze.texts import ANY_TEXT

LEFT = (Presence(until_seq=9),)


def persona(id: str, *aliases: str, reply: ReplyRule = ReplyRule.ROUTED, left: bool = False):
    return Participant(
        id,
        id.title(),
        ParticipantKind.PERSONA,
        aliases=aliases,
        reply=reply,
        presences=LEFT if left else (),
    )


PEOPLE = (
    Participant("kate", "Kate", aliases=("小黑猫",)),
    Participant("weather", "Weather", ParticipantKind.BOT),
    persona("hei", "小黑"),
    persona("opus"),
    persona("bai", "小白"),
)
GONE = persona("gone", left=True)
NEVER = persona("never", reply=ReplyRule.NEVER)
CALLED = persona("called", reply=ReplyRule.MENTIONED)
KEEN = persona("keen", reply=ReplyRule.ALWAYS)
EVERY = Lookup((*PEOPLE, GONE, NEVER, CALLED, KEEN))
FEW = Lookup((*PEOPLE, GONE, NEVER, CALLED))

NOBODY = Unaddressed.NOBODY
SILENT = Rules(unaddressed=NOBODY)


def routed(text: str, lookup: Lookup = FEW, sender_id: str = "kate", **rules) -> Routed:
    return route(Said(text, sender_id), lookup, Rules(**{"unaddressed": NOBODY, **rules}))


def answers(got: Routed) -> str:
    """Who answers and why: ``hei:mention opus:all``."""
    return " ".join(f"{one.id}:{one.reason}" for one in got.targets)


def refused(got: Routed) -> str:
    """Who does not and why: ``gone:unavailable ?nobody:unknown``."""
    return " ".join(f"{one.participant_id or '?' + one.text}:{one.reason}" for one in got.ignored)


def test_a_mention_is_told_with_its_place() -> None:
    assert routed("你好 @小黑，@nobody 和 @gone", FEW) == Routed(
        targets=(Target("hei", RouteReason.MENTION, 3, 6),),
        ignored=(
            Ignored("nobody", IgnoredReason.UNKNOWN, "", 7, 14),
            Ignored("gone", IgnoredReason.UNAVAILABLE, "gone", 17, 22),
        ),
        clean_text="你好，@nobody 和 @gone",
        policy=NOBODY,
    )


NAMED = {
    "one": ("@opus hi", "opus:mention", "", "hi"),
    "in the order of the text": ("@bai @hei", "bai:mention hei:mention", "", ""),
    "once": ("@hei @opus @小黑 x", "hei:mention opus:mention", "", "x"),
    "a person": ("@opus ask @kate", "opus:mention", "", "ask @kate"),
    "a person with a longer name": ("@小黑猫 hi", "", "", "@小黑猫 hi"),
    "a bot": ("@weather hi", "", "", "@weather hi"),
    "everybody": (
        "@all hi",
        "hei:group_mention opus:group_mention bai:group_mention called:group_mention",
        "",
        "hi",
    ),
    "everybody and one": (
        "@大家 @opus hi",
        "hei:group_mention bai:group_mention called:group_mention opus:mention",
        "",
        "hi",
    ),
    "everybody twice": (
        "@opus @all @here x",
        "opus:mention hei:group_mention bai:group_mention called:group_mention",
        "",
        "x",
    ),
    "everybody, one of them in code": (
        "@all `@opus`",
        "hei:group_mention opus:group_mention bai:group_mention called:group_mention",
        "opus:code",
        "`@opus`",
    ),
    "only when named": ("@called hi", "called:mention", "", "hi"),
    "absent": ("@gone hi", "", "gone:unavailable", "@gone hi"),
    "silent": ("@never @Never hi", "", "never:unavailable", "@never @Never hi"),
    "unknown": ("@who @WHO", "", "?who:unknown", "@who @WHO"),
    "code": ("`@opus` `@all` `@kate`", "", "opus:code ?all:code", "`@opus` `@all` `@kate`"),
    "code and text": ("`@opus` @opus", "opus:mention", "opus:code", "`@opus`"),
    "mail": ("a@opus.com", "", "", "a@opus.com"),
}


@pytest.mark.parametrize(("text", "targets", "ignored", "clean"), NAMED.values(), ids=NAMED)
def test_who_is_named_answers(text: str, targets: str, ignored: str, clean: str) -> None:
    got = routed(text)
    assert (answers(got), refused(got), got.clean_text) == (targets, ignored, clean)


def test_no_more_than_the_limit_answer() -> None:
    got = routed("@opus @hei @bai x", max_targets=2)
    assert answers(got) == "opus:mention hei:mention"
    assert refused(got) == "bai:limit"
    assert got.clean_text == "@bai x"
    got = routed("@all x", max_targets=1)
    assert (answers(got), refused(got)) == (
        "hei:group_mention",
        "opus:limit bai:limit called:limit",
    )
    assert answers(routed("@opus", max_targets=0)) == ""


def test_who_is_in_a_loop_does_not_answer() -> None:
    got = routed("@opus @hei x", looped_ids=frozenset({"opus"}))
    assert (answers(got), refused(got)) == ("hei:mention", "opus:loop")
    got = routed("@all x", looped_ids=frozenset({"opus"}))
    assert answers(got) == "hei:group_mention bai:group_mention called:group_mention"
    assert refused(got) == "opus:loop"


def test_marked_mentions_route() -> None:
    mentions = (Mention("opus", "Opie", 3, 8), Mention("bai"))
    got = route(Said("hi @Opie, @hei", "kate", mentions), FEW, SILENT)
    assert answers(got) == "bai:mention opus:mention hei:mention"
    assert [(one.start, one.end) for one in got.targets] == [(0, 0), (3, 8), (10, 14)]
    assert got.clean_text == "hi,"


SPOKEN = {
    "at the beginning": ("@opus hi", "opus:mention", ""),
    "of a line": ("well\n - @opus hi", "opus:mention", ""),
    "of a quote": ("> @opus hi", "opus:mention", ""),
    "within a line": ("I told @opus and @who", "", ""),
    "behind another": ("@opus @bai hi", "opus:mention", "bai:limit"),
    "in code": ("`@opus`\n```\n@opus\n```", "", ""),
    "itself": ("@hei hi", "", "hei:self"),
    "itself and another": ("@小黑\n@opus", "opus:mention", "hei:self"),
    "two": ("@bai\n@opus", "bai:mention opus:mention", ""),
    "three": ("@bai\n@opus\n@called", "bai:mention opus:mention", "called:limit"),
    "everybody": ("@all", "opus:group_mention bai:group_mention", "called:limit"),
    "nobody": ("hi", "", ""),
    "unknown": ("@who hi", "", "?who:unknown"),
}


@pytest.mark.parametrize("policy", Unaddressed)
@pytest.mark.parametrize(("text", "targets", "ignored"), SPOKEN.values(), ids=SPOKEN)
def test_a_persona_calls_at_the_beginning_of_a_line(text, targets, ignored, policy) -> None:
    got = routed(text, sender_id="hei", unaddressed=policy, default_id="opus")
    assert (answers(got), refused(got)) == (targets, ignored)
    assert got.candidates == ()


def test_a_bot_is_heard_as_a_persona_is() -> None:
    assert MOST_OF_A_PERSONA == 2
    assert answers(routed("@opus\n@bai\n@hei\n", sender_id="weather")) == "opus:mention bai:mention"
    assert answers(routed("hi @opus", sender_id="weather")) == ""
    assert answers(routed("@weather", sender_id="weather", unaddressed=Unaddressed.ALL)) == ""
    assert answers(routed("hi @opus", sender_id="a stranger")) == "opus:mention"
    told = {
        kind: answers(route(Said("hi @opus", "a stranger", sender_kind=kind), FEW, SILENT))
        for kind in AuthorKind
    }
    assert told == {
        AuthorKind.HUMAN: "opus:mention",
        AuthorKind.BOT: "",
        AuthorKind.SYSTEM: "opus:mention",
    }
    unplaced = Said("hi", "weather", (Mention("opus"),))
    assert answers(route(unplaced, FEW, SILENT)) == ""
    assert (
        answers(route(Said("@x hi", "weather", (Mention("opus", "", 0, 2),)), FEW, SILENT))
        == "opus:mention"
    )


def test_the_callers_targets_go_before_everything() -> None:
    said = Said(
        "@bai ask @opus or `@opus` @all @who",
        "kate",
        answered_id="hei",
        targets=("opus", "CALLED", "who", "gone", "never", "kate", "@opus"),
    )
    got = route(said, EVERY, Rules(role_ids=("hei",)))
    assert answers(got) == "opus:explicit called:explicit"
    assert (got.targets[0].start, got.targets[0].end) == (9, 14)
    assert (got.targets[1].start, got.targets[1].end) == (0, 0)
    assert refused(got) == "?who:unknown gone:unavailable never:unavailable kate:unavailable"
    assert got.clean_text == "@bai ask or `@opus` @all @who"


def test_the_callers_targets_are_bound_by_loop_limit_and_self() -> None:
    said = Said("hi", "hei", targets=("opus", "hei", "bai", "called"))
    got = route(said, FEW, Rules(max_targets=1, looped_ids=frozenset({"opus"})))
    assert answers(got) == "bai:explicit"
    assert refused(got) == "opus:loop hei:self called:limit"
    got = route(Said("hi", "weather", targets=("opus", "hei", "bai")), FEW, Rules())
    assert len(got.targets) == 3, "what the caller wants is no chatter of bots"
    assert answers(route(Said("hi", "kate", targets=("nobody",)), EVERY, Rules())) == ""


def test_an_id_goes_before_a_name() -> None:
    lookup = Lookup((Participant("1", "2", ParticipantKind.PERSONA), persona("2")))
    assert answers(route(Said("", targets=("2",)), lookup, Rules())) == "2:explicit"
    assert lookup.find("2") == "2"
    assert lookup.participant("2") is not None
    assert lookup.participant("Opus") is None


def test_whom_the_mode_waits_for_answers() -> None:
    roles = ("bai", "kate", "gone", "nobody", "called", "bai")
    got = routed(" @opus hi @who ", EVERY, role_ids=roles, looped_ids=frozenset({"bai"}))
    assert answers(got) == "bai:role_map called:role_map"
    assert refused(got) == "gone:unavailable"
    assert got.clean_text == "@opus hi @who"
    got = routed("hi", EVERY, sender_id="bai", role_ids=("bai", "hei"), max_targets=1)
    assert (answers(got), refused(got)) == ("bai:role_map", "hei:limit")
    assert answers(routed("@opus", EVERY, role_ids=(), unaddressed=Unaddressed.ALL)) == ""


def test_who_is_replied_to_answers() -> None:
    def replied(text: str, answered_id: str, sender_id: str = "kate", **rules) -> str:
        said = Said(text, sender_id, answered_id=answered_id)
        return answers(
            route(
                said,
                FEW,
                Rules(**{"unaddressed": Unaddressed.DEFAULT, "default_id": "bai", **rules}),
            )
        )

    assert replied("hi", "opus") == "opus:reply"
    assert replied("hi", "called") == "called:reply"
    assert replied("hi @who, @kate and `@hei`", "opus") == "opus:reply"
    assert replied("@hei", "opus") == "hei:mention"
    assert replied("@gone", "opus") == ""
    for other in ("gone", "never", "kate", "weather", "nobody", ""):
        assert replied("hi", other) == "bai:default"
    assert replied("hi", "opus", looped_ids=frozenset({"opus"})) == "bai:default"
    assert replied("hi", "opus", heeds_mentions=False) == "bai:default"
    assert replied("hi", "opus", sender_id="hei") == ""
    assert replied("hi", "opus", max_targets=0) == ""


@pytest.mark.parametrize("policy", Unaddressed)
@pytest.mark.parametrize("text", ["@gone hi", "@opus hi", "@who @never"])
def test_where_a_persona_is_named_that_may_not_answer_nobody_does(
    text: str, policy: Unaddressed
) -> None:
    got = routed(text, unaddressed=policy, default_id="hei", looped_ids=frozenset({"opus"}))
    assert (answers(got), got.candidates, got.policy) == ("", (), policy)
    assert got.clean_text == text


@pytest.mark.parametrize("text", ["hi", "@who hi", "`@opus` hi", "@kate hi", "@weather hi", "@ hi"])
def test_all_answer_what_names_nobody(text: str) -> None:
    got = routed(text, EVERY, unaddressed=Unaddressed.ALL)
    assert answers(got) == "hei:all opus:all bai:all keen:all"
    assert got.clean_text == text


def test_all_but_those_who_may_not_and_no_more_than_the_limit() -> None:
    rules = {"unaddressed": Unaddressed.ALL, "looped_ids": frozenset({"hei"})}
    assert answers(routed("hi", FEW, **rules)) == "opus:all bai:all"
    got = routed("hi", EVERY, max_targets=2, **rules)
    assert (answers(got), refused(got)) == ("opus:all bai:all", "keen:limit")
    assert got.ignored[0].text == "Keen"


def test_without_mentions_the_text_decides_nothing() -> None:
    got = routed(" @opus hi @who ", heeds_mentions=False, unaddressed=Unaddressed.ALL)
    assert answers(got) == "hei:all opus:all bai:all"
    assert (refused(got), got.clean_text) == ("", "@opus hi @who")
    assert (
        answers(routed("@opus", sender_id="hei", heeds_mentions=False, unaddressed=Unaddressed.ALL))
        == ""
    )


HEALTHY = {
    "the last": ({"last_answered_ids": ("bai", "opus")}, "bai:last_healthy"),
    "the last that does not fail": (
        {"last_answered_ids": ("bai", "opus"), "failing_ids": {"bai"}},
        "opus:last_healthy",
    ),
    "the last that may": ({"last_answered_ids": ("gone", "called", "kate", "opus")}, "opus:last_healthy"),
    "the last in scope": (
        {"last_answered_ids": ("bai", "opus"), "preferred_ids": ("hei", "opus")},
        "opus:last_healthy",
    ),
    "none did": ({}, "hei:last_healthy"),
    "none did, the first fails": ({"failing_ids": {"hei"}}, "opus:last_healthy"),
    "the first in scope": ({"preferred_ids": ("bai", "opus")}, "bai:last_healthy"),
    "in scope, the first fails": (
        {"preferred_ids": ("bai", "opus"), "failing_ids": {"bai"}},
        "opus:last_healthy",
    ),
    "all in scope fail": (
        {"preferred_ids": ("bai", "opus"), "failing_ids": {"bai", "opus"}, "default_id": "hei"},
        "bai:last_healthy",
    ),
    "all fail": ({"failing_ids": {"hei", "opus", "bai"}, "default_id": "called"}, "called:default"),
    "all fail, no default": ({"failing_ids": {"hei", "opus", "bai"}}, "hei:last_healthy"),
    "scope of nobody": ({"preferred_ids": ("gone",), "default_id": "bai"}, "bai:default"),
    "scope of nobody, no default": ({"preferred_ids": ("gone",), "default_id": "never"}, "hei:last_healthy"),
    "looped": ({"looped_ids": {"hei"}, "last_answered_ids": ("hei",)}, "opus:last_healthy"),
}  # fmt: skip


@pytest.mark.parametrize(("rules", "expected"), HEALTHY.values(), ids=HEALTHY)
def test_the_last_healthy_one_answers(rules: dict, expected: str) -> None:
    rules = {
        key: frozenset(value) if isinstance(value, set) else value for key, value in rules.items()
    }
    assert answers(routed("hi", unaddressed=Unaddressed.LAST_HEALTHY, **rules)) == expected


def test_where_nobody_is_there_nobody_answers() -> None:
    for policy in Unaddressed:
        got = routed("hi @all", Lookup(PEOPLE[:2]), unaddressed=policy, default_id="kate")
        assert (answers(got), got.candidates, got.clean_text) == ("", (), "hi @all")


@pytest.mark.parametrize(
    ("default_id", "expected"),
    [("opus", "opus:default"), ("called", "called:default"), ("gone", ""), ("kate", ""), ("", "")],
)
def test_the_default_answers(default_id: str, expected: str) -> None:
    assert answers(routed("hi", unaddressed=Unaddressed.DEFAULT, default_id=default_id)) == expected


def test_a_selector_has_somebody_to_choose_from() -> None:
    got = routed("hi", EVERY, unaddressed=Unaddressed.SELECTOR, looped_ids=frozenset({"bai"}))
    assert got.candidates == ("hei", "opus")
    assert answers(got) == "keen:always"
    got = routed("@opus", EVERY, unaddressed=Unaddressed.SELECTOR)
    assert (got.candidates, answers(got)) == ((), "opus:mention keen:always")


ALWAYS = {
    "who is named comes first": ("@bai hi", "kate", "bai:mention keen:always"),
    "itself named": ("@keen @bai hi", "kate", "keen:mention bai:mention"),
    "with everybody": (
        "@all",
        "kate",
        "hei:group_mention opus:group_mention bai:group_mention called:group_mention keen:group_mention",
    ),
    "nobody named": ("hi", "kate", "keen:always"),
    "somebody named who may not": ("@gone hi", "kate", "keen:always"),
    "a persona names one": ("@bai hi", "hei", "bai:mention keen:always"),
    "a persona names two": ("@bai\n@opus", "hei", "bai:mention opus:mention"),
    "a persona names nobody": ("hi", "hei", ""),
    "a persona names none who may": ("@gone hi", "hei", ""),
    "not itself": ("@bai hi", "keen", "bai:mention"),
}


@pytest.mark.parametrize(("text", "sender_id", "expected"), ALWAYS.values(), ids=ALWAYS)
def test_who_always_answers_does_so_behind_the_others(text, sender_id, expected) -> None:
    assert answers(routed(text, EVERY, sender_id=sender_id)) == expected


def test_who_always_answers_does_not_in_a_loop_or_over_the_limit() -> None:
    assert answers(routed("hi", EVERY, looped_ids=frozenset({"keen"}))) == ""
    got = routed("@bai", EVERY, max_targets=1)
    assert (answers(got), refused(got)) == ("bai:mention", "keen:limit")


# --- whatever is said ----------------------------------------------------------------------------

CALLS = st.sampled_from(
    ["@opus", "@小黑", "＠all", "@kate", "@gone", "@keen ", "@who", "`", "```\n", "~~~\n", "\n", " ", "\\", "a@", ", ", "https://x.y/"]
)  # fmt: skip
TEXTS = st.one_of(
    ANY_TEXT, st.lists(st.one_of(CALLS, st.text(max_size=4)), max_size=12).map("".join)
)
IDS = st.sampled_from(
    ["", "kate", "weather", "hei", "opus", "gone", "never", "called", "keen", "x"]
)
SETS = st.frozensets(IDS, max_size=4)
RULES = st.builds(
    Rules,
    unaddressed=st.sampled_from(Unaddressed),
    heeds_mentions=st.booleans(),
    role_ids=st.none() | st.lists(IDS, max_size=3).map(tuple),
    default_id=IDS,
    preferred_ids=st.lists(IDS, max_size=3).map(tuple),
    last_answered_ids=st.lists(IDS, max_size=3).map(tuple),
    failing_ids=SETS,
    max_targets=st.integers(0, 5),
    looped_ids=SETS,
)
MENTIONS = st.lists(
    st.builds(Mention, IDS, st.sampled_from(["", "Opus", "y"]), st.integers(-2, 9), st.integers(-2, 9)),
    max_size=3,
).map(tuple)  # fmt: skip


@given(TEXTS, IDS, MENTIONS, IDS, st.lists(IDS, max_size=3).map(tuple), RULES)
def test_whatever_is_said_is_routed(text, sender_id, mentions, answered_id, targets, rules) -> None:
    got = route(Said(text, sender_id, mentions, answered_id, targets), EVERY, rules)
    ids = [one.id for one in got.targets]
    assert len(ids) == len(set(ids)) <= rules.max_targets
    able = {one.id for one in EVERY.able}
    assert able == {"hei", "opus", "bai", "called", "keen"}
    assert able.issuperset(ids)
    assert able.issuperset(got.candidates)
    if rules.role_ids is None or targets:
        assert not {sender_id, *rules.looped_ids}.intersection(ids)
    for one in (*got.targets, *got.ignored):
        assert 0 <= one.start <= one.end <= len(text)
        if one.end and not mentions:
            assert text[one.start] in "@＠"
            assert len(text[one.start : one.end].lstrip("@＠")) > 0


@given(TEXTS.map(lambda text: re.sub("[@＠]", "", text)), IDS, RULES)
def test_a_text_that_names_nobody_stays_as_it_is(text, sender_id, rules) -> None:
    got = route(Said(text, sender_id), EVERY, rules)
    assert got.clean_text == text.strip()
    assert got.ignored == () or {one.reason for one in got.ignored} <= {
        IgnoredReason.LIMIT,
        IgnoredReason.UNAVAILABLE,  # of those whom the mode waits for
    }


@given(TEXTS, st.text("abz 你好，.\n", max_size=20), st.text("abz 你好，.\n", max_size=20), RULES)
def test_what_else_is_said_changes_nobody(text, before, behind, rules) -> None:
    alone = route(Said(text, "kate"), EVERY, rules)
    within = route(Said(f"{before}\n{text}\n{behind}", "kate"), EVERY, rules)
    assert answers(within) == answers(alone)
    blank = " " if re.search("[`~]", text) is None else "\n"  # a fence begins a line
    within = route(Said(f"{before}{blank}{text}{blank}{behind}", "kate"), EVERY, rules)
    assert answers(within) == answers(alone)


@pytest.mark.parametrize(
    ("text", "clean"),
    [("<@opus> hi", "hi"), ("hi <@opus>", "hi"), ("<@opus>", ""), ("a <@opus b", "a < b"),
     ("<@opus> <@nobody>", "<@nobody>")],
)  # fmt: skip
def test_brackets_around_a_mention_go_with_it(text, clean) -> None:
    assert route(Said(text, "kate"), EVERY, SILENT).clean_text == clean


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        ("@小黑 @opus @小白 hi", ["opus", "bai"]),
        ("@小黑 hi\n@opus hi\n@小白 hi", ["bai"]),
        ("@小黑 and @opus\nI met @小白", ["opus"]),
        ("I met @opus", []),
        ("@小黑 `@opus` @gone @kate @weather", []),
        ("@小黑 @小黑 @who", []),
    ],
)
def test_whom_a_bot_names_behind_another_one_is_told_of(text, limited) -> None:
    got = route(Said(text, "weather"), FEW, SILENT)
    assert [
        one.participant_id for one in got.ignored if one.reason is IgnoredReason.LIMIT
    ] == limited
    for one in got.ignored:
        assert text[one.start : one.end].lstrip("@") == one.text


@pytest.mark.parametrize(
    "names", [("Ann", "@Ann"), ("❤", "❤\ufe0f"), ("Ann", "＠ ann"), ("@", "@")]
)
def test_names_that_are_mentioned_alike_clash(names) -> None:
    people = [Participant(f"p{n}", name) for n, name in enumerate(names)]
    assert name_clash(people) == (names[1], "p0", "p1")


@pytest.mark.parametrize("names", [("Ann", "Anne"), ("@", "@@"), ("❤", "♥")])
def test_other_names_do_not(names) -> None:
    assert name_clash([Participant(f"p{n}", name) for n, name in enumerate(names)]) is None
