"""Editing, recalling, erasing, importing, over each store: N-08, S2-20."""

from types import SimpleNamespace

import pytest

from backscroll_sidecar.domain import (
    Author,
    ChannelKey,
    Mention,
    MessageState,
    RefusalCode,
    Reply,
    TextPart,
)
from backscroll_sidecar.errors import (
    Gone,
    NotFound,
    Overloaded,
    Reason,
    StoreUnavailable,
)
from backscroll_sidecar.history import importing
from backscroll_sidecar.history.importing import ImportBatch
from backscroll_sidecar.ports import ListQuery
from tests.kit.history import (
    ABROAD,
    CONFLICT,
    DUPLICATE,
    GONE,
    KEY,
    REFUSED,
    STORED,
    found,
    message,
    talk,
)


class TestEdit:
    async def test_new_content_old_author_time_and_edge(self, service, history):
        await service.append(KEY, [*talk("one"), message("r", "hi", reply=Reply("m1"))])
        row = await service.edit(KEY, "r", [TextPart("find the 猫")], [Mention("u5")])
        assert (row.revision, row.message.text, row.seq) == (1, "find the 猫", 2)
        assert (row.message.author.id, row.message.reply) == ("u1", Reply("m1", user_id="u1"))
        assert row.analysis.mention_ids == ("u5",)
        assert row == await service.get_message(KEY, "r")
        (published,) = history.recorder.published[-1][1].stored
        assert (published.seq, published.revision, published.analysis.text) == (2, 1, "find the 猫")
        assert found(await service.search(KEY, "猫")) == ["r"]

    async def test_equal_content_changes_nothing(self, service):
        await service.append(KEY, talk("one"))
        row = await service.edit(KEY, "m1", [TextPart("one")])
        assert row.revision == 0

    async def test_nothing_left_of_it(self, service):
        await service.append(KEY, talk("one"))
        row = await service.edit(KEY, "m1", [TextPart("")])
        assert (row.revision, row.message.text, row.state) == (1, "", MessageState.LIVE)

    async def test_unknown_recalled_erased(self, service):
        await service.append(KEY, talk("one", "two"))
        await service.retract(KEY, "m1")
        await service.erase(KEY, message_ids=["m2"])
        for key, id, error, reason in (
            (KEY, "m9", NotFound, Reason.MESSAGE_NOT_FOUND),
            (ABROAD, "m1", NotFound, Reason.CHANNEL_NOT_FOUND),
            (KEY, "m1", Gone, Reason.MESSAGE_GONE),
            (KEY, "m2", Gone, Reason.MESSAGE_GONE),
        ):
            with pytest.raises(error) as caught:
                await service.edit(key, id, [TextPart("new")])
            assert caught.value.reason is reason


class TestRecallAndErase:
    async def test_recalled_stays_recalled(self, service):
        """N-08."""
        await service.append(KEY, talk("secret", "open"))
        await service.retract(KEY, "m1")
        await service.retract(KEY, "m1")
        row = await service.get_message(KEY, "m1")
        assert (row.state, row.message.text) == (MessageState.RECALLED, "")
        assert found(await service.search(KEY, "secret")) == []
        assert [row.message.id for row in await service.list_messages(KEY, ListQuery())] == ["m2"]
        (result,) = await service.append(KEY, talk("secret"))
        assert result.outcome is GONE
        with pytest.raises(NotFound):
            await service.retract(KEY, "m9")

    async def test_erase_messages(self, service, history):
        await service.append(KEY, talk("one", "two"))
        receipt = await service.erase(KEY, message_ids=["m1"])
        assert receipt.counts["messages"] == 1
        assert history.recorder.published[-1][1].erased_ids == ("m1",)
        with pytest.raises(NotFound):
            await service.get_message(KEY, "m1")
        with pytest.raises(Gone):
            await service.retract(KEY, "m1")
        assert [one.outcome for one in await service.append(KEY, talk("one"))] == [GONE]

    async def test_erase_a_person(self, service):
        await service.append(
            KEY, [*talk("a", "b"), message("x", "@U1 hi", author=Author("u2", "Ann"))]
        )
        await service.erase(KEY, user_id="u1")
        assert [row.message.id for row in await service.list_messages(KEY, ListQuery())] == ["x"]
        await service.append(KEY, [message("y", "@U1 hi", author=Author("u2", "Ann"))])
        rows = await service.get_messages(KEY, ["x", "y"])
        assert rows["y"].analysis.mention_ids == (), "the name is forgotten, in memory too"


class TestImport:
    async def test_channels_mixed_counts_and_first_problems(self, service):
        def batch(n: int):
            for i in range(30):
                channel = f"c{i % 3}" if n == 0 else "c9"
                yield message(f"{n}-{i}", f"line {i}", channel=channel)

        async def batches():
            yield ImportBatch(list(batch(0)))
            yield ImportBatch(list(batch(1)))
            yield ImportBatch([])
            yield ImportBatch(
                [message("0-0", "other text", channel="c0"), message("", channel="c0")]
            )
            yield ImportBatch(list(batch(1)))

        report = await importing.import_batches("default", batches(), service)
        assert report.outcomes == {STORED: 60, DUPLICATE: 30, CONFLICT: 1, REFUSED: 1}
        assert report.message_count == 92
        problems = [(one.position, one.channel, one.result.outcome) for one in report.problems]
        assert problems == [(60, "c0", CONFLICT), (61, "c0", REFUSED)]
        assert report.problems[1].result.refusal is RefusalCode.MISSING_ID
        rows = await service.list_messages(ChannelKey("default", "c9"), ListQuery())
        assert [row.message.id for row in rows] == [f"1-{i}" for i in range(30)]

    async def test_the_sender_waits_for_the_store(self, service, history):
        """Back-pressure: a batch is read only once the one before it is durable."""
        unread_while_uncommitted = []

        async def batches():
            for n in range(5):
                stored = sum(len(applied.stored) for _, applied in history.recorder.published)
                unread_while_uncommitted.append(n * 300 - stored)
                yield ImportBatch([message(f"{n}-{i}") for i in range(300)])

        report = await importing.import_batches("default", batches(), service)
        assert report.outcomes[STORED] == 1_500
        assert unread_while_uncommitted == [0] * 5

    async def test_waits_while_the_queue_is_full_and_gives_up_in_the_end(self, monkeypatch):
        monkeypatch.setattr(importing, "OVERLOAD_PAUSE_S", 0)
        tries = 0

        async def append(key, messages, *, restores_erased, rank_times_ms):
            nonlocal tries
            tries += 1
            if tries % 3:
                raise Overloaded("full")
            return []

        async def batches():
            yield ImportBatch([message("a")])
            yield ImportBatch([message("b")])

        await importing.import_batches("default", batches(), SimpleNamespace(append=append))
        assert tries == 6
        with pytest.raises(Overloaded):
            await importing.import_batches(
                "default", batches(), SimpleNamespace(append=_always_full)
            )

    async def test_broken_off_and_sent_again(self, service, history):
        async def batches(stop: int | None = None):
            for n in range(4):
                if n == stop:
                    history.store.failure = StoreUnavailable("down")
                yield ImportBatch([message(f"{n}-{i}") for i in range(10)])

        with pytest.raises(StoreUnavailable):
            await importing.import_batches("default", batches(2), service)
        history.store.failure = None
        report = await importing.import_batches("default", batches(), service)
        assert report.outcomes == {DUPLICATE: 20, STORED: 20}


async def _always_full(key, messages, *, restores_erased, rank_times_ms):
    raise Overloaded("full")
