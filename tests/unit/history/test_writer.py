"""The writer: S2-20 and N-08 rest on it (acknowledged means durable and seen), S5-21, S5-29, S5-56."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import time
import weakref
from collections.abc import Sequence

import pytest
from tests.unit.history.fakes import (
    KEY,
    Recorder,
    ScriptedStore,
    append_change,
    events_change,
    message,
    stored,
)

from backscroll_sidecar.domain import AppendOutcome
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    DeadlineExceeded,
    Overloaded,
    Reason,
    StoreReadOnly,
    StoreUnavailable,
)
from backscroll_sidecar.history import writer as writer_module
from backscroll_sidecar.history.groups import PUBLISH_SLICE
from backscroll_sidecar.history.writer import MAX_GROUP_ITEMS, FanOut, Writer
from backscroll_sidecar.ports import Applied, Change


@pytest.fixture(autouse=True)
async def loop_errors():
    """Whatever reaches the loop's exception handler (a future nobody asked) fails the test."""
    seen: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
    yield seen
    gc.collect()
    await asyncio.sleep(0)
    assert not seen


@pytest.fixture
def store():
    return ScriptedStore()


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
async def make(store, recorder):
    """Writers over `store`, started, and closed at the end."""
    made: list[Writer] = []

    async def make(**options) -> Writer:
        writer = Writer(options.pop("store", store), options.pop("publisher", recorder), **options)
        made.append(writer)
        await writer.start()
        return writer

    yield make
    store.open.set()
    for writer in made:
        await writer.close()


@pytest.fixture
async def writer(make):
    return await make()


async def blocked(store: ScriptedStore, writer: Writer) -> asyncio.Task[Applied]:
    """A first change whose commit hangs until `store.open` is set."""
    store.open.clear()
    store.entered.clear()
    task = asyncio.create_task(writer.submit(append_change("first")))
    await store.entered.wait()
    return task


async def spin(times: int = 10) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def poisoned(*ids: str):
    """A check that fails unexpectedly on any group with one of these messages."""

    def check(changes: Sequence[Change]) -> None:
        if any(one.id in ids for change in changes for one in change.messages):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")

    return check


class TestAnswers:
    async def test_answers_what_the_store_did(self, writer, store):
        applied = await writer.submit(append_change("a", "b"))
        assert [one.outcome for one in applied.append_results] == [AppendOutcome.STORED] * 2
        assert store.ids == {"a": 1, "b": 1}

    async def test_published_before_acknowledged(self, writer, recorder):
        """Law 1: acknowledged means seen by the next build."""
        seen_at_acknowledgement = []

        async def ask(id: str) -> None:
            await writer.submit(append_change(id))
            seen_at_acknowledgement.append((id, id in recorder.ids))

        await asyncio.gather(*(ask(f"m{i}") for i in range(20)))
        assert len(seen_at_acknowledgement) == 20
        assert all(seen for _, seen in seen_at_acknowledgement)

    async def test_a_change_refused_by_the_store_fails_alone_and_is_not_published(
        self, writer, store, recorder
    ):
        apply = store._apply

        def refuse_b(change):
            if change.messages[0].id == "b":
                return Applied(error=Conflict("no"))
            return apply(change)

        store._apply = refuse_b
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(id))) for id in "abc"]
        await spin()
        store.open.set()
        a, b, c = await asyncio.gather(*tasks, return_exceptions=True)
        await first
        assert isinstance(b, Conflict)
        assert (a.append_results[0].message_id, c.append_results[0].message_id) == ("a", "c")
        assert recorder.ids == ["first", "a", "c"]

    async def test_refuses_before_start_and_after_close(self, store, recorder):
        writer = Writer(store, recorder)
        with pytest.raises(StoreUnavailable):
            await writer.submit(append_change("a"))
        await writer.start()
        await writer.close()
        await writer.close()
        with pytest.raises(StoreUnavailable):
            await writer.submit(append_change("a"))
        assert store.groups == []

    async def test_deadline_ends_the_wait_and_not_the_commit(self, writer, store):
        first = await blocked(store, writer)
        with pytest.raises(DeadlineExceeded):
            await writer.submit(append_change("late"), time.monotonic() + 0.02)
        store.open.set()
        await first
        await writer.submit(append_change("next"))
        assert store.ids["late"] == 1


