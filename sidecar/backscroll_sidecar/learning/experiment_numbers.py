"""What experiments that are not over came to: builds by arm, and whether arms have the channels they should."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.buckets import sample_ratio
from backscroll_sidecar.learning.placing import Placing
from backscroll_sidecar.ports import Placement

MOST_TOLD = 64
"""Pairs of experiment and arm that are told apart; further ones are counted together, without names."""
MOST_CHANNELS = 50_000
"""Channels of one experiment that are counted; further ones are in no ratio."""


@dataclass(slots=True, eq=False)
class _Drawn:
    """The channels of one experiment that built since the start, by arm."""

    placing: Placing
    channels: dict[str, set[int]] = field(default_factory=dict)
    count: int = 0

    def add(self, arm: str, channel: int) -> None:
        if self.count >= MOST_CHANNELS:
            return
        there = self.channels.setdefault(arm, set())
        self.count -= len(there)
        there.add(channel)
        self.count += len(there)


class ExperimentNumbers:
    """Added to on the event loop; a scrape reads it from a thread of its own.

    Attributes
    ----------
    builds : by experiment and arm; with no arm those whose request said itself what the arms set.
    shadows : builds behind answers, by what became of them: built, dropped, failed.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.builds: Counter[tuple[str, str]] = Counter()
        self.shadows: Counter[str] = Counter()
        self._now_ms = now_ms
        self._tenants: dict[str, set[str]] = {}
        self._drawn: dict[tuple[str, str], _Drawn] = {}

    def count(
        self, key: ChannelKey, placement: Placement, placing: Placing, *, takes_part: bool
    ) -> None:
        """One more build of a channel that is in an experiment."""
        name = (placement.experiment_id, placement.arm if takes_part else "")
        if name not in self.builds and len(self.builds) >= MOST_TOLD:
            name = ("", "")
        elif name[0]:
            self._tenants.setdefault(name[0], set()).add(key.tenant)
        self.builds[name] += 1
        if placement.is_listed or not takes_part:
            return
        owner = (key.tenant, placing.id)
        drawn = self._drawn.get(owner)
        if drawn is None or drawn.placing is not placing:
            drawn = self._drawn[owner] = _Drawn(placing)
        drawn.add(placement.arm, hash(key))

    def count_shadow(self, outcome: str) -> None:
        """A build behind an answer was built, dropped or failed."""
        self.shadows[outcome] += 1

    def forget(self, tenant: str, running: frozenset[str]) -> None:
        """Keep of a tenant's experiments these alone. Builds are counted by name: until its last tenant forgets it."""
        for owner in [one for one in self._drawn if one[0] == tenant and one[1] not in running]:
            del self._drawn[owner]
        for id_ in self._tenants.keys() - running:
            self._tenants[id_].discard(tenant)
            if not self._tenants[id_]:
                del self._tenants[id_]
                for name in [one for one in self.builds if one[0] == id_]:
                    del self.builds[name]

    def begin_anew(self, tenant: str) -> None:
        """An experiment of the tenant changed: channels are counted anew."""
        for owner in [one for one in self._drawn if one[0] == tenant]:
            del self._drawn[owner]

    def ratios(self) -> Mapping[str, float]:
        """By experiment: the probability of its channels' counts at least as far from the weights by chance.

        Of experiments of one name, of several tenants, the smallest.
        """
        found: dict[str, float] = {}
        for (_, id_), drawn in list(self._drawn.items()):
            wanted = drawn.placing.shares
            if len(wanted) == 1 or drawn.placing.settings.end_ms <= self._now_ms():
                continue
            counts = [len(drawn.channels.get(arm, ())) for arm in wanted]
            if any(counts):
                ratio = sample_ratio(counts, list(wanted.values()))
                found[id_] = min(found.get(id_, 1.0), ratio.probability)
        return found
