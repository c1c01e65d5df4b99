"""What every store answers (S1-02, S1-03, S3-08, S2-17, P-26; law 6)."""

from typing import Any

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import ChannelKey, Embedding, StoredMessage
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import (
    AppendChange,
    ChannelInfo,
    ChannelRows,
    EraseChange,
    HistoryStore,
    LastMessage,
    ListQuery,
    OverdueQuery,
    VectorsPage,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    analysis,
    append,
    edit,
    everything,
    ids,
    kept_turn,
    message,
    put,
    recall,
    rows,
    turn,
    vectors_of,
)


async def ranked(store: HistoryStore, *times: int) -> None:
    """Messages m0, m1, … that are ranked at these times."""
    sent = [message(f"m{i}") for i in range(len(times))]
    found = tuple(map(analysis, sent))
    times_ms = tuple(NOON_MS + time for time in times)
    await store.apply([AppendChange(ROOM, tuple(sent), found, times_ms, NOON_MS)])


class ReadingContract:
    """Obligations of `HistoryReader`."""

    async def test_channels_of_a_tenant_by_code_points(self, store: HistoryStore) -> None:
        """Law 6, P-22: page by page, each once, never of another tenant; what never held a row is none."""
        names = ["A", "a", "a/b", "b", "é", "猫", "😀"]
        for tenant, some in ((ROOM.tenant, names), ("other", ["c", "z"])):
            for name in some:
                await put(store, message(f"m-{name}"), key=ChannelKey(tenant, name))
        await store.apply([EraseChange(ChannelKey(ROOM.tenant, "never"), ("m1",), "", NOON_MS)])
        found: list[str] = []
        while page := await store.channels_of_tenant(
            ROOM.tenant, found[-1] if found else "", limit=3
        ):
            assert len(page) <= 3
            found += page
        assert found == names
        assert await store.channels_of_tenant("nobody", "", 3) == []
        assert await store.channels_of_tenant(ROOM.tenant, "", 0) == []

    async def test_latest_are_the_newest_oldest_first(self, store: HistoryStore) -> None:
        """S1-02, S3-08: 3 of 5, in order of time."""
        await put(store, *(message(f"m{i}", at=i) for i in range(5)))
        assert ids(await store.latest(ROOM, 3)) == ["m2", "m3", "m4"]
        assert ids(await store.latest(ROOM, 99)) == ["m0", "m1", "m2", "m3", "m4"]
        assert ids(await store.latest(ROOM, 0)) == []

    async def test_latest_goes_by_rank_time_then_arrival(self, store: HistoryStore) -> None:
        """S3-08: late arrivals find their place; recalled ones do not count."""
        await ranked(store, 5, 1, 9, 5, 9)
        assert ids(await store.latest(ROOM, 4)) == ["m0", "m3", "m2", "m4"]
        await store.apply([recall("m2")])
        assert ids(await store.latest(ROOM, 3)) == ["m0", "m3", "m4"]

    async def test_latest_of_a_user_across_channels(self, store: HistoryStore) -> None:
        """S1-03: in the channels named, or all; oldest first; live rows only."""
        third = ChannelKey("default", "third")
        for at, key in enumerate([ROOM, OTHER_ROOM, third, ROOM, OTHER_ROOM, third]):
            bob = message(f"b{at}", at=at, author="u-bob")
            await put(store, bob, message(f"a{at}", at=at), key=key)
        await store.apply([recall("b4", key=OTHER_ROOM)])
        two = [ROOM.channel, OTHER_ROOM.channel, ROOM.channel]
        assert ids(await store.latest_of_user("default", "u-bob", two, 2)) == ["b1", "b3"]
        assert ids(await store.latest_of_user("default", "u-bob", two, 9)) == ["b0", "b1", "b3"]
        assert ids(await store.latest_of_user("default", "u-bob", (), 3)) == ["b2", "b3", "b5"]
        assert ids(await store.latest_of_user("default", "u-bob", ["nowhere"], 3)) == []
        assert ids(await store.latest_of_user("default", "u-bob", (), 0)) == []
        found = await store.latest_of_user("default", "u-bob", (), 1)
        assert found[0].message.channel == "third"

    async def test_what_is_overdue_by_time_and_by_number(self, store: HistoryStore) -> None:
        """By the time of ranking; recalled and partial rows go, too, and count for nothing."""
        await put(store, *(message(f"m{n}", at=9 - n) for n in range(10)))
        await put(store, message("x"), key=OTHER_ROOM)
        await store.apply([recall("m5")])  # of time 4

        async def found(before: int, newest: int, kept: tuple[str, ...] = (), limit: int = 99):
            query = OverdueQuery(NOON_MS + before if before else 0, newest, kept, limit)
            return sorted(await store.overdue(ROOM, query))

        assert await found(0, 0) == []
        assert await found(3, 0) == await found(3, 9) == ["m7", "m8", "m9"]
        assert await found(3, 0, kept=("m8",)) == ["m7", "m9"]
        assert len(await found(3, 0, limit=2)) == 2
        assert await found(0, 6) == await found(2, 6) == ["m7", "m8", "m9"]
        assert await found(0, 5) == ["m5", "m6", "m7", "m8", "m9"]
        assert await found(0, 1) == [f"m{n}" for n in range(1, 10)]
        assert await found(0, 20) == []

    async def test_an_expiry_leaves_turns_that_do_not_show_it(self, store: HistoryStore) -> None:
        """As a retraction does; what is about the message goes, and its id stays taken."""
        await put(store, message("m1"), message("m2"))
        await store.apply([turn("t1")])
        await store.apply([EraseChange(ROOM, ("m1",), "", NOON_MS, is_expiry=True)])
        assert await kept_turn(store, "default", "t1", NOON_MS) is not None
        assert [r.outcome.value for r in await put(store, message("m1"))] == ["gone"]
        await store.apply([EraseChange(ROOM, ("m2",), "", NOON_MS)])
        assert await kept_turn(store, "default", "t1", NOON_MS) is None

    async def test_names_of_channels_by_page_and_part(self, store: HistoryStore) -> None:
        """Of one tenant, by code points; what holds no row is not among them."""
        other = ROOM._replace(tenant="other")
        for name in ("b", "Ä-1", "a", "ä-2"):
            await put(store, message(f"m-{name}", channel=name), key=ROOM._replace(channel=name))
        await put(store, message("x"), key=other)
        await store.apply([EraseChange(ROOM._replace(channel="a"), (), "", NOON_MS)])

        async def names(*asked: Any, tenant: str = "default") -> list[str]:
            found = await store.channel_infos(tenant, *asked)
            assert found == [await store.channel_info(info.key) for info in found]
            return [info.key.channel for info in found]

        assert await names("", 9) == ["b", "Ä-1", "ä-2"]
        assert await names("", 1) == ["b"]
        assert await names("b", 9) == ["Ä-1", "ä-2"]
        assert await names("", 9, "ä-") == ["Ä-1", "ä-2"]
        assert await names("ä-2", 9) == await names("", 9, "%") == await names("", 0) == []
        assert await names("", 9, tenant="other") == ["room"]

    async def test_pages_of_a_channel(self, store: HistoryStore) -> None:
        """By `seq`, exclusive bounds, from either end."""
        await put(store, *(message(f"m{i}") for i in range(1, 8)))

        async def page(**query: Any) -> list[str]:
            return ids(await store.list_messages(ROOM, ListQuery(**query)))

        assert await page(limit=3) == ["m1", "m2", "m3"]
        assert await page(limit=3, after_seq=3) == ["m4", "m5", "m6"]
        assert await page(limit=3, newest_first=True) == ["m7", "m6", "m5"]
        assert await page(limit=3, newest_first=True, before_seq=5) == ["m4", "m3", "m2"]
        assert await page(after_seq=2, before_seq=5) == ["m3", "m4"]
        assert await page(after_seq=7) == []
        assert await page(limit=0) == []

    async def test_pages_with_conditions(self, store: HistoryStore) -> None:
        """All conditions hold together; `since` inclusive, `until` exclusive, by the time sent."""
        await put(
            store,
            message("m1", at=1, thread_id="t1"),
            message("m2", at=2, author="u-bob"),
            message("m3", at=3, author="u-bob", thread_id="t1"),
            message("m4", at=4, thread_id="t1"),
        )
        await store.apply([recall("m4")])

        async def page(**query: Any) -> list[str]:
            return ids(await store.list_messages(ROOM, ListQuery(**query)))

        assert await page(author_id="u-bob") == ["m2", "m3"]
        assert await page(thread_id="t1") == ["m1", "m3"]
        assert await page(thread_id="t1", include_recalled=True) == ["m1", "m3", "m4"]
        assert await page(since_ms=NOON_MS + 2, until_ms=NOON_MS + 3) == ["m2"]
        assert await page(since_ms=0) == ["m1", "m2", "m3"]
        assert await page(author_id="u-bob", thread_id="t1", since_ms=NOON_MS) == ["m3"]
        assert await page(author_id="u-nobody") == []

    async def test_messages_by_id(self, store: HistoryStore) -> None:
        """Those that exist, recalled ones included, each once."""
        await put(store, message("m1"), message("m2"))
        await store.apply([recall("m2")])
        found = await store.get_messages(ROOM, ["m2", "nobody", "m1", "m2"])
        assert set(found) == {"m1", "m2"}
        assert found["m1"] == (await rows(store))["m1"]
        assert found["m2"].message.parts == ()
        assert await store.get_messages(ROOM, []) == {}

    async def test_where_a_channel_stands(self, store: HistoryStore) -> None:
        """P-26: newest live message by time, counts, highest seq; None for a channel never heard of."""
        assert await store.channel_info(ROOM) is None
        await ranked(store, 5, 9, 7)
        await store.apply([recall("m2")])
        assert await store.channel_info(ROOM) == ChannelInfo(ROOM, "m1", NOON_MS + 9, 2, 3)
        await store.apply([recall("m1")])
        info = await store.channel_info(ROOM)
        assert info is not None
        assert (info.newest_message_id, info.message_count, info.last_seq) == ("m0", 1, 3)

    async def test_the_newest_message_of_each_author(self, store: HistoryStore) -> None:
        """S5-14: by time, live rows only."""
        bob = message("b1", at=9, author="u-bob")
        await put(store, message("a1", at=5), message("a2", at=3), bob, message("a3", at=5))
        await store.apply([recall("b1")])
        asks = (await rows(store))["a3"].analysis.message_type
        assert await store.last_messages(ROOM) == {"u-alice": LastMessage("a3", asks)}
        assert await store.last_messages(OTHER_ROOM) == {}

    async def test_export_gives_every_row_once(self, store: HistoryStore) -> None:
        """In order of `seq`, more than a page of them, recalled ones included."""
        for start in range(0, 2_400, 800):
            await put(store, *(message(f"m{i}") for i in range(start, start + 800)))
        await store.apply([recall("m7")])
        exported = [stored async for stored in store.export(ROOM)]
        assert exported == list((await rows(store)).values())
        assert len(exported) == 2_400
        assert [stored async for stored in store.export(OTHER_ROOM)] == []

    async def test_unknown_channels_are_empty(self, store: HistoryStore) -> None:
        """No read of one is an error."""
        empty: list[Any] = [
            ChannelRows([], []),
            *[[]] * 7,
            {},
            None,
            [],
            {},
            *[[]] * 5,
            None,
            *[[]] * 19,
            *[None] * 12,
        ]
        assert await everything(store, [ROOM], ["m1"]) == empty

    async def test_tenants_never_meet(self, store: HistoryStore) -> None:
        """Law 6: the same channels, ids, keys and people in two tenants are different ones."""
        ours, theirs = ChannelKey("ours", "room"), ChannelKey("theirs", "room")
        vector = Embedding("e1", (1.0,))
        probe = ["m1", "m2", "only ours"]
        mine = [
            message("m1", "ours", dedupe_key="k1", embeddings=(vector,)),
            message("m2", "ours", reply_to="m1"),
            message("only ours", author="u-bob"),
        ]
        await put(store, *mine, key=ours)
        await store.apply([edit("m1", "ours, edited", key=ours)])
        before = await everything(store, [ours], probe)
        results = await put(
            store,
            message("m1", "theirs"),
            message("m3", dedupe_key="k1"),
            message("m4", reply_to="only ours"),
            key=theirs,
        )
        assert [r.outcome.value for r in results] == ["stored"] * 3
        assert results[2].warnings[0].value == "reply_parent_unknown"
        assert ids(await store.latest_of_user("theirs", "u-bob", (), 9)) == []
        await store.apply([recall("m1", key=theirs), edit("m3", "x", key=theirs)])
        (refused,) = await store.apply([recall("only ours", key=theirs)])
        assert refused.error is not None
        assert await everything(store, [ours], probe) == before
        assert set(await rows(store, theirs)) == {"m1", "m3", "m4"}

    async def test_vectors_are_stored_by_revision_and_embedder(self, store: Any) -> None:
        """Law 2: of the current revision, first wins; none after a recall; the backlog counts what has none."""

        def vector(embedder_id: str, *values: float) -> Embedding:
            return Embedding(embedder_id, values)

        two = (vector("e1", 1.0, -0.5), vector("e2", 3.0))
        await put(
            store, message("m1", embeddings=two), message("m2"), message("m3", embeddings=two)
        )
        stored: StoredMessage = (await rows(store))["m1"]
        assert stored.message == replace(message("m1"), embeddings=())
        found = await vectors_of(store, ROOM, "e1")
        assert [(v.seq, v.message_id, v.values.hex()) for v in found] == [
            (1, "m1", "0000803f000000bf"),
            (3, "m3", "0000803f000000bf"),
        ]
        assert await store.unembedded_count(ROOM, "e1", 2, 9) == 1
        await store.apply([recall("m3"), edit("m1", "new", embeddings=(vector("e1", 2.0),))])
        found = await vectors_of(store, ROOM, "e1")
        assert [(v.seq, v.values.hex()) for v in found] == [(1, "00000040")]
        assert await vectors_of(store, ROOM, "e2") == []
        once = message("m4", embeddings=two)
        await store.apply([append(once), edit("m4", "x", embeddings=two), recall("m4")])
        assert await vectors_of(store, ROOM, "e2") == []
        await store.apply([edit("m1", "newer", at=600)])
        assert await store.unembedded_count(ROOM, "e1", 1, 9) == 2

    async def test_vectors_come_in_pages(self, store: Any) -> None:
        """By message id, so many at most, each once; law 6: of the channel alone."""
        given = (Embedding("e1", (1.0,)),)
        names = ["m9", "m1", "m4", "m2", "x", "m7"]
        await put(store, message("a"), *(message(name, embeddings=given) for name in names))
        await put(store, message("o1", embeddings=given), key=OTHER_ROOM)
        await store.apply([recall("m4")])
        seen: list[list[tuple[str, int]]] = []
        last_id: str | None = ""
        while last_id is not None:
            page = await store.vectors(ROOM, "e1", last_id, 2)
            seen.append([(one.message_id, one.seq) for one in page.rows])
            last_id = page.last_id
        assert seen == [[("m1", 3), ("m2", 5)], [("m7", 7), ("m9", 2)], [("x", 6)]]
        assert await store.vectors(ROOM, "e1", "", 0) == VectorsPage((), None)

    async def test_no_page_of_vectors_ends_within_a_message(self, store: Any) -> None:
        """What an edited message had before does not keep its newest from being found."""
        await put(store, message("m1", embeddings=(Embedding("e1", (1.0,)),)))
        for at in (600, 700):
            change = edit("m1", f"new at {at}", at=at, embeddings=(Embedding("e1", (float(at),)),))
            await store.apply([change])
        (found,) = (await store.vectors(ROOM, "e1", "", 1)).rows
        assert found.values.hex() == "00002f44"

    async def test_a_closed_store_says_so(self, store: HistoryStore) -> None:
        """Closing twice is no error; every use after it is `StoreUnavailable`."""
        await put(store, message("m1"))
        await store.close()
        await store.close()
        for use in (
            store.apply([append(message("m2"))]),
            store.load_channel(ROOM),
            store.latest(ROOM, 1),
            store.members(ROOM),
            store.latest_of_user("default", "u-alice", (), 1),
            anext(store.export(ROOM)),
        ):
            with pytest.raises(StoreUnavailable):
                await use
