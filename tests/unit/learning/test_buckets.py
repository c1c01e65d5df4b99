"""Buckets: the hash that others have, ranges that only grow, lists, holdout, and the sample-ratio check."""

import math
from collections import Counter
from dataclasses import replace

import pytest

from backscroll_sidecar.learning.buckets import (
    HOLDOUT,
    STEPS,
    Arm,
    Experiment,
    Membership,
    fnv1a_32,
    hash_step,
    moved_share,
    sample_ratio,
)

AB = Experiment("ranker", (Arm("control"), Arm("memory")))
CHANNELS = [f"group-{i}" for i in range(10_000)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)],
)
def test_fnv_of_its_authors_examples(data, expected):
    assert fnv1a_32(data) == expected


@pytest.mark.parametrize(
    ("seed", "value", "expected"),
    [
        ("seed", "a", 505),
        ("seed", "b", 2696),
        ("foo", "ab", 2575),
        ("foo", "def", 2019),
        ("89123klj", "8952klfjas09ujkasdf", 1240),
        ("90850943850283058242805", "123", 7516),
        ("()**(%$##$%#$#", '___)((*":&', 128),
    ],
)
def test_the_hash_is_growthbooks_second(seed, value, expected):
    """The published vectors of its SDKs."""
    assert hash_step(seed, value) == expected


def test_chinese_ids_are_hashed_as_utf_8():
    """These may never change: who is in which arm depends on them. A lone surrogate is an id like others."""
    assert [AB.step_of(one) for one in ("群聊一", "群聊二", "😀", "\ud800")] == [
        943, 8666, 837, 9600,
    ]  # fmt: skip


