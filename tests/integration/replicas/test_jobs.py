"""Background jobs run on one server at a time, whichever lives (P-22)."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from backscroll import AsyncClient, Author, Message
from backscroll_sidecar.concurrency import jobs
from backscroll_sidecar.history import retention
from backscroll_sidecar.summaries import period_service
from backscroll_sidecar.wiring import App
from tests.contract.models.sse_server import HANG, Reply, sse_server
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.postgres import server
from tests.kit.served import served
from tests.kit.server_process import ServerProcess

pytestmark = pytest.mark.row("P-22")
DAY = 86_400_000
NOON = 1_795_176_000_000
ANN = Author("u1", "Ann")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "TRIED_S", 0.1)
    monkeypatch.setattr(retention, "FIRST_S", 0.0)
    monkeypatch.setattr(retention, "ROUND_S", 0.1)
    monkeypatch.setattr(period_service, "CHECK_S", 0.3)


@pytest.fixture
async def url() -> str:
    return await server().emptied()


def old(number: int) -> Message:
    return Message(f"old{number}", ANN, f"line {number} of last year", NOON - 300 * DAY + number)


async def until_left(client: AsyncClient, count: int) -> None:
    async with asyncio.timeout(60):
        while len([one async for one in client.list_messages("room")]) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_retention_is_one_servers_and_is_taken_over(url: str) -> None:
    """The second server erases nothing as long as the first does; once that is gone it goes on."""
    async with AsyncExitStack() as stack:
        first = AsyncExitStack()
        here, one = await first.enter_async_context(served(url, retention_days=30))
        there, two = await stack.enter_async_context(served(url, retention_days=30))
        for round_ in range(3):
            await there.append("room", [old(10 * round_ + n) for n in range(10)])
            await until_left(here, 0)
        assert (expired(one), expired(two)) == (30, 0)
        await first.aclose()
        await there.append("room", [old(100 + n) for n in range(10)])
        await until_left(there, 0)
        assert expired(two) == 10


def expired(app: App) -> int:
    return app.numbers.expired_messages()


async def test_a_setting_made_at_another_server_holds_for_the_job(url: str) -> None:
    """The job's server never was asked about the channel."""
    async with served(url) as (_, one), served(url) as (there, two):
        await there.append("room", [old(1)])
        await there.set_channel_settings("room", retention_days=30)
        await until_left(there, 0)
        assert (expired(one), expired(two)) == (1, 0)


async def test_a_period_is_paid_once(url: str) -> None:
    """Both servers got messages of it, and both look at it while the model still answers the first."""
    day = NOON // DAY * DAY - 5 * DAY
    lines = [Message(f"m{n}", ANN, f"the printer lives in room {n}", day + n) for n in range(6)]
    later = [Message(f"later{n}", ANN, f"lunch {n}?", NOON - 30_000 + n) for n in range(25)]
    go = asyncio.Event()
    models = [FakeModel(answer=lambda _: [Wait(go), "The printer moved.", STOP]) for _ in range(2)]
    async with (
        served(url, model=models[0], summary_hours=24) as (here, _),
        served(url, model=models[1], summary_hours=24) as (there, _),
    ):
        await asyncio.gather(here.append("room", lines[:3]), there.append("room", lines[3:]))
        await asyncio.gather(here.append("room", later), there.append("room", later))
        async with asyncio.timeout(60):
            while not any(one.calls for one in models):  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.05)
        await asyncio.sleep(1.5)  # for the other one to look at it, too
        go.set()
        summaries = await until_summarised(here)
        await asyncio.sleep(1.5)
        assert [len(one) for one in await until_summarised(there)] == [len(lines)]
    assert [len(one) for one in summaries] == [len(lines)]
    assert sum(len(one.calls) for one in models) == 1


async def until_summarised(client: AsyncClient) -> list[list[str]]:
    """The messages of each period, once there is one."""
    async with asyncio.timeout(60):
        while True:
            found = [list(one.message_ids) async for one in client.list_period_summaries("room")]
            if found:
                return found
            await asyncio.sleep(0.05)


async def test_a_period_of_a_server_that_died(url: str) -> None:
    """Killed while its model was summarising: whoever lives has the job, and asks its own model once."""
    day = NOON // DAY * DAY - 5 * DAY
    lines = [Message(f"m{n}", ANN, f"the printer lives in room {n}", day + n) for n in range(6)]
    lines += [Message(f"later{n}", ANN, f"lunch {n}?", NOON - 30_000 + n) for n in range(25)]
    model = FakeModel(["The printer moved.", STOP])
    async with sse_server() as silent:
        silent.replies = [Reply([HANG])]
        settings = {
            "BACKSCROLL_MODEL_BASE_URL": silent.url, "BACKSCROLL_SUMMARY_HOURS": "24", "BACKSCROLL_EMBEDDER": "none",
        }  # fmt: skip
        with ServerProcess(url, settings=settings) as dying:
            async with AsyncClient(dying.address) as here:
                await here.append("room", lines)
            async with asyncio.timeout(60):
                await silent.asked.wait()
            async with served(url, model=model, summary_hours=24) as (there, _):
                await asyncio.sleep(1.0)
                assert not model.calls
                dying.kill()
                assert [len(one) for one in await until_summarised(there)] == [6]
    assert len(model.calls) == 1
