"""Who is known when a text is analysed: P-27 (renames keep old and new names) and the cache under it."""

import asyncio

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import Author, ChannelKey, Member, MessageState, MessageType, Reply
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history.rosters import RECENT_TYPES, BatchRoster, ChannelRoster, Rosters
from backscroll_sidecar.ports import Applied, LastMessage
from tests.kit.history import KEY, NOW_MS, FakeReader, message, stored


@pytest.fixture
def reader():
    return FakeReader()


@pytest.fixture
def rosters(reader):
    return Rosters(reader)


def row(id: str, author: str, at: int = 0, seq: int = 1, **fields):
    return stored(message(id, author=author, sent_at_ms=NOW_MS + at), seq, **fields)


class TestLoading:
    async def test_names_old_and_new_and_last_messages(self, rosters, reader):
        reader.people[KEY] = [
            Member("u1", "Nova", aliases=("nv",), former_names=("Old Nova",)),
            Member("u2", "小黑"),
        ]
        reader.rows[KEY] = [row("m1", "u1"), row("m2", "u1", 5)]
        roster = await rosters.get(KEY)
        for name in ("nova", "Old Nova", "NV"):
            assert roster.user_for_name(name) == "u1"
        assert roster.user_for_name("小黑") == "u2"
        assert (roster.last_message_id("u1"), roster.last_message_id("u2")) == ("m2", None)

    async def test_once_however_many_ask(self, rosters, reader):
        reader.gate.clear()
        asking = [asyncio.create_task(rosters.get(KEY)) for _ in range(20)]
        await asyncio.sleep(0.01)
        asking[0].cancel()  # even when the one that began it goes away
        reader.gate.set()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(answers[0], asyncio.CancelledError)
        assert len({id(one) for one in answers[1:]}) == 1
        assert reader.calls["members"] == 1
        assert await rosters.get(KEY) is answers[1]
        assert reader.calls["members"] == 1

    async def test_a_failed_load_is_typed_and_tried_again(self, rosters, reader):
        reader.failure = StoreUnavailable("down")
        with pytest.raises(StoreUnavailable):
            await rosters.get(KEY)
        reader.failure = None
        reader.people[KEY] = [Member("u1", "Ann")]
        assert (await rosters.get(KEY)).user_for_name("ann") == "u1"

    async def test_commits_during_a_load_are_not_missed(self, rosters, reader):
        reader.rows[KEY] = [row("m1", "u1")]
        reader.gate.clear()
        asking = asyncio.create_task(rosters.get(KEY))
        await reader.loading.wait()
        rosters.publish(KEY, Applied(stored=(row("m2", "u1", 9, 2), row("m3", "u2", 9, 3))))
        reader.gate.set()
        roster = await asking
        assert (roster.last_message_id("u1"), roster.last_message_id("u2")) == ("m2", "m3")
        assert await rosters.get(KEY) is roster

    async def test_at_most_so_many_the_least_recently_used_goes(self, reader):
        rosters = Rosters(reader, max_rosters=3)
        keys = [ChannelKey("default", f"c{i}") for i in range(5)]
        for key in keys[:3]:
            await rosters.get(key)
        await rosters.get(keys[0])
        await rosters.get(keys[3])
        assert len(rosters) == 3
        loads = rosters.loads
        await rosters.get(keys[0])
        assert rosters.loads == loads
        await rosters.get(keys[1])
        assert rosters.loads == loads + 1, "a miss is loaded again"

    async def test_at_most_so_many_entries_the_least_recently_used_goes(self, reader):
        """What a roster grows by counts too; one that is larger alone stays beside the others."""
        rosters = Rosters(reader, max_entries=29)
        keys = [ChannelKey("default", f"c{i}") for i in range(3)]
        for key in keys:
            reader.people[key] = [Member("u1", "Ann"), Member("u2", "Ben")]
            await rosters.get(key)
        assert len(rosters) == 3
        await rosters.get(keys[0])
        rosters.publish(keys[0], Applied(stored=tuple(row(f"m{n}", "u1", n, n) for n in range(15))))
        assert len(rosters) == 2
        loads = rosters.loads
        await rosters.get(keys[0])
        await rosters.get(keys[2])
        assert rosters.loads == loads, "the one not used for longest went"
        rosters.publish(keys[2], Applied(stored=tuple(row(f"m{n}", "u1", n, n) for n in range(30))))
        assert len(rosters) == 2
        await rosters.get(keys[0])
        await rosters.get(keys[2])
        assert rosters.loads == loads
        rosters.publish(keys[0], Applied(stored=tuple(row(f"n{n}", "u1", n, n) for n in range(30))))
        assert len(rosters) == 1, "of two so large the one used last stays"
        await rosters.get(keys[2])
        assert rosters.loads == loads

    async def test_tenants_never_meet(self, rosters, reader):
        """Law 6."""
        reader.people[KEY] = [Member("u1", "Ann")]
        other = ChannelKey("other", KEY.channel)
        await rosters.get(KEY)
        rosters.publish(KEY, Applied(stored=(row("m1", "u9"),)))
        assert (await rosters.get(other)).user_for_name("Ann") is None
        assert (await rosters.get(other)).user_for_name("U9") is None


