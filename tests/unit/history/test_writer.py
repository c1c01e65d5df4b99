"""The writer at work: N-08 and S2-20 rest on it (acknowledged means durable and seen), S5-21, S5-56."""

import asyncio
import gc
import time
import weakref

import pytest

from backscroll_sidecar.domain import AppendOutcome, ChannelKey
from backscroll_sidecar.errors import Conflict, DeadlineExceeded, StoreUnavailable
from backscroll_sidecar.history.publishing import PUBLISH_SLICE, joined_by_channel
from backscroll_sidecar.history.writer import CROWD_ROUNDS, MAX_GROUP_ITEMS, Writer
from backscroll_sidecar.ports import Applied, RetractChange
from tests.kit.history import (
    KEY,
    NOW_MS,
    Recorder,
    append_change,
    blocked,
    events,
    let_go,
    message,
    numbered,
    spin,
    stored,
    with_turns,
)


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
        first, *tasks = await blocked(store, writer, *"abc")
        a, b, c = await let_go(store, *tasks, is_checked=False)
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
        [first] = await blocked(store, writer)
        with pytest.raises(DeadlineExceeded):
            await writer.submit(append_change("late"), time.monotonic() + 0.02)
        store.open.set()
        await first
        await writer.submit(append_change("next"))
        assert store.ids["late"] == 1


