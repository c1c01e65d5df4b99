"""Where rows stand, and under which ids they are known: behind what they answer, whatever the clocks say; once each."""

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    Author,
    AuthorKind,
    Message,
    MessageState,
    Reply,
    Role,
    StoredMessage,
    TextPart,
    ToolCallPart,
    WarningCode,
)
from backscroll_sidecar.errors import Conflict, Gone, NotFound
from backscroll_sidecar.ports import AliasChange, AppendChange, EraseChange, HistoryStore, TurnMark
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    edit,
    ids,
    message,
    put,
    recall,
    rows,
)

BOT = Author("bot", "", AuthorKind.BOT)
MARK, OTHER_MARK = "0" * 12, "1" * 12
REPLY_1, REPLY_2 = (f"{digit * 20}{MARK}:reply" for digit in "ab")
MINUTE_MS = 60_000


async def ranked(store: HistoryStore) -> list[str]:
    """Ids in the order in which contexts show them."""
    return ids(await store.latest(ROOM, 100))


def rank(stored: StoredMessage) -> int:
    return stored.rank_time_ms - NOON_MS


def said(id_: str, text: str, *, at: int = 0, to: str = "q") -> Message:
    return message(id_, text, at=at, author=BOT, role=Role.ASSISTANT, reply_to=to)


def by_turn(*messages: Message, at: int = 0) -> AppendChange:
    """What a turn stores, so many milliseconds after noon."""
    return replace(append(*messages), turn=TurnMark(0), received_at_ms=NOON_MS + at)


def told(*messages: Message, at: int = 0) -> AppendChange:
    """What a bot appends, so many milliseconds after noon."""
    return replace(append(*messages), received_at_ms=NOON_MS + at)


def alias(message_id: str, alias_id: str) -> AliasChange:
    return AliasChange(ROOM, message_id, alias_id)


