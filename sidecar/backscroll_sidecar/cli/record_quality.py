"""How well policies did, by an export of usage records: what people said, and what contexts cost."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
from rich.markup import escape
from rich.table import Table

from backscroll.v1.admin_pb2 import UsageRecord
from backscroll.v1.context_pb2 import RUNG_RANKED
from backscroll_sidecar.learning.experiment_report import share_of


@dataclass(frozen=True, slots=True)
class PolicyQuality:
    """What the builds of one policy came to. None: there is no data.

    Attributes
    ----------
    success : the mean of explicit feedback, 0 to 1, with its 95 % interval: `success_lower`, `success_upper`.
    fallback_rate : the share of builds on a lower rung.
    explored_rate : the share whose last places were drawn.
    """

    policy_id: str
    builds: int
    rated: int
    success: float | None
    success_lower: float | None
    success_upper: float | None
    tokens: float
    build_ms_p95: float
    fallback_rate: float
    explored_rate: float


def quality_by_policy(records: Iterable[UsageRecord]) -> list[PolicyQuality]:
    """Those with the most builds first."""
    policies: dict[str, list[UsageRecord]] = {}
    for record in records:
        policies.setdefault(record.policy_id, []).append(record)
    found = [_quality(name, builds) for name, builds in policies.items()]
    return sorted(found, key=lambda one: (-one.builds, one.policy_id))


def _quality(policy_id: str, builds: list[UsageRecord]) -> PolicyQuality:
    rated = [one for one in builds if one.HasField("success_indicator")]
    numbers: dict[str, int] = {}
    channels = [numbers.setdefault(one.channel, len(numbers)) for one in rated]
    said = np.array([one.success_indicator for one in rated], np.float64)
    success = share_of(said, np.array(channels, np.int64))
    return PolicyQuality(
        policy_id,
        len(builds),
        len(rated),
        None if success is None else success.mean,
        None if success is None else success.interval.lower,
        None if success is None else success.interval.upper,
        float(np.mean([one.token_count for one in builds])),
        float(np.quantile([one.build_microseconds / 1e3 for one in builds], 0.95)),
        sum(one.rung != RUNG_RANKED for one in builds) / len(builds),
        sum(one.HasField("exploration") for one in builds) / len(builds),
    )


def as_json(found: list[PolicyQuality]) -> dict[str, object]:
    """The same for programs."""
    return {"policies": [asdict(one) for one in found]}


def as_table(found: list[PolicyQuality]) -> Table:
    """The same for people."""
    table = Table(box=None, header_style="bold")
    for name in ("policy", "builds", "rated", "success", "tokens", "p95 ms", "fallbacks", "drawn"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    for one in found:
        table.add_row(
            escape(one.policy_id), f"{one.builds:,}", f"{one.rated:,}", _success(one), f"{one.tokens:,.0f}",
            f"{one.build_ms_p95:.2f}", f"{one.fallback_rate:.1%}", f"{one.explored_rate:.0%}",
        )  # fmt: skip
    return table


def _success(one: PolicyQuality) -> str:
    if one.success is None:
        return ""
    return f"{one.success:.3f} ({one.success_lower:.3f}-{one.success_upper:.3f})"
