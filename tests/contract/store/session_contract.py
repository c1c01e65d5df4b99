"""What every store does for sessions: versions of records, records kept with messages, who a message is for (S4)."""

from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import AppendOutcome, ChannelKey
from backscroll_sidecar.errors import Conflict, Gone
from backscroll_sidecar.ports import (
    SESSION,
    AppendChange,
    EraseChange,
    HistoryStore,
    RecordChange,
    StoredRecord,
    about_message,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    dropped_record,
    edit,
    message,
    put,
    recall,
    record,
    rows,
)

RECEIVED_MS = NOON_MS + 1_000_000


def versioned(id_: str, version: int, body: bytes = b"body", **given: Any) -> RecordChange:
    return replace(record(id_, body, **given), if_version=version)


def session(id_: str, *, space: str = "", at: int = 0, key: ChannelKey = ROOM) -> RecordChange:
    return record(space, kind=SESSION, owner=id_, at=at, key=key)


def with_records(change: AppendChange, *records: RecordChange) -> AppendChange:
    return replace(change, records=records)


async def pins(store: HistoryStore) -> list[tuple[str, bytes, int]]:
    return [(one.id, one.body, one.version) for one in await store.records(ROOM, "pin", NOON_MS)]


async def sessions(store: HistoryStore, **given: Any) -> list[str]:
    found = await store.updated_records("default", SESSION, NOON_MS, 10, **given)
    return [one.owner for one in found]


