"""The simulator of servers and their database does what arithmetic says where that can say it."""

import math
from dataclasses import replace

import pytest

from backscroll_bench.scaling.costs import Cost, Costs, costs, measured
from backscroll_bench.scaling.simulator import BUSY, Plan, simulated

NOTHING = Cost(0.0, 0.0, 0.0)
FLAT = Costs(
    build=Cost(2.0, 2.0, 0.5), append=Cost(2.0, 2.0, 0.5), behind=Cost(8.0, 8.0, 0.0), cold=Cost(10.0, 10.0, 1.0),
    cold_messages=1_000, message_bytes=800, vector_bytes=3_000, cached_message_bytes=400, idle_bytes=1_000,
)  # fmt: skip
FEW = Plan(channels=100, popularity=0.0)


def test_one_server_carries_what_its_loop_can():
    one = simulated(FEW, FLAT)
    assert one.builds_per_second + one.messages_per_second == pytest.approx(
        BUSY * 1_000 / 2, rel=0.01
    )
    assert one.messages_per_second == pytest.approx(5 * one.builds_per_second, rel=0.1)
    assert one.first == "server"
    assert one.server_cores == pytest.approx(BUSY, rel=0.01)
    assert one.database_cores == pytest.approx(BUSY / 4, rel=0.01)
    assert (one.cold_share, one.behind_share) == (0, 0)


def test_half_of_the_builds_wait_as_queues_do():
    """One loop, calls at random: of those that find it free none waits, and half of them find it busy (M/D/1)."""
    one = simulated(replace(FEW, network_ms=0.0), replace(FLAT, build=FLAT.append))
    assert one.p50_ms >= 2.5
    mean_ms = 2.0 * (1 + BUSY / (2 * (1 - BUSY)))
    assert mean_ms < one.p99_ms < 10 * mean_ms


def test_more_servers_carry_more_and_the_database_ends_it():
    carried = [simulated(replace(FEW, servers=n), FLAT) for n in (1, 3, 9)]
    rates = [one.messages_per_second for one in carried]
    assert rates[1] > 2.2 * rates[0]
    assert rates[2] > 2.2 * rates[1]
    few_cores = simulated(replace(FEW, servers=9, database_cores=2), FLAT)
    assert few_cores.first == "PostgreSQL"
    assert few_cores.database_cores == pytest.approx(2 * BUSY, rel=0.01)
    assert few_cores.messages_per_second < rates[2]


def test_calls_that_go_anywhere_find_servers_behind_and_caches_cold():
    plan = Plan(servers=4, channels=4_000, cache_bytes=1_000 * 400 * 1_000)
    kept, anywhere = (simulated(replace(plan, affinity=one), FLAT) for one in (True, False))
    assert (kept.behind_share, kept.cold_share) == (0, 0)
    assert anywhere.behind_share > 0.1
    assert anywhere.cold_share > 0.1
    assert anywhere.p50_ms > kept.p50_ms
    assert kept.memory_bytes == 4 * FLAT.idle_bytes + 4_000 * 400 * 1_000


def test_caches_hold_no_more_than_they_may():
    small = simulated(Plan(channels=4_000, cache_bytes=10 * 400 * 1_000), FLAT)
    assert small.memory_bytes == FLAT.idle_bytes + 10 * 400 * 1_000
    assert small.cold_share > 0.5


def test_the_same_plan_gives_the_same_figures():
    assert simulated(Plan(servers=2), FLAT) == simulated(Plan(servers=2), FLAT)


def test_what_was_measured_is_whole():
    for store in ("sqlite", "postgres"):
        found = costs(store)
        for cost in (found.build, found.append, found.cold):
            assert 0 < cost.loop_ms < math.inf
            assert cost.server_ms > 0
        assert min(found.message_bytes, found.vector_bytes, found.cached_message_bytes) > 0
    assert costs("sqlite").append.database_ms == 0
    assert costs("postgres").append.database_ms > 0
    assert costs("postgres").behind.server_ms > 0
    assert measured()["workload"]["messages_a_channel"] == costs("postgres").cold_messages


def test_what_a_smaller_cost_takes_off_never_pays_back():
    assert NOTHING.more_than(FLAT.build) == NOTHING
