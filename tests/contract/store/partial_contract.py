"""What every store does with a reply that broke off: stored once, listed, out of contexts (laws 1 and 8; S2-19)."""

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    Author,
    AuthorKind,
    Embedding,
    Message,
    MessageState,
    Role,
    WarningCode,
)
from backscroll_sidecar.ports import EraseChange, HistoryStore, ListQuery
from tests.contract.store.builders import (
    NOON_MS,
    ROOM,
    append,
    edit,
    ids,
    message,
    put,
    recall,
    rows,
)

BOT = Author("u-bot", "Bot", AuthorKind.BOT)


def broken_off(id_: str = "r1", text: str = "It is", **fields: object) -> Message:
    return message(
        id_, text, **{"author": BOT, "role": Role.ASSISTANT, "is_partial": True} | fields
    )


class PartialContract:
    """Obligations for messages with `is_partial`."""

    async def test_a_partial_reply_is_stored_as_one(self, store: HistoryStore) -> None:
        """S2-19: its whole text, its marks; in what `apply` returns and in what is read."""
        sent = broken_off(reply_to="q1", at=1)
        (applied,) = await store.apply([append(message("q1"), sent)])
        stored = (await rows(store))["r1"]
        assert applied.stored[1] == stored
        assert stored.message == sent
        assert stored.state is MessageState.PARTIAL
        assert (stored.seq, stored.analysis.text) == (2, "It is")
        assert (await rows(store))["q1"].state is MessageState.LIVE

    async def test_it_is_listed_and_kept_out_of_what_contexts_read(
        self, store: HistoryStore
    ) -> None:
        """Law 8: pages, look-ups, trees and exports have it; the newest lines and the counts of live ones do not."""
        whole = message("r0", author=BOT, at=1)
        vector = Embedding("e1", (1.0,))
        sent = broken_off(reply_to="q1", at=2, embeddings=(vector,))
        await put(store, message("q1"), whole, sent)
        assert ids(await store.list_messages(ROOM, ListQuery())) == ["q1", "r0", "r1"]
        assert ids(await store.list_messages(ROOM, ListQuery(author_id="u-bot"))) == ["r0", "r1"]
        assert ids([s async for s in store.export(ROOM)]) == ["q1", "r0", "r1"]
        assert ids(await store.reply_tree(ROOM, "q1", 9)) == ["q1", "r1"]
        assert list(await store.get_messages(ROOM, ["r1"])) == ["r1"]
        assert ids(await store.latest(ROOM, 9)) == ["q1", "r0"]
        assert ids(await store.latest_of_user("default", "u-bot", (), 9)) == ["r0"]
        last = await store.last_messages(ROOM)
        assert {author: one.id for author, one in last.items()} == {"u-alice": "q1", "u-bot": "r0"}
        info = await store.channel_info(ROOM)
        assert info is not None
        assert (info.message_count, info.last_seq, info.newest_message_id) == (2, 3, "r0")
        assert await store.unembedded_count(ROOM, "e1", 0, info.last_seq) == 2
        assert [m.user_id for m in await store.members(ROOM)] == ["u-alice", "u-bot"]

    async def test_sent_again_it_is_a_duplicate(self, store: HistoryStore) -> None:
        """Law 1: in the change, in the group, later; by its dedupe key too."""
        sent = broken_off(dedupe_key="k1")
        first, second = await store.apply([append(sent, sent), append(sent)])
        results = [*first.append_results[1:], *second.append_results, *await put(store, sent)]
        assert [(r.outcome, r.warnings) for r in results] == [(AppendOutcome.DUPLICATE, ())] * 3
        (again,) = await put(store, replace(sent, id="r2"))
        assert (again.outcome, again.duplicate_of) == (AppendOutcome.DUPLICATE, "r1")
        assert list(await rows(store)) == ["r1"]

    async def test_the_first_wins(self, store: HistoryStore) -> None:
        """Law 1: neither the whole text nor the same text without the mark makes it whole, nor the mark a whole one."""
        whole = message("r0", "It is", author=BOT, role=Role.ASSISTANT)
        await put(store, broken_off(), whole)
        longer, plain, marked = await put(
            store,
            broken_off(text="It is six.", is_partial=False),
            broken_off(is_partial=False),
            replace(whole, is_partial=True),
        )
        assert longer.outcome is AppendOutcome.CONFLICT
        for result in (plain, marked):
            assert result.outcome is AppendOutcome.DUPLICATE
            assert result.warnings == (WarningCode.METADATA_DIFFERS,)
        stored = await rows(store)
        assert (stored["r1"].message, stored["r1"].state) == (broken_off(), MessageState.PARTIAL)
        assert (stored["r0"].message, stored["r0"].state) == (whole, MessageState.LIVE)

    async def test_an_edit_changes_its_text_and_does_not_complete_it(
        self, store: HistoryStore
    ) -> None:
        """N-08: parts and analysis are replaced, everything else stays, whatever the edit says."""
        await put(store, broken_off())
        for at, says in enumerate((True, False), 1):
            (applied,) = await store.apply([edit("r1", f"It is {at}.", at=at, is_partial=says)])
            stored = (await rows(store))["r1"]
            assert applied.stored == (stored,)
            assert (stored.message.text, stored.revision) == (f"It is {at}.", at)
            assert (stored.state, stored.message.is_partial) == (MessageState.PARTIAL, True)
        await put(store, message("m1"))
        await store.apply([edit("m1", "whole", is_partial=True)])
        stored = (await rows(store))["m1"]
        assert (stored.state, stored.message.is_partial) == (MessageState.LIVE, False)

    async def test_recalled_it_is_gone_like_any_other(self, store: HistoryStore) -> None:
        """N-08: the mark goes with the text."""
        await put(store, broken_off(dedupe_key="k1"))
        (applied,) = await store.apply([recall("r1")])
        stored = (await rows(store))["r1"]
        assert applied.stored == (stored,)
        assert stored.state is MessageState.RECALLED
        assert (stored.message.parts, stored.message.is_partial) == ((), False)
        assert await store.list_messages(ROOM, ListQuery()) == []
        again, keyed = await put(store, broken_off(), broken_off("r2", dedupe_key="k1"))
        assert [again.outcome, keyed.outcome] == [AppendOutcome.GONE] * 2

    async def test_erased_it_is_gone_for_good(self, store: HistoryStore) -> None:
        """N-10: with everything else of its author."""
        await put(store, broken_off(), message("m1"))
        (applied,) = await store.apply([EraseChange(ROOM, (), "u-bot", NOON_MS)])
        assert applied.erased_ids == ("r1",)
        assert list(await rows(store)) == ["m1"]
