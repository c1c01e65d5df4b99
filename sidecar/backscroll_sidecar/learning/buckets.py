"""Which arm of a rollout or an experiment a channel is in: a hash decides, so it is the same every time and everywhere.

A channel's step is one of 10,000, by the hash that GrowthBook calls version 2: FNV-1a of 32 bits (Fowler, Noll and Vo;
RFC 9923), taken twice. GrowthBook hashes UTF-16 code units, here it is the bytes of UTF-8: for ASCII that is the same,
for Chinese ids it is not.

Each arm owns a range of steps, of which the first part, the coverage, is in use. To widen a rollout is to extend these
parts: who is in stays in, with the same arm. Steps of the holdout belong to no arm, however far it is widened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import accumulate, pairwise

import numpy as np

from backscroll_sidecar.learning.distributions import chi_square_survival

STEPS = 10_000
SAMPLE_RATIO_ALARM = 0.001
"""Below this probability of the counts something is wrong with the assignment: Fabijan et al., "Diagnosing sample ratio
mismatch in online controlled experiments", KDD 2019."""
HOLDOUT = "holdout"
_OFFSET, _PRIME, _MASK = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Arm:
    """One way that is tried.

    Attributes
    ----------
    name : str
        Not empty and not "holdout".
    weight : float
        Positive; its part of all weights is its part of the channels.
    """

    name: str
    weight: float = 1.0


class Membership(StrEnum):
    """Why a channel is where it is."""

    ALLOWED = "allowed"
    DENIED = "denied"
    COVERED = "covered"
    HELD_OUT = "held_out"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where a channel is.

    Attributes
    ----------
    arm : str
        The arm's name, "holdout", or empty: not in.
    membership : Membership
    step : int
        The channel's step, from 0 to 9,999.
    bucket_version : int
        The experiment's, to be recorded beside the arm.
    """

    arm: str
    membership: Membership
    step: int
    bucket_version: int

    @property
    def is_in(self) -> bool:
        """Whether one of the arms is for this channel."""
        return self.membership in {Membership.ALLOWED, Membership.COVERED}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A rollout, with one arm, or an experiment, with several.

    Attributes
    ----------
    id : str
        Not empty. Experiments of different ids are independent of each other.
    arms : Arms
        At least one, of different names. To change their weights, order or number moves channels: see `moved_share`.
    coverage : float
        In [0, 1]: so much of each arm's range is in use.
    holdout : float
        In [0, 1): so many of all channels are never in an arm, for comparison.
    allowed, denied : sets of channels
        In whatever the coverage and the holdout, and out whatever else. Who is in both is out.
    salt : str
        Hashed with the id.
    bucket_version : int
        Not negative. Hashed, too: another one shuffles everybody anew, on purpose.
    ranges : pairs of ints, not given
        The steps in use of each arm, in their order: the first, and the one behind the last.

    Raises
    ------
    ValueError
        A field outside its range.
    """

    id: str
    arms: tuple[Arm, ...]
    coverage: float = 1.0
    holdout: float = 0.0
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    salt: str = ""
    bucket_version: int = 1
    ranges: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("id must not be empty")
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"arms must be at least one, of different names: {names}")
        if not all(names) or HOLDOUT in names:
            raise ValueError(f"an arm's name must not be empty, nor {HOLDOUT!r}: {names}")
        weights = np.array([arm.weight for arm in self.arms], np.float64)
        if not (np.isfinite(weights) & (weights > 0.0)).all():
            raise ValueError(f"weights must be finite and positive: {weights.tolist()}")
        if not 0.0 <= self.coverage <= 1.0:
            raise ValueError(f"coverage must be in [0, 1]: {self.coverage}")
        if not 0.0 <= self.holdout < 1.0:
            raise ValueError(f"holdout must be in [0, 1): {self.holdout}")
        if self.bucket_version < 0:
            raise ValueError(f"bucket_version must not be negative: {self.bucket_version}")
        size = STEPS - round(self.holdout * STEPS)
        parts = accumulate(weights.tolist(), initial=0.0)
        starts = tuple(round(part / float(weights.sum()) * size) for part in parts)
        ranges = (
            (start, start + round(self.coverage * (end - start))) for start, end in pairwise(starts)
        )
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "ranges", tuple(ranges))

    def step_of(self, channel: str) -> int:
        """Return a channel's step, from 0 to 9,999."""
        # With its length before each part no two different triples are hashed as the same text.
        parts = (self.id, self.salt, str(self.bucket_version))
        return hash_step("".join(f"{len(part)}:{part}" for part in parts), channel)

    def assign(self, channel: str) -> Assignment:
        """Return the arm of a channel.

        Parameters
        ----------
        channel : str
            Where channels are told apart by tenant, with the tenant. The lists are of the same ids.
        """
        step = self.step_of(channel)
        arm, membership = self._place(channel, step)
        return Assignment(arm, membership, step, self.bucket_version)

    def widened(self, coverage: float) -> Experiment:
        """Return the same with more coverage: everybody who is in stays in, with the same arm.

        Raises
        ------
        ValueError
            Less coverage than now, or more than 1.
        """
        if coverage < self.coverage:
            raise ValueError(f"coverage must not be less than {self.coverage}: {coverage}")
        return replace(self, coverage=coverage)

    def at_step(self, step: int) -> tuple[str, Membership]:
        """Return what a step, from 0 to 9,999, is, lists aside."""
        if step >= self._starts[-1]:
            return HOLDOUT, Membership.HELD_OUT
        for arm, (start, end) in zip(self.arms, self.ranges, strict=True):
            if start <= step < end:
                return arm.name, Membership.COVERED
        return "", Membership.OUTSIDE

    def _place(self, channel: str, step: int) -> tuple[str, Membership]:
        if channel in self.denied:
            return "", Membership.DENIED
        if channel not in self.allowed:
            return self.at_step(step)
        size = self._starts[-1]
        # Of who would be held out the steps are spread over the arms; others have the arm that they would come to.
        shared = step if step < size else (step - size) * size // (STEPS - size)
        ends = self._starts[1:]
        name = next(arm.name for arm, end in zip(self.arms, ends, strict=True) if shared < end)
        return name, Membership.ALLOWED


