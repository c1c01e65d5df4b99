"""What is measured of one selection: a ranked list of at most `DEPTH` message ids, best first.

Reply questions: ``hit@k``, 1 if one of the answered messages is among the first k; ``conv_recall_cap@k``, how much of
the question's conversation is among the first k, of min(k, its size); ``conv_prec@k``, share of the first k that
belong to it, of those that were annotated. Memory questions: ``recall@k``, share of the evidence among the first k.
Both: ``recall@Ntok``, share of the right messages among what fits into N tokens when the list is gone through from the
best and what does not fit is passed over; ``mrr``, 1 / rank of the first right message, 0 if there is none;
``history_share``, 1 if the whole history was ranked for the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_bench.quality.data import Question

DEPTH = 50
"""Messages asked for: the longest list that is judged."""
REPLY_CUTS = (1, 5, 10, 20)
MEMORY_CUTS = (5, 10, 20)
TOKEN_CUTS = (512, 1024, 2048)
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "reply": ("hit@1", "hit@5", "hit@10", "conv_recall_cap@20", "conv_prec@20", "history_share"),
    "memory": (
        "recall@5", "recall@10", "recall@20", "recall@512tok", "recall@1024tok", "recall@2048tok", "history_share",
    ),
}  # fmt: skip
"""What the tables show, by task."""


class Chosen(NamedTuple):
    """Ids of at most `DEPTH` messages of a question's history, best first.

    `from_history`: whether the whole history was searched for them; None: of a selector that has no choice.
    """

    ids: Sequence[str]
    from_history: bool | None = None


@dataclass(frozen=True)
class Score:
    """The measures of one selection.

    `found` and `tokens` are float64 of shape (DEPTH,): share of what was wanted, and tokens, in the first 1, 2 …
    messages. A measure that the question has no annotation for is absent from `values`.
    """

    values: Mapping[str, float]
    found: NDArray[np.float64]
    tokens: NDArray[np.float64]


def score(
    question: Question, chosen: Chosen, position: Mapping[str, int], tokens: Sequence[int]
) -> Score:
    """Measure what was chosen: ids best first, without repetition, all of them in `position`.

    `position` gives a message's place in its group, `tokens` the tokens of the message in each place.
    """
    ids = chosen.ids[:DEPTH]
    right = np.fromiter((one in question.gold for one in ids), np.float64, len(ids))
    costs = np.fromiter((tokens[position[one]] for one in ids), np.float64, len(ids))
    wanted = 1 if question.task == "reply" or question.any_gold else len(question.gold)
    firsts = np.flatnonzero(right)
    values = {"mrr": 1.0 / (int(firsts[0]) + 1) if len(firsts) else 0.0}
    if question.task == "reply":
        values |= {f"hit@{cut}": float(right[:cut].any()) for cut in REPLY_CUTS}
        values |= _conversation(question, ids, position)
    else:
        values |= {f"recall@{cut}": min(1.0, right[:cut].sum() / wanted) for cut in MEMORY_CUTS}
    every = 1 if question.any_gold else len(question.gold)
    for limit in TOKEN_CUTS:
        values[f"recall@{limit}tok"] = min(1.0, float(right[fits(costs, limit)].sum()) / every)
    if chosen.from_history is not None:
        values["history_share"] = float(chosen.from_history)
    return Score(values, np.minimum(1.0, _running(right) / wanted), _running(costs))


def _conversation(
    question: Question, ids: Sequence[str], position: Mapping[str, int]
) -> dict[str, float]:
    if not question.conversation:
        return {}
    values = {}
    for cut in REPLY_CUTS:
        chosen = ids[:cut]
        found = sum(one in question.conversation for one in chosen)
        values[f"conv_recall_cap@{cut}"] = found / min(cut, len(question.conversation))
        annotated = [one for one in chosen if position[one] >= question.judged_from]
        if annotated:
            belonging = sum(one in question.conversation for one in annotated)
            values[f"conv_prec@{cut}"] = belonging / len(annotated)
    return values


def fits(costs: Sequence[float] | NDArray[np.float64], limit: int) -> list[int]:
    """Places of the messages taken when one goes through them in order and passes over what no longer fits."""
    used, taken = 0.0, []
    for at, cost in enumerate(costs):
        if used + cost <= limit:
            used += cost
            taken.append(at)
    return taken


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of the first 1 … DEPTH values; a list that ended earlier stays where it was."""
    padded = np.zeros(DEPTH)
    padded[: len(values)] = values
    return np.cumsum(padded)


def tokens_to_match(
    scores: Sequence[Score], recency: Sequence[Score], at: int = DEPTH
) -> tuple[float, int] | None:
    """The fewest tokens with which a selector finds as much as the newest `at` messages, on average over questions.

    Returns
    -------
    As a share of the tokens of those messages, and as a number of messages; None if `DEPTH` messages do not do.
    """
    target = np.mean([one.found[at - 1] for one in recency])
    spent = np.mean([one.tokens[at - 1] for one in recency])
    found = np.mean([one.found for one in scores], axis=0)
    reached = np.flatnonzero(found >= target - 1e-9)
    if not len(reached):
        return None
    first = int(reached[0])
    return float(np.mean([one.tokens[first] for one in scores]) / spent), first + 1
