"""A load on several servers with one database, event by event.

A call waits for the loop of its server, is worked on there, then waits for a core of the database. The network holds up
the call and nobody else.
"""

from __future__ import annotations

import heapq
import random
from bisect import bisect
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from backscroll_bench.scaling.costs import Cost, Costs, Store

CALLS, WARM_CALLS = 12_000, 12_000
"""Those that are counted, and before them others. Caches begin with the channels that are asked for most."""
BUSY = 0.7
"""Of the busiest part: above it waits grow without measure."""
SEED = 46


@dataclass(frozen=True, slots=True)
class Plan:
    """A load and what answers it.

    Parameters
    ----------
    servers : how many there are.
    store : what they keep their history in.
    affinity : whether the calls of a channel go to one server.
    channels : in use.
    popularity : the exponent of Zipf's law: the n-th channel has a share of 1 / n ** popularity.
    messages_a_channel : in memory where the channel is.
    builds_a_message : how often somebody asks the bot.
    cache_bytes : of channels in memory, of each server.
    database_cores : of PostgreSQL.
    network_ms : one round trip to it.
    """

    servers: int = 1
    store: Store = "postgres"
    affinity: bool = True
    channels: int = 20_000
    popularity: float = 0.9
    messages_a_channel: int = 1_000
    builds_a_message: float = 0.2
    cache_bytes: int = 512 << 20
    database_cores: int = 16
    network_ms: float = 0.5


BUILD_TRIPS, BEHIND_TRIPS, COLD_TRIPS = 1, 2, 6
"""To the database: for versions of channels; for what others wrote; for a channel's rows, people and preferences."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan.

    `builds_per_second` and `messages_per_second` are what it carries with its busiest part `BUSY`; the milliseconds are
    those of builds at that load.
    """

    builds_per_second: float
    messages_per_second: float
    p50_ms: float
    p99_ms: float
    server_cores: float
    database_cores: float
    memory_bytes: int
    cold_share: float
    behind_share: float
    first: str