def moved_share(before: Experiment, after: Experiment) -> float:
    """Return the share of channels, lists aside, that are in an arm or held out and would be elsewhere, in [0, 1].

    0 for a change that moves nobody, such as widening. Another id, salt or version shuffles everybody: then it is the
    share that lands elsewhere by chance.
    """
    old, new = ([one.at_step(step)[0] for step in range(STEPS)] for one in (before, after))
    hashed = [(one.id, one.salt, one.bucket_version) for one in (before, after)]
    if hashed[0] == hashed[1]:
        return sum(was not in {"", now} for was, now in zip(old, new, strict=True)) / STEPS
    stays = {name: new.count(name) / STEPS for name in set(new)}
    return sum(1.0 - stays.get(name, 0.0) for name in old if name) / STEPS


def hash_step(seed: str, value: str) -> int:
    """Return the step of a value, from 0 to 9,999: fnv1a32(decimal digits of fnv1a32(seed + value)) modulo 10,000."""
    first = fnv1a_32((seed + value).encode("utf-8", "surrogatepass"))
    return fnv1a_32(str(first).encode("ascii")) % STEPS


def fnv1a_32(data: bytes) -> int:
    """Return FNV-1a of 32 bits: for each byte, exclusive or, then times 16,777,619 modulo 2^32."""
    out = _OFFSET
    for byte in data:
        out = ((out ^ byte) * _PRIME) & _MASK
    return out


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Whether the arms have as many channels as they should.

    Attributes
    ----------
    chi_square : float
        Pearson's statistic; 0 where nothing was counted.
    probability : float
        Of counts at least as far from the weights by chance, in [0, 1].
    """

    chi_square: float
    probability: float

    @property
    def is_alarming(self) -> bool:
        """Whether the assignment is not to be trusted, nor anything that is compared by it."""
        return self.probability < SAMPLE_RATIO_ALARM


def sample_ratio(counts: Sequence[int], weights: Sequence[float]) -> SampleRatio:
    """Compare what was counted with what the weights ask for, by Pearson's chi-square test.

    Parameters
    ----------
    counts : ints
        Channels of each arm, not negative. Channels, not builds: one channel's builds are all in one arm.
    weights : floats
        One an arm, positive.

    Raises
    ------
    ValueError
        No arms, another number of weights than of counts, or one outside its range.
    """
    if not counts or len(counts) != len(weights):
        raise ValueError(f"weights must be one an arm, {len(counts)}: {list(weights)}")
    if min(counts) < 0:
        raise ValueError(f"counts must not be negative: {list(counts)}")
    if not all(np.isfinite(weight) and weight > 0.0 for weight in weights):
        raise ValueError(f"weights must be finite and positive: {list(weights)}")
    found, total = np.array(counts, np.float64), float(sum(counts))
    if len(counts) == 1 or not total:
        return SampleRatio(0.0, 1.0)
    wanted = np.array(weights, np.float64) / sum(weights) * total
    statistic = float(((found - wanted) ** 2 / wanted).sum())
    return SampleRatio(statistic, chi_square_survival(statistic, len(counts) - 1))
