"""Channels that are made up: questions with candidates, draws of the last slots, and people who like what they like."""

from dataclasses import dataclass, field, fields

import numpy as np

from backscroll_sidecar.learning import adoption, weight_tuning
from backscroll_sidecar.learning.adoption import AdoptionDecision
from backscroll_sidecar.learning.logged_selections import Selections
from backscroll_sidecar.learning.plackett_luce import (
    inclusion_probabilities,
    set_probabilities,
    worths,
)

CLASSIC = np.array([0.4, 0.15, 0.2, 0.15, 0.1])


@dataclass
class World:
    """One channel. `planted` is what its people like; `reward` turns what they feel, around .5, into what they say."""

    planted: np.ndarray
    seed: int
    shared: np.ndarray = field(default_factory=lambda: CLASSIC)
    strength: float = 1.5
    temperature: float = 0.1
    pool: int = 8
    slots: int = 2
    feedback: str = "honest"
    history: Selections | None = None

    def __post_init__(self):
        self.random = np.random.default_rng(self.seed)
        self.current = self.shared

    def window(self, count, weights=None):
        """So many decisions by the weights that hold, with feedback."""
        weights = self.current if weights is None else weights
        features = self.random.random((count, self.pool, len(self.shared)))
        live = np.ones((count, self.pool), np.bool_)
        temperatures = np.full(count, self.temperature)
        worth = worths(features @ weights, temperatures, live)
        noise = -np.log(-np.log(self.random.random(worth.shape)))
        drawn = np.argsort(-(np.log(worth) + noise), axis=1)[:, : self.slots]
        chosen = np.zeros(live.shape, np.bool_)
        np.put_along_axis(chosen, drawn, True, axis=1)
        known = 0 if self.history is None else len(self.history)
        return Selections(
            features, live, chosen, inclusion_probabilities(worth, self.slots),
            set_probabilities(worth, drawn), temperatures, self._rewards(features, chosen),
            np.arange(known, known + count),
        )  # fmt: skip

    def _rewards(self, features, chosen):
        liked = ((features - 0.5) @ self.planted * chosen).sum(axis=1)
        mood = self.random.normal(0.0, 0.1, len(liked))
        chance = np.clip(0.5 + mood + self.strength * liked, 0.0, 1.0)
        if self.feedback == "random":
            chance = np.full(len(liked), 0.5)
        elif self.feedback == "inverted":
            chance = 1.0 - chance
        elif self.feedback == "noisy":  # four of ten say anything
            chance = 0.6 * chance + 0.2
        return (self.random.random(len(liked)) < chance).astype(np.float64)

    def live_through(self, windows, count, rules=adoption.RULES) -> list[AdoptionDecision]:
        """So many windows with tuning behind each; what was decided."""
        decisions, tests, before = [], 0, None
        for _ in range(windows):
            new = self.window(count)
            if before is not None:
                utilities = weight_tuning.fit(self.history, self.shared)
                gain = weight_tuning.compared(new, utilities, self.current, before)
                decisions.append(adoption.judge_adopted(gain, (), rules=rules))
                self.current = before if decisions[-1].changes else self.current
                before = None
            self.history = new if self.history is None else both(self.history, new)
            tuning = weight_tuning.tune(self.history, self.shared, self.current, seed=self.seed)
            decision = adoption.judge(
                tuning.gain, (), tests_before=tests, is_proposed=tuning.proposal is not None, rules=rules
            )  # fmt: skip
            decisions.append(decision)
            tests += decision.was_tested
            if decision.changes:
                before, self.current, tests = self.current, tuning.proposal.weights, 0
        return decisions

    def hits(self, weights, count=20_000):
        """How often the line that is liked best is among the first two by these weights."""
        features = np.random.default_rng(1).random((count, self.pool, len(self.shared)))
        best = (features @ self.planted).argmax(axis=1)
        first = np.argsort(-(features @ weights), axis=1)[:, :2]
        return float((first == best[:, None]).any(axis=1).mean())

    @property
    def closed(self):
        """How much of the gap between the shared and the planted weights is closed, by absolute differences."""
        left = np.abs(self.current - self.planted).sum()
        return 1.0 - left / np.abs(self.shared - self.planted).sum()


def both(one, other):
    """The decisions of both."""
    names = [item.name for item in fields(Selections) if item.init]
    return Selections(*(np.concatenate((getattr(one, n), getattr(other, n))) for n in names))
