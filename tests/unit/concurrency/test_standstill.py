"""A process that stood still knows it, before it looks at anything else."""

import asyncio
import time

import pytest

from backscroll_sidecar.concurrency import standstill as module
from backscroll_sidecar.concurrency.standstill import Standstill


async def test_who_stood_still_knows_it_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG_S", 0.2)
    monkeypatch.setattr(module, "EVERY_S", 0.01)
    monkeypatch.setattr(module, "BEHIND_S", 60.0)
    standstill = Standstill()
    standstill.start()
    await asyncio.sleep(0)
    assert not standstill.left_s
    time.sleep(0.3)  # noqa: ASYNC251 - what is meant
    assert standstill.left_s == 60.0
    await asyncio.sleep(0.05)  # it has looked
    assert 0 < standstill.left_s <= 60.0
    standstill.stop()
