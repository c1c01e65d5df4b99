"""The score of `balanced` is a probability, so that a threshold has a meaning.

Over real questions nobody's weights were fitted on: of the lines said to belong to the question's conversation with
probability p, about a share p does. Measured: said .18, seen .15; .39, .40; .60, .73; .80, .87.
"""

import itertools

import pytest

from backscroll import Author, Client, Overrides
from backscroll_bench.quality import LiveServer, find_set, read_set, shipped_sets
from backscroll_sidecar.cli.process import server

pytestmark = pytest.mark.proof

BINS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""From the profile's own threshold on. Below it stand the best twenty lines of questions that have nothing better:
said .05, seen .24, for among the last lines of a chat more belong together than their scores say."""
EVERY, LINES = 2, 200
MOST_OFF, FEWEST = 0.15, 100
"""Largest difference between what is said and what is seen, and how many lines a bin needs to be judged."""


def half_of_irc():
    """Every second question of the set that ships."""
    with shipped_sets() as shipped:
        return read_set(*find_set(shipped["irc"]), every=EVERY)


def said_and_seen(running):
    """Of each line that was considered: its score, and whether it is of the question's conversation."""
    chats = half_of_irc()
    with Client(running.address, timeout_s=60.0) as client:
        live = LiveServer(client)
        for group, questions in chats.by_group.items():
            heard, channel = 0, live.channel(chats, group)
            for question in questions:
                live.hear(channel, chats.groups[group][heard : question.cut])
                heard = max(heard, question.cut)
                if question.conversation is None:
                    continue
                context = client.build_context(
                    channel,
                    question.line.content,
                    asker=Author(question.line.user_id, question.line.name),
                    asked_at=question.line.timestamp,
                    mentions=[],
                    profile="balanced",
                    overrides=Overrides(max_context=LINES),
                    token_budget=1_000_000,
                    payload_formats="none",
                )
                for item in context.items:
                    yield item.score, item.message.id in question.conversation


def test_what_is_said_to_be_likely_is_likely(tmp_path, pytestconfig):
    flags = ["--database", str(tmp_path / "h.db"), "--state-dir", str(tmp_path)]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NUMBA_CACHE_DIR", str(pytestconfig.cache.mkdir("kernels")))
        with server([*flags, "--durability", "normal"], tmp_path) as running:
            pairs = list(said_and_seen(running))
    judged = []
    for low, high in itertools.pairwise(BINS):
        inside = [pair for pair in pairs if low <= pair[0] < high]
        if len(inside) >= FEWEST:
            said = sum(score for score, _ in inside) / len(inside)
            seen = sum(is_true for _, is_true in inside) / len(inside)
            judged.append((said, seen, len(inside)))
            print(f"{low} to {high}: said {said:.3f}, seen {seen:.3f} of {len(inside)}")
    assert len(judged) == len(BINS) - 1
    seen = [share for _, share, _ in judged]
    assert seen == sorted(seen)
    assert all(abs(said - share) <= MOST_OFF for said, share, _ in judged)
