"""What every store does for recorded builds: S5-18, S5-22, N-10."""

from typing import Any

import numpy as np
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import ChannelKey, Degradation, Fate, Role, Rung
from backscroll_sidecar.ports import (
    AppendChange,
    EraseChange,
    ForeignMessage,
    HistoryStore,
    Signal,
    SignalChange,
    SignalKind,
    StoredUsage,
    Trial,
    UsageChange,
    UsageQuery,
    UsageRecord,
    pack_candidates,
    unpack_candidates,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    message,
    put,
    recall,
)

TENANT = ROOM.tenant
PACKED = pack_candidates(np.array([1, 2]), np.array([0.1234567, 1.0]), np.array([1, 0], np.uint8))


def usage(
    context_id: str, trigger: str = "", *, at: int = 0, key: ChannelKey = ROOM, **fields: Any
) -> UsageChange:
    record = UsageRecord(
        context_id,
        "u-alice",
        trigger,
        (2, 1),
        PACKED,
        "balanced",
        "balanced@1",
        NOON_MS + at,
        NOON_MS + 5,
        Rung.RECENT,
        (Degradation("rank", "ERROR", "semantic"),),
        100,
        4_096,
        812,
    )
    return UsageChange(key, replace(record, **fields))


def signal(user: str = "u-bob", value: float | None = 1.0, **fields: Any) -> Signal:
    given = Signal(SignalKind.FEEDBACK, user, "", value, 1.0, NOON_MS)
    return replace(given, **fields)


def tell(context_id: str, *signals: Signal, key: ChannelKey = ROOM) -> SignalChange:
    return SignalChange(key, context_id, signals)


def reply(id_: str, to: str, **fields: Any) -> AppendChange:
    return append(message(id_, reply_to=to, author="u-bot", role=Role.ASSISTANT, **fields))


async def found(store: HistoryStore, **query: Any) -> list[StoredUsage]:
    return list(await store.usage_records(TENANT, UsageQuery(**query)))


async def ids(store: HistoryStore, **query: Any) -> list[str]:
    return [one.record.context_id for one in await found(store, **query)]


async def reply_of(store: HistoryStore, context_id: str) -> int | None:
    (one,) = await found(store, context_id=context_id)
    return one.reply_seq


def test_candidates_are_packed_and_unpacked() -> None:
    assert unpack_candidates(PACKED) == [(1, 0.1235, Fate.THRESHOLD), (2, 1.0, Fate.SELECTED)]
    none = np.empty(0, np.int64)
    assert unpack_candidates(pack_candidates(none, none.astype(float), none.astype(np.uint8))) == []