def test_steps_are_spread_evenly():
    counts = Counter(AB.step_of(channel) // 1_000 for channel in CHANNELS)
    assert not sample_ratio([counts[part] for part in range(10)], [1.0] * 10).is_alarming


def test_arms_have_their_shares():
    weighted = Experiment("w", (Arm("a", 1.0), Arm("b", 2.0), Arm("c", 7.0)), coverage=0.5)
    assert weighted.ranges == ((0, 500), (1_000, 2_000), (3_000, 6_500))
    counts = Counter(weighted.assign(channel).arm for channel in CHANNELS)
    assert not sample_ratio([counts[arm] for arm in "abc"], [1.0, 2.0, 7.0]).is_alarming
    assert counts[""] == pytest.approx(5_000, abs=200)


def test_an_assignment_says_why():
    one = replace(AB, coverage=0.3, holdout=0.2, allowed=frozenset(CHANNELS[:50]))
    found = {channel: one.assign(channel) for channel in CHANNELS[50:]}
    kinds = Counter(each.membership for each in found.values())
    assert set(kinds) == {Membership.COVERED, Membership.OUTSIDE, Membership.HELD_OUT}
    assert kinds[Membership.HELD_OUT] == pytest.approx(2_000, abs=160)
    assert kinds[Membership.COVERED] == pytest.approx(2_400, abs=170)
    for channel, each in found.items():
        assert each.step == one.step_of(channel)
        assert each.bucket_version == 1
        assert each.is_in == (each.membership is Membership.COVERED)
        assert (each.arm == HOLDOUT) == (each.membership is Membership.HELD_OUT)


def test_a_rollout_has_one_arm():
    rollout = Experiment("steady", (Arm("on"),), coverage=0.0)
    assert not any(rollout.assign(channel).is_in for channel in CHANNELS[:500])
    tenth = rollout.widened(0.1)
    assert sum(tenth.assign(channel).is_in for channel in CHANNELS) == pytest.approx(1_000, abs=120)
    assert all(rollout.widened(1.0).assign(channel).is_in for channel in CHANNELS[:500])


def test_lists_come_before_the_hash():
    closed = Experiment(
        "r", (Arm("on"),), coverage=0.0, allowed=frozenset({"群一", "both"}), denied=frozenset({"both"})
    )  # fmt: skip
    assert (closed.assign("群一").arm, closed.assign("群一").membership) == (
        "on",
        Membership.ALLOWED,
    )
    assert (closed.assign("both").arm, closed.assign("both").membership) == ("", Membership.DENIED)
    opened = replace(closed, coverage=1.0, denied=frozenset(CHANNELS[:9]))
    assert not any(opened.assign(channel).is_in for channel in CHANNELS[:9])
    assert opened.assign("both").is_in


def test_who_is_allowed_keeps_the_arm():
    """An id that was in by its hash stays in its arm when it is put on the list; the held out are spread."""
    partly = replace(AB, coverage=0.4, holdout=0.5)
    listed = replace(partly, allowed=frozenset(CHANNELS))
    arms, of_held = Counter(), Counter()
    for channel in CHANNELS:
        before, after = partly.assign(channel), listed.assign(channel)
        assert after.membership is Membership.ALLOWED
        if before.membership is Membership.COVERED:
            assert after.arm == before.arm
        arms[after.arm] += 1
        of_held[after.arm] += before.membership is Membership.HELD_OUT
    assert set(arms) == {"control", "memory"}
    assert not sample_ratio(list(of_held.values()), [1.0, 1.0]).is_alarming


def test_widening_moves_nobody_and_says_so():
    narrow = replace(AB, coverage=0.1)
    wide = narrow.widened(0.7)
    assert moved_share(narrow, wide) == 0.0
    for channel in CHANNELS[:2_000]:
        if narrow.assign(channel).is_in:
            assert wide.assign(channel) == narrow.assign(channel)
    with pytest.raises(ValueError, match=r"^coverage"):
        wide.widened(0.6)
    with pytest.raises(ValueError, match=r"^coverage"):
        wide.widened(1.1)


def test_other_changes_say_whom_they_move():
    """Weights move who stands between the old border and the new one; a new version moves whom chance moves."""
    assert moved_share(AB, replace(AB, arms=(Arm("control", 3.0), Arm("memory", 1.0)))) == 0.25
    assert moved_share(AB, replace(AB, coverage=0.5)) == 0.5
    assert moved_share(AB, replace(AB, holdout=0.1)) == pytest.approx(0.15)
    assert moved_share(AB, replace(AB, bucket_version=2)) == pytest.approx(0.5)
    assert moved_share(AB, replace(AB, bucket_version=2, arms=(Arm("x"),))) == pytest.approx(1.0)
    moved = sum(
        AB.assign(one).arm != replace(AB, bucket_version=2).assign(one).arm for one in CHANNELS
    )
    assert moved == pytest.approx(5_000, abs=200)


@pytest.mark.parametrize(
    "other",
    [
        replace(AB, id="ranker2"),
        replace(AB, salt="x"),
        replace(AB, bucket_version=2),
        replace(AB, id="ranke", salt="r"),
    ],
    ids=["id", "salt", "version", "where the id ends"],
)
def test_experiments_are_independent(other):
    """Of who is in one arm of the first, half are in each arm of the second."""
    counts = Counter((AB.assign(one).arm, other.assign(one).arm) for one in CHANNELS)
    assert len(counts) == 4
    assert not sample_ratio(list(counts.values()), [1.0] * 4).is_alarming


def test_a_sample_ratio_by_hand():
    """520 and 480 of 1,000: (20^2 + 20^2) / 500 = 1.6, p = .2059. 560 and 440: 14.4, p = .000148."""
    fine, bad = sample_ratio([520, 480], [1.0, 1.0]), sample_ratio([560, 440], [0.5, 0.5])
    assert (fine.chi_square, fine.probability) == pytest.approx((1.6, 0.205903), rel=1e-5)
    assert (bad.chi_square, bad.probability) == pytest.approx((14.4, 0.000147809), rel=1e-4)
    assert (fine.is_alarming, bad.is_alarming) == (False, True)


def test_nothing_counted_is_no_alarm():
    assert sample_ratio([0, 0], [1.0, 2.0]).probability == 1.0
    assert sample_ratio([9], [1.0]).probability == 1.0


def test_an_arm_that_nobody_came_to_is_alarming():
    assert sample_ratio([0, 40], [1.0, 1.0]).is_alarming


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: replace(AB, id=""), "id"),
        (lambda: replace(AB, arms=()), "arms"),
        (lambda: replace(AB, arms=(Arm("a"), Arm("a"))), "arms"),
        (lambda: replace(AB, arms=(Arm(""),)), "an arm's name"),
        (lambda: replace(AB, arms=(Arm("holdout"),)), "an arm's name"),
        (lambda: replace(AB, arms=(Arm("a", 0.0),)), "weights"),
        (lambda: replace(AB, arms=(Arm("a", math.inf),)), "weights"),
        (lambda: replace(AB, coverage=1.5), "coverage"),
        (lambda: replace(AB, coverage=math.nan), "coverage"),
        (lambda: replace(AB, holdout=1.0), "holdout"),
        (lambda: replace(AB, bucket_version=-1), "bucket_version"),
        (lambda: sample_ratio([], []), "weights"),
        (lambda: sample_ratio([1], [1.0, 1.0]), "weights"),
        (lambda: sample_ratio([1, 2], [1.0, 0.0]), "weights"),
        (lambda: sample_ratio([1, -2], [1.0, 1.0]), "counts"),
    ],
)
def test_what_is_outside_is_named(call, field):
    with pytest.raises(ValueError, match=rf"^{field}"):
        call()


def test_the_finest_holdout_leaves_somebody():
    tight = replace(AB, holdout=0.9999)
    assert tight.ranges[-1][1] == 1
    assert replace(tight, allowed=frozenset(CHANNELS[:99])).assign(CHANNELS[0]).is_in
    assert STEPS == 10_000
