"""The measures, against what one gets by hand."""

import numpy as np
import pytest

from backscroll_bench.quality.metrics import DEPTH, Chosen, Score, fits, score, tokens_to_match
from tests.unit.quality.sets import question

POSITION = {f"m{n}": n for n in range(100)}
TOKENS = [10] * 100


def values(asked, ids, tokens=TOKENS):
    return score(asked, Chosen(ids), POSITION, tokens).values


@pytest.mark.parametrize(
    ("place", "hits", "mrr"),
    [(0, (1, 1, 1, 1), 1), (1, (0, 1, 1, 1), 1 / 2), (4, (0, 1, 1, 1), 1 / 5), (5, (0, 0, 1, 1), 1 / 6),
     (19, (0, 0, 0, 1), 1 / 20), (20, (0, 0, 0, 0), 1 / 21)],
)  # fmt: skip
def test_a_hit_is_one_answered_message_among_the_first(place, hits, mrr):
    ids = [f"m{n}" for n in range(30) if n != 25]
    ids.insert(place, "m25")
    found = values(question(gold=("m25", "m99")), ids)
    assert tuple(found[f"hit@{cut}"] for cut in (1, 5, 10, 20)) == hits
    assert found["mrr"] == pytest.approx(mrr)


def test_nothing_chosen_is_nothing_found():
    found = values(question(gold=("m1",), conversation=frozenset({"m1"})), [])
    assert found == {
        "mrr": 0.0, **{f"hit@{cut}": 0.0 for cut in (1, 5, 10, 20)},
        **{f"conv_recall_cap@{cut}": 0.0 for cut in (1, 5, 10, 20)},
        **{f"recall@{limit}tok": 0.0 for limit in (512, 1024, 2048)},
    }  # fmt: skip


def test_recall_of_gold_turns_counts_each_answered_message_that_fits():
    """A question that answers two messages: the first costs 500 tokens, the second 600; a hit asks for one alone."""
    asked = question(gold=("m1", "m2"))
    costs = [500 if n == 1 else 600 if n == 2 else 100 for n in range(len(TOKENS))]
    found = score(asked, Chosen(["m1", "m2"]), POSITION, costs).values
    assert [found[f"recall@{limit}tok"] for limit in (512, 1024, 2048)] == [0.5, 0.5, 1.0]
    assert found["hit@5"] == 1.0


def test_recall_of_a_conversation_counts_what_could_be_found_at_most():
    """Seven messages belong to it: three of the first five are 3 / 5, four of the first twenty 4 / 7."""
    conversation = frozenset({"m1", "m2", "m3", "m20", "m30", "m31", "m32"})
    found = values(
        question(gold=("m1",), conversation=conversation), [f"m{n}" for n in range(1, 25)]
    )
    assert found["conv_recall_cap@1"] == 1.0
    assert found["conv_recall_cap@5"] == pytest.approx(3 / 5)
    assert found["conv_recall_cap@20"] == pytest.approx(4 / 7)


def test_precision_leaves_out_what_nobody_annotated():
    """Annotated from m3 on: of m1, m2, m3, m4, m5 that is three, of which one belongs."""
    asked = question(gold=("m4",), conversation=frozenset({"m4", "m2"}), judged_from=3)
    found = values(asked, ["m1", "m2", "m3", "m4", "m5"])
    assert "conv_prec@1" not in found
    assert found["conv_prec@5"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("task", ["reply", "memory"])
def test_who_was_searched_for_in_the_whole_history_is_counted_where_there_is_a_choice(task):
    shares = [
        score(question(task, gold=("m1",)), Chosen(["m1"], found), POSITION, TOKENS).values.get(
            "history_share"
        )
        for found in (True, False, None)
    ]
    assert shares == [1.0, 0.0, None]


def test_without_annotation_there_is_no_conversation_to_measure():
    assert not [name for name in values(question(gold=("m1",)), ["m1"]) if name.startswith("conv")]


def test_recall_of_evidence():
    """Four messages of evidence, of which the first five hold one, the first ten two, the first twenty three."""
    asked = question("memory", gold=("m4", "m9", "m19", "m90"))
    found = values(asked, [f"m{n}" for n in range(50)])
    assert (found["recall@5"], found["recall@10"], found["recall@20"]) == (0.25, 0.5, 0.75)


def test_one_of_several_alternatives_is_all():
    found = values(question("memory", gold=("m4", "m9"), any_gold=True), ["m4", "m9"])
    assert found["recall@5"] == 1.0


def test_what_does_not_fit_is_passed_over():
    assert fits([300, 300, 200, 12], 512) == [0, 2, 3]
    assert fits([512, 1], 512) == [0]
    tokens = [400, 200, 100, 700] + [10] * 96
    found = values(question("memory", gold=("m1", "m2", "m3")), ["m0", "m1", "m2", "m3"], tokens)
    assert found["recall@512tok"] == pytest.approx(1 / 3)
    assert found["recall@1024tok"] == pytest.approx(2 / 3)
    assert found["recall@2048tok"] == 1.0


def test_curves_stay_where_the_list_ends():
    one = score(question("memory", gold=("m1", "m2")), Chosen(["m0", "m1"]), POSITION, TOKENS)
    assert one.found.shape == one.tokens.shape == (DEPTH,)
    assert one.found[:3].tolist() == [0.0, 0.5, 0.5]
    assert one.tokens[:3].tolist() == [10, 20, 20]
    assert one.found[-1] == 0.5


def curve(found, cost):
    return Score({}, np.array(found, float), np.cumsum(np.full(DEPTH, float(cost))))


def test_tokens_to_match_are_counted_at_the_first_length_that_finds_as_much():
    """Recency finds half in 50 messages of 10 tokens; the other finds that with its third message of 20: 60 / 500."""
    recency = [curve([0] * 49 + [1], 10), curve([0] * 50, 10)]
    other = [curve([0, 0, 1] + [1] * 47, 20), curve([0] * 50, 20)]
    assert tokens_to_match(other, recency) == (pytest.approx(60 / 500), 3)
    assert tokens_to_match(recency, recency) == (1.0, 50)
    assert tokens_to_match([curve([0] * 50, 1)] * 2, recency) is None
