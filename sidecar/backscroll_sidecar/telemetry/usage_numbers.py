"""How our token counts compare with what models' vendors count, and the factor between both, per model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from backscroll_sidecar.domain import TokenizerName
from backscroll_sidecar.telemetry.minutes import Minutes

MOST_MODELS = 32
"""Models that have numbers of their own: callers name them, and each is a label."""
OTHERS = "(others)"
LEAST_CALLS = 8
"""So many calls of a model come before a factor."""
KEPT_SHARE = 0.98
"""What a call weighs for each later one: about the last 50 decide."""
LEAST_FACTOR, MOST_FACTOR = 0.8, 1.25
"""A model that is further off is counted by the wrong tokenizer: that is to be set right, not learnt."""
STEP = 0.01
"""The factor moves by this much at least: a budget that changed with every call would spoil prompt caches."""


class Counted(NamedTuple):
    """Whose tokens were counted, and by what."""

    model: str
    tokenizer: TokenizerName


@dataclass(slots=True, eq=False)
class UsageTally:
    """Model calls of which both counts are known, added up.

    Attributes
    ----------
    counted, prompt : our tokens of the requests, and the vendor's.
    completion : the vendor's tokens of the answers.
    error : sum over the calls of abs(counted - prompt) / prompt.
    calibrated, calibrated_error : calls before which there was a factor; the same sum of factor * counted.
    """

    calls: int = 0
    counted: int = 0
    prompt: int = 0
    completion: int = 0
    error: float = 0.0
    calibrated: int = 0
    calibrated_error: float = 0.0

    def add(self, other: UsageTally) -> None:
        """Take another's numbers on top."""
        self.calls += other.calls
        self.counted += other.counted
        self.prompt += other.prompt
        self.completion += other.completion
        self.error += other.error
        self.calibrated += other.calibrated
        self.calibrated_error += other.calibrated_error


@dataclass(slots=True)
class _Learnt:
    """What the last calls of one model came to. `factor`: None before `LEAST_CALLS`."""

    calls: int = 0
    counted: float = 0.0
    prompt: float = 0.0
    factor: float | None = None

    def learn(self, counted: int, prompt: int) -> None:
        self.calls += 1
        self.counted = self.counted * KEPT_SHARE + counted
        self.prompt = self.prompt * KEPT_SHARE + prompt
        if self.calls < LEAST_CALLS:
            return
        factor = min(MOST_FACTOR, max(LEAST_FACTOR, self.prompt / self.counted))
        if self.factor is None or abs(factor - self.factor) >= STEP:
            self.factor = round(factor, 3)


class UsageNumbers:
    """Counts of model calls. Added to on the event loop, read from any thread."""

    def __init__(self) -> None:
        self.tallies: Minutes[Counted, UsageTally] = Minutes(UsageTally)
        self._learnt: dict[Counted, _Learnt] = {}

    def add(self, of: Counted, counted: int, prompt: int, completion: int, at_s: float) -> None:
        """A model was called.

        Parameters
        ----------
        counted, prompt : tokens of the request by our count and by the vendor's. Without either nothing is learnt.
        completion : the vendor's tokens of the answer.
        at_s : on the clock of `Clock.monotonic_s`.
        """
        if counted <= 0 or prompt <= 0:
            return
        if of not in self._learnt and len(self._learnt) >= MOST_MODELS:
            of = Counted(OTHERS, of.tokenizer)
        learnt = self._learnt.setdefault(of, _Learnt())
        tally = self.tallies.tally(of, at_s)
        tally.calls += 1
        tally.counted += counted
        tally.prompt += prompt
        tally.completion += completion
        tally.error += abs(counted - prompt) / prompt
        if learnt.factor is not None:
            tally.calibrated += 1
            tally.calibrated_error += abs(counted * learnt.factor - prompt) / prompt
        learnt.learn(counted, prompt)

    def factor(self, of: Counted) -> float | None:
        """The vendor's tokens for one of ours, `LEAST_FACTOR` to `MOST_FACTOR`; None: not known yet."""
        found = self._learnt.get(of)
        return None if found is None or of.model == OTHERS else found.factor