class TestGroups:
    async def test_a_group_is_what_came_in_while_the_last_one_committed(self, make, store):
        writer = await make()
        first, *tasks = await blocked(store, writer, *numbered(50))
        assert writer.queued_items == 50
        await let_go(store, first, *tasks)
        await spin()
        assert [len(group) for group in store.groups] == [1, 50]
        assert writer.queued_items == 0

    async def test_a_group_has_a_bound(self, make, store):
        writer = await make()
        [first] = await blocked(store, writer)
        ids = [[f"{i}-{j}" for j in range(1_000)] for i in range(7)]
        tasks = [asyncio.create_task(writer.submit(append_change(*few))) for few in ids]
        await spin()
        await let_go(store, first, *tasks)
        assert [len(group) for group in store.groups] == [1, MAX_GROUP_ITEMS // 1_000, 2]

    async def test_order_of_submission_is_the_order_of_arrival(self, writer, store, recorder):
        first, *tasks = await blocked(store, writer, *numbered(30))
        await let_go(store, first, *tasks)
        assert recorder.ids == ["first", *(f"m{i}" for i in range(30))]

    async def test_a_long_change_is_published_in_pieces_in_order(self, make, store):
        """Law 9: no callback holds the loop for a thousand rows."""
        recorder = Recorder()
        writer = await make(publisher=recorder)
        count = 3 * PUBLISH_SLICE + 5
        _, turns = await with_turns(writer.submit(append_change(*numbered(count))))
        assert recorder.ids == numbered(count)
        assert max(len(applied.stored) for _, applied in recorder.published) == PUBLISH_SLICE
        assert turns > 4

    async def test_callers_who_were_answered_together_commit_together_again(self, writer, store):
        """Some ask again a few rounds of the loop later than others: one commit all the same."""
        first, *tasks = await blocked(store, writer, *numbered(2))
        await let_go(store, first, *tasks)

        async def ask(id: str, rounds: int) -> None:
            await spin(rounds)
            await writer.submit(append_change(id))

        await asyncio.gather(*(ask(f"n{i}", 3 * i) for i in range(6)))
        assert [len(group) for group in store.groups] == [1, 2, 6]

    async def test_a_lone_caller_is_not_kept_waiting_for_others(self, writer, store):
        for i in range(3):
            task = asyncio.create_task(writer.submit(append_change(f"m{i}")))
            await spin(CROWD_ROUNDS // 2)
            assert f"m{i}" in store.ids
            await task

    async def test_appends_of_a_group_to_one_channel_are_published_as_one(
        self, writer, store, recorder
    ):
        other = ChannelKey(KEY.tenant, "other")
        [first] = await blocked(store, writer)
        asked = [("a", KEY), ("b", other), ("c", KEY), ("d", other)]
        tasks = [
            asyncio.create_task(writer.submit(append_change(id, key=key))) for id, key in asked
        ]
        await spin()
        answers = await let_go(store, first, *tasks)
        assert [one.append_results[0].message_id for one in answers] == ["first", *"abcd"]
        assert [
            (key.channel, [row.message.id for row in applied.stored])
            for key, applied in recorder.published
        ] == [(KEY.channel, ["first"]), (KEY.channel, ["a", "c"]), ("other", ["b", "d"])]

    async def test_what_changes_a_row_is_published_behind_the_append_that_stored_it(self):
        """An edit of a row that is not there yet would be lost."""
        rows = [stored(message(id), seq) for seq, id in enumerate("abc", 1)]
        recalled = Applied(stored=(stored(message("a"), 1, revision=1),))
        done = [
            (append_change("a"), Applied(stored=(rows[0],))),
            (append_change("b"), Applied(stored=(rows[1],))),
            (RetractChange(KEY, "a", NOW_MS), recalled),
            (append_change("c"), Applied(stored=(rows[2],))),
        ]
        published = [applied.stored for _, applied in joined_by_channel(done)]
        assert published == [(rows[0], rows[1]), recalled.stored, (rows[2],)]

    async def test_erased_ids_and_members_are_published_once(self, make, store, recorder):
        rows = tuple(stored(message(f"m{i}"), i + 1) for i in range(2 * PUBLISH_SLICE))
        store._apply = lambda change: Applied(stored=rows, erased_ids=("x", "y"))
        await (await make()).submit(append_change("any"))
        assert [applied.erased_ids for _, applied in recorder.published] == [("x", "y"), ()]

    async def test_nothing_changed_is_not_published(self, make, store, recorder):
        store._apply = lambda change: Applied()
        await (await make()).submit(append_change("any"))
        assert recorder.published == []


class TestEvents:
    async def test_recorded_without_waiting(self, writer, store):
        """S5-21: recording never delays the answer."""
        writer.emit(KEY, "c1", events(3))
        await writer.submit(append_change("a"))
        assert store.events == 3
        assert writer.dropped_events == 0

    async def test_dropped_and_counted_when_the_queue_is_half_full(self, make, store):
        writer = await make(max_items=10)
        [first] = await blocked(store, writer)
        for count, dropped in ((5, 0), (2, 2), (4, 6)):
            writer.emit(KEY, "c1", events(count))
            assert writer.dropped_events == dropped
        task = asyncio.create_task(writer.submit(append_change(*"abcde")))
        await spin()
        assert writer.queued_items == 10
        await let_go(store, first, task)
        assert store.events == 5

    async def test_dropped_and_counted_when_stopped_or_failed(self, make, store):
        writer = await make()
        store.check = lambda changes: (_ for _ in ()).throw(StoreUnavailable("down"))
        writer.emit(KEY, "c1", events(3))
        await spin()
        assert writer.dropped_events == 3
        await writer.close()
        writer.emit(KEY, "c1", events(2))
        assert writer.dropped_events == 5


class TestLife:
    async def test_drain_commits_what_is_queued_and_takes_nothing_new(self, writer, store):
        first, *tasks = await blocked(store, writer, *numbered(5))
        draining = asyncio.create_task(writer.drain(5))
        await spin()
        with pytest.raises(StoreUnavailable):
            await writer.submit(append_change("late"))
        store.open.set()
        assert await draining
        await asyncio.gather(first, *tasks)
        assert store.ids == {"first": 1, **{f"m{i}": 1 for i in range(5)}}

    async def test_drain_says_when_the_time_was_too_short(self, writer, store):
        [first] = await blocked(store, writer)
        assert not await writer.drain(0.02)
        store.open.set()
        assert await writer.drain(5)
        await first

    async def test_drain_of_an_idle_writer_ends_at_once(self, writer):
        await spin()
        assert await asyncio.wait_for(writer.drain(300), 60)

    async def test_close_fails_what_is_queued_and_in_line(self, make, store):
        writer = await make(max_items=1, max_wait_s=30)
        first, *tasks = await blocked(store, writer, *numbered(3))
        closing = asyncio.create_task(writer.close())
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(one) for one in answers] == [StoreUnavailable] * 3
        store.open.set()
        await closing
        assert (await first).append_results
        assert store.ids == {"first": 1}

    async def test_close_gives_a_hung_commit_up(self, writer, store):
        [first] = await blocked(store, writer)
        await asyncio.wait_for(writer.close(timeout_s=0.02), 60)
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
