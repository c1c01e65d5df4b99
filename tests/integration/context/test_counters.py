"""Counters of builds in a scrape: each cause of a fallback, a loss or an error moves its own, and no other."""

import asyncio
import urllib.request
from contextlib import asynccontextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families

from backscroll import AsyncClient, Author, BackscrollError, Message
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.server import serve_metrics
from tests.kit.served import running

NOON = 1_795_176_000_000
LINES = [Message(f"m{n}", "u1", f"line {n}", NOON - 60_000 + n) for n in range(30)]
COUNTERS = ("builds", "fallbacks", "degradations", "build_errors")
LABELS = ("rung", "stage", "source", "reason")


class Scraped:
    """A server, its client, and what moved since the last look."""

    def __init__(self, app, client, address) -> None:
        self.app, self.client, self._address = app, client, address
        self._before: dict[tuple[str, ...], float] = {}

    async def moved(self) -> dict[tuple[str, ...], int]:
        """Counter and labels, and by how much."""
        after = await asyncio.to_thread(self._scrape)
        found = {k: int(n - self._before.get(k, 0)) for k, n in after.items()}
        self._before = after
        return {k: n for k, n in found.items() if n}

    def _scrape(self) -> dict[tuple[str, ...], float]:
        with urllib.request.urlopen(f"http://{self._address}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return {
            (name, *[sample.labels[one] for one in LABELS if one in sample.labels]): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            for name in COUNTERS
            if sample.name == f"backscroll_context_{name}_total"
        }

    async def ask(self, channel: str = "room", question: str = "and now?", **fields):
        fields = {"asker": Author("u2"), "asked_at": NOON, "profile": "room", **fields}
        return await self.client.build_context(channel, question, **fields)


@asynccontextmanager
async def scraped():
    async with running() as (server, app), AsyncClient(server.addresses[0]) as client:
        metrics = serve_metrics(server, "127.0.0.1:0")
        try:
            await client.append("room", LINES)
            one = Scraped(app, client, metrics.address)
            assert await one.moved() == {}
            yield one
        finally:
            await asyncio.to_thread(metrics.close)


def raising(error: Exception):
    def broken(*args: object, **kwargs: object) -> None:
        raise error

    return broken


@pytest.mark.row("S5-57")
@pytest.mark.parametrize("explain", [False, True])
async def test_builds_and_what_they_do_without(explain):
    """Every build by its rung, those of chats too; a part that is missing by stage, source and reason."""
    async with scraped() as one:
        for _ in range(3):
            await one.ask(explain=explain)
        assert await one.moved() == {("builds", "ranked"): 3}
        await one.client.chat("room", "what now?", asker="u1")
        assert await one.moved() == {("builds", "ranked"): 1}
        await one.ask(profile="hybrid", explain=explain, reply="gone")
        assert await one.moved() == {
            ("builds", "ranked"): 1,
            ("degradations", "gather", "semantic", "NOT_CONFIGURED"): 1,
            ("degradations", "question", "", "REPLY_NOT_FOUND"): 1,
        }


@pytest.mark.row("S5-57")
@pytest.mark.injects_fault
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"), [(ZeroDivisionError(), "ERROR"), (TimeoutError(), "DEADLINE")]
)
async def test_fallbacks_by_rung_and_reason(explain, error, reason):
    """Once a build, by what broke the ranking, whatever else was lost before."""
    async with scraped() as one:
        picker = one.app.builder._picker
        picker._ranker = raising(error)
        await one.ask(profile="hybrid", explain=explain)
        assert await one.moved() == {
            ("builds", "recent"): 1,
            ("fallbacks", "recent", reason): 1,
            ("degradations", "gather", "semantic", "NOT_CONFIGURED"): 1,
            ("degradations", "rank", "", reason): 1,
        }
        picker._recent = raising(ZeroDivisionError())
        await one.ask(explain=explain)
        assert await one.moved() == {
            ("builds", "empty"): 1,
            ("fallbacks", "empty", reason): 1,
            ("degradations", "rank", "", reason): 1,
        }


@pytest.mark.row("S5-57")
@pytest.mark.injects_fault
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreUnavailable("gone"), "STORE_UNAVAILABLE"),
        (TimeoutError(), "TIMEOUT"),
        (OSError(), "ERROR"),
    ],
)
async def test_a_history_that_cannot_be_read(error, reason):
    """The last rung where there is a question, an error where there is none."""
    async with scraped() as one:
        one.app.channels.drop(ChannelKey("default", "room"))
        one.app.store.load_channel = raising(error)
        await one.ask()
        assert await one.moved() == {
            ("builds", "empty"): 1,
            ("fallbacks", "empty", reason): 1,
            ("degradations", "gather", "history", reason): 1,
        }
        with pytest.raises(BackscrollError):
            await one.ask(question="", trigger_message_id="m3")
        assert set(await one.moved()) == {
            ("build_errors", "STORE_UNAVAILABLE")
        }  # the client tries again


@pytest.mark.row("S5-57")
@pytest.mark.parametrize("explain", [False, True])
async def test_errors_by_reason(explain):
    """What gives no context is no build of any rung."""
    async with scraped() as one:
        for fields, reason in (
            ({"question": "", "trigger_message_id": "gone"}, "MESSAGE_NOT_FOUND"),
            ({"token_budget": 2}, "BUDGET_TOO_SMALL"),
            ({"profile": "nobody's"}, "UNKNOWN_PROFILE"),
        ):
            for _ in range(2):
                with pytest.raises(BackscrollError):
                    await one.ask(explain=explain, **fields)
            assert await one.moved() == {("build_errors", reason): 2}
