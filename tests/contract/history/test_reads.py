"""Reading and searching history, over each store: S1-03, P-26, P-27."""

import pytest

from backscroll_sidecar.domain import Member
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.history import reads
from backscroll_sidecar.ports import ListQuery
from tests.kit.history import KEY, NOW_MS, found, message, talk


class TestReads:
    @pytest.mark.parametrize(
        ("query", "field"),
        [
            (ListQuery(author_id="x" * 600), "author_id"),
            (ListQuery(thread_id="\ud800"), "thread_id"),
            (ListQuery(before_seq=2**70), "before_seq"),
            (ListQuery(since_ms=-(2**70)), "since_ms"),
        ],
    )
    async def test_no_query_reaches_the_store_that_it_cannot_take(self, service, query, field):
        with pytest.raises(InvalidRequest) as caught:
            await service.list_messages(KEY, query)
        assert caught.value.field == field
        with pytest.raises(InvalidRequest):
            await service.get_messages(KEY, ["\ud800"])

    async def test_a_clock_that_is_fast_hides_nothing(self, service):
        """P-26: a message from the future is as new as the moment it came, so what is said until then is not missed."""
        await service.append(
            KEY, [message("m1", sent_at_ms=NOW_MS + 600_000), message("m2", sent_at_ms=0)]
        )
        info = await service.channel_info(KEY)
        assert (info.newest_message_id, info.newest_sent_at_ms) == ("m2", NOW_MS)

    async def test_members_before_any_message(self, service):
        """P-27."""
        await service.upsert_members(KEY, [Member("u2", "Bob"), Member("u1", "Ann", ("annie",))])
        assert [one.user_id for one in await service.members(KEY)] == ["u1", "u2"]
        assert await service.upsert_members(KEY, []) == ()
        with pytest.raises(InvalidRequest):
            await service.upsert_members(KEY, [Member("")])


class TestSearch:
    async def test_words_in_any_order_newest_first(self, service):
        lines = ["the cat sat", "a cat, then it sat", "cats", "dog", "我家的猫很胖", "猫"]
        await service.append(KEY, talk(*lines))
        assert found(await service.search(KEY, "sat cat")) == ["m2", "m1"]
        assert found(await service.search(KEY, "猫")) == ["m6", "m5"]
        assert found(await service.search(KEY, "猫", 1)) == ["m6"]
        assert found(await service.search(KEY, "nothing like it")) == []

    async def test_as_it_stands(self, service):
        await service.append(KEY, talk("error E-1234 again", "it is /etc/hosts", "the the"))
        assert found(await service.search(KEY, "e-123")) == ["m1"]
        assert found(await service.search(KEY, "etc/ho")) == ["m2"]
        assert found(await service.search(KEY, "the the")) == ["m3"]

    async def test_bounded_and_says_so(self, service, monkeypatch):
        monkeypatch.setattr(reads, "SEARCH_PAGE", 4)
        monkeypatch.setattr(reads, "SEARCH_ROWS", 8)
        await service.append(KEY, talk("old cat", *["x"] * 9, "cat", *["x"] * 5))
        hits = await service.search(KEY, "cat")
        assert (found(hits), hits.scanned_count, hits.complete) == (["m11"], 8, False)
        assert (await service.search(KEY, "cat", 1)).complete
        monkeypatch.setattr(reads, "SEARCH_ROWS", 100)
        hits = await service.search(KEY, "cat")
        assert (found(hits), hits.scanned_count, hits.complete) == (["m11", "m1"], 16, True)
