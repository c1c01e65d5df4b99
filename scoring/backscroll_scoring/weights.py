"""How factors become a score: weights, the constants of the formulas, and the link."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .features import CLASSIC_FACTORS

Weights: TypeAlias = tuple[float, float, float, float, float]
Constants: TypeAlias = tuple[float, float, float, float]
Link: TypeAlias = Literal["identity", "logistic"]


@dataclass(frozen=True, slots=True)
class ScoreParameters:
    """The numbers of the scorer. The defaults are those of `classic`.

    Attributes
    ----------
    weights : tuple of 5 floats
        One a factor, in the order of `CLASSIC_FACTORS`. Finite.
    decay_per_hour : float
        Rate of time_decay, per hour, not negative. See `backscroll_scoring.decay` for half-lives.
    continuity_window_ms : int
        Milliseconds after which user_continuity has fallen to 0. Positive.
    chain_decay : float
        What each further ancestor is multiplied by. In [0, 1].
    sibling_score : float
        reply_chain of a message with the same parent as the query. In [0, 1].
    max_chain_depth : int
        How many messages the reply chain holds at most, the parent included. 0: no chain, siblings
        only.
    link : "identity" or "logistic"
        identity: the weighted sum clipped to [0, 1], for weights set by hand. logistic: 1 / (1 +
        exp(-sum)), for fitted ones.
    constants : 4 floats, not given
        For the kernel: decay per hour, window in ms, chain decay, sibling score.
    """

    weights: Weights = (0.4, 0.15, 0.2, 0.15, 0.1)
    decay_per_hour: float = 0.1
    continuity_window_ms: int = 300_000
    chain_decay: float = 0.8
    sibling_score: float = 0.6
    max_chain_depth: int = 15
    link: Link = "identity"
    constants: Constants = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.weights) != len(CLASSIC_FACTORS):
            raise ValueError(
                f"weights must be {len(CLASSIC_FACTORS)} numbers, not {len(self.weights)}"
            )
        first, second, third, fourth, fifth = map(float, self.weights)
        object.__setattr__(self, "weights", (first, second, third, fourth, fifth))
        if not all(map(math.isfinite, self.weights)):
            raise ValueError(f"weights must be finite: {self.weights}")
        if not (math.isfinite(self.decay_per_hour) and self.decay_per_hour >= 0):
            raise ValueError(
                f"decay_per_hour must be finite and not negative: {self.decay_per_hour}"
            )
        if not 0 < self.continuity_window_ms < 2**63:
            raise ValueError(f"continuity_window_ms must be positive: {self.continuity_window_ms}")
        for name in ("chain_decay", "sibling_score"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be in [0, 1]: {getattr(self, name)}")
        if not 0 <= self.max_chain_depth < 2**31:
            raise ValueError(f"max_chain_depth must not be negative: {self.max_chain_depth}")
        if self.link not in ("identity", "logistic"):
            raise ValueError(f"link must be 'identity' or 'logistic', not {self.link!r}")
        constants = (
            float(self.decay_per_hour),
            float(self.continuity_window_ms),
            float(self.chain_decay),
            float(self.sibling_score),
        )
        object.__setattr__(self, "constants", constants)


CLASSIC = ScoreParameters()
"""The weights and constants of the profile `classic`."""