class TestGroups:
    async def test_a_group_is_what_came_in_while_the_last_one_committed(self, make, store):
        reports = []
        writer = await make(on_group=reports.append)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(50)]
        await spin()
        assert writer.queued_items == 50
        store.open.set()
        await asyncio.gather(first, *tasks)
        await spin()
        assert [len(group) for group in store.groups] == [1, 50]
        assert [(one.changes, one.items, one.failed_changes) for one in reports] == [
            (1, 1, 0),
            (50, 50, 0),
        ]
        assert writer.queued_items == 0

    async def test_a_group_has_a_bound(self, make, store):
        writer = await make()
        first = await blocked(store, writer)
        ids = [[f"{i}-{j}" for j in range(1_000)] for i in range(7)]
        tasks = [asyncio.create_task(writer.submit(append_change(*few))) for few in ids]
        await spin()
        store.open.set()
        await asyncio.gather(first, *tasks)
        assert [len(group) for group in store.groups] == [1, MAX_GROUP_ITEMS // 1_000, 2]

    async def test_order_of_submission_is_the_order_of_arrival(self, writer, store, recorder):
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(30)]
        await spin()
        store.open.set()
        await asyncio.gather(first, *tasks)
        assert recorder.ids == ["first", *(f"m{i}" for i in range(30))]

    async def test_a_long_change_is_published_in_pieces_in_order(self, make, store):
        """Law 9: no callback holds the loop for a thousand rows."""
        recorder = Recorder()
        writer = await make(publisher=recorder)
        count = 3 * PUBLISH_SLICE + 5
        turns_of_others = 0
        done = False

        async def other_work() -> None:
            nonlocal turns_of_others
            while not done:
                turns_of_others += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(other_work())
        await writer.submit(append_change(*(f"m{i}" for i in range(count))))
        done = True
        await other
        assert recorder.ids == [f"m{i}" for i in range(count)]
        assert max(len(applied.stored) for _, applied in recorder.published) == PUBLISH_SLICE
        assert turns_of_others > 4

    async def test_erased_ids_and_members_are_published_once(self, make, store, recorder):
        rows = tuple(stored(message(f"m{i}"), i + 1) for i in range(2 * PUBLISH_SLICE))
        store._apply = lambda change: Applied(stored=rows, erased_ids=("x", "y"))
        await (await make()).submit(append_change("any"))
        assert [applied.erased_ids for _, applied in recorder.published] == [("x", "y"), ()]

    async def test_nothing_changed_is_not_published(self, make, store, recorder):
        store._apply = lambda change: Applied()
        await (await make()).submit(append_change("any"))
        assert recorder.published == []