def simulated(plan: Plan, costs: Costs) -> Outcome:
    """What the plan carries, and how long builds take then."""
    at_rest = _Run(plan, costs, rate=None)
    at_rest.go()
    a_call_s = at_rest.busiest_s()
    rate = BUSY / a_call_s
    run = _Run(plan, costs, rate=rate)
    run.go()
    waits = sorted(run.waits_ms)
    builds = rate * run.builds / CALLS
    return Outcome(
        builds_per_second=builds,
        messages_per_second=rate - builds,
        p50_ms=waits[len(waits) // 2],
        p99_ms=waits[int(len(waits) * 0.99)],
        server_cores=rate * run.server_ms / 1_000 / CALLS,
        database_cores=rate * run.database_ms / 1_000 / CALLS,
        memory_bytes=plan.servers * costs.idle_bytes + run.cached_bytes(),
        cold_share=run.cold / run.builds,
        behind_share=run.behind / run.builds,
        first=at_rest.busiest(),
    )


class _Run:
    """One course of events. With no rate nothing waits: only what calls cost is counted."""

    def __init__(self, plan: Plan, costs: Costs, rate: float | None) -> None:
        self._plan, self._costs, self._rate = plan, costs, rate
        self._chosen = random.Random(SEED)
        self._shares = list(accumulate(1 / n**plan.popularity for n in range(1, plan.channels + 1)))
        most = max(1, plan.cache_bytes // self._channel_bytes())
        self._caches = [
            _Cache(
                most,
                range(number, plan.channels, plan.servers)
                if plan.affinity
                else range(plan.channels),
            )
            for number in range(plan.servers)
        ]
        self._versions: dict[int, int] = {}
        self._loops_free = [0.0] * plan.servers
        self._loops_busy = [0.0] * plan.servers
        self._cores_free = [0.0] * plan.database_cores
        self.waits_ms: list[float] = []
        self.server_ms = self.database_ms = 0.0
        self.builds = self.cold = self.behind = 0

    def go(self) -> None:
        """Warm up, then count."""
        for _ in range(WARM_CALLS):
            self._cost_of_next()
        self.builds = self.cold = self.behind = 0
        for arrives in self._arrivals():
            is_build, server, cost, trips = self._cost_of_next()
            self.server_ms += cost.server_ms
            self.database_ms += cost.database_ms
            self._loops_busy[server] += cost.loop_ms
            if self._rate is not None:
                ends = self._worked_on(arrives, server, cost, trips)
                if is_build:
                    self.waits_ms.append(ends - arrives)

    def busiest_s(self) -> float:
        """Seconds a call that the busiest part is busy."""
        return max(self._parts().values()) / 1_000 / CALLS

    def busiest(self) -> str:
        """Its name."""
        parts = self._parts()
        return max(parts, key=lambda one: parts[one])

    def cached_bytes(self) -> int:
        """Of channels in the memory of all servers."""
        return sum(map(len, self._caches)) * self._channel_bytes()

    def _parts(self) -> dict[str, float]:
        return {
            "server": max(self._loops_busy),
            "PostgreSQL": self.database_ms / self._plan.database_cores,
        }

    def _channel_bytes(self) -> int:
        return self._plan.messages_a_channel * self._costs.cached_message_bytes

    def _arrivals(self) -> Iterator[float]:
        now = 0.0
        for _ in range(CALLS):
            if self._rate is not None:
                now += 1_000 * self._chosen.expovariate(self._rate)
            yield now

    def _cost_of_next(self) -> tuple[bool, int, Cost, int]:
        """Of one more call: whether it is a build, who answers, what it costs, its round trips."""
        plan, costs, draw = self._plan, self._costs, self._chosen.random
        channel = bisect(self._shares, draw() * self._shares[-1])
        server = channel % plan.servers if plan.affinity else int(draw() * plan.servers)
        cache, version = self._caches[server], self._versions.get(channel, 0)
        asks = plan.builds_a_message / (1 + plan.builds_a_message)
        if draw() >= asks:
            self._versions[channel] = version + 1
            cache.note_own(channel, version)
            return False, server, costs.append, 0  # whose own waits nobody asks for
        self.builds += 1
        known = cache.use(channel, version)
        if known is None:
            self.cold += 1
            share = plan.messages_a_channel / costs.cold_messages
            cost = _sum(costs.build, costs.cold, share)
            return True, server, cost, BUILD_TRIPS + COLD_TRIPS
        if known < version:
            self.behind += 1
            return True, server, _sum(costs.build, costs.behind), BUILD_TRIPS + BEHIND_TRIPS
        return True, server, costs.build, BUILD_TRIPS

    def _worked_on(self, arrives: float, server: int, cost: Cost, trips: int) -> float:
        """When the call is answered."""
        begins = max(arrives, self._loops_free[server])
        self._loops_free[server] = begins + cost.loop_ms
        done = begins + cost.server_ms
        if self._plan.store == "sqlite":
            return done
        free = heapq.heappop(self._cores_free)
        asked = max(done, free)
        heapq.heappush(self._cores_free, asked + cost.database_ms)
        return asked + cost.database_ms + trips * self._plan.network_ms


def _sum(one: Cost, other: Cost, share: float = 1.0) -> Cost:
    return Cost(
        one.loop_ms + share * other.loop_ms,
        one.server_ms + share * other.server_ms,
        one.database_ms + share * other.database_ms,
    )


class _Cache:
    """Channels of one server, and as of which version it knows each; those used last stay."""

    def __init__(self, most: int, channels: range) -> None:
        self._most = most
        self._known = OrderedDict((one, 0) for one in reversed(channels[:most]))

    def __len__(self) -> int:
        return len(self._known)

    def use(self, channel: int, version: int) -> int | None:
        """The version it knew; from now on it knows this one. None: it was not there."""
        known = self._known.get(channel)
        self._known[channel] = version
        self._known.move_to_end(channel)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return known

    def note_own(self, channel: int, before: int) -> None:
        """The server wrote itself; it takes over what others wrote before."""
        if channel in self._known:
            self._known[channel] = before + 1
