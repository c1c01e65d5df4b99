"""Appends when things go wrong or come twice, over each store: N-08, S5-29, laws 1, 5 and 9."""

import asyncio
import random
import threading
from contextlib import suppress

import pytest

from backscroll_sidecar.domain import Author, Member, Mention, Reply, TextPart
from backscroll_sidecar.errors import BackscrollError, Gone, StoreReadOnly, StoreUnavailable
from backscroll_sidecar.history.ingest import EXECUTOR_BYTES
from backscroll_sidecar.ports import AppendChange, ListQuery
from tests.kit.history import KEY, NOW_MS, STORED, listed, message, outcomes, with_turns


class TestFaults:
    async def test_store_down_then_up(self, service, history):
        """S5-29: collection is off, the service is on, and nothing is half done."""
        await service.append(KEY, [message("m1")])
        history.store.failure = StoreUnavailable("down")
        with pytest.raises(StoreUnavailable):
            await service.append(KEY, [message("m2")])
        with pytest.raises(StoreUnavailable):
            await service.edit(KEY, "m1", [TextPart("edited")])
        history.store.failure = None
        (result,) = await service.append(KEY, [message("m2")])
        assert result.outcome is STORED
        assert await listed(service) == ["m1", "m2"]

    async def test_disk_full_refuses_appends_and_goes_on_reading(self, service, history):
        """Law 5."""
        await service.append(KEY, [message("m1")])
        history.store.failure = StoreReadOnly("the disk is full")
        with pytest.raises(StoreReadOnly):
            await service.append(KEY, [message("m2")])
        assert await listed(service) == ["m1"]
        assert (await service.search(KEY, "hello")).messages
        assert (await service.channel_info(KEY)).message_count == 1

    async def test_reads_down_too_is_typed(self, service, history):
        history.store.failure, history.store.reads_too = StoreUnavailable("down"), True
        for call in (
            service.append(KEY, [message("m2")]),
            service.list_messages(KEY, ListQuery()),
            service.channel_info(KEY),
            service.search(KEY, "hello"),
        ):
            with pytest.raises(StoreUnavailable):
                await call

    async def test_one_poison_change_fails_alone(self, service, history):
        """A change that makes the store itself stumble: its neighbours are stored."""
        poison = AppendChange(KEY, (message("poison"),), (), (), NOW_MS)
        calls = [service.append(KEY, [message(f"m{i}")]) for i in range(10)]
        calls.insert(5, history.writer.submit(poison))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers.pop(5), BackscrollError)
        assert all(one[0].outcome is STORED for one in answers)
        assert await listed(service) == [f"m{i}" for i in range(10)]

    async def test_a_failing_analysis_costs_keywords_not_the_message(self, service):
        """Law 5."""
        service.ingest._analyzer = None
        (result,) = await service.append(KEY, [message("m1", "你好", mentions=(Mention("u2"),))])
        assert result.outcome is STORED
        stored = await service.get_message(KEY, "m1")
        assert (stored.analysis.text, stored.analysis.mention_ids) == ("你好", ("u2",))
        assert service.ingest.failed_analyses == 1


class TestLoop:
    async def test_a_large_batch_lets_others_work(self, service):
        """Law 9."""
        some = [message(f"m{i}", f"some text {i}") for i in range(1_000)]
        _, turns = await with_turns(service.append(KEY, some))
        assert turns > 150

    async def test_many_members_let_others_work(self, service):
        """Law 9: a thousand people are checked, and published, in slices."""
        many = [Member(f"u{i}", f"n{i}") for i in range(1_000)]
        changed, turns = await with_turns(service.upsert_members(KEY, many))
        assert len(changed) == 1_000
        assert turns > 45

    async def test_long_texts_are_analysed_elsewhere(self, service):
        threads: dict[str, bool] = {}
        analyzer = service.ingest._analyzer

        class Spy:
            def analyze(self, message, roster, **options):
                here = threading.current_thread() is threading.main_thread()
                threads[message.id] = here
                return analyzer.analyze(message, roster, **options)

        service.ingest._analyzer = Spy()
        await service.append(
            KEY,
            [message("short"), message("long", "word " * EXECUTOR_BYTES), message("last")],
        )
        assert threads == {"short": True, "long": False, "last": True}
        assert await listed(service) == ["short", "long", "last"]

    async def test_a_long_text_does_not_keep_other_batches_waiting(self, service):
        analyzer = service.ingest._analyzer
        started, release = threading.Event(), threading.Event()

        class Slow:
            def analyze(self, message, roster, **options):
                if message.id == "long":
                    started.set()
                    assert release.wait(120)
                return analyzer.analyze(message, roster, **options)

        service.ingest._analyzer = Slow()
        some = [message(f"m{i}") for i in range(40)]
        long = message("long", "word " * EXECUTOR_BYTES)
        waiting = asyncio.create_task(service.append(KEY, [*some, long]))
        assert await asyncio.to_thread(started.wait, 10)
        try:
            others = [message(f"n{i}") for i in range(40)]
            await asyncio.wait_for(service.append(KEY, others), 60)
        finally:
            release.set()
        assert outcomes(await waiting) == [STORED] * 41


class TestReplay:
    async def test_a_day_twice_with_edits_and_recalls_is_the_same_state(
        self, service, history, open_history
    ):
        """N-08: platforms deliver again, after seconds or hours, in other batches and in another order."""
        dice = random.Random(11)
        people = [Author(f"u{i}", f"名{i}") for i in range(6)]

        def line(i: int):
            reply = Reply(f"m{dice.randrange(i)}") if i and dice.random() < 0.3 else None
            author = dice.choice(people)
            text = dice.choice(["吃了吗？", "ok", "@名1 在吗", "see you at noon", "why?"])
            return message(
                f"m{i}", f"{text} {i}", author=author, reply=reply, sent_at_ms=NOW_MS - 200 + i
            )

        day = [line(i) for i in range(120)]

        async def play(service, order: random.Random) -> None:
            start = 0
            while start < len(day):
                size = order.randrange(1, 20)
                await service.append(KEY, day[start : start + size])
                start += size
                for i in range(0, min(start, 120), 17):
                    await self._edit(service, f"m{i}", f"edited {i}")
                for i in range(5, min(start, 120), 23):
                    await self._retract(service, f"m{i}")

        await play(service, random.Random(1))
        before = await service.list_messages(KEY, ListQuery(limit=1_000, include_recalled=True))
        people_before = await service.members(KEY)
        await play(service, random.Random(2))
        assert (
            await service.list_messages(KEY, ListQuery(limit=1_000, include_recalled=True))
            == before
        )
        await open_history.close(history)
        again = (await open_history()).service
        await play(again, random.Random(3))
        assert (
            await again.list_messages(KEY, ListQuery(limit=1_000, include_recalled=True)) == before
        )
        assert await again.members(KEY) == people_before
        assert sum(row.state.name == "RECALLED" for row in before) > 3
        assert sum(row.revision for row in before) > 3

    async def _edit(self, service, id: str, text: str) -> None:
        with suppress(Gone):
            await service.edit(KEY, id, [TextPart(text)], edited_at_ms=NOW_MS)

    async def _retract(self, service, id: str) -> None:
        await service.retract(KEY, id, NOW_MS)