class SessionContract:
    """Obligations of `if_version`, `AppendChange.records`, `Message.audience` and `updated_records`."""

    async def test_versions_count_replacements(self, store: HistoryStore) -> None:
        for body in (b"1", b"2", b"3"):
            await store.apply([record("r", body)])
        assert await pins(store) == [("r", b"3", 3)]
        await store.apply([dropped_record("r"), record("r", b"4")])
        assert await pins(store) == [("r", b"4", 1)]

    async def test_a_record_of_another_version_is_not_replaced(self, store: HistoryStore) -> None:
        first = await store.apply([versioned("r", 0, b"1"), versioned("r", 0, b"x")])
        second = await store.apply([versioned("r", 1, b"2"), versioned("r", 1, b"x")])
        third = await store.apply([versioned("r", 3, b"x")])
        errors = [one.error for one in (*first, *second, *third)]
        assert [type(one) for one in errors] == [
            type(None), Conflict, type(None), Conflict, Conflict,
        ]  # fmt: skip
        assert await pins(store) == [("r", b"2", 2)]

    async def test_versions_within_one_group(self, store: HistoryStore) -> None:
        group = [record("r", b"1"), versioned("r", 1, b"2"), versioned("r", 2, b"3")]
        assert [one.error for one in await store.apply(group)] == [None, None, None]
        assert await pins(store) == [("r", b"3", 3)]

    async def test_a_deletion_may_ask_for_a_version(self, store: HistoryStore) -> None:
        await store.apply([record("r")])
        (late,) = await store.apply([replace(dropped_record("r"), if_version=2)])
        assert isinstance(late.error, Conflict)
        (early,) = await store.apply([replace(dropped_record("r"), if_version=1)])
        assert (early.error, early.deleted_records) == (None, 1)
        (anew,) = await store.apply([versioned("r", 0)])
        assert anew.error is None

    async def test_an_expired_record_has_no_version(self, store: HistoryStore) -> None:
        await store.apply([record("r", lives=5)])
        (anew,) = await store.apply([versioned("r", 0, b"2", at=6)])
        assert anew.error is None
        assert await pins(store) == [("r", b"2", 1)]

    async def test_messages_and_records_come_together(self, store: HistoryStore) -> None:
        change = with_records(append(message("m1"), message("m2")), record("a"), record("b"))
        (applied,) = await store.apply([change])
        assert [one.outcome for one in applied.append_results] == [AppendOutcome.STORED] * 2
        assert applied.records == change.records
        assert await pins(store) == [("a", b"body", 1), ("b", b"body", 1)]

    async def test_a_refused_record_takes_the_messages_along(self, store: HistoryStore) -> None:
        change = with_records(append(message("m1")), record("a"), versioned("b", 7))
        applied, other = await store.apply([change, append(message("m2"))])
        assert isinstance(applied.error, Conflict)
        assert (applied.records, applied.stored) == ((), ())
        assert other.append_results[0].seq == 1  # no number is used up
        assert await pins(store) == []
        assert set(await store.get_messages(ROOM, ["m1", "m2"])) == {"m2"}

    @pytest.mark.parametrize("twice", [False, True])
    async def test_a_refused_message_takes_the_records_along(
        self, store: HistoryStore, *, twice: bool
    ) -> None:
        """DUPLICATE is none: a retry keeps what the first try may have lost."""
        await put(store, message("m1"))
        text = "hello" if twice else "something else"
        change = with_records(append(message("m1", text), message("m2")), record("a"))
        (applied,) = await store.apply([change])
        assert bool(applied.records) is twice
        assert bool(await pins(store)) is twice
        assert set(await store.get_messages(ROOM, ["m2"])) == {"m2"}

    async def test_a_record_may_be_about_a_message_it_comes_with(self, store: HistoryStore) -> None:
        about = record("a", names=(about_message("m1"),))
        (applied,) = await store.apply([with_records(append(message("m1")), about)])
        assert applied.error is None
        await store.apply([recall("m1")])
        assert await pins(store) == []
        (late,) = await store.apply([with_records(append(message("m2")), about)])
        assert isinstance(late.error, Gone)
        assert await store.get_messages(ROOM, ["m2"]) == {}

    async def test_records_alone(self, store: HistoryStore) -> None:
        (applied,) = await store.apply([with_records(append(), record("a"), record("b"))])
        assert applied.error is None
        assert len(await pins(store)) == 2

    async def test_ids_of_sessions_may_hold_control_characters(self, store: HistoryStore) -> None:
        odd = "s\x1a0\t"
        await store.apply([session(odd, at=1), session("s2", at=2)])
        await put(store, message("m1", session_id=odd))
        assert await sessions(store) == [odd, "s2"]

    async def test_a_message_makes_its_session_newer(self, store: HistoryStore) -> None:
        await store.apply([session("s1", at=1), session("s2", at=2), session("s3", at=3)])
        assert await sessions(store) == ["s3", "s2", "s1"]
        await put(store, message("m1", session_id="s1"))
        assert await sessions(store) == ["s1", "s3", "s2"]
        (newest, *_) = await store.updated_records("default", SESSION, NOON_MS, 1)
        assert (newest.updated_at_ms, newest.version) == (RECEIVED_MS, 1)
        await put(store, message("m1", session_id="s2"))  # a duplicate
        await put(store, message("m2", session_id="s2"), key=OTHER_ROOM)
        await put(store, message("m3", session_id="nobody's"))
        assert await sessions(store) == ["s1", "s3", "s2"]

    async def test_pages_of_sessions(self, store: HistoryStore) -> None:
        await store.apply([session(f"s{i}", at=i // 2, space=str(i % 2)) for i in range(7)])
        await store.apply([session("far", at=9, key=OTHER_ROOM), record("p", kind="pin")])
        seen: list[StoredRecord] = []
        before = None
        while page := await store.updated_records("default", SESSION, NOON_MS, 3, before=before):
            seen += page
            before = (page[-1].updated_at_ms, page[-1].number)
        assert [one.owner for one in seen] == ["far", *(f"s{i}" for i in range(6, -1, -1))]
        assert await sessions(store, channel=OTHER_ROOM.channel) == ["far"]
        assert await sessions(store, id="1") == ["s5", "s3", "s1"]
        assert await store.updated_records("nobody", SESSION, NOON_MS, 3) == []
        assert await store.updated_records("default", SESSION, NOON_MS, -1) == []

    async def test_for_whom_a_message_is(self, store: HistoryStore) -> None:
        secret = message("m1", audience=("u-bob", "小黑"), session_id="s1")
        await put(store, secret, message("m2"))
        await store.apply([edit("m1", "other words")])
        found = await store.get_messages(ROOM, ["m1", "m2"])
        assert found["m1"].message.audience == ("u-bob", "小黑")
        assert found["m1"].message.text == "other words"
        assert found["m2"].message.audience == ()
        loaded = await rows(store)
        assert [one.message.audience for one in loaded.values()] == [("u-bob", "小黑"), ()]
        (again,) = await put(store, replace(secret, audience=()))
        assert [one.value for one in again.warnings] == ["metadata_differs"]

    async def test_erasing_a_channel_takes_its_sessions(self, store: HistoryStore) -> None:
        await store.apply([session("s1"), session("s2", key=OTHER_ROOM)])
        await store.apply([EraseChange(ROOM, (), "", NOON_MS)])
        assert await sessions(store) == ["s2"]
        (left,) = await store.records_of_owner("default", SESSION, "s2", NOON_MS)
        assert changed(left, number=0).version == 1