class UsageContract:
    """Obligations of `UsageChange`, `SignalChange` and what is joined to them."""

    async def test_a_record_comes_back_as_it_was(self, store: HistoryStore) -> None:
        foreign = (ForeignMessage(OTHER_ROOM.channel, 7, 0.5, Fate.SELECTED),)
        change = usage("c1", "q", foreign=foreign)
        await store.apply([change, usage("c1", "other")])
        (one,) = await found(store)
        assert (one.number, one.channel, one.record) == (1, ROOM.channel, change.record)
        assert (one.reply_seq, one.user_feedback, one.success_indicator) == (None, None, None)

    async def test_pages_and_conditions(self, store: HistoryStore) -> None:
        await store.apply([usage(f"c{at}", f"q{at % 2}", at=at) for at in range(6)])
        await store.apply([usage("x", key=OTHER_ROOM, user_id="u-bob")])
        await store.apply([usage("y", key=ChannelKey("other", "room"))])
        assert await ids(store) == ["c0", "c1", "c2", "c3", "c4", "c5", "x"]
        assert await ids(store, limit=2, newest_first=True) == ["x", "c5"]
        assert await ids(store, after=4, limit=2) == ["c4", "c5"]
        assert await ids(store, channel="room", before=3) == ["c0", "c1"]
        assert await ids(store, channel="room", trigger_message_id="q1") == ["c1", "c3", "c5"]
        assert await ids(store, since_ms=NOON_MS + 2, until_ms=NOON_MS + 4) == ["c2", "c3"]
        assert await ids(store, user_id="u-bob") == ["x"]
        assert await ids(store, channel=OTHER_ROOM.channel, user_id="u-bob") == ["x"]
        assert await ids(store, context_id="c3", newest_first=True) == ["c3"]
        assert await ids(store, context_id="y") == []

    async def test_pages_of_allowed_channels(self, store: HistoryStore) -> None:
        rooms = ("a", "ab", "b", "ba", "bb", "c", "a", "bb", "ba", "z")
        for at, room in enumerate(rooms):
            who = "u-bob" if at > 5 else "u-alice"
            await store.apply(
                [usage(f"{room}{at}", at=at, key=ChannelKey(TENANT, room), user_id=who)]
            )
        await store.apply([usage("x", key=ChannelKey("other", "b"))])
        for patterns, wanted in (
            (["a"], ["a0", "a6"]),
            (["b*", "a", "ba", "none", "no*"], ["a0", "b2", "ba3", "bb4", "a6", "bb7", "ba8"]),
            (["a*", "z"], ["a0", "ab1", "a6", "z9"]),
            (["none", "no*"], []),
        ):
            allowed = AllowedChannels.of(patterns)
            assert await ids(store, allowed=allowed) == wanted
            assert await ids(store, allowed=allowed, newest_first=True) == wanted[::-1]
            assert await ids(store, allowed=allowed, user_id="u-bob") == [
                one for one in wanted if int(one[-1]) > 5
            ]
            for newest_first in (False, True):
                paged, last = list[str](), None
                while page := await found(
                    store,
                    allowed=allowed,
                    limit=2,
                    newest_first=newest_first,
                    **{"before" if newest_first else "after": last},
                ):
                    paged += [one.record.context_id for one in page]
                    last = page[-1].number
                assert paged == (wanted[::-1] if newest_first else wanted)
        allowed = AllowedChannels.of(["a"])
        assert await ids(store, allowed=allowed, channel="b") == []
        assert await ids(store, allowed=allowed, channel="a") == ["a0", "a6"]
        assert await ids(store, allowed=allowed, context_id="b2") == []
        assert await ids(store, allowed=allowed, context_id="a0") == ["a0"]

    async def test_builds_say_their_arm(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        new, old = Trial("e", "new", is_listed=True), Trial("e", "control")
        behind = Trial("e", "next", shadow_of="c1")
        await store.apply([usage("c1", "q", trial=new, knows_parent=False)])
        await store.apply([usage("c2", trial=old, key=OTHER_ROOM), usage("c3")])
        await store.apply([usage("c4", "q", trial=behind), usage("c5", trial=Trial("f", "new"))])
        await store.apply([usage("c6", trial=new, key=ChannelKey("other", "room"))])
        (one,) = await found(store, context_id="c1")
        assert (one.record.trial, one.record.knows_parent) == (new, False)
        assert await ids(store, experiment_id="e") == ["c1", "c2"]
        assert await ids(store, experiment_id="e", newest_first=True, limit=1) == ["c2"]
        assert await ids(store, experiment_id="e", arm="new") == ["c1"]
        assert await ids(store, experiment_id="e", channel=OTHER_ROOM.channel) == ["c2"]
        assert await ids(store, experiment_id="e", with_shadows=True) == ["c1", "c2", "c4"]
        assert await ids(store) == ["c1", "c2", "c3", "c5"]
        assert await ids(store, context_id="c4") == ["c4"]

    async def test_what_is_built_behind_an_answer_gets_none(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        behind = Trial("e", "next", shadow_of="c1")
        await store.apply([usage("c1", "q"), usage("c2", "q", trial=behind)])
        await store.apply([reply("a", "q")])
        assert (await reply_of(store, "c1"), await reply_of(store, "c2")) == (2, None)
        await store.apply([usage("c3", "q", trial=behind)])
        assert await reply_of(store, "c3") is None
        await store.apply([EraseChange(ROOM, ("q",), "", NOON_MS)])
        assert await ids(store, with_shadows=True) == []

    async def test_a_reply_is_joined_by_its_edge(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        await store.apply([usage("c1", "q"), usage("c2", "q")])
        await store.apply([append(message("h", reply_to="q"))])  # a person's
        assert await reply_of(store, "c2") is None
        await store.apply([reply("part", "q", is_partial=True)])
        assert await reply_of(store, "c2") is None
        await store.apply([reply("a", "q")])
        assert (await reply_of(store, "c1"), await reply_of(store, "c2")) == (None, 4)
        await store.apply([reply("b", "q")])
        assert await reply_of(store, "c2") == 4
        assert await ids(store, channel="room", reply_seq=4) == ["c2"]

    async def test_a_reply_is_joined_by_context_id(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        await store.apply([usage("c1", "q"), usage("c2", "q")])
        await store.apply([replace(reply("a", "q"), context_id="c1")])
        assert (await reply_of(store, "c1"), await reply_of(store, "c2")) == (2, None)
        again = replace(reply("a", "q"), context_id="c2")  # a duplicate answers as well
        await store.apply([again, replace(reply("b", "q"), context_id="unknown")])
        assert (await reply_of(store, "c1"), await reply_of(store, "c2")) == (2, 2)
        other = replace(append(message("o", role=Role.ASSISTANT), key=OTHER_ROOM), context_id="c1")
        await store.apply([other])
        assert await reply_of(store, "c1") == 2

    async def test_a_reply_may_come_before_the_record(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        await store.apply([reply("a", "q")])  # received at noon and 1,000 s
        await store.apply([usage("c1", "q"), usage("late", "q", at=2_000_000), usage("no")])
        assert await reply_of(store, "c1") == 2
        assert (await reply_of(store, "late"), await reply_of(store, "no")) == (None, None)

    async def test_ids_by_seq(self, store: HistoryStore) -> None:
        await put(store, message("a"), message("b"), message("c"))
        await store.apply([recall("b")])
        await store.apply([EraseChange(ROOM, ("c",), "", NOON_MS)])
        assert await store.ids_by_seq(ROOM, [1, 2, 3, 9]) == {1: "a", 2: "b"}

    async def test_feedback_is_summed_up(self, store: HistoryStore) -> None:
        await store.apply([usage("c1"), tell("c1", signal("u-bob", 1.0, text="good"))])
        await store.apply(
            [tell("c1", signal("u-eve", 0.5, at_ms=NOON_MS - 1, text="well", rating=3))]
        )
        await store.apply([tell("c1", signal(kind=SignalKind.THANKED, message_id="m", value=0.0))])
        (one,) = await found(store)
        assert (one.user_feedback, one.success_indicator) == ("good", 0.75)
        await store.apply([tell("c1", signal("u-bob", None, text="bad", at_ms=NOON_MS + 1))])
        (one,) = await found(store)
        assert (one.user_feedback, one.success_indicator) == ("bad", 0.5)
        told = await store.signals(TENANT, ["c1", "other"])
        assert [(one.kind, one.user_id, one.value, one.rating) for one in told["c1"]] == [
            ("feedback", "u-eve", 0.5, 3),
            ("thanked", "u-bob", 0.0, 0),
            ("feedback", "u-bob", None, 0),
        ]
        assert list(told) == ["c1"]

    async def test_what_is_read_replaces_what_was_read(self, store: HistoryStore) -> None:
        thanks = signal(kind=SignalKind.THANKED, message_id="m")
        await store.apply([usage("c1"), tell("c1", signal(), thanks)])
        again = replace(tell("c1", replace(thanks, message_id="m2")), is_reading=True)
        await store.apply([again])
        told = await store.signals(TENANT, ["c1"])
        assert [(one.kind, one.message_id) for one in told["c1"]] == [
            ("feedback", ""),
            ("thanked", "m2"),
        ]
        await store.apply([replace(tell("c1"), is_reading=True)])
        assert [one.kind for one in (await store.signals(TENANT, ["c1"]))["c1"]] == ["feedback"]

    async def test_feedback_to_what_is_not_recorded_is_not_kept(self, store: HistoryStore) -> None:
        await store.apply([usage("c1"), tell("unknown", signal())])
        await store.apply([tell("c1", signal(), key=OTHER_ROOM)])
        assert await store.signals(TENANT, ["c1", "unknown"]) == {}

    async def test_what_is_erased_leaves_the_records(self, store: HistoryStore) -> None:
        await put(store, message("q"), message("m", author="u-bob"))
        await store.apply([usage("c1", "q"), usage("c2", user_id="u-bob"), usage("c3")])
        await store.apply([tell("c3", signal("u-bob", 0.0), signal("u-eve", 1.0))])
        await store.apply([tell("c2", signal("u-eve"))])
        (applied,) = await store.apply([EraseChange(ROOM, (), "u-bob", NOON_MS)])
        assert await ids(store) == ["c1", "c3"]
        assert applied.receipt is not None
        assert applied.receipt.counts["usage_records"] == 1
        assert applied.receipt.counts["signals"] == 2
        (_, kept) = await found(store)
        assert kept.success_indicator == 1.0
        await store.apply([EraseChange(ROOM, ("q",), "", NOON_MS)])
        assert await ids(store) == ["c3"]

    async def test_a_channel_takes_along_what_names_it(self, store: HistoryStore) -> None:
        foreign = (ForeignMessage(ROOM.channel, 1, 0.5, Fate.SELECTED),)
        await put(store, message("q"))
        await store.apply([usage("c1"), usage("c2", key=OTHER_ROOM, foreign=foreign)])
        await store.apply([usage("c3", key=OTHER_ROOM), tell("c1", signal())])
        await store.apply([EraseChange(ROOM, (), "", NOON_MS)])
        assert await ids(store) == ["c3"]
        assert await store.signals(TENANT, ["c1"]) == {}

    async def test_old_records_go_as_others_come(self, store: HistoryStore) -> None:
        await store.apply([usage(f"old{n}", at=n) for n in range(20)])
        await store.apply([usage("x", key=ChannelKey("other", "room")), tell("old0", signal())])
        await store.apply([replace(usage("c1", at=1_000), drops_before_ms=NOON_MS + 19)])
        assert await ids(store) == ["old16", "old17", "old18", "old19", "c1"]
        assert await store.signals(TENANT, ["old0"]) == {}
        await store.apply([replace(usage("c2", at=1_000), drops_before_ms=NOON_MS + 19)])
        assert await ids(store) == ["old19", "c1", "c2"]
        assert len(await store.usage_records("other")) == 1

    async def test_an_erased_answer_is_forgotten(self, store: HistoryStore) -> None:
        await put(store, message("q"))
        await store.apply([usage("c1", "q"), reply("a", "q")])
        assert await reply_of(store, "c1") == 2
        await store.apply([EraseChange(ROOM, ("a",), "", NOON_MS)])
        assert await reply_of(store, "c1") is None

    async def test_a_retracted_message_says_nothing(self, store: HistoryStore) -> None:
        await put(store, message("m"))
        read = signal(kind=SignalKind.CORRECTED, message_id="m", value=0.0)
        await store.apply([usage("c1"), tell("c1", read, signal())])
        await store.apply([recall("m")])
        told = await store.signals(TENANT, ["c1"])
        assert [one.kind for one in told["c1"]] == ["feedback"]
