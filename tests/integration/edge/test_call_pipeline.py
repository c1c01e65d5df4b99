"""What stands before every handler: room, errors, incidents, one line a call."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.edge import call_pipeline, limits
from backscroll_sidecar.edge.limits import AdmissionLimits
from backscroll_sidecar.errors import BackscrollError, NotAllowed, StoreReadOnly, StoreUnavailable
from tests.integration.edge.conftest import EdgeApp, Served, refusal, refused, serving, text

SECRET = "the secret words of a user"


class Failing:
    """A builder that raises, or waits until it is told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.go = asyncio.Event()
        self.running = 0

    async def build(self, request: BuildRequest, **_: Any) -> Any:
        self.running += 1
        try:
            if self.error is not None:
                raise self.error
            await self.go.wait()
            raise StoreUnavailable("it went on")
        finally:
            self.running -= 1


def ask(served: Served, **options: Any) -> Any:
    return served.context.BuildContext(pb.BuildContextRequest(question=SECRET), **options)


@pytest.mark.parametrize(
    "error",
    [ValueError(SECRET), KeyError(SECRET), RecursionError(), MemoryError(), BackscrollError(SECRET),
     TimeoutError(), OSError(SECRET), StopAsyncIteration(), grpc.aio.AbortError()],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_a_fault_is_an_incident(error: Exception, quiet_logs: list[dict[str, Any]]) -> None:
    """A caller learns an id; the traceback, with whatever stands in it, is in the log only."""
    async with serving(EdgeApp(None, Failing(error))) as served:
        found = await refused(ask(served))
        assert (found.code, found.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
        assert set(found.metadata) == {"incident"}
        assert SECRET not in found.text
        (line,) = [line for line in quiet_logs if line["event"] == "rpc.failed"]
        assert line["incident"] == found.metadata["incident"]
        assert line["exc_info"] is error
        assert served.records[-1].incident == line["incident"]


async def test_a_cancellation_from_inside_is_an_incident_too() -> None:
    """A future that somebody else cancelled, such as a writer's that stops: not a caller without an answer."""
    async with serving(EdgeApp(None, Failing(asyncio.CancelledError()))) as served:
        found = await refused(ask(served, timeout=5))
        assert (found.code, found.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreReadOnly("full"), grpc.StatusCode.UNAVAILABLE),
        (NotAllowed("no"), grpc.StatusCode.PERMISSION_DENIED),
    ],
)
async def test_a_typed_error_keeps_its_words(error: BackscrollError, code: Any) -> None:
    async with serving(EdgeApp(None, Failing(error))) as served:
        found = await refused(ask(served))
        assert (found.code, found.reason, found.text) == (code, error.reason.value, error.message)


async def test_calls_beyond_the_room_wait_and_then_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every queue is bounded: two run, one waits, the next is refused at once, the waiting one in time."""
    monkeypatch.setitem(
        limits.ADMISSIONS, "BuildContext", AdmissionLimits(running=2, waiting=1, wait_s=0.2)
    )  # type: ignore[arg-type]
    builder = Failing()
    async with serving(EdgeApp(None, builder)) as served:
        running = [asyncio.ensure_future(ask(served)) for _ in range(2)]
        await until(lambda: builder.running == 2)
        waiting = asyncio.ensure_future(ask(served))
        await asyncio.sleep(0.05)
        for call, which in ((ask(served), "waiting"), (waiting, "running")):
            found = await refused(call)
            assert (found.code, found.reason) == (
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "OVERLOADED",
            )
            assert found.text == f"too many calls of this method are {which}"
        builder.go.set()
        for call in running:
            assert (await refused(call)).text == "it went on"
        # The room is free again, also that of the calls that gave up.
        builder.error = StoreUnavailable("served")
        found = await asyncio.gather(*[refused(ask(served)) for _ in range(2)])
        assert {one.text for one in found} == {"served"}


async def test_calls_are_bounded_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 9: what runs and what waits holds its requests; beyond the bound a call is refused at once."""
    bound = 4 * len(pb.BuildContextRequest(question=SECRET).SerializeToString())
    limit = AdmissionLimits(running=1, waiting=10, wait_s=30, max_bytes=bound)
    monkeypatch.setitem(limits.ADMISSIONS, "BuildContext", limit)  # type: ignore[arg-type]
    builder = Failing()
    async with serving(EdgeApp(None, builder)) as served:
        huge = served.context.BuildContext(pb.BuildContextRequest(question="x" * 2 * bound))
        alone = asyncio.ensure_future(huge)
        await until(lambda: builder.running == 1)
        found = await refused(ask(served))
        assert (found.code, found.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        assert found.text == "calls of this method hold too many bytes"
        alone.cancel()
        await until(lambda: builder.running == 0)

        several = [asyncio.ensure_future(ask(served)) for _ in range(4)]
        await until(lambda: builder.running == 1)
        assert (await refused(ask(served))).text == "calls of this method hold too many bytes"
        builder.go.set()
        for call in several:
            assert (await refused(call)).text == "it went on"
        assert (await refused(ask(served))).text == "it went on", "the bytes are given back"


async def test_other_methods_have_their_own_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.ADMISSIONS, "BuildContext", AdmissionLimits(running=1, waiting=0))  # type: ignore[arg-type]
    builder = Failing()
    async with serving() as served:
        served.app.builder = builder
        results = await served.append("g", text("x"))
        assert results[0].sequence == 1


async def test_a_cancelled_call_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.ADMISSIONS, "BuildContext", AdmissionLimits(running=1, waiting=0))  # type: ignore[arg-type]
    builder = Failing()
    async with serving(EdgeApp(None, builder)) as served:
        for _ in range(3):
            call = asyncio.ensure_future(ask(served))
            await until(lambda: builder.running == 1)
            call.cancel()
            await until(lambda: builder.running == 0)
        await until(lambda: len(served.records) == 3)
        assert [record.code for record in served.records] == ["CANCELLED"] * 3
        assert all(not record.incident for record in served.records)


