"""The task that looks for channels with summaries of periods goes on, whatever the store says."""

import asyncio
from typing import Any

import pytest

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.summaries import period_service as module
from backscroll_sidecar.summaries.period_service import PeriodSummaries


class Reader:
    """Fails for a while."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = [*failures]
        self.has_answered = asyncio.Event()

    async def channels(self, _after: object, _limit: int) -> list[Any]:
        if self.failures:
            raise self.failures.pop()
        self.has_answered.set()
        return []


async def test_no_failure_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_S", 0.001)
    reader: Any = Reader(StoreUnavailable("down"), RuntimeError("of the driver"))
    unused: Any = None
    periods = PeriodSummaries(unused, reader, unused, unused, unused, 24, None)
    await periods.start()
    async with asyncio.timeout(5):
        await reader.has_answered.wait()
    await periods.close()
