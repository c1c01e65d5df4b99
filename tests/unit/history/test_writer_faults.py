"""The writer when things go wrong: cancelled callers, a store that is down, poison, overload (S5-29)."""

import asyncio
import logging
import random
import time

import pytest

from backscroll_sidecar.errors import (
    BackscrollError,
    Overloaded,
    Reason,
    StoreReadOnly,
    StoreUnavailable,
)
from backscroll_sidecar.history import writer as writer_module
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.ports import Applied
from tests.kit.history import Recorder, append_change, blocked, let_go, numbered, poisoned, spin


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
        [task] = await blocked(store, writer)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.open.set()
        await writer.submit(append_change("next"))
        assert store.ids == {"next": 1}

    async def test_cancelled_just_when_let_in_and_then_the_commit_fails(self, make, store):
        """Nobody is left to see that error, and that is no error of its own (see `loop_errors`)."""
        writer = await make(max_items=1, max_wait_s=5)
        first, *tasks = await blocked(store, writer, *"ab")

        def down(changes):  # not an unexpected error: its log record would keep the future alive
            if changes[0].messages[0].id == "b":
                raise StoreUnavailable("down")

        store.check = down
        grant = writer._queue._grant

        def grant_and_cancel(place):
            grant(place)
            tasks[1].cancel()

        writer._queue._grant = grant_and_cancel
        await let_go(store, first, tasks[0])
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
        first, *tasks = await blocked(store, writer, *numbered(40))
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
        first, *tasks = await blocked(store, writer, *numbered(64))
        answers = await let_go(store, first, *tasks, is_checked=False)
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


class TestOverload:
    async def test_a_full_queue_is_overloaded_and_stores_nothing_of_it(self, make, store):
        writer = await make(max_items=10, max_wait_s=0.02)
        first, *fits = await blocked(store, writer, *numbered(10))
        with pytest.raises(Overloaded):
            await writer.submit(append_change("too", "much"))
        await let_go(store, first, *fits)
        await writer.submit(append_change("after"))
        assert store.ids == {"first": 1, "after": 1, **{f"m{i}": 1 for i in range(10)}}

    async def test_bounded_in_bytes_too(self, make, store):
        writer = await make(max_bytes=8_000, max_wait_s=0.02)
        [first] = await blocked(store, writer)
        task = asyncio.create_task(writer.submit(append_change("a", "b", "c", "d")))
        await spin()
        with pytest.raises(Overloaded):
            await writer.submit(append_change("e", "f", "g", "h"))
        await let_go(store, first, task)

    async def test_those_in_line_get_in_when_there_is_room(self, make, store, recorder):
        writer = await make(max_items=4, max_wait_s=5)
        first, *tasks = await blocked(store, writer, *numbered(20))
        assert writer.queued_items == 4
        await let_go(store, first, *tasks)
        assert recorder.ids == ["first", *(f"m{i}" for i in range(20))], "first come, first served"
        assert writer.queued_items == 0

    async def test_a_caller_cancelled_in_line_leaves_it(self, make, store):
        writer = await make(max_items=1, max_wait_s=5)
        first, *tasks = await blocked(store, writer, *numbered(4))
        tasks[1].cancel()
        tasks[2].cancel()
        await spin()
        await let_go(store, first, tasks[0], tasks[3])
        assert store.ids == {"first": 1, "m0": 1, "m3": 1}

    async def test_cancelled_in_the_moment_room_appears(self, make, store):
        """Either way, nobody behind is stuck and nothing is stored twice."""
        writer = await make(max_items=1, max_wait_s=5)
        first, *tasks = await blocked(store, writer, *numbered(5))
        store.open.set()
        while writer.queued_items:
            await asyncio.sleep(0)
            tasks[2].cancel()
        answers = await asyncio.gather(first, *tasks, return_exceptions=True)
        assert isinstance(answers[3], asyncio.CancelledError)
        for id in ("first", "m0", "m1", "m3", "m4"):
            assert store.ids[id] == 1

    async def test_the_line_itself_is_bounded(self, make, store):
        writer = await make(max_items=1, max_waiting=2, max_wait_s=300)
        first, *tasks = await blocked(store, writer, *numbered(3))
        with pytest.raises(Overloaded):
            await asyncio.wait_for(writer.submit(append_change("one too many")), 60)
        await let_go(store, first, *tasks)

    async def test_a_deadline_shortens_the_line(self, make, store):
        writer = await make(max_items=1, max_wait_s=30)
        first, task = await blocked(store, writer, "m0")
        with pytest.raises(Overloaded):
            await writer.submit(append_change("m1"), time.monotonic() + 0.02)
        await let_go(store, first, task)
        assert "m1" not in store.ids

    async def test_a_change_larger_than_the_queue_gets_in_when_it_is_empty(self, make, store):
        writer = await make(max_items=2)
        await writer.submit(append_change(*"abcdef"))
        assert store.ids.total() == 6
