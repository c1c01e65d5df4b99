"""What a bot can do without Backscroll, in plain Python: the newest messages, the rarest words, the replies alone."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from backscroll_bench.quality.data import Line, Question
from backscroll_bench.quality.metrics import DEPTH, Chosen

Chooser: TypeAlias = Callable[[Question], Chosen]
"""Asked in the order of time."""

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza 2009)."""
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")


def recency(lines: Sequence[Line]) -> Chooser:
    """The newest messages, the last one first."""

    def choose(question: Question) -> Chosen:
        newest = lines[max(0, question.cut - DEPTH) : question.cut]
        return Chosen([line.message_id for line in reversed(newest)])

    return choose


def bm25(lines: Sequence[Line]) -> Chooser:
    """BM25 over words, and over single and paired characters of Chinese; ties: the newer message first.

    The whole history of the group is searched. Messages without a word of the question come last, newest first.
    """
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    lengths: list[int] = []

    def choose(question: Question) -> Chosen:
        for at in range(len(lengths), question.cut):
            counts = Counter(words(lines[at].content))
            lengths.append(counts.total())
            for word, count in counts.items():
                postings[word].append((at, count))
        scores = [0.0] * question.cut
        mean = sum(lengths) / max(1, question.cut) or 1.0
        for word in sorted(set(words(question.line.content))):
            found = postings.get(word, ())
            rarity = math.log(1 + (question.cut - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                share = count + K1 * (1 - B + B * lengths[at] / mean)
                scores[at] += rarity * count * (K1 + 1) / share
        best = sorted(range(question.cut), key=lambda at: (-scores[at], -at))
        return Chosen([lines[at].message_id for at in best[:DEPTH]])

    return choose


def chain(lines: Sequence[Line]) -> Chooser:
    """What the question replies to, what that replies to, and so on. Nothing where no link is known."""
    position = {line.message_id: at for at, line in enumerate(lines)}

    def choose(question: Question) -> Chosen:
        ids: list[str] = []
        at = position.get(question.line.reply_to or "", question.cut)
        while at < question.cut and lines[at].message_id not in ids:
            ids.append(lines[at].message_id)
            at = position.get(lines[at].reply_to or "", question.cut)
        return Chosen(ids)

    return choose


def words(text: str) -> list[str]:
    """Lower-case words; of Chinese each character and each pair."""
    found = list(_WORD.finditer(text.lower()))
    pairs = [
        one[0] + two[0]
        for one, two in pairwise(found)
        if one.end() == two.start()
        and "\u3400" <= one[0] <= "\u9fff"
        and "\u3400" <= two[0] <= "\u9fff"
    ]
    return [one[0] for one in found] + pairs


BASELINES: Mapping[str, Callable[[Sequence[Line]], Chooser]] = {
    "recency": recency,
    "bm25": bm25,
    "chain": chain,
}
"""What makes a chooser of a group's messages, by name."""