@pytest.mark.row("N-09")
@pytest.mark.parametrize(
    ("passed_s", "leaves", "code", "missed"),
    [
        (90.0, True, "CANCELLED", 0),
        (97.5, True, "DEADLINE_EXCEEDED", 1),
        (97.5, False, "UNAVAILABLE", 0),
        (102.0, False, "UNAVAILABLE", 1),
    ],
    ids=["left early", "left when time was up", "answered in time", "answered too late"],
)
async def test_what_counts_as_a_missed_deadline(
    passed_s: float, leaves: bool, code: str, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-09: 100 s may be 96 of the caller's; who is still there has what was told (101 s at most)."""
    now_s = 1_000.0
    clock = SimpleNamespace(monotonic=lambda: now_s, perf_counter_ns=time.perf_counter_ns)
    monkeypatch.setattr(call_pipeline, "time", clock)
    builder = Failing()
    async with serving(EdgeApp(None, builder)) as served:
        call = asyncio.ensure_future(ask(served, timeout=100))
        await until(lambda: builder.running == 1)
        now_s += passed_s
        if leaves:
            call.cancel()
        else:
            builder.go.set()
            await refused(call)
        await until(lambda: bool(served.records))
        assert [record.code for record in served.records] == [code]
        assert served.running.missed_deadlines["BuildContext"] == missed


async def test_an_export_nobody_reads_gives_its_room_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(limits.ADMISSIONS, "ExportMessages", AdmissionLimits(running=1, waiting=0))  # type: ignore[arg-type]
    async with serving() as served:
        for start in range(0, 300, 60):
            rows = range(start, start + 60)
            await served.append("g", *[text("x" * 60_000, f"m{i}") for i in rows])
        for count in range(1, 4):
            call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel="g"))
            await call.read()
            call.cancel()
            await until(lambda count=count: exports(served).count("CANCELLED") == count)


async def test_streams_left_open_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for its caller takes no place; how many of one tenant do is bounded."""
    for name in ("ExportMessages", "ImportMessages"):
        monkeypatch.setitem(
            limits.ADMISSIONS, name, AdmissionLimits(running=1, waiting=9, wait_s=60)
        )  # type: ignore[arg-type]
    go = asyncio.Event()

    async def slowly() -> AsyncIterator[hpb.ImportMessagesRequest]:
        yield hpb.ImportMessagesRequest(channel="h", messages=[text("one", "h1")])
        await go.wait()
        yield hpb.ImportMessagesRequest(channel="h", messages=[text("two", "h2")])

    async def at_once() -> AsyncIterator[hpb.ImportMessagesRequest]:
        yield hpb.ImportMessagesRequest(channel="h", messages=[text("three", "h3")])

    async with serving() as served:
        for start in range(0, 300, 60):
            rows = range(start, start + 60)
            await served.append("g", *[text("x" * 60_000, f"m{i}") for i in rows])
        importing = asyncio.ensure_future(served.history.ImportMessages(slowly()))
        opened = []
        for _ in range(limits.STREAMS_PER_PLACE):
            call = served.history.ExportMessages(hpb.ExportMessagesRequest(channel="g"))
            opened.append((call, await call.read()))
        found = await refused(
            served.history.ExportMessages(hpb.ExportMessagesRequest(channel="g")).read()
        )
        assert (found.reason, found.text) == (
            "OVERLOADED",
            "too many streams of this method are open",
        )
        assert (await served.history.ImportMessages(at_once())).stored_count == 1
        for call, first in opened:
            count = len(first.messages)
            while (run := await call.read()) is not grpc.aio.EOF:
                count += len(run.messages)
            assert count == 300
        go.set()
        assert (await importing).stored_count == 2
        # All places are free again.
        assert (await served.history.ImportMessages(at_once())).duplicate_count == 1


def exports(served: Served) -> list[str]:
    return [one.code for one in served.records if one.method.endswith("ExportMessages")]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another task does."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.01)


async def test_one_line_a_call_without_a_word_of_it(
    quiet_logs: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    from backscroll_sidecar.edge.call_pipeline import log_call

    caplog.set_level(logging.DEBUG, "backscroll.rpc")
    async with serving() as served:
        await served.append("g", text(SECRET))
        await ask(served)
        await refused(served.context.BuildContext(pb.BuildContextRequest(question=" ")))
        for record in served.records:
            log_call(record)
    found = [line for line in quiet_logs if line["event"] == "rpc"]
    assert [(line["log_level"], line["code"], line["reason"]) for line in found] == [
        ("debug", "OK", ""),
        ("debug", "OK", ""),
        ("info", "INVALID_ARGUMENT", "QUESTION_MISSING"),
    ]
    assert found[0]["method"] == "backscroll.v1.HistoryService/AppendMessages"
    assert found[0]["tenant"] == "default"
    assert SECRET not in str(quiet_logs)


async def test_an_observer_that_fails_costs_the_call_nothing() -> None:
    from backscroll_sidecar.server import start_server

    def broken(record: object) -> None:
        raise RuntimeError("no metrics")

    async with serving() as served:
        running = await start_server(served.app, listen=["127.0.0.1:0"], observe=broken)
        async with grpc.aio.insecure_channel(running.addresses[0]) as channel:
            call = channel.unary_unary("/backscroll.v1.ContextService/BuildContext")
            request = pb.BuildContextRequest(question="x")
            assert await call(request.SerializeToString())
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(b"\xff")
            assert refusal(caught.value).reason == "MALFORMED_REQUEST"
        await running.stop(0)