class TestCancellation:
    async def test_cancelling_a_waiting_caller_loses_and_blocks_nothing(self, writer, store):
        """A hundred callers cancelled at random moments: what was asked for is stored once, the rest answered."""
        dice = random.Random(7)
        submitted: set[str] = set()
        apply = store.apply

        async def slow_apply(changes):
            await asyncio.sleep(dice.random() * 0.004)
            answer = await apply(changes)
            await asyncio.sleep(dice.random() * 0.004)
            return answer

        async def caller(id: str) -> Applied:
            await asyncio.sleep(dice.random() * 0.04)
            submitted.add(id)
            return await writer.submit(append_change(id))

        store.apply = slow_apply
        doomed = [asyncio.create_task(caller(f"doomed{i}")) for i in range(100)]
        others = [asyncio.create_task(caller(f"m{i}")) for i in range(100)]
        for task in doomed:
            asyncio.get_running_loop().call_later(dice.random() * 0.06, task.cancel)
        answers = await asyncio.gather(*doomed, *others, return_exceptions=True)
        await writer.submit(append_change("after"))
        cancelled = sum(isinstance(answer, asyncio.CancelledError) for answer in answers)
        assert cancelled > 20
        assert sum(store.ids.values()) > 201 - cancelled, "some were cancelled while they waited"
        assert store.ids == dict.fromkeys([*submitted, "after"], 1)
        for i, answer in enumerate(answers[100:]):
            assert answer.append_results[0].message_id == f"m{i}"

    async def test_a_cancelled_caller_whose_commit_fails_disturbs_nobody(self, writer, store):
        store.check = poisoned("first")
        task = await blocked(store, writer)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.open.set()
        await writer.submit(append_change("next"))
        assert store.ids == {"next": 1}

    async def test_cancelled_just_when_let_in_and_then_the_commit_fails(self, make, store):
        """Nobody is left to see that error, and that is no error of its own (see `loop_errors`)."""
        writer = await make(max_queued_items=1, max_wait_s=5)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(id))) for id in "ab"]
        await spin()
        store.check = poisoned("b")
        grant = writer._queue._grant

        def grant_and_cancel(place):
            grant(place)
            tasks[1].cancel()

        writer._queue._grant = grant_and_cancel
        store.open.set()
        await asyncio.gather(first, tasks[0])
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        await writer.submit(append_change("c"))
        assert store.ids == {"first": 1, "a": 1, "c": 1}


class TestFailures:
    async def test_store_down_then_up(self, writer, store):
        """S5-29: everyone of the group is told so, and the writer goes on."""

        def down(changes):
            raise StoreUnavailable("the database is locked")

        store.check = down
        tasks = [asyncio.create_task(writer.submit(append_change(id))) for id in "abc"]
        failures = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(failure) for failure in failures] == [StoreUnavailable] * 3
        assert len({id(failure) for failure in failures}) == 3, "one exception for each caller"
        assert len(store.groups) == 1, "a store that is down is not asked again for every change"
        store.check = lambda changes: None
        await writer.submit(append_change("d"))
        assert store.ids == {"d": 1}

    async def test_read_only_is_told_as_such(self, writer, store):
        def full(changes):
            raise StoreReadOnly("the disk is full", metadata={"path": "data"})

        store.check = full
        with pytest.raises(StoreReadOnly) as caught:
            await writer.submit(append_change("a"))
        assert caught.value.reason is Reason.STORE_READ_ONLY
        assert caught.value.metadata == {"path": "data"}

    @pytest.mark.parametrize("poison", ["m0", "m17", "m39"])
    async def test_one_poison_change_fails_alone(self, writer, store, recorder, poison, caplog):
        store.check = poisoned(poison)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(40)]
        await spin()
        store.open.set()
        with caplog.at_level(logging.CRITICAL, writer_module.__name__):
            answers = await asyncio.gather(*tasks, return_exceptions=True)
        await first
        failed = [f"m{i}" for i, one in enumerate(answers) if isinstance(one, BackscrollError)]
        assert failed == [poison]
        assert answers[int(poison[1:])].reason is Reason.INTERNAL
        assert store.ids == {"first": 1, **{f"m{i}": 1 for i in range(40) if f"m{i}" != poison}}
        assert poison not in recorder.ids
        assert len(recorder.ids) == 40
        assert len(store.groups) < 20, "halves, not one by one"

    async def test_store_goes_down_while_a_poison_is_looked_for(self, writer, store):
        seen = 0

        def check(changes):
            nonlocal seen
            seen += 1
            if seen == 2:
                raise RuntimeError("odd")
            if seen > 2:
                raise StoreUnavailable("gone")

        store.check = check
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(64)]
        await spin()
        store.open.set()
        answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert all(isinstance(one, StoreUnavailable) for one in answers[1:])
        assert len(store.groups) == 3

    async def test_a_store_that_answers_too_little_is_noticed(self, writer, store):
        async def forget(changes):
            return []

        store.apply = forget
        with pytest.raises(BackscrollError) as caught:
            await writer.submit(append_change("a"))
        assert caught.value.reason is Reason.INTERNAL

    async def test_a_failing_publisher_costs_only_itself(self, make, store, recorder):
        broken = Recorder()
        broken.fail = True
        writer = await make(publisher=FanOut(broken, recorder))
        await writer.submit(append_change("a"))
        await writer.submit(append_change("b"))
        assert recorder.ids == ["a", "b"]
        assert writer.publish_failures == 2

    async def test_a_failing_observer_costs_only_itself(self, make, store):
        def observe(report):
            raise ValueError("metrics down")

        writer = await make(on_group=observe)
        await writer.submit(append_change("a"))
        await writer.submit(append_change("b"))
        assert store.ids == {"a": 1, "b": 1}


