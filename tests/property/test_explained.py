"""Law 7: every slot is explained. And the order of selection is one that can be cut anywhere."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Analysis, Category, Fate, Member, MessageState, Reply
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import ANN, BEN, HOUR_MS, NOON_MS, say, stored_in_order
from tests.kit.examples import examples
from tests.kit.rooms import Fixed, Room, ids_by_rank
from tests.property.chats import chats, sentences

requests = st.fixed_dictionaries(
    {
        "profile": st.sampled_from(sorted(PROFILES)),
        "token_budget": st.sampled_from([80, 200, 100_000]),
        "thread_id": st.sampled_from([None, "t1"]),
        "visible_since_membership": st.booleans(),
        "reply": st.sampled_from([None, Reply("m0"), Reply("m3"), Reply("m5", inferred=True)]),
        "overrides": st.fixed_dictionaries(
            {
                "max_context": st.sampled_from([None, 1, 4, 50]),
                "relevance_threshold": st.sampled_from([None, 0.0, 0.2, 1.0]),
                "recent_floor": st.sampled_from([None, 0, 5]),
            }
        ),
    }
)


@settings(max_examples=examples(100))
@given(chats(), st.sets(st.integers(0, 24)), st.sets(st.integers(0, 24)), requests, sentences)
def test_every_candidate_is_accounted_for(messages, recalled, partial, request, question):
    """Law 7, N-04, P-01: each candidate exactly once, with sources, shares that sum to its linear value, the stage
    that decided and its fate; the selected ones are the items, in the same order."""
    messages = [replace(m, is_partial=n in partial) for n, m in enumerate(messages)]
    stored = [
        s if n not in recalled else _recalled(s) for n, s in enumerate(stored_in_order(messages))
    ]
    far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("m1", "m1", "m4")))
    members = [Member("u1", "Ann", joined_at_ms=NOON_MS - 20 * HOUR_MS)]
    built = Room(stored, own=[far], members=members).build_now(
        question, ANN, explain=True, **request
    )
    explanation = built.explanation
    told = [c.message_id for c in explanation.candidates]
    assert len(told) == len(set(told)) == built.diagnostics.candidate_count
    assert Counter(c.fate is Fate.SELECTED for c in explanation.candidates)[True] == len(
        built.items
    )
    items = {item.message_id: item for item in built.items}
    at = {s.message.id: (s.rank_time_ms, s.seq) for s in stored}
    assert told == sorted(told, key=at.__getitem__)
    for one in explanation.candidates:
        assert one.sources
        assert one.decided_by
        assert sum(one.shares) == pytest.approx(one.linear, abs=1e-9)
        assert len(one.shares) == len(explanation.factors) == len(explanation.weights)
        assert 0 <= one.score <= 1
        item = items.get(one.message_id)
        if one.fate is not Fate.SELECTED:
            assert (item, one.rank) == (None, 0)
            continue
        assert (item.rank, item.score, item.sources) == (one.rank, one.score, one.sources)
    recalled_ids = {s.message.id for s in stored if s.state is MessageState.RECALLED}
    assert all(
        c.fate is Fate.RECALLED for c in explanation.candidates if c.message_id in recalled_ids
    )
    partial_ids = {s.message.id for s in stored if s.state is MessageState.PARTIAL}
    replies = [request["reply"]] if request["reply"] else [m.reply for m in messages]
    answered = {reply.message_id for reply in replies if reply}  # who replies to it is shown it
    assert all(
        c.fate is Fate.VISIBILITY
        for c in explanation.candidates
        if c.message_id in partial_ids - answered
    )
    assert sorted(item.rank for item in built.items) == list(range(1, len(items) + 1))
    silent = Room(stored, own=[far], members=members).build_now(question, ANN, **request)
    assert silent.explanation is None
    assert (silent.items, silent.text) == (built.items, built.text)


def _recalled(stored):
    analysis = Analysis("", stored.analysis.message_type, reply=stored.analysis.reply)
    return replace(stored, analysis=analysis, state=MessageState.RECALLED)


@pytest.mark.parametrize("profile", ["balanced", "chain_recent", "steady"])
def test_what_only_the_floor_keeps_says_so(profile):
    """Law 7: a line below the threshold that is in all the same names the stage that kept it."""
    built = Room([say("m0", BEN, "unlinked")]).build_now(
        profile=profile, explain=True, overrides={"relevance_threshold": 1.0, "recent_floor": 1}
    )
    (one,) = built.explanation.candidates
    assert one.fate is Fate.SELECTED
    assert one.score >= built.explanation.threshold or one.decided_by == "floor"


@settings(max_examples=examples(100))
@given(chats(), requests, sentences, st.integers(1, 12), st.integers(0, 12))
def test_a_smaller_maximum_is_a_prefix(messages, request, question, few, more):
    """Rank is an order of selection: a smaller max_context selects a prefix of it."""
    room = Room(messages)
    request = {**request, "token_budget": 100_000}

    def order(most: int) -> list[str]:
        overrides = {**request["overrides"], "max_context": most}
        return ids_by_rank(room.build_now(question, ANN, **{**request, "overrides": overrides}))

    assert order(few) == order(few + more)[: len(order(few))]
    assert len(order(few)) == min(few, len(order(few + more)))


@given(chats(), requests, sentences)
def test_the_same_request_gives_the_same_bytes(messages, request, question):
    """Law 2: same store, configuration and request: same items and payload bytes; ids and timings apart."""
    one, other = (Room(messages).build_now(question, ANN, **request) for _ in range(2))
    assert one.payloads == other.payloads
    assert one.items == other.items
    assert one.context_id != other.context_id
