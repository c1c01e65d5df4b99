"""Cores are kept from sleeping by processes that take no time from others, and that end with the block."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from backscroll_bench.awake import Awake


def children() -> set[int]:
    """Processes that this one started and that still are."""
    return {
        int(pid)
        for task in Path("/proc/self/task").iterdir()
        for pid in (task / "children").read_text().split()
    }


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="there is no such class of processes")
def test_one_idle_process_a_core_until_the_end() -> None:
    before = children()
    with Awake():
        begun = children() - before
        assert len(begun) == os.cpu_count()
        for _ in range(2_000):  # until they have said what they are
            if all(os.sched_getscheduler(pid) == os.SCHED_IDLE for pid in begun):
                break
            time.sleep(0.01)
        else:
            pytest.fail("they would take time from others")
    assert not children() & begun
