"""What every store says of reply edges, and the trees they make."""

import pytest

from backscroll_sidecar.domain import Reply, WarningCode
from backscroll_sidecar.ports import EraseChange, HistoryStore
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    ids,
    message,
    put,
    recall,
    rows,
)

UNKNOWN = (WarningCode.REPLY_PARENT_UNKNOWN,)
ELSEWHERE = (WarningCode.REPLY_PARENT_IN_OTHER_CHANNEL,)
CYCLE = (WarningCode.REPLY_CYCLE,)


class ReplyContract:
    """Obligations of edges: kept as sent, warned about, followed by `reply_tree`."""

    async def test_a_parent_stored_or_earlier_in_the_group_is_known(
        self, store: HistoryStore
    ) -> None:
        """No warning; a recalled parent keeps its place."""
        await put(store, message("old"), message("taken"))
        await store.apply([recall("taken")])
        changes = [
            append(message("p"), message("c1", reply_to="p"), message("c2", reply_to="old")),
            append(message("c3", reply_to="p"), message("c4", reply_to="taken")),
        ]
        applied = await store.apply(changes)
        assert {r.warnings for a in applied for r in a.append_results} == {()}

    async def test_an_unknown_parent_is_warned_about_and_kept(self, store: HistoryStore) -> None:
        """Also when it comes later in the same change."""
        results = await put(store, message("c", reply_to="p"), message("p"))
        assert [r.warnings for r in results] == [UNKNOWN, ()]
        assert (await rows(store))["c"].message.reply == Reply("p")

    async def test_an_erased_parent_is_unknown(self, store: HistoryStore) -> None:
        """Its row is gone."""
        await put(store, message("p"))
        await store.apply([EraseChange(ROOM, ("p",), "", NOON_MS)])
        (result,) = await put(store, message("c", reply_to="p"))
        assert result.warnings == UNKNOWN

    async def test_a_parent_of_another_channel_is_warned_about(self, store: HistoryStore) -> None:
        """Stored before, or earlier in the group; the same id here comes first."""
        await put(store, message("p"), message("q"), key=OTHER_ROOM)
        changes = [append(message("new"), key=OTHER_ROOM), append(
            message("c", reply_to="p"), message("d", reply_to="new"), message("q"),
            message("e", reply_to="q"),
        )]  # fmt: skip
        _, applied = await store.apply(changes)
        warnings = [r.warnings for r in applied.append_results]
        assert warnings == [ELSEWHERE, ELSEWHERE, (), ()]
        assert (await rows(store))["c"].message.reply == Reply("p")

    async def test_a_reply_to_itself_is_warned_about(self, store: HistoryStore) -> None:
        """And joins nothing."""
        (result,) = await put(store, message("m", reply_to="m"))
        assert result.warnings == (WarningCode.REPLY_TO_SELF,)
        assert ids(await store.reply_tree(ROOM, "m", 10)) == ["m"]

    async def test_a_late_parent_that_closes_a_circle(self, store: HistoryStore) -> None:
        """b answers a, c answers b, then a comes and answers c: stored as sent, warned about, no endless loop."""
        await put(store, message("b", reply_to="a"), message("c", reply_to="b"))
        (result,) = await put(store, message("a", reply_to="c"))
        assert result.warnings == CYCLE
        assert (await rows(store))["a"].message.reply == Reply("c")
        assert ids(await store.reply_tree(ROOM, "a", 10)) == ["b", "c", "a"]
        (result,) = await put(store, message("d", reply_to="a"))
        assert result.warnings == ()

    async def test_a_circle_within_one_change(self, store: HistoryStore) -> None:
        """The child is earlier in the same change; once with the other half stored before."""
        results = await put(store, message("b", reply_to="a"), message("a", reply_to="b"))
        assert [r.warnings for r in results] == [UNKNOWN, CYCLE]
        await put(store, message("y", reply_to="x"))
        results = await put(store, message("z", reply_to="y"), message("x", reply_to="z"))
        assert [r.warnings for r in results] == [(), CYCLE]

    async def test_a_late_parent_with_an_edge_of_its_own_is_no_circle(
        self, store: HistoryStore
    ) -> None:
        """Late alone is not wrong; nor is an answer to somebody caught in a circle."""
        await put(store, message("root"), message("c", reply_to="p"))
        (result,) = await put(store, message("p", reply_to="root"))
        assert result.warnings == ()
        await put(store, message("f", reply_to="e"), message("g", reply_to="d"))
        results = await put(store, message("e", reply_to="f"), message("d", reply_to="e"))
        assert [r.warnings for r in results] == [CYCLE, ()]

    async def test_a_tree_is_everything_joined_by_edges_as_sent(self, store: HistoryStore) -> None:
        """N-02: up and down, recalled ones included, inferred edges not, other channels not."""
        await put(
            store,
            message("root"),
            message("a", reply_to="root"),
            message("b", reply_to="root"),
            message("a1", reply_to="a"),
            message("guess", reply=Reply("a", inferred=True)),
            message("lone"),
        )
        await put(store, message("far", reply_to="root"), key=OTHER_ROOM)
        await store.apply([recall("a")])
        for id_ in ("root", "a", "b", "a1"):
            assert ids(await store.reply_tree(ROOM, id_, 10)) == ["root", "a", "b", "a1"]
        assert ids(await store.reply_tree(ROOM, "guess", 10)) == ["guess"]
        assert ids(await store.reply_tree(ROOM, "root", 2)) == ["root", "a"]
        assert ids(await store.reply_tree(ROOM, "nobody", 10)) == []

    async def test_a_parent_that_never_came_joins_its_replies(self, store: HistoryStore) -> None:
        """Two answers to the same unseen line belong together."""
        await put(store, message("a", reply_to="unseen"), message("b", reply_to="unseen"))
        assert ids(await store.reply_tree(ROOM, "a", 10)) == ["a", "b"]
        assert ids(await store.reply_tree(ROOM, "unseen", 10)) == []

    @pytest.mark.parametrize("length", [300])
    async def test_long_chains_are_followed_to_the_end(
        self, store: HistoryStore, length: int
    ) -> None:
        """A chain of hundreds, joined by its last link."""
        chain = [message(f"m{i}", reply_to=f"m{i - 1}") for i in range(1, length)]
        await put(store, *chain)
        (result,) = await put(store, message("m0", reply_to=f"m{length - 1}"))
        assert result.warnings == CYCLE
        assert len(await store.reply_tree(ROOM, "m7", 1_000)) == length