class TestCommits:
    async def test_new_rows_bring_names_and_last_messages(self, rosters):
        roster = await rosters.get(KEY)
        rosters.publish(KEY, Applied(stored=(row("m1", "u1"), row("m2", "u1", 5, 2))))
        assert (roster.user_for_name("U1"), roster.last_message_id("u1")) == ("u1", "m2")
        assert await rosters.get(KEY) is roster

    async def test_a_rename_keeps_both_names(self, rosters, reader):
        """P-27."""
        reader.people[KEY] = [Member("u1", "Tom")]
        roster = await rosters.get(KEY)
        renamed = stored(message("m1", author=Author("u1", "Tommy")))
        member = Member("u1", "Tommy", former_names=("Tom",))
        rosters.publish(KEY, Applied(stored=(renamed,), members=(member,)))
        assert roster.user_for_name("Tom") == roster.user_for_name("Tommy") == "u1"

    async def test_a_name_of_two_people_names_nobody(self, rosters):
        roster = await rosters.get(KEY)
        both = [stored(message(f"m{i}", author=Author(f"u{i}", "Tom"))) for i in (1, 2)]
        rosters.publish(KEY, Applied(stored=tuple(both)))
        assert roster.user_for_name("Tom") is None

    async def test_late_rows_do_not_become_the_last(self, rosters):
        roster = await rosters.get(KEY)
        rosters.publish(KEY, Applied(stored=(row("m1", "u1", 10),)))
        rosters.publish(KEY, Applied(stored=(row("m0", "u1", 5, 2), row("n0", "u2", 3, 3))))
        assert (roster.last_message_id("u1"), roster.last_message_id("u2")) == ("m1", "n0")

    async def test_a_late_row_of_somebody_only_read_about_is_looked_up(self, rosters, reader):
        """Whether it is newer than the last one the store knows of its author, only the store can tell."""
        reader.rows[KEY] = [row("a1", "u1", 0), row("b1", "u2", 100, 2)]
        roster = await rosters.get(KEY)
        late = row("a2", "u1", 50, 3)
        reader.rows[KEY].append(late)
        rosters.publish(KEY, Applied(stored=(late,)))
        assert (await rosters.for_batch(KEY, [])).last_message_id("u1") == "a2"
        rosters.publish(KEY, Applied(stored=(row("a3", "u1", 20, 4), row("a4", "u1", 60, 5))))
        assert (await rosters.for_batch(KEY, [])).last_message_id("u1") == "a4"
        assert reader.calls["latest_of_user"] == 1, "from then on its time is known"
        assert await rosters.get(KEY) is roster

    async def test_an_edit_of_an_old_message_changes_nothing(self, rosters):
        roster = await rosters.get(KEY)
        rows = (row("m1", "u1"), row("m2", "u1", 5, 2))
        rosters.publish(KEY, Applied(stored=rows))
        rosters.publish(KEY, Applied(stored=(replace(rows[0], revision=1),)))
        assert roster.last_message_id("u1") == "m2"
        assert await rosters.get(KEY) is roster

    async def test_the_last_message_recalled_the_one_before_is_the_last(self, rosters, reader):
        rows = [row("m1", "u1"), row("m2", "u1", 5, 2)]
        rosters.publish(KEY, Applied(stored=tuple(rows)))
        reader.rows[KEY] = rows
        await rosters.get(KEY)
        for gone, left in (("m2", "m1"), ("m1", None)):
            recalled = reader.rows[KEY].pop()
            assert recalled.message.id == gone
            recalled = replace(recalled, state=MessageState.RECALLED)
            rosters.publish(KEY, Applied(stored=(recalled,)))
            assert (await rosters.for_batch(KEY, [])).last_message_id("u1") == left
        assert rosters.loads == 1

    async def test_a_message_that_comes_in_while_the_store_is_asked_stays_the_last(
        self, rosters, reader
    ):
        rosters.publish(KEY, Applied(stored=(row("m1", "u1"),)))
        reader.rows[KEY] = [row("m1", "u1")]
        await rosters.get(KEY)
        recalled = replace(reader.rows[KEY].pop(), state=MessageState.RECALLED)
        rosters.publish(KEY, Applied(stored=(recalled,)))
        reader.rows[KEY] = []
        asking = asyncio.create_task(rosters.for_batch(KEY, []))
        await asyncio.sleep(0)
        assert reader.calls["latest_of_user"] == 1
        rosters.publish(KEY, Applied(stored=(row("m2", "u1", 9, 2),)))
        assert (await asking).last_message_id("u1") == "m2"

    async def test_what_could_not_be_looked_up_is_asked_again(self, rosters, reader):
        reader.rows[KEY] = [row("m1", "u1"), row("m2", "u1", 5, 2)]
        await rosters.get(KEY)
        recalled = replace(reader.rows[KEY].pop(), state=MessageState.RECALLED)
        rosters.publish(KEY, Applied(stored=(recalled,)))
        reader.failure = StoreUnavailable("down")
        with pytest.raises(StoreUnavailable):
            await rosters.for_batch(KEY, [])
        reader.failure = None
        assert (await rosters.for_batch(KEY, [])).last_message_id("u1") == "m1"

    @pytest.mark.parametrize(
        "applied",
        [Applied(erased_ids=("m2",)), Applied(members=(Member("u1", "Ann", aliases=("a",)),))],
        ids=["erased", "an alias less"],
    )
    async def test_names_taken_away_are_loaded_anew(self, rosters, reader, applied):
        reader.people[KEY] = [Member("u1", "Ann", aliases=("a", "b"))]
        assert (await rosters.get(KEY)).user_for_name("b") == "u1"
        reader.people[KEY] = [Member("u1", "Ann", aliases=("a",))]
        rosters.publish(KEY, applied)
        assert (await rosters.get(KEY)).user_for_name("b") is None
        assert rosters.loads == 2

    async def test_people_told_cost_no_load(self, rosters, reader):
        reader.people[KEY] = [Member("u1", "Ann", aliases=("a",))]
        roster = await rosters.get(KEY)
        told = (Member("u1", "Anna", ("a", "b"), former_names=("Ann",)), Member("u2", "Bob"))
        rosters.publish(KEY, Applied(members=told))
        assert await rosters.get(KEY) is roster
        assert [roster.user_for_name(name) for name in ("Ann", "anna", "b", "bob")] == [
            *("u1", "u1", "u1", "u2")
        ]

    async def test_an_older_message_recalled_costs_no_load(self, rosters, reader):
        reader.rows[KEY] = [row("m1", "u1"), row("m2", "u1", 5, 2)]
        await rosters.get(KEY)
        recalled = row("m1", "u1", state=MessageState.RECALLED)
        rosters.publish(KEY, Applied(stored=(recalled,)))
        await rosters.get(KEY)
        assert rosters.loads == 1