class TestOverload:
    async def test_a_full_queue_is_overloaded_and_stores_nothing_of_it(self, make, store):
        writer = await make(max_queued_items=10, max_wait_s=0.02)
        first = await blocked(store, writer)
        fits = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(10)]
        await spin()
        with pytest.raises(Overloaded):
            await writer.submit(append_change("too", "much"))
        store.open.set()
        await asyncio.gather(first, *fits)
        await writer.submit(append_change("after"))
        assert store.ids == {"first": 1, "after": 1, **{f"m{i}": 1 for i in range(10)}}

    async def test_bounded_in_bytes_too(self, make, store):
        writer = await make(max_queued_bytes=8_000, max_wait_s=0.02)
        first = await blocked(store, writer)
        task = asyncio.create_task(writer.submit(append_change("a", "b", "c", "d")))
        await spin()
        with pytest.raises(Overloaded):
            await writer.submit(append_change("e", "f", "g", "h"))
        store.open.set()
        await asyncio.gather(first, task)

    async def test_those_in_line_get_in_when_there_is_room(self, make, store, recorder):
        writer = await make(max_queued_items=4, max_wait_s=5)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(20)]
        await spin()
        assert writer.queued_items == 4
        store.open.set()
        await asyncio.gather(first, *tasks)
        assert recorder.ids == ["first", *(f"m{i}" for i in range(20))], "first come, first served"
        assert writer.queued_items == 0

    async def test_a_caller_cancelled_in_line_leaves_it(self, make, store):
        writer = await make(max_queued_items=1, max_wait_s=5)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(4)]
        await spin()
        tasks[1].cancel()
        tasks[2].cancel()
        await spin()
        store.open.set()
        await asyncio.gather(first, tasks[0], tasks[3])
        assert store.ids == {"first": 1, "m0": 1, "m3": 1}

    async def test_cancelled_in_the_moment_room_appears(self, make, store):
        """Either way, nobody behind is stuck and nothing is stored twice."""
        writer = await make(max_queued_items=1, max_wait_s=5)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(5)]
        await spin()
        store.open.set()
        while writer.queued_items:
            await asyncio.sleep(0)
            tasks[2].cancel()
        answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert isinstance(answers[3], asyncio.CancelledError)
        for id in ("first", "m0", "m1", "m3", "m4"):
            assert store.ids[id] == 1

    async def test_the_line_itself_is_bounded(self, make, store):
        writer = await make(max_queued_items=1, max_waiting=2, max_wait_s=5)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(3)]
        await spin()
        with pytest.raises(Overloaded):
            await asyncio.wait_for(writer.submit(append_change("one too many")), 1)
        store.open.set()
        await asyncio.gather(first, *tasks)

    async def test_a_deadline_shortens_the_line(self, make, store):
        writer = await make(max_queued_items=1, max_wait_s=30)
        first = await blocked(store, writer)
        task = asyncio.create_task(writer.submit(append_change("m0")))
        await spin()
        with pytest.raises(Overloaded):
            await writer.submit(append_change("m1"), time.monotonic() + 0.02)
        store.open.set()
        await asyncio.gather(first, task)
        assert "m1" not in store.ids

    async def test_a_change_larger_than_the_queue_gets_in_when_it_is_empty(self, make, store):
        writer = await make(max_queued_items=2)
        await writer.submit(append_change(*"abcdef"))
        assert store.ids.total() == 6


