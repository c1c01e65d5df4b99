"""The difference of two records of one question."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.context.replayed import Replayed, ReplaySummary, difference
from backscroll_sidecar.domain import Fate, Rung
from backscroll_sidecar.ports import FATES, UsageRecord, pack_candidates

SCORED = st.dictionaries(
    st.integers(1, 30), st.tuples(st.floats(0, 1), st.sampled_from(FATES)), max_size=12
)


def record(scored, tokens=100):
    seqs, fates = np.array([*scored], np.int64), [FATES.index(fate) for _, fate in scored.values()]
    scores = np.array([score for score, _ in scored.values()], np.float64)
    shown = sorted(seq for seq, (_, fate) in scored.items() if fate is Fate.SELECTED)
    packed = pack_candidates(seqs, scores, np.array(fates, np.uint8))
    return UsageRecord(
        "c", "u", "q", tuple(shown), packed, "balanced", "balanced@1", 0, 0, Rung.RANKED, (), tokens, 200, 1
    )  # fmt: skip


@given(SCORED, SCORED)
def test_every_shown_line_came_went_or_stayed(first, second):
    before, after = record(first), record(second, 80)
    one = difference(before, after, (0, 0, 0))
    came = {line.place[1] for line in one.came}
    went = {line.place[1] for line in one.went}
    assert came == {*after.context} - {*before.context}
    assert went == {*before.context} - {*after.context}
    assert one.kept_count == len({*before.context} & {*after.context})
    for line in (*one.came, *one.went):
        seq = line.place[1]
        assert (line.fate_before is None) == (seq not in first)
        assert (line.fate_after is None) == (seq not in second)
    scores = [line.score_after for line in one.came]
    assert scores == sorted(scores, reverse=True)
    summary = ReplaySummary()
    summary.add(one)
    summary.add(Replayed(before, left_out="degraded"))
    assert (summary.came, summary.went, summary.kept) == (len(came), len(went), one.kept_count)
    assert summary.same == (came == went == set())
    assert (summary.tokens_before, summary.tokens_after) == (100, 80)
    assert summary.left_out == {"degraded": 1}
