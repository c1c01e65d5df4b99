"""What a what-if offers to change, and why a change may come to nothing. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from backscroll.v1 import context_pb2 as pb

WEIGHTS = "overrides.weights."


@dataclass(frozen=True, slots=True)
class Number:
    """A number that can be changed: its field, and its bounds as the contract has them.

    `label`: its text where it has one; else its name stands there as it is in the contract.
    """

    name: str
    least: float
    most: float | None = None
    step: str = "1"
    label: str = ""

    @property
    def short(self) -> str:
        """Its name without what it lies in."""
        return self.name.rpartition(".")[2]


NUMBERS: Sequence[Number] = (
    Number("token_budget", 1, label="budget"),
    Number("overrides.max_context", 1, 500),
    Number("overrides.relevance_threshold", 0, 1, "any", "threshold"),
    Number("overrides.recent_limit", 0, 500),
    Number("overrides.recent_floor", 0, 100),
    Number("overrides.time_window_hours", 1, 87_600),
    Number("overrides.max_chars_per_message", 16, 65_536),
    Number("overrides.decay_per_hour", 0, 100, "any"),
    Number("overrides.recency_half_life_minutes", 0.1, 525_600, "any"),
)
WEIGHT_NUMBERS: Sequence[Number] = tuple(
    Number(WEIGHTS + one.name, 0, 1, "any") for one in pb.ScoreWeights.DESCRIPTOR.fields
)
OFFERED: Sequence[str] = (
    "profile",
    *(one.name for one in NUMBERS),
    "overrides.sources",
    *(one.name for one in WEIGHT_NUMBERS),
    "question",
)
"""All fields of the form."""
RULES: Mapping[str, pb.Fate] = {
    "token_budget": pb.FATE_BUDGET,
    "overrides.max_context": pb.FATE_LIMIT,
    "overrides.relevance_threshold": pb.FATE_THRESHOLD,
}
"""What a field has lines lost to."""


@dataclass(frozen=True, slots=True)
class Note:
    """Why a change came to nothing: a text of `page_texts` by its key, and what it holds."""

    key: str
    values: Mapping[str, str] = field(default_factory=dict)


def notes(
    otherwise: Mapping[str, str], one: pb.BuildContextResponse, other: pb.BuildContextResponse
) -> list[Note]:
    """What is known of why these changes came to nothing."""
    return [
        *_of_profile(otherwise, one, other),
        *_of_weights(otherwise, other),
        *_of_rules(otherwise, one, other),
    ]


def _of_profile(
    otherwise: Mapping[str, str], one: pb.BuildContextResponse, other: pb.BuildContextResponse
) -> Iterator[Note]:
    if "profile" in otherwise and one.profile == other.profile:
        yield Note("same_profile", {"profile": one.profile})


def _of_weights(otherwise: Mapping[str, str], other: pb.BuildContextResponse) -> Iterator[Note]:
    """Weights of factors that the profile has not, and factors that are nothing in every line."""
    account = other.explanation
    wanted = [name.removeprefix(WEIGHTS) for name in otherwise if name.startswith(WEIGHTS)]
    if foreign := [name for name in wanted if name not in account.factors]:
        yield Note("foreign_weights", {"names": ", ".join(foreign), "profile": other.profile})
    silent = _silent(account)
    if "profile" in otherwise:
        wanted.append("reply_chain")
    for name in dict.fromkeys(wanted):
        if name in silent:
            yield Note("silent_weight", {"name": name})


def _silent(account: pb.Explanation) -> Collection[str]:
    """Factors of a weight above 0 that add nothing to any candidate."""
    scored = [one.shares for one in account.candidates if one.shares]
    told = zip(account.factors, account.weights, zip(*scored, strict=True), strict=False)
    return {name for name, weight, shares in told if weight > 0 and not any(shares)}


def _of_rules(
    otherwise: Mapping[str, str], one: pb.BuildContextResponse, other: pb.BuildContextResponse
) -> Iterator[Note]:
    """Bounds that no line was lost to, either way."""
    if _taken(one) != _taken(other):
        return
    for name, fate in RULES.items():
        lost = [c for built in (one, other) for c in built.explanation.candidates if c.fate == fate]
        if name in otherwise and not lost:
            yield Note("nothing_lost", {"field": name})


def _taken(built: pb.BuildContextResponse) -> list[tuple[str, str]]:
    return [(item.channel, item.message.id) for item in built.items]