class PlaceContract:
    """Obligations of order, of aliases, and of what turns said."""

    # --- order -------------------------------------------------------------------------------

    async def test_an_answer_is_ranked_behind_what_it_answers(self, store: HistoryStore) -> None:
        """However early its clock was; the time it was sent stays."""
        await put(store, message("q", at=500), message("a", at=100, reply_to="q"))
        await put(store, message("b", at=0, reply_to="a"), message("c", at=500, reply_to="q"))
        stored = await rows(store)
        assert [rank(stored[id_]) for id_ in "qabc"] == [500, 501, 502, 500]
        assert [stored[id_].message.sent_at_ms - NOON_MS for id_ in "qabc"] == [500, 100, 0, 500]
        assert await ranked(store) == ["q", "c", "a", "b"]

    async def test_a_late_parent_moves_what_waited_for_it(self, store: HistoryStore) -> None:
        """And what answers that; in the answer they stand as they are now, in order of arrival."""
        await put(store, message("a", at=10, reply_to="q"), message("b", at=20, reply_to="a"))
        await put(store, message("c", at=900, reply_to="b"), message("d", at=5))
        (applied,) = await store.apply([append(message("q", at=600))])
        assert [(row.message.id, rank(row), row.moves) for row in applied.stored] == [
            ("a", 601, 1), ("b", 602, 1), ("q", 600, 0),
        ]  # fmt: skip
        assert await ranked(store) == ["d", "q", "a", "b", "c"]
        stored = await rows(store)
        assert [stored[id_].message.sent_at_ms - NOON_MS for id_ in "abc"] == [10, 20, 900]

    async def test_a_late_parent_of_a_late_parent(self, store: HistoryStore) -> None:
        """A row that moved may move again."""
        await put(store, message("b", at=1, reply_to="a"))
        await put(store, message("a", at=50, reply_to="q"))
        await put(store, message("q", at=90))
        stored = await rows(store)
        assert [rank(stored[id_]) for id_ in "qab"] == [90, 91, 92]
        assert stored["b"].moves == 2

    @pytest.mark.parametrize("size", [1, 7, 100])
    async def test_a_chain_that_comes_backwards(self, store: HistoryStore, size: int) -> None:
        """Each earlier by its clock than what it answers, the root last: in one batch, in several."""
        chain = [message("m0", at=1_000)]
        chain += [message(f"m{n}", at=1_000 - n, reply_to=f"m{n - 1}") for n in range(1, 100)]
        chain.reverse()
        for start in range(0, len(chain), size):
            await put(store, *chain[start : start + size])
        assert await ranked(store) == [f"m{n}" for n in range(100)]
        stored = await rows(store)
        assert [rank(stored[f"m{n}"]) for n in range(100)] == list(range(1_000, 1_100))

    async def test_what_is_inferred_moves_nothing(self, store: HistoryStore) -> None:
        """A guess is weaker than a clock."""
        guess = message("g", at=1, reply=Reply("q", inferred=True))
        await put(store, message("q", at=50), guess)
        await put(store, message("h", at=1, reply=Reply("r", inferred=True)), message("r", at=9))
        stored = await rows(store)
        assert [rank(stored[id_]) for id_ in "gh"] == [1, 1]

    async def test_a_circle_has_an_end(self, store: HistoryStore) -> None:
        """Of edges that run in a circle one is not followed."""
        await put(store, message("b", at=9, reply_to="a"), message("c", at=8, reply_to="b"))
        (result,) = await put(store, message("a", at=20, reply_to="c"))
        assert result.warnings == (WarningCode.REPLY_CYCLE,)
        stored = await rows(store)
        assert [rank(stored[id_]) for id_ in "abc"] == [20, 21, 22]

    async def test_a_recalled_answer_keeps_its_place_behind(self, store: HistoryStore) -> None:
        """Its row is still part of the tree."""
        await put(store, message("a", at=1, reply_to="q"))
        await store.apply([recall("a")])
        await put(store, message("q", at=7))
        assert rank((await rows(store))["a"]) == 8

    async def test_an_edit_keeps_the_place(self, store: HistoryStore) -> None:
        """Also in the run that moves the row."""
        await put(store, message("a", "one", at=1, reply_to="q"))
        await store.apply([append(message("q", at=7)), edit("a", "two")])
        stored = (await rows(store))["a"]
        assert (rank(stored), stored.message.text, stored.revision) == (8, "two", 1)

    # --- aliases -----------------------------------------------------------------------------

    async def test_what_answers_an_alias_answers_the_message(self, store: HistoryStore) -> None:
        """Told before and after the alias; ranked behind it; one tree from every id."""
        await put(store, message("m", at=50), message("early", at=1, reply_to="p"))
        (applied,) = await store.apply([alias("m", "p")])
        assert applied.aliases == (("p", "m"),)
        assert [(row.message.reply, rank(row)) for row in applied.stored] == [(Reply("m"), 51)]
        (late,) = await put(store, message("late", at=2, reply_to="p"))
        assert late.warnings == ()
        stored = await rows(store)
        assert [stored[id_].message.reply for id_ in ("early", "late")] == [Reply("m")] * 2
        assert [stored[id_].analysis.reply for id_ in ("early", "late")] == [Reply("m")] * 2
        for id_ in ("m", "p", "early"):
            assert ids(await store.reply_tree(ROOM, id_, 10)) == ["m", "early", "late"]

    async def test_a_message_is_found_by_any_of_its_ids(self, store: HistoryStore) -> None:
        """It tells them in the order in which they came; other channels know nothing of them."""
        await put(store, message("m"), message("n"))
        await put(store, message("m"), key=OTHER_ROOM)
        await store.apply([alias("m", "p2"), alias("p2", "p1"), alias("m", "p2")])
        found = await store.get_messages(ROOM, ["p1", "m", "p2", "n", "p3"])
        assert [(id_, row.message.id) for id_, row in found.items()] == [
            ("p1", "m"), ("m", "m"), ("p2", "m"), ("n", "n"),
        ]  # fmt: skip
        assert {row.alias_ids for id_, row in found.items() if id_ != "n"} == {("p2", "p1")}
        assert found["n"].alias_ids == ()
        assert (await store.load_channel(ROOM)).aliases == (("p1", "m"), ("p2", "m"))
        assert await store.get_messages(OTHER_ROOM, ["p1"]) == {}
        assert [one.alias_ids async for one in store.export(ROOM)] == [("p2", "p1"), ()]
        author = await store.latest_of_user("default", "u-alice", (), 10)
        assert sorted(one.alias_ids for one in author) == [(), (), ("p2", "p1")]

    async def test_nothing_is_stored_under_an_alias(self, store: HistoryStore) -> None:
        """Whatever it says: the first wins, and the sender hears which message it is."""
        await put(store, message("m"))
        await store.apply([alias("m", "p")])
        (result,) = await put(store, message("p", "something else"))
        assert (result.outcome, result.duplicate_of, result.seq) == (AppendOutcome.DUPLICATE, "m", 1)  # fmt: skip
        assert list(await rows(store)) == ["m"]

    async def test_edit_recall_and_erase_by_alias(self, store: HistoryStore) -> None:
        """Each does to the message what it does by its own id; then the alias is gone like the id."""
        await put(store, message("m"), message("n"))
        await store.apply([alias("m", "p"), alias("n", "o")])
        await store.apply([edit("p", "edited")])
        assert (await rows(store))["m"].message.text == "edited"
        await store.apply([recall("p")])
        assert (await rows(store))["m"].state is MessageState.RECALLED
        results = await put(store, message("p"), message("m"))
        assert [one.outcome for one in results] == [AppendOutcome.GONE] * 2
        (erased,) = await store.apply([EraseChange(ROOM, ("o", "p"), "", NOON_MS)])
        assert sorted(erased.erased_ids) == ["m", "n"]
        assert erased.receipt is not None
        assert erased.receipt.counts["aliases"] == 2
        results = await put(store, message("p"), message("m"), message("o"), message("n"))
        assert [one.outcome for one in results] == [AppendOutcome.GONE] * 4
        assert (await store.load_channel(ROOM)).aliases == ()

    async def test_an_alias_of_nothing_and_one_that_is_taken(self, store: HistoryStore) -> None:
        """Refused alone, with a reason."""
        await put(store, message("m"), message("n"), message("gone"), message("erased"))
        await store.apply([recall("gone"), EraseChange(ROOM, ("erased",), "", NOON_MS)])
        await store.apply([alias("m", "p")])
        refused = {
            ("nobody", "x"): NotFound, ("gone", "x"): Gone, ("erased", "x"): Gone,
            ("m", "n"): Conflict, ("n", "p"): Conflict, ("m", "erased"): Conflict,
        }  # fmt: skip
        for (message_id, alias_id), error in refused.items():
            (applied,) = await store.apply([alias(message_id, alias_id)])
            assert type(applied.error) is error
        assert (await store.load_channel(ROOM)).aliases == (("p", "m"),)

    async def test_an_alias_in_the_group_of_its_message(self, store: HistoryStore) -> None:
        """What comes later in a group sees it."""
        changes = [append(message("m")), alias("m", "p"), append(message("a", reply_to="p"))]
        *_, last = await store.apply([*changes, append(message("p"))])
        assert last.append_results[0].outcome is AppendOutcome.DUPLICATE
        assert (await rows(store))["a"].message.reply == Reply("m")

    # --- what turns said ---------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("words", "shown"),
        [
            ("We meet on Thursday.", "We meet on Thursday."),
            ("We meet on\n\n  **Thursday**.", "We meet on Thursday. "),
            ("# Plan\n- one\n- *two*", "Plan\n• one\n• two"),
            ("see [the page](https://x.org/a_b)", "see the page"),
            ("周四见面。👍", "周四见面。👍"),
            ("```py\nprint(1)\n```", "print(1)"),
        ],
    )
    async def test_a_copy_of_a_reply_is_that_reply(
        self, store: HistoryStore, words: str, shown: str
    ) -> None:
        """As platforms show it; in the same group, or later."""
        await put(store, message("q"), message("early", at=3, reply_to="p"))
        copy = message("p", shown, at=70, author=Author("bot", "Cat"), role=Role.ASSISTANT)
        changes = [by_turn(said(REPLY_1, words, at=5), at=5), told(copy, at=9 * MINUTE_MS)]
        _, applied = await store.apply(changes)
        (result,) = applied.append_results
        assert result.outcome is AppendOutcome.DUPLICATE
        assert result.warnings == (WarningCode.OWN_REPLY_SEEN,)
        assert (result.duplicate_of, result.seq) == (REPLY_1, 3)
        assert applied.aliases == (("p", REPLY_1),)
        assert [row.message.reply for row in applied.stored] == [Reply(REPLY_1)]
        assert (await store.get_messages(ROOM, ["p"]))["p"].alias_ids == ("p",)
        assert [one.name for one in await store.members(ROOM) if one.user_id == "bot"] == ["Cat"]
        (again,) = (await store.apply([told(copy, at=60 * MINUTE_MS)]))[0].append_results
        assert (again.outcome, again.duplicate_of) == (AppendOutcome.DUPLICATE, REPLY_1)

    async def test_every_reply_has_one_copy(self, store: HistoryStore) -> None:
        """Two equal replies, three messages with their words: the third was said by itself."""
        await put(store, message("q"), message("r"))
        copies = [message(f"p{n}", "ok", at=9, author=BOT, role=Role.ASSISTANT) for n in range(3)]
        await store.apply([by_turn(said(REPLY_1, "ok")), by_turn(said(REPLY_2, "ok", to="r"))])
        (applied,) = await store.apply([told(*copies)])
        assert [one.duplicate_of for one in applied.append_results] == [REPLY_1, REPLY_2, ""]
        assert list(await rows(store)) == ["q", "r", REPLY_1, REPLY_2, "p2"]

    @pytest.mark.parametrize(
        "other",
        [
            {"role": Role.USER},
            {"author": Author("bot2")},
            {"parts": (TextPart("ok!"),)},
            {"is_partial": True},
            {"at_minutes": 11},
        ],
        ids=str,
    )
    async def test_what_is_no_copy(self, store: HistoryStore, other: dict) -> None:
        """Of another role or author, with other words, broken off, or too late."""
        at = other.get("at_minutes", 1) * MINUTE_MS
        await put(store, message("q"))
        await store.apply([by_turn(said(REPLY_1, "ok"))])
        fields = {"author": BOT, "role": Role.ASSISTANT, "parts": (TextPart("ok"),)} | other
        fields.pop("at_minutes", None)
        (applied,) = await store.apply([told(message("p", **fields), at=at)])
        assert applied.append_results[0].outcome is AppendOutcome.STORED

    async def test_only_what_a_turn_said_is_copied(self, store: HistoryStore) -> None:
        """A bot that stores its own lines may say the same twice; a recalled or partial reply is no reply."""
        await put(store, message("q"), said("mine", "ok"))
        await store.apply([by_turn(said(REPLY_1, "gone")), recall(REPLY_1)])
        partial = replace(said(f"{'c' * 32}:partial:1", "half", to="r"), is_partial=True)
        await store.apply([by_turn(partial)])
        lines = [
            message(f"p{n}", text, author=BOT, role=Role.ASSISTANT)
            for n, text in enumerate(["ok", "gone", "half"])
        ]
        (applied,) = await store.apply([told(*lines)])
        assert {one.outcome for one in applied.append_results} == {AppendOutcome.STORED}

    async def test_words_beside_calls_are_said_too(self, store: HistoryStore) -> None:
        """The copy has the words alone."""
        calls = said(f"{'a' * 32}:calls:1", "let me look")
        calls = replace(calls, parts=(*calls.parts, ToolCallPart("c1", "weather")))
        await store.apply([append(message("q")), by_turn(calls)])
        copy = message("p", "let me look", author=BOT, role=Role.ASSISTANT)
        (applied,) = await store.apply([told(copy)])
        assert applied.append_results[0].duplicate_of == calls.id

    async def test_a_question_is_answered_once(self, store: HistoryStore) -> None:
        """By one bot: a second whole reply is refused, in the same group or later, until the first is recalled."""
        await put(store, message("q"), message("r"))
        changes = [by_turn(said(REPLY_1, "one")), by_turn(said(REPLY_2, "two"))]
        _, second = await store.apply(changes)
        for applied in (second, *await store.apply(changes[1:])):
            (result,) = applied.append_results
            assert (result.outcome, result.duplicate_of) == (AppendOutcome.CONFLICT, REPLY_1)
        await store.apply([alias("q", "p")])
        found = await store.answer_to(ROOM, "p", "bot", MARK)
        assert found is not None
        assert found.message.id == REPLY_1
        assert await store.answer_to(ROOM, "r", "bot", MARK) is None
        assert await store.answer_to(ROOM, "q", "bot2", MARK) is None
        other = replace(said(f"{'c' * 20}{MARK}:reply", "three"), author=Author("bot2"))
        (applied,) = await store.apply([by_turn(other)])
        assert applied.append_results[0].outcome is AppendOutcome.STORED
        _, applied = await store.apply([recall(REPLY_1), by_turn(said(REPLY_2, "two"))])
        assert applied.append_results[0].outcome is AppendOutcome.STORED

    async def test_other_words_about_a_message_are_another_question(
        self, store: HistoryStore
    ) -> None:
        """Each has its answer, also where the platform's copy of one came first."""
        await put(store, message("q"))
        others = [f"{digit * 20}{OTHER_MARK}:reply" for digit in "de"]
        copy = message("p", "three", author=BOT, role=Role.ASSISTANT, reply=Reply("q"))
        await store.apply([by_turn(said(REPLY_1, "one")), told(copy)])
        changes = [by_turn(said(id_, "three")) for id_ in others]
        first, second = await store.apply(changes)
        assert first.append_results[0].duplicate_of == "p"
        for applied in (second, *await store.apply(changes[1:])):
            (result,) = applied.append_results
            assert (result.outcome, result.duplicate_of) == (AppendOutcome.CONFLICT, "p")
        found = [await store.answer_to(ROOM, "q", "bot", mark) for mark in (MARK, OTHER_MARK)]
        assert [one and one.message.id for one in found] == [REPLY_1, "p"]
        assert await store.answer_to(ROOM, "q", "bot", "2" * 12) is None
