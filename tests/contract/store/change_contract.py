"""What every store does with edits, recalls, erasures and events (N-08, N-10; law 1)."""

from typing import Any

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    Author,
    Embedding,
    Event,
    MediaPart,
    Mention,
    MessageState,
    Reply,
    Role,
)
from backscroll_sidecar.errors import Gone, NotFound, Reason
from backscroll_sidecar.ports import (
    RECEIPT_STORES,
    Applied,
    Change,
    ChannelRows,
    EraseChange,
    EventQuery,
    EventsChange,
    HistoryStore,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    comparable,
    edit,
    everything,
    ids,
    message,
    put,
    recall,
    rows,
)


def erase(*message_ids: str, user_id: str = "") -> EraseChange:
    return EraseChange(ROOM, message_ids, user_id, NOON_MS)


def went(applied: Applied) -> dict[str, int]:
    """What a receipt says went."""
    assert applied.receipt is not None
    assert set(applied.receipt.counts) == RECEIPT_STORES
    return {name: count for name, count in applied.receipt.counts.items() if count}


class ChangeContract:
    """Obligations of `apply` for everything but appends and members."""

    async def test_what_replaces_a_message_takes_it_away_in_the_same_change(
        self, store: HistoryStore
    ) -> None:
        await put(store, message("old", "at nine"), message("next", reply_to="old"))
        (applied,) = await store.apply([replace(append(message("new", "at ten")), replaces="old")])
        assert [row.message.id for row in applied.stored] == ["old", "new"]
        found = await rows(store)
        assert (found["old"].state, found["old"].message.text) == (MessageState.RECALLED, "")
        assert (found["new"].state, found["new"].message.text) == (MessageState.LIVE, "at ten")

    async def test_what_is_not_stored_replaces_nothing(self, store: HistoryStore) -> None:
        """Nor does a message itself; and where there is nothing to replace, what is new is stored all the same."""
        await put(store, message("old", "at nine"), message("taken", "mine"))
        for sent in (message("taken", "other words"), message("old", "at nine")):
            await store.apply([replace(append(sent), replaces="old")])
            assert (await rows(store))["old"].message.text == "at nine"
        (applied,) = await store.apply([replace(append(message("more")), replaces="never stored")])
        assert applied.error is None
        assert "more" in await rows(store)

    async def test_an_edit_is_a_new_revision(self, store: HistoryStore) -> None:
        """N-08: parts, mentions and analysis are replaced, everything else stays; an event tells of it."""
        sent = message(
            "m1", "one", role=Role.ASSISTANT, thread_id="t", reply_to="x", dedupe_key="k"
        )
        await put(store, sent, message("m2"))
        change = edit("m1", "two words", at=5, mentions=(Mention("u-bob"),), role=Role.USER)
        (applied,) = await store.apply([change])
        stored = (await rows(store))["m1"]
        assert applied.stored == (stored,)
        assert stored.message == replace(
            sent, parts=change.message.parts, mentions=change.message.mentions
        )
        assert stored.analysis == change.analysis
        assert (stored.seq, stored.revision, stored.rank_time_ms) == (1, 1, NOON_MS)
        (event,) = [one.event for one in await store.events(ROOM)]
        assert (event.type, event.at_ms) == ("message.edited", NOON_MS + 5)
        assert event.payload == {"message_id": "m1", "revision": 1}

    async def test_an_edit_sent_again_changes_nothing(self, store: HistoryStore) -> None:
        """N-08: in the group, later, and after another edit replaced it."""
        await put(store, message("m1", "one"))
        two, three = edit("m1", "two", at=1), edit("m1", "three", at=2)
        applied = [*await store.apply([two, two]), *await store.apply([two, three, two])]
        assert [len(a.stored) for a in applied] == [1, 0, 0, 1, 0]
        assert not any(a.error for a in applied)
        stored = (await rows(store))["m1"]
        assert (stored.message.text, stored.revision) == ("three", 2)
        assert len(await store.events(ROOM)) == 2

    async def test_an_edit_back_to_an_earlier_text_is_an_edit(self, store: HistoryStore) -> None:
        """Only an edit no newer than the revision it equals is a retry."""
        await put(store, message("m1", "one"))
        await store.apply([edit("m1", "two", at=1), edit("m1", "one", at=2)])
        stored = (await rows(store))["m1"]
        assert (stored.message.text, stored.revision) == ("one", 2)

    async def test_an_edit_of_what_no_text_shows_is_an_edit(self, store: HistoryStore) -> None:
        """Another picture under the same words."""
        await put(store, message("m1", parts=(MediaPart("image", "u1", "cat"),)))
        await store.apply([edit("m1", "", parts=(MediaPart("image", "u2", "cat"),))])
        assert (await rows(store))["m1"].message.parts == (MediaPart("image", "u2", "cat"),)

    @pytest.mark.parametrize("change", [edit("nobody", "x"), recall("nobody")])
    async def test_what_was_never_here_is_not_found(
        self, store: HistoryStore, change: Change
    ) -> None:
        """The rest of the group goes through."""
        await put(store, message("nobody"), key=OTHER_ROOM)
        refused, done = await store.apply([change, append(message("m1"))])
        assert isinstance(refused.error, NotFound)
        assert refused.error.reason is Reason.MESSAGE_NOT_FOUND
        assert (refused.stored, done.error) == ((), None)
        assert list(await rows(store)) == ["m1"]
        assert await store.events(ROOM) == []

    async def test_a_recall_takes_the_text_and_leaves_the_place(self, store: HistoryStore) -> None:
        """N-08: no content in the row; author, time, edge, seq and metadata stay; an event tells of it."""
        sent = message(
            "m1", "secret", reply_to="m0", mentions=(Mention("u-bob"),), thread_id="t",
            author=Author("u-alice", "Alice"), dedupe_key="k",
        )  # fmt: skip
        await put(store, message("m0"), sent)
        await store.apply([edit("m1", "secret too")])
        (applied,) = await store.apply([recall("m1")])
        stored = (await rows(store))["m1"]
        assert applied.stored == (stored,)
        assert stored.state is MessageState.RECALLED
        assert stored.message == replace(sent, parts=(), mentions=())
        found = stored.analysis
        assert (found.text, found.keywords, found.mention_ids, found.token_count) == ("", (), (), 0)
        assert found.reply is None or found.reply == Reply("m0")
        assert (stored.seq, stored.revision) == (2, 1)
        assert [e.event.type for e in await store.events(ROOM)] == [
            "message.edited",
            "message.recalled",
        ]

    async def test_recalling_twice_is_no_error_and_nothing_new(self, store: HistoryStore) -> None:
        """In the group and later."""
        await put(store, message("m1"))
        applied = [
            *await store.apply([recall("m1"), recall("m1")]),
            *await store.apply([recall("m1")]),
        ]
        assert [(len(a.stored), a.error) for a in applied] == [(1, None), (0, None), (0, None)]
        assert len(await store.events(ROOM)) == 1

    async def test_what_is_gone_cannot_be_edited(self, store: HistoryStore) -> None:
        """Recalled or erased, before or in the same group; an erased one cannot be recalled either."""
        await put(store, message("m1"), message("m2"))
        applied = await store.apply([
            recall("m1"), edit("m1", "x"), erase("m2"), edit("m2", "x"), recall("m2"),
        ])  # fmt: skip
        later = await store.apply([edit("m1", "x"), edit("m2", "x")])
        for refused in (applied[1], applied[3], applied[4], *later):
            assert isinstance(refused.error, Gone)
            assert refused.error.reason is Reason.MESSAGE_GONE

    async def test_a_group_sees_its_own_changes(self, store: HistoryStore) -> None:
        """Append, edit, edit, recall of one id in one group, and a second id left half-way."""
        applied = await store.apply([
            append(message("a", "1"), message("b", "1")),
            edit("a", "2", at=1), edit("b", "2", at=1), edit("a", "3", at=2), recall("a"),
        ])  # fmt: skip
        assert [a.error for a in applied] == [None] * 5
        assert [s.message.text for a in applied for s in a.stored] == ["1", "1", "2", "2", "3", ""]
        stored = await rows(store)
        assert (stored["a"].revision, stored["a"].state) == (2, MessageState.RECALLED)
        assert (stored["b"].revision, stored["b"].message.text) == (1, "2")

    async def test_a_day_replayed_gives_the_same_state(self, store: HistoryStore) -> None:
        """N-08: appends, edits, recalls, renames sent twice, as one group and one by one."""
        day: list[Change] = [
            append(message("m1", "good morning", dedupe_key="k1"), message("m2", "hi", at=1)),
            edit("m2", "hi all", at=10),
            append(message("m3", "oops", at=20, author=Author("u-alice", "Alicia"))),
            edit("m3", "sorry", at=30),
            recall("m3", at=40),
            edit("m2", "hi everybody", at=50),
            append(message("m4", at=60, reply_to="m2", author=Author("u-alice", "Ali"))),
            recall("m1", at=70),
        ]
        await store.apply(day)
        before = await everything(store, [ROOM], ["m1", "m2", "m3", "m4"])
        again = await store.apply(day)
        for change in day:
            (applied,) = await store.apply([change])
            again = [*again, applied]
        assert await everything(store, [ROOM], ["m1", "m2", "m3", "m4"]) == before
        assert not any(a.stored or a.members for a in again)
        assert {type(a.error) for a in again} == {type(None), Gone}

    async def test_erasing_messages(self, store: HistoryStore) -> None:
        """N-10: rows, revisions, vectors and events of them go; ids stay taken; the receipt counts; others stay."""
        vector = Embedding("e1", (1.0, 2.0))
        await put(store, message("m1", embeddings=(vector,), dedupe_key="k1"), message("m2"))
        await store.apply([edit("m1", "two"), edit("m1", "three"), edit("m2", "two")])
        await store.apply([EventsChange(ROOM, "c1", (Event("e", "turn.started", "turn", 1),))])
        (applied,) = await store.apply([erase("m1", "nobody")])
        assert applied.erased_ids == ("m1",)
        assert applied.receipt is not None
        assert went(applied) == {"messages": 1, "revisions": 2, "vectors": 1, "events": 2}
        assert list(await rows(store)) == ["m2"]
        assert [e.event.type for e in await store.events(ROOM)] == [
            "message.edited",
            "turn.started",
        ]
        results = await put(store, message("m1"), message("m9", dedupe_key="k1"))
        assert [(r.outcome, r.seq) for r in results] == [(AppendOutcome.GONE, 0)] * 2
        assert results[1].duplicate_of == "m1"
        assert await store.members(ROOM) != []

    async def test_erasing_a_user(self, store: HistoryStore) -> None:
        """N-10: everything written in that channel, recalled included, and the member; nothing of others."""
        mine = [message("m1", author="u-bob"), message("m2"), message("m3", author="u-bob")]
        await put(store, *mine)
        await put(store, message("x1", author="u-bob"), key=OTHER_ROOM)
        await store.apply([recall("m3")])
        (applied,) = await store.apply([erase(user_id="u-bob")])
        assert applied.erased_ids == ("m1", "m3")
        assert applied.receipt is not None
        assert went(applied) == {"messages": 2, "events": 1, "members": 1}
        assert list(await rows(store)) == ["m2"]
        assert [m.user_id for m in await store.members(ROOM)] == ["u-alice"]
        assert ids(await store.latest_of_user("default", "u-bob", (), 9)) == ["x1"]

    async def test_erasing_a_channel(self, store: HistoryStore) -> None:
        """N-10: nothing is left but the tombstones and the seq, which is never given again."""
        await put(store, message("m1"), message("m2", author="u-bob"))
        await put(store, message("m1"), key=OTHER_ROOM)
        await store.apply([EventsChange(ROOM, "c1", (Event("e", "turn.started", "turn", 1),))])
        (applied,) = await store.apply([erase()])
        assert applied.erased_ids == ("m1", "m2")
        assert applied.receipt is not None
        assert went(applied) == {"messages": 2, "events": 1, "members": 2}
        assert await store.load_channel(ROOM) == ChannelRows([], [])
        assert await store.events(ROOM) == []
        info = await store.channel_info(ROOM)
        assert info is not None
        assert (info.message_count, info.last_seq, info.newest_message_id) == (0, 2, "")
        results = await put(store, message("m1"), message("m3"))
        assert [(r.outcome, r.seq) for r in results] == [
            (AppendOutcome.GONE, 0), (AppendOutcome.STORED, 3),
        ]  # fmt: skip
        assert list(await rows(store, OTHER_ROOM)) == ["m1"]

    async def test_what_went_with_its_channel_may_be_restored(self, store: HistoryStore) -> None:
        """An append that restores gets it back once; what was recalled or erased by name stays gone."""
        sent = [message(f"m{n}", dedupe_key=f"k{n}") for n in range(1, 6)]
        await put(store, *sent)
        await store.apply([recall("m2"), erase("m3")])
        await store.apply([erase(), erase("m4")])
        assert {r.outcome for r in await put(store, *sent)} == {AppendOutcome.GONE}
        restoring = replace(append(*sent), restores_erased=True)
        outcomes = [AppendOutcome.STORED] + [AppendOutcome.GONE] * 3 + [AppendOutcome.STORED]
        (applied,) = await store.apply([restoring])
        assert [r.outcome for r in applied.append_results] == outcomes
        (again,) = await store.apply([restoring])
        assert again.append_results[0].outcome == AppendOutcome.DUPLICATE
        assert list(await rows(store)) == ["m1", "m5"]
        await store.apply([erase("m1")])
        (last,) = await store.apply([restoring])
        assert last.append_results[0].outcome == AppendOutcome.GONE

    async def test_a_dedupe_key_restored_with_its_channel(self, store: HistoryStore) -> None:
        """Under another id too; an append that restores nothing is still told that the key is gone."""
        await put(store, message("m1", dedupe_key="k"))
        await store.apply([erase()])
        other = append(message("m2", dedupe_key="k"))
        (kept,) = await store.apply([other])
        assert kept.append_results[0].outcome == AppendOutcome.GONE
        (applied,) = await store.apply([replace(other, restores_erased=True)])
        assert applied.append_results[0].outcome == AppendOutcome.STORED

    async def test_erasing_within_a_group(self, store: HistoryStore) -> None:
        """What came before it in the group goes, what comes after stays; twice is no error."""
        applied = await store.apply([
            append(message("m1"), message("m2")), edit("m1", "x"), erase(user_id="u-alice"),
            append(message("m1"), message("m3")), erase("m1"),
        ])  # fmt: skip
        assert applied[2].erased_ids == ("m1", "m2")
        assert [r.outcome for r in applied[3].append_results] == [
            AppendOutcome.GONE, AppendOutcome.STORED,
        ]  # fmt: skip
        assert (applied[4].erased_ids, applied[4].error) == ((), None)
        assert list(await rows(store)) == ["m3"]

    async def test_events_are_kept_in_order_and_once(self, store: HistoryStore) -> None:
        """S3-15, S3-16: with their parents and payloads; by context; the same id again is ignored."""
        payload: dict[str, int | float | str | bool] = {
            "original_count": 12,
            "ratio": 0.5,
            "what": "猫\n",
            "ok": True,
            "big": 2**70,
        }
        agent = Event("e1", "agent.started", "agent", 5)
        cut = Event("e2", "context.compressed", "turn", 5, "e1", payload)
        early = Event("e3", "turn.started", "turn", 1, "e1")
        await store.apply([EventsChange(ROOM, "c1", (agent, cut, early))])
        await store.apply([EventsChange(ROOM, "c2", (agent,)), EventsChange(ROOM, "c1", (cut,))])
        of_context = await store.events(ROOM, EventQuery("c1"))
        assert [(one.context_id, one.event) for one in of_context] == [
            ("c1", agent), ("c1", cut), ("c1", early),
        ]  # fmt: skip
        every = await store.events(ROOM)
        assert [one.event for one in every] == [agent, cut, early, agent]
        assert [one.number for one in every] == sorted({one.number for one in every})
        assert await store.events(OTHER_ROOM) == []
        assert await store.channel_info(ROOM) is None

    async def test_events_by_page_and_type(self, store: HistoryStore) -> None:
        """From either end, in order of recording; other channels' events lie in between."""
        events = [Event(f"e{n}", f"type{n % 2}", "turn", 9 - n) for n in range(6)]
        for n, event in enumerate(events):
            await store.apply([EventsChange(ROOM, f"c{n % 3}", (event,))])
            await store.apply([EventsChange(OTHER_ROOM, "c0", (event,))])
        every = await store.events(ROOM)

        async def found(*args: Any, **fields: Any) -> list[str]:
            return [one.event.id for one in await store.events(ROOM, EventQuery(*args, **fields))]

        assert await found() == ["e0", "e1", "e2", "e3", "e4", "e5"]
        assert await found(limit=2) == ["e0", "e1"]
        assert await found(limit=2, after=every[1].number) == ["e2", "e3"]
        assert await found(limit=2, newest_first=True) == ["e5", "e4"]
        assert await found(newest_first=True, before=every[2].number) == ["e1", "e0"]
        assert await found(types=("type1", "none")) == ["e1", "e3", "e5"]
        assert await found("c1") == ["e1", "e4"]
        assert await found("c1", newest_first=True, types=("type0",)) == ["e4"]
        assert await found(limit=0) == await found("c9") == []

    async def test_an_event_goes_with_its_message(self, store: HistoryStore) -> None:
        """N-10: an erasure takes what tells about the message along, whatever context it belongs to."""
        await put(store, message("m1"), message("m2"))
        about = [Event(f"e{n}", "turn.ended", "turn", 1, message_id=f"m{n}") for n in range(3)]
        await store.apply([EventsChange(ROOM, "c1", tuple(about))])
        (applied,) = await store.apply([EraseChange(ROOM, ("m1",), "", NOON_MS)])
        assert applied.receipt is not None
        assert applied.receipt.counts["events"] == 1
        assert [one.event for one in await store.events(ROOM)] == [about[0], about[2]]

    async def test_the_number_of_an_event_is_never_given_again(self, store: HistoryStore) -> None:
        """Who reads on from a cursor misses nothing, also where the newest events were erased."""
        event = Event("e", "turn.started", "turn", 1)
        await store.apply([EventsChange(ROOM, "c1", (event,))])
        ((erased,), _) = (await store.events(ROOM), await store.apply([erase()]))
        await store.apply([EventsChange(ROOM, "c2", (event,))])
        (later,) = await store.events(ROOM, EventQuery(after=erased.number))
        assert later.number > erased.number

    async def test_results_stand_in_the_order_of_the_changes(self, store: HistoryStore) -> None:
        """One `Applied` a change, whatever it is."""
        changes: list[Change] = [
            recall("m1"),
            append(message("m1")),
            erase("x"),
            edit("m1", "y"),
            recall("m1"),
        ]
        applied = await store.apply(changes)
        kinds = [type(a.error) if a.error else len(a.stored) for a in applied]
        assert kinds == [NotFound, 1, 0, 1, 1]
        assert comparable(applied[2])[1] is None
