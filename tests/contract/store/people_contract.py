"""What every store knows of people (P-27)."""

import pytest

from backscroll_sidecar.domain import Author, AuthorKind, ChannelKey, Member, Message, Stay
from backscroll_sidecar.ports import HistoryStore, MembersChange
from tests.contract.store.builders import NOON_MS, OTHER_ROOM, ROOM, append, edit, message, put

Times = tuple[int | None, int | None]


def members(*given: Member, at: int = 0, key: ChannelKey = ROOM) -> MembersChange:
    return MembersChange(key, given, NOON_MS + at)


def alice(name: str, *, at: int, id_: str = "") -> Message:
    return message(id_ or f"m{at}", at=at, author=Author("u-alice", name))


class PeopleContract:
    """Obligations of members: authors are members, renames keep the old name."""

    async def test_authors_become_members(self, store: HistoryStore) -> None:
        """P-27: seen once, reported once, ordered by user id; of that channel only."""
        bot = Author("u-bot", "Bot", AuthorKind.BOT)
        (applied,) = await store.apply([append(
            message("m1", author=bot), message("m2"), message("m3"),
        )])  # fmt: skip
        expected = [Member("u-alice", "Alice"), Member("u-bot", "Bot", kind=AuthorKind.BOT)]
        assert list(await store.members(ROOM)) == expected
        assert sorted(applied.members, key=lambda m: m.user_id) == expected
        assert (await store.load_channel(ROOM)).members == expected
        assert list(await store.members(OTHER_ROOM)) == []
        (again,) = await store.apply([append(message("m4"))])
        assert again.members == ()

    async def test_a_new_name_pushes_the_old_one(self, store: HistoryStore) -> None:
        """P-27: newest first, no repeats; a name come back leaves the list."""
        await put(store, alice("Alice", at=1), alice("Ali", at=2))
        (applied,) = await store.apply([append(alice("Al", at=3), alice("Alice", at=4))])
        (member,) = await store.members(ROOM)
        assert member == Member("u-alice", "Alice", former_names=("Al", "Ali"))
        assert applied.members == (member,)

    async def test_an_older_message_does_not_rename(self, store: HistoryStore) -> None:
        """An import of what was before: the name is remembered as a former one."""
        await put(store, alice("Alice", at=10), alice("Young", at=5), alice("Younger", at=4))
        await put(store, alice("Alice", at=20), alice("Wrong", at=15))
        (member,) = await store.members(ROOM)
        assert member.name == "Alice"
        assert member.former_names == ("Young", "Younger", "Wrong")

    async def test_no_name_changes_nothing(self, store: HistoryStore) -> None:
        """A sender that only knows ids."""
        await put(store, alice("", at=1), alice("Alice", at=2), alice("", at=3))
        assert list(await store.members(ROOM)) == [Member("u-alice", "Alice")]

    async def test_any_name_is_better_than_none(self, store: HistoryStore) -> None:
        """Somebody told of by id only, named by a message of before."""
        await store.apply([members(Member("u-alice"), at=10)])
        await put(store, alice("Alice", at=5))
        assert list(await store.members(ROOM)) == [Member("u-alice", "Alice")]

    async def test_the_kind_follows_the_newest_message(self, store: HistoryStore) -> None:
        """Somebody turns out to be a bot."""
        await put(store, alice("Alice", at=1))
        bot = Author("u-alice", "Alice", AuthorKind.BOT)
        (applied,) = await store.apply([append(message("m2", at=2, author=bot))])
        assert applied.members == (Member("u-alice", "Alice", kind=AuthorKind.BOT),)

    async def test_duplicates_and_edits_rename_nobody(self, store: HistoryStore) -> None:
        """N-08: only a message that is stored shows a name."""
        await put(store, alice("Alice", at=1, id_="m1"))
        await put(store, alice("Impostor", at=1, id_="m1"))
        await store.apply([edit("m1", "x", author=Author("u-alice", "Impostor"))])
        assert list(await store.members(ROOM)) == [Member("u-alice", "Alice")]

    async def test_people_can_be_told_of(self, store: HistoryStore) -> None:
        """P-27: before they ever write; the channel is then known."""
        given = Member("u-eve", "Eve", ("evie", "小夜"), AuthorKind.BOT, 5, 9)
        (applied,) = await store.apply([members(given)])
        assert applied.members == (given,)
        assert list(await store.members(ROOM)) == [given]
        info = await store.channel_info(ROOM)
        assert info is not None
        assert (info.message_count, info.last_seq) == (0, 0)
        (again,) = await store.apply([members(given)])
        assert (again.members, again.error) == ((), None)

    async def test_writing_keeps_what_was_told(self, store: HistoryStore) -> None:
        """P-27: aliases, joining and leaving are not a message's business."""
        await store.apply(
            [members(Member("u-alice", "Alice", ("al",), joined_at_ms=5, left_at_ms=9))]
        )
        await put(store, alice("Alicia", at=1))
        assert list(await store.members(ROOM)) == [
            Member("u-alice", "Alicia", ("al",), AuthorKind.HUMAN, 5, 9, ("Alice",))
        ]

    async def test_a_name_told_wins_until_a_newer_message(self, store: HistoryStore) -> None:
        """P-27: an older message and an equal name do not touch it."""
        await put(store, alice("Alice", at=1))
        await store.apply([members(Member("u-alice", "Alicia"), at=10)])
        await put(store, alice("Alice", at=5))
        assert [(m.name, m.former_names) for m in await store.members(ROOM)] == [
            ("Alicia", ("Alice",))
        ]
        await put(store, alice("Alice", at=11))
        assert [(m.name, m.former_names) for m in await store.members(ROOM)] == [
            ("Alice", ("Alicia",))
        ]

    async def test_an_update_keeps_what_it_does_not_say(self, store: HistoryStore) -> None:
        """P-27 as the contract has it: no name and no joining keep; aliases and leaving are replaced."""
        await store.apply(
            [members(Member("u-eve", "Eve", ("evie",), joined_at_ms=5, left_at_ms=9))]
        )
        await store.apply([members(Member("u-eve", aliases=("e",)), at=1)])
        assert list(await store.members(ROOM)) == [Member("u-eve", "Eve", ("e",), joined_at_ms=5)]
        await store.apply([members(Member("u-eve", "Eva"), at=2)])
        (member,) = await store.members(ROOM)
        assert (member.name, member.former_names, member.aliases) == ("Eva", ("Eve",), ())

    @pytest.mark.parametrize(
        ("told", "stays"),
        [
            ([(5, 9), (20, None)], [(5, 9), (20, None)]),
            ([(5, None), (None, 9), (20, None)], [(5, 9), (20, None)]),
            ([(5, 9), (20, None), (20, None), (5, 9)], [(5, 9), (20, None)]),  # told again
            ([(20, None), (5, 9)], [(5, 9), (20, None)]),  # the other way round
            ([(5, 9), (20, None), (None, 9)], [(5, 9), (20, None)]),  # the old leaving, late
            ([(5, 9), (9, None)], [(5, 9), (9, None)]),
            ([(5, None), (7, None)], [(7, None)]),  # corrected
            ([(5, 9), (None, None)], [(5, None)]),  # still there
            ([(10, 5)], [(None, 5), (10, None)]),  # left, and back again
            ([(None, None)], []),
        ],
    )
    async def test_who_comes_back_has_several_stays(
        self, store: HistoryStore, told: list[Times], stays: list[Times]
    ) -> None:
        """P-34: a joining after a known leaving begins a new stay; telling it again changes nothing."""
        for joined_at_ms, left_at_ms in told:
            one = Member("u-eve", joined_at_ms=joined_at_ms, left_at_ms=left_at_ms)
            await store.apply([members(one)])
        (member,) = await store.members(ROOM)
        assert list(member.stays) == stays
        assert (member.joined_at_ms, member.left_at_ms) == (stays[-1] if stays else (None, None))
        assert (await store.load_channel(ROOM)).members == [member]

    async def test_stays_told_whole_replace_those_known(self, store: HistoryStore) -> None:
        """P-34: all of them, a single one too; a role stays until another is told (P-03)."""
        all_of_them = Member(
            "u-eve", joined_at_ms=20, earlier_stays=(Stay(None, 3), Stay(5, 9)), role="owner",
            has_all_stays=True,
        )  # fmt: skip
        await store.apply([members(Member("u-eve", joined_at_ms=1)), members(all_of_them)])
        assert list(await store.members(ROOM)) == [all_of_them]
        one = Member("u-eve", joined_at_ms=7, has_all_stays=True)
        await store.apply([members(one)])
        assert list(await store.members(ROOM)) == [Member("u-eve", joined_at_ms=7, role="owner")]
        await put(store, message("m1", author=Author("u-eve", "Eve")))
        (member,) = await store.members(ROOM)
        assert (member.stays, member.role) == ((Stay(7, None),), "owner")

    async def test_several_updates_in_one_group(self, store: HistoryStore) -> None:
        """Later ones see earlier ones."""
        applied = await store.apply([
            append(alice("A", at=1)),
            members(Member("u-alice", "B"), Member("u-bob", "Bob"), at=2),
            append(alice("C", at=3)),
        ])  # fmt: skip
        assert [len(a.members) for a in applied] == [1, 2, 1]
        (member, _) = await store.members(ROOM)
        assert (member.name, member.former_names) == ("C", ("B", "A"))