def asking(one):
    return replace(one, analysis=replace(one.analysis, message_type=MessageType.QUESTION))


class TestBatches:
    def test_sees_its_own_authors_and_leaves_the_channel_alone(self):
        base = ChannelRoster([Member("u1", "Ann")], {"u1": LastMessage("m1", MessageType.CASUAL)})
        batch = BatchRoster(base)
        assert (batch.user_for_name("Ann"), batch.last_message_id("u1")) == ("u1", "m1")
        batch.note(message("m2", author=Author("u2", "小黑")), MessageType.QUESTION)
        batch.note(message("m3", author=Author("u1", "Annie")), MessageType.CASUAL)
        assert (batch.user_for_name("小黑"), batch.last_message_id("u2")) == ("u2", "m2")
        assert (batch.user_for_name("Annie"), batch.last_message_id("u1")) == ("u1", "m3")
        assert (batch.is_question("m2"), batch.is_question("m3")) == (True, False)
        assert batch.longest_name_chars == 5
        assert (base.user_for_name("小黑"), base.last_message_id("u1")) == (None, "m1")

    def test_a_partial_reply_tells_a_name_and_answers_no_mention(self):
        """Law 8: as committed, so in its batch: what came before it stays its author's last message."""
        base = ChannelRoster([Member("u1", "Tom")], {"u1": LastMessage("m0", MessageType.CASUAL)})
        partial = message("m1", author=Author("u1", "Tommy"), is_partial=True)
        base.take(Applied(stored=(stored(partial, 1, state=MessageState.PARTIAL),)))
        batch = BatchRoster(base)
        batch.note(replace(partial, id="m2", author=Author("u1", "T")), MessageType.ANSWER)
        assert [batch.user_for_name(name) for name in ("Tom", "Tommy", "T")] == ["u1"] * 3
        assert (base.last_message_id("u1"), batch.last_message_id("u1")) == ("m0", "m0")
        assert not base.unsure

    def test_a_name_shared_with_the_channel_names_nobody(self):
        batch = BatchRoster(ChannelRoster([Member("u1", "Tom")]))
        batch.note(message("m1", author=Author("u1", "Tom")), MessageType.CASUAL)
        assert batch.user_for_name("Tom") == "u1"
        batch.note(message("m2", author=Author("u2", "Tom")), MessageType.CASUAL)
        assert batch.user_for_name("tom") is None
        shared = ChannelRoster([Member("u1", "Tom"), Member("u2", "Tom")])
        batch = BatchRoster(shared)
        batch.note(message("m1", author=Author("u1", "Tom")), MessageType.CASUAL)
        assert batch.user_for_name("Tom") is None

    async def test_knows_the_messages_replied_to_with_one_read(self, rosters, reader):
        asked = row("q", "u1")
        asked = replace(asked, analysis=replace(asked.analysis, message_type=MessageType.QUESTION))
        reader.rows[KEY] = [asked, row("m", "u2", 1, 2)]
        replies = [message(f"r{id}", reply=Reply(id)) for id in ("q", "m", "q", "unheard", "rq")]
        roster = await rosters.for_batch(KEY, replies)
        assert (roster.is_question("q"), roster.is_question("m")) == (True, False)
        assert roster.is_question("unheard") is None
        assert reader.calls["get_messages"] == 1
        rosters.publish(KEY, Applied(stored=(asked,)))
        await rosters.for_batch(KEY, [message("r", reply=Reply("q")), message("s")])
        assert reader.calls["get_messages"] == 1, "what was committed here is not read again"

    def test_types_are_bounded(self):
        roster = ChannelRoster()
        for i in range(RECENT_TYPES + 10):
            roster.take(Applied(stored=(asking(row(f"m{i}", "u1", i, i + 1)),)))
        assert roster.is_question("m9") is None
        assert roster.is_question("m10") is True

    async def test_of_everybodys_newest_message_it_is_known_whether_it_asks(self, rosters, reader):
        """Law 2: who is mentioned is answered by it, however long ago it came, before a restart and after it."""
        asked = asking(row("q", "u1"))
        others = [row(f"m{i}", "u2", i + 1, i + 2) for i in range(RECENT_TYPES + 10)]
        reader.rows[KEY] = [asked, *others]
        live = ChannelRoster()
        live.take(Applied(stored=(asked, *others)))
        loaded = await rosters.get(KEY)
        assert live.is_question("q") is loaded.is_question("q") is True
        newer = row("n", "u1", 999, 999)
        for roster in (live, loaded):
            roster.take(Applied(stored=(newer, *others)))
            assert roster.is_question("n") is False
            assert roster.is_question("q") is None
