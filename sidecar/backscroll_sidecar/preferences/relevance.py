"""Which of many preferences a question is shown. Pure.

Those that always matter, then what the question speaks of, then what was set, then the newest.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from backscroll_sidecar.analyze import keywords
from backscroll_sidecar.preferences.preference import Preference
from backscroll_sidecar.preferences.topics import Topics


class Chooser:
    """Chooses among the preferences that hold at a moment. What it knows of them is worked out once."""

    def __init__(self, held: Sequence[Preference], topics: Topics) -> None:
        self._held = held
        self._said: list[Set[str]] = []
        self._topical: list[Set[str]] = []
        self._is_standing: list[bool] = []
        by_topic: dict[str, Set[str]] = {}
        for one in held:
            topic = topics.of(one.kept.topic)
            if topic.name not in by_topic:
                by_topic[topic.name] = frozenset(keywords(" ".join(topic.words)))
            self._said.append(frozenset(keywords(one.text)))
            self._topical.append(by_topic[topic.name])
            self._is_standing.append(topic.always_shown)

    def lines(self, question: str, limit: int) -> tuple[str, ...]:
        """The texts of the `limit` that matter most for a question, in the order in which they stand."""
        asked = frozenset(keywords(question))
        order = sorted(range(len(self._held)), key=lambda i: self._weight(i, asked), reverse=True)
        return tuple(self._held[i].text for i in sorted(order[:limit]))

    def _weight(self, index: int, asked: Set[str]) -> tuple[bool, int, bool, bool, int]:
        one = self._held[index]
        shared = 2 * len(asked & self._said[index]) + bool(asked & self._topical[index])
        return (
            self._is_standing[index], shared, one.is_set, not one.kept.topic, one.number,
        )  # fmt: skip
