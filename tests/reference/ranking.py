"""The specification of a question's ranking: columns, scores and order together, in plain Python by column names.

Slow on purpose. Its parts are those of `reference_links`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from backscroll_scoring.link_columns import COLUMNS, CONVERSATION, LinkArrays, LinkQuestion
from backscroll_scoring.link_model import Linear, LinkModel
from tests.reference.links import (
    Columns,
    candidates,
    conversation_columns,
    link_chances,
    link_columns,
    reply_order,
)


def question_ranking(
    a: LinkArrays, q: LinkQuestion, end: int, allowed: Callable[[int], bool], more: Sequence[int], told: int,
    model: LinkModel,
    links: Sequence[Sequence[tuple[int, float]]], starts: Sequence[float], first: int, most: int, first_links: int,
) -> tuple[list[int], list[float], list[float], float, list[int]]:  # fmt: skip
    """A question's candidates, their scores by both models, the chance that it answers none, and their order.

    ``question_links`` is the first half, up to that chance; ``question_scores`` the other.
    """
    found, n_older = candidates(a, end, allowed, q)
    rows = sorted({*found, *more})[-most:]
    window = found[n_older] if n_older < len(found) else end
    n_extra = sum(row < window for row in rows)
    if not rows:
        return [], [], [], 1.0, []
    columns, start = link_columns(a, q, rows, n_extra)

    def scores(linear: Linear, *parts: Sequence[Columns]) -> list[float]:
        values = [[v for part in parts for v in part[j].values()] for j in range(len(rows))]
        return [
            sum(weight * (v - mean) for v, weight, mean in zip(one, linear.weights, linear.means, strict=True))
            + linear.constant
            for one in values
        ]  # fmt: skip

    ordered = [{name: c[name] for name in COLUMNS} for c in columns]
    weights = model.start.with_intercept.tolist()
    p, starts_new = link_chances(scores(model.first, ordered), weights, start)
    if told in rows:
        p, starts_new = [float(row == told) for row in rows], 0.0
    naming = [j for j, c in enumerate(columns) if c["newest_naming_me"]]
    around = conversation_columns(
        a, q, rows, n_extra, p, starts_new, start["quiet"], links, starts, first, naming[-1] if naming else -1
    )  # fmt: skip
    around = [{name: c[name] for name in CONVERSATION} for c in around]
    by_link, by_tail = (scores(one, ordered, around) for one in (model.second, model.tail))
    parent = rows.index(told) if told in rows else -1
    return rows, by_link, by_tail, starts_new, reply_order(by_link, by_tail, parent, first_links)


def question_chances(
    by_link: Sequence[float], by_tail: Sequence[float], starts_new: float, parent: int, order: Sequence[int],
    first: int,
) -> tuple[list[float], list[float], list[float], list[int]]:  # fmt: skip
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
