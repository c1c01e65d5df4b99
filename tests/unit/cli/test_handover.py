"""A server looks where its history is, again and again: whatever one look met, the next one counts."""

import asyncio

import asyncpg
import pytest

from backscroll_sidecar.cli import handover
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StoreMoved, StoreUnavailable
from backscroll_sidecar.store.moving.ends import Move, Phase


async def test_a_server_waits_while_its_database_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database that is being filled starts again: that ends no wait."""
    met: list[Exception | Phase] = [
        "arriving",
        StoreUnavailable("it starts"),
        "arriving",
        "arrived",
    ]

    async def looked(_: str) -> Move:
        now = met.pop(0)
        if isinstance(now, Exception):
            raise now
        return Move("a move", now, "elsewhere", 0)

    async def get_ready() -> None:
        """Nothing to do here."""

    monkeypatch.setattr("backscroll_sidecar.store.opening.move_of", looked)
    assert await handover.arrived(Settings(), get_ready, asyncio.Event())
    assert not met


async def test_a_server_looks_again_whatever_a_look_met(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    met: list[Exception | str] = [
        asyncpg.InterfaceError("unforeseen"),
        StoreUnavailable("away"),
        "there",
    ]
    refused: list[StoreMoved] = []

    class Store:
        async def moved_to(self) -> str:
            now = met.pop(0)
            if isinstance(now, Exception):
                raise now
            return now

        def let_go(self) -> None:
            """It has no file."""

    class Running:
        refuse = refused.append

    monkeypatch.setattr(handover, "LOOK_S", 0.0)
    monkeypatch.setattr(handover, "FAULT_S", 0.0)
    stopping = asyncio.Event()
    await handover.leave(Store(), Running(), stopping)  # type: ignore[arg-type]
    assert stopping.is_set()
    assert refused
    assert "could not be asked" in caplog.text