class TestEvents:
    async def test_recorded_without_waiting(self, writer, store):
        """S5-21: recording never delays the answer."""
        assert writer.submit_nowait(events_change(3))
        await writer.submit(append_change("a"))
        assert store.events == 3
        assert writer.dropped_events == 0

    async def test_dropped_and_counted_when_the_queue_is_half_full(self, make, store):
        writer = await make(max_queued_items=10)
        first = await blocked(store, writer)
        assert writer.submit_nowait(events_change(5))
        assert not writer.submit_nowait(events_change(2))
        writer.emit(KEY, "c1", events_change(4).events)
        assert writer.dropped_events == 6
        task = asyncio.create_task(writer.submit(append_change(*"abcde")))
        await spin()
        assert writer.queued_items == 10
        store.open.set()
        await asyncio.gather(first, task)
        assert store.events == 5

    async def test_dropped_and_counted_when_stopped_or_failed(self, make, store):
        writer = await make()
        store.check = lambda changes: (_ for _ in ()).throw(StoreUnavailable("down"))
        writer.submit_nowait(events_change(3))
        await spin()
        assert writer.dropped_events == 3
        await writer.close()
        assert not writer.submit_nowait(events_change(2))
        assert writer.dropped_events == 5


class TestLife:
    async def test_drain_commits_what_is_queued_and_takes_nothing_new(self, writer, store):
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(5)]
        await spin()
        draining = asyncio.create_task(writer.drain(5))
        await spin()
        with pytest.raises(StoreUnavailable):
            await writer.submit(append_change("late"))
        store.open.set()
        assert await draining
        await asyncio.gather(first, *tasks)
        assert store.ids == {"first": 1, **{f"m{i}": 1 for i in range(5)}}

    async def test_drain_says_when_the_time_was_too_short(self, writer, store):
        first = await blocked(store, writer)
        assert not await writer.drain(0.02)
        store.open.set()
        assert await writer.drain(5)
        await first

    async def test_drain_of_an_idle_writer_ends_at_once(self, writer):
        await spin()
        assert await asyncio.wait_for(writer.drain(5), 1)

    async def test_close_fails_what_is_queued_and_in_line(self, make, store):
        writer = await make(max_queued_items=1, max_wait_s=30)
        first = await blocked(store, writer)
        tasks = [asyncio.create_task(writer.submit(append_change(f"m{i}"))) for i in range(3)]
        await spin()
        closing = asyncio.create_task(writer.close())
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in answers] == [StoreUnavailable] * 3
        store.open.set()
        await closing
        assert (await first).append_results
        assert store.ids == {"first": 1}

    async def test_close_gives_a_hung_commit_up(self, writer, store):
        first = await blocked(store, writer)
        await asyncio.wait_for(writer.close(timeout_s=0.02), 2)
        with pytest.raises(StoreUnavailable):
            await first

    async def test_the_task_survives_garbage_collection(self, store, recorder):
        """S5-56: the document's own collector task was unreferenced and could vanish."""
        writer = Writer(store, recorder)
        await writer.start()
        await spin()
        alive = weakref.ref(writer)
        del writer
        gc.collect()
        assert alive() is not None, "nobody names the writer, its task must still live"
        await alive().submit(append_change("a"))
        assert store.ids == {"a": 1}
        await alive().close()
        await spin()
        gc.collect()
        assert alive() is None, "and is released when it ends"
