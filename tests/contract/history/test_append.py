"""Appending, over each store: N-08, S1-01, S5-01, S5-29, P-23, P-27 and law 1."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.unit.history.fakes import KEY, NOW_MS, message

from backscroll_sidecar.domain import (
    AppendOutcome,
    Author,
    AuthorKind,
    ChannelKey,
    MediaPart,
    Member,
    Mention,
    MessageType,
    RefusalCode,
    Reply,
    ReplyKind,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    WarningCode,
)
from backscroll_sidecar.errors import (
    BackscrollError,
    Gone,
    InvalidRequest,
    Overloaded,
    Reason,
    StoreReadOnly,
    StoreUnavailable,
)
from backscroll_sidecar.history.ingest import EXECUTOR_BYTES
from backscroll_sidecar.ports import AppendChange, ListQuery

STORED, DUPLICATE, CONFLICT, GONE, REFUSED = AppendOutcome


def outcomes(results) -> list[AppendOutcome]:
    return [one.outcome for one in results]


async def ids(service, key=KEY) -> list[str]:
    rows = await service.list_messages(key, ListQuery(limit=1_000, include_recalled=True))
    return [row.message.id for row in rows]


class TestStored:
    async def test_role_content_and_features_come_back_as_sent(self, service):
        """S1-01, S5-01: multi-line, emoji, every kind of part (P-23), reply, mentions."""
        sent = [
            message("m1", "two\nlines 😀\n你好", role=Role.USER, thread_id="t1", session_id="s1"),
            message(
                "m2", "of course", role=Role.ASSISTANT, author=Author("b", "Bot", AuthorKind.BOT)
            ),
            message("m3", "be kind", role=Role.SYSTEM),
            message(
                "m4",
                parts=(
                    TextPart("look"),
                    MediaPart("image", "https://x/cat.png", "a red bicycle", "image/png"),
                    ToolCallPart("c1", "weather", '{"city": "上海"}'),
                    ToolResultPart("c1", "weather", "rain", is_error=True),
                ),
                reply=Reply("m1", ReplyKind.QUOTE),
                mentions=(Mention("u9", "Zed", 0, 4),),
                dedupe_key="k4",
                role=Role.TOOL,
            ),
        ]
        results = await service.append(KEY, sent)
        assert outcomes(results) == [STORED] * 4
        assert [one.seq for one in results] == [1, 2, 3, 4]
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.message for row in rows] == sent
        last = rows[-1]
        assert last.analysis.text == (
            'look\n[image: a red bicycle]\n[call weather {"city": "上海"}]\n[error weather: rain]'
        )
        assert last.analysis.mention_ids == ("u9",)
        assert last.analysis.reply == Reply("m1", ReplyKind.QUOTE)
        assert last.rank_time_ms == sent[3].sent_at_ms

    async def test_a_picture_is_found_by_its_alt_text(self, service):
        """P-23."""
        picture = message("m1", parts=(MediaPart("image", "u", "a red bicycle"),))
        await service.append(KEY, [picture, message("m2", "no wheels here")])
        hits = await service.search(KEY, "red bicycle")
        assert [row.message.id for row in hits.messages] == ["m1"]

    async def test_nothing_asked_nothing_stored(self, service, history):
        assert await service.append(KEY, []) == []
        assert history.store.calls["apply"] == 0

    async def test_acknowledged_means_published(self, service, history):
        """Law 1."""

        async def ask(id: str) -> bool:
            await service.append(KEY, [message(id)])
            return id in history.recorder.ids

        assert all(await asyncio.gather(*(ask(f"m{i}") for i in range(30))))
        assert history.store.calls["apply"] < 30, "those who wait are committed together"


class TestOutcomes:
    async def test_each_item_has_its_own(self, service):
        """N-08, law 1: nothing twice, first wins, gone stays gone, refused by field."""
        first = message("m1", "hello")
        await service.append(KEY, [first, message("gone"), message("k1", dedupe_key="k")])
        await service.recall(KEY, "gone")
        results = await service.append(
            KEY,
            [
                first,
                message("m1", "other text"),
                replace(first, author=replace(first.author, name="Renamed")),
                message("gone"),
                message("k2", dedupe_key="k"),
                message(""),
                message("m2"),
                message("m2"),
                message("m3", "nul \0"),
                message("m4", sent_at_ms=0, reply=Reply("m4")),
            ],
        )
        assert outcomes(results) == [
            *(DUPLICATE, CONFLICT, DUPLICATE, GONE, DUPLICATE),
            *(REFUSED, STORED, DUPLICATE, REFUSED, STORED),
        ]
        assert results[2].warnings == (WarningCode.METADATA_DIFFERS,)
        assert results[4].duplicate_of == "k1"
        assert (results[5].refusal, results[5].field) == (RefusalCode.MISSING_ID, "id")
        assert (results[8].refusal, results[8].field) == (RefusalCode.NUL_CHARACTER, "parts")
        assert results[9].warnings == (WarningCode.TIME_ZERO, WarningCode.REPLY_TO_SELF)
        assert await ids(service) == ["m1", "gone", "k1", "m2", "m4"]
        stored = await service.get_message(KEY, "m4")
        assert (stored.message.sent_at_ms, stored.rank_time_ms) == (0, NOW_MS)
        assert (await service.get_message(KEY, "m1")).message == first

    async def test_only_refused_items_cost_no_commit(self, service, history):
        results = await service.append(KEY, [message(""), message("x", sent_at_ms=-1)])
        assert outcomes(results) == [REFUSED, REFUSED]
        assert history.store.calls["apply"] == 0

    async def test_sanitised_text_is_a_duplicate_of_itself(self, service):
        sent = message("m1", "half \ud83d")
        (first,) = await service.append(KEY, [sent])
        (again,) = await service.append(KEY, [sent])
        assert (first.outcome, again.outcome) == (STORED, DUPLICATE)
        assert first.warnings == again.warnings == (WarningCode.TEXT_SANITISED,)
        assert (await service.get_message(KEY, "m1")).message.text == "half \ufffd"

    @pytest.mark.parametrize(
        ("batch", "field"),
        [
            ([message(f"m{i}") for i in range(1_001)], "messages"),
            ([message(f"m{i}", "x" * 65_000) for i in range(65)], "messages"),
        ],
        ids=["items", "bytes"],
    )
    async def test_a_batch_too_large_is_refused_as_a_whole(self, service, history, batch, field):
        with pytest.raises(InvalidRequest) as caught:
            await service.append(KEY, batch)
        assert (caught.value.reason, caught.value.field) == (Reason.BATCH_TOO_LARGE, field)
        assert history.store.calls["apply"] == 0

    async def test_a_full_batch_is_taken(self, service):
        results = await service.append(KEY, [message(f"m{i}", f"text {i}") for i in range(1_000)])
        assert outcomes(results) == [STORED] * 1_000
        assert len(await ids(service)) == 1_000

    async def test_tenants_never_meet(self, service):
        """Law 6: the same channel and id of two tenants are two messages."""
        other = ChannelKey("other", KEY.channel)
        await service.append(KEY, [message("m1", "mine")])
        (result,) = await service.append(other, [message("m1", "theirs")])
        assert result.outcome is STORED
        assert (await service.get_message(KEY, "m1")).message.text == "mine"
        assert (await service.get_message(other, "m1")).message.text == "theirs"


class TestPeople:
    async def test_a_chinese_mention_without_a_space_right_after_its_first_message(self, service):
        """P-27: the author was never seen before this batch."""
        await service.append(
            KEY,
            [
                message("m1", "大家好", author=Author("u7", "小黑")),
                message("m2", "@小黑你好", author=Author("u8", "小白")),
                message("m3", "小白：在吗", author=Author("u7", "小黑")),
            ],
        )
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.analysis.mention_ids for row in rows] == [(), ("u7",), ("u8",)]
        assert rows[1].analysis.reply == Reply("m1", ReplyKind.MENTION, inferred=True)
        assert rows[1].message.reply is None, "an inferred edge is not the sender's"

    async def test_a_rename_keeps_old_and_new_names(self, service, open_history, history):
        """P-27, in memory and after a restart."""
        await service.append(KEY, [message("m1", author=Author("u1", "Tom"))])
        await service.append(KEY, [message("m2", author=Author("u1", "Tommy"), sent_at_ms=NOW_MS)])

        async def mentioned(service, id: str) -> list[tuple[str, ...]]:
            both = [message(f"{id}a", "hi @Tom"), message(f"{id}b", "hi @Tommy")]
            both = [replace(one, author=Author("u2", "Ann")) for one in both]
            await service.append(KEY, both)
            rows = await service.get_messages(KEY, [f"{id}a", f"{id}b"])
            return [rows[f"{id}a"].analysis.mention_ids, rows[f"{id}b"].analysis.mention_ids]

        assert await mentioned(service, "x") == [("u1",), ("u1",)]
        await open_history.close(history)
        again = (await open_history()).service
        assert await mentioned(again, "y") == [("u1",), ("u1",)]
        (tom,) = [one for one in await again.members(KEY) if one.user_id == "u1"]
        assert (tom.name, tom.former_names) == ("Tommy", ("Tom",))

    async def test_members_told_are_found_and_removed_aliases_are_not(self, service):
        await service.upsert_members(KEY, [Member("u5", "Nova", aliases=("nv", "星"))])
        await service.append(KEY, [message("m1", "@nv hi"), message("m2", "@星在吗")])
        await service.upsert_members(KEY, [Member("u5", aliases=("nv",))])
        await service.append(KEY, [message("m3", "@nv hi"), message("m4", "@星在吗")])
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.analysis.mention_ids for row in rows] == [("u5",), ("u5",), ("u5",), ()]

    async def test_an_answer_to_a_question_is_one(self, service):
        """S5-04: what a reply answers is known in the batch, from memory and from the store."""
        await service.append(KEY, [message("q", "who has the keys?", author="u1")])
        reply = Reply("q")
        await service.append(
            KEY,
            [
                message("a", "in the kitchen drawer", author="u2", reply=reply),
                message("b", "in the kitchen drawer", author="u2", reply=Reply("a")),
            ],
        )
        rows = await service.list_messages(KEY, ListQuery())
        types = [row.analysis.message_type for row in rows]
        assert types[:2] == [MessageType.QUESTION, MessageType.ANSWER]
        assert types[2] is not MessageType.ANSWER


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
        assert await ids(service) == ["m1", "m2"]

    async def test_disk_full_refuses_appends_and_goes_on_reading(self, service, history):
        """Law 5."""
        await service.append(KEY, [message("m1")])
        history.store.failure = StoreReadOnly("the disk is full")
        with pytest.raises(StoreReadOnly):
            await service.append(KEY, [message("m2")])
        assert await ids(service) == ["m1"]
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

    async def test_overloaded_stores_nothing_of_it(self, open_history):
        history = await open_history(max_queued_items=20, max_waiting=1, max_wait_s=0.01)
        batches = [[message(f"{i}-{j}") for j in range(10)] for i in range(60)]
        answers = await asyncio.gather(
            *(history.service.append(KEY, batch) for batch in batches), return_exceptions=True
        )
        refused = [i for i, one in enumerate(answers) if isinstance(one, Overloaded)]
        assert refused
        assert all(isinstance(one, Overloaded | list) for one in answers)
        expected = {one.id for i, batch in enumerate(batches) if i not in refused for one in batch}
        assert set(await ids(history.service)) == expected
        assert history.writer.queued_items == 0

    async def test_one_poison_change_fails_alone(self, service, history):
        """A change that makes the store itself stumble: its neighbours are stored."""
        poison = AppendChange(KEY, (message("poison"),), (), (), NOW_MS)
        calls = [service.append(KEY, [message(f"m{i}")]) for i in range(10)]
        calls.insert(5, history.writer.submit(poison))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers.pop(5), BackscrollError)
        assert all(one[0].outcome is STORED for one in answers)
        assert await ids(service) == [f"m{i}" for i in range(10)]

    async def test_cancelled_callers_lose_nothing_and_block_nobody(self, service, history):
        """A hundred appends cancelled at random moments; afterwards every message is whole, and there once at most."""
        dice = random.Random(3)

        async def caller(id: str) -> None:
            await asyncio.sleep(dice.random() * 0.05)
            await service.append(KEY, [message(f"{id}a"), message(f"{id}b")])

        doomed = [asyncio.create_task(caller(f"d{i}")) for i in range(100)]
        others = [asyncio.create_task(caller(f"m{i}")) for i in range(50)]
        for task in doomed:
            asyncio.get_running_loop().call_later(dice.random() * 0.06, task.cancel)
        answers = await asyncio.gather(*doomed, *others, return_exceptions=True)
        assert not any(isinstance(one, Exception) for one in answers)
        await service.append(KEY, [message("after")])
        there = await ids(service)
        assert len(there) == len(set(there))
        for i, answer in enumerate(answers):
            id = f"d{i}" if i < 100 else f"m{i - 100}"
            both = {f"{id}a", f"{id}b"} & set(there)
            assert len(both) == 2 if answer is None else len(both) in {0, 2}

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
        turns = 0
        done = False

        async def other_work() -> None:
            nonlocal turns
            while not done:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(other_work())
        await service.append(KEY, [message(f"m{i}", f"some text {i}") for i in range(1_000)])
        done = True
        await other
        assert turns > 150

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
        assert await ids(service) == ["short", "long", "last"]


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
                    await self._recall(service, f"m{i}")

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

    async def _recall(self, service, id: str) -> None:
        await service.recall(KEY, id, NOW_MS)
