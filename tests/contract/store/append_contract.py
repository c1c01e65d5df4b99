"""What every store does with appended messages (S1-01, S5-01, P-23, N-08; law 1)."""

from typing import Any

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    Author,
    AuthorKind,
    ChannelKey,
    MediaPart,
    Mention,
    Message,
    Reply,
    ReplyKind,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    WarningCode,
)
from backscroll_sidecar.ports import AppendChange, HistoryStore
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    analysis,
    append,
    edit,
    ids,
    message,
    put,
    recall,
    rows,
)

STORED, DUPLICATE = AppendOutcome.STORED, AppendOutcome.DUPLICATE
CONFLICT, GONE = AppendOutcome.CONFLICT, AppendOutcome.GONE
HOSTILE_IDS = [
    "plain",
    "a/b/../c",
    "o'Brien",
    '"; DROP TABLE messages; --',
    "%_*?[x]",
    "back\\slash",
    "line\nbreak\ttab",
    "\u202eright to left\u200f",
    "👩‍👩‍👧‍👦",
    "e\u0301 and é",
    "群组",
    " ",
    "null",
    "0",
    "x" * 512,
    "😀" * 128,
]
TEXTS = [
    "",
    " leading and trailing ",
    "first\nsecond\r\nthird\n",
    "emoji 👩🏽‍🚀 and 汉字 and עברית",
    "'quotes' \"double\" \\ back % _",
    '{"json": [1, null]}',
    "a" * 65_536,
    "\ufeff\u2028\u202e\u0007",
]


class AppendContract:
    """Obligations of `apply` for appends."""

    @pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
    @pytest.mark.parametrize("role", list(Role))
    async def test_what_is_written_is_read_back_equal(
        self, store: HistoryStore, text: str, role: Role
    ) -> None:
        """S1-01, S5-01: role, content, times, ids; also multi-line and emoji."""
        sent = message("m1", text, role=role)
        (applied,) = await store.apply([append(sent)])
        (stored,) = (await rows(store)).values()
        assert stored.message == sent
        assert stored.analysis == analysis(sent)
        assert (stored.seq, stored.rank_time_ms, stored.revision) == (1, NOON_MS, 0)
        assert applied.stored == (stored,)

    async def test_every_field_is_read_back_equal(self, store: HistoryStore) -> None:
        """S5-01, P-23: all kinds of parts, mentions, edges, threads, sessions, keys."""
        await put(store, message("root"))
        full = message(
            "m1",
            parts=(
                TextPart("look\n"),
                MediaPart("image", "https://x/y?z=1&q='", "a cat", "image/png"),
                MediaPart("file"),
                ToolCallPart("c1", "search", '{"q": "猫"}'),
                ToolResultPart("c1", "search", "nothing", is_error=True),
            ),
            author=Author("u-bot", "Bot 🤖", AuthorKind.BOT),
            role=Role.ASSISTANT,
            thread_id="t1",
            session_id="s1",
            reply=Reply("root", ReplyKind.THREAD, inferred=True),
            mentions=(Mention("u-bob", "Bob", 0, 4), Mention("u-eve")),
            dedupe_key="k1",
        )
        found = analysis(full, keywords=("猫", 'q"'), reply=Reply("root", ReplyKind.MENTION))
        change = AppendChange(ROOM, (full,), (found,), (NOON_MS + 7,), NOON_MS + 9)
        await store.apply([change])
        stored = (await rows(store))["m1"]
        assert stored.message == full
        assert stored.analysis == found
        assert stored.rank_time_ms == NOON_MS + 7

    async def test_an_inferred_edge_is_kept_apart_from_none_sent(self, store: HistoryStore) -> None:
        """S5-02: the edge ingest found is read back, and is not the sender's."""
        await put(store, message("root"))
        plain = message("m1")
        found = analysis(plain, reply=Reply("root", inferred=True))
        await store.apply([AppendChange(ROOM, (plain,), (found,), (NOON_MS,), NOON_MS)])
        stored = (await rows(store))["m1"]
        assert stored.message.reply is None
        assert stored.analysis.reply == Reply("root", inferred=True)

    async def test_an_edge_the_analysis_dropped_is_kept_as_sent(self, store: HistoryStore) -> None:
        """A bad edge is dropped for ranking and kept as sent."""
        sent = message("m1", reply_to="m1")
        found = analysis(sent, reply=None)
        await store.apply([AppendChange(ROOM, (sent,), (found,), (NOON_MS,), NOON_MS)])
        stored = (await rows(store))["m1"]
        assert (stored.message.reply, stored.analysis.reply) == (Reply("m1"), None)

    async def test_hostile_ids_are_only_names(self, store: HistoryStore) -> None:
        """Law 4: quotes, slashes, marks, 512 bytes: as message, author, channel, thread and parent."""
        for name in HOSTILE_IDS:
            key = ChannelKey(name, name)
            child = message("child", author=name, thread_id=name, reply_to=name)
            results = await put(store, message(name), child, key=key)
            assert [r.outcome for r in results] == [STORED, STORED]
            assert list(await rows(store, key)) == [name, "child"]
            assert ids(await store.reply_tree(key, name, 10)) == [name, "child"]
            assert list(await store.get_messages(key, [name, "nobody"])) == [name]
            assert ids(await store.latest_of_user(name, name, [name], 5)) == ["child"]

    async def test_seq_counts_arrivals_of_each_channel(self, store: HistoryStore) -> None:
        """`seq` is 1, 2, … within a channel, across changes of a group and across groups."""
        await store.apply(
            [
                append(message("a"), message("b")),
                append(message("x"), key=OTHER_ROOM),
                append(message("c")),
            ]
        )
        results = await put(store, message("b"), message("d"))
        assert [s.seq for s in (await rows(store)).values()] == [1, 2, 3, 4]
        assert [r.seq for r in results] == [2, 4]
        assert [s.seq for s in (await rows(store, OTHER_ROOM)).values()] == [1]

    async def test_sending_again_is_a_duplicate(self, store: HistoryStore) -> None:
        """N-08: in the same change, in the same group, later."""
        sent = message("m1")
        first, second = await store.apply([append(sent, sent), append(sent)])
        again = await put(store, sent)
        outcomes = [r.outcome for r in (*first.append_results, *second.append_results, *again)]
        assert outcomes == [STORED, DUPLICATE, DUPLICATE, DUPLICATE]
        assert second.stored == ()
        assert len(await rows(store)) == 1

    @pytest.mark.parametrize(
        "other",
        [
            message("m1", "other text"),
            message("m1", author="u-bob"),
            message("m1", at=1),
        ],
        ids=["text", "author", "time"],
    )
    async def test_other_content_is_a_conflict_and_the_first_wins(
        self, store: HistoryStore, other: Message
    ) -> None:
        """Law 1: text, author and time make the content."""
        await put(store, message("m1"))
        (result,) = await put(store, other)
        assert (result.outcome, result.warnings, result.seq) == (CONFLICT, (), 1)
        assert (await rows(store))["m1"].message == message("m1")

    @pytest.mark.parametrize(
        "fields",
        [
            {"role": Role.ASSISTANT},
            {"author": Author("u-alice", "Alicia")},
            {"author": Author("u-alice", "Alice", AuthorKind.BOT)},
            {"thread_id": "t9"},
            {"session_id": "s9"},
            {"dedupe_key": "k9"},
            {"reply": Reply("elsewhere")},
            {"mentions": (Mention("u-bob"),)},
            {"parts": (MediaPart("image", "https://other", "cat"),)},
        ],
        ids=lambda fields: next(iter(fields)),
    )
    async def test_other_metadata_is_a_duplicate_with_a_warning(
        self, store: HistoryStore, fields: dict[str, Any]
    ) -> None:
        """Law 1: nothing is changed by it."""
        first = message("m1", parts=(MediaPart("image", "https://first", "cat"),))
        await put(store, first)
        (applied,) = await store.apply([append(replace(first, **fields))])
        (result,) = applied.append_results
        assert (result.outcome, result.warnings) == (DUPLICATE, (WarningCode.METADATA_DIFFERS,))
        assert (applied.stored, applied.members) == ((), ())
        assert (await rows(store))["m1"].message == first

    async def test_any_revision_sent_again_is_a_duplicate(self, store: HistoryStore) -> None:
        """Law 1: the first text after two edits, the second, the third; a fourth is a conflict."""
        await put(store, message("m1", "one"))
        await store.apply([edit("m1", "two", at=1), edit("m1", "three", at=2)])
        for text in ("one", "two", "three"):
            (result,) = await put(store, message("m1", text))
            assert (result.outcome, result.warnings) == (DUPLICATE, ())
        (result,) = await put(store, message("m1", "two", thread_id="t"))
        assert result.warnings == (WarningCode.METADATA_DIFFERS,)
        (result,) = await put(store, message("m1", "four"))
        assert result.outcome is CONFLICT
        assert (await rows(store))["m1"].message.text == "three"

    async def test_a_recalled_id_stays_gone(self, store: HistoryStore) -> None:
        """N-08: whatever is sent under it, in the same group too."""
        gone, again = (await store.apply([
            append(message("m1"), message("m2")), recall("m1"), append(message("m1")),
        ]))[1:]  # fmt: skip
        assert gone.error is None
        assert [r.outcome for r in again.append_results] == [GONE]
        (result,) = await put(store, message("m1", "another text"))
        assert (result.outcome, result.seq) == (GONE, 1)

    async def test_a_dedupe_key_names_the_message_it_came_with(self, store: HistoryStore) -> None:
        """N-08: a platform that redelivers under a new id; in the same group too; another channel is another matter."""
        first = message("m1", dedupe_key="k1")
        again = message("m2", dedupe_key="k1")
        (applied,) = await store.apply([append(first, again)])
        (later,) = await put(store, replace(again, id="m3"))
        for result in (applied.append_results[1], later):
            assert result.outcome is DUPLICATE
            assert result.warnings == (WarningCode.DEDUPE_KEY_SEEN,)
            assert (result.duplicate_of, result.seq) == ("m1", 0)
        (elsewhere,) = await put(store, again, key=OTHER_ROOM)
        assert elsewhere.outcome is STORED
        assert list(await rows(store)) == ["m1"]

    async def test_a_dedupe_key_of_a_gone_message_stays_gone(self, store: HistoryStore) -> None:
        """Law 1: what was recalled does not come back under a new id, in the same group or later."""
        await put(store, message("m1", dedupe_key="k1"))
        again = append(message("m2", dedupe_key="k1"))
        for applied in [*await store.apply([recall("m1"), again]), *await store.apply([again])]:
            for result in applied.append_results:
                assert (result.outcome, result.duplicate_of) == (GONE, "m1")
        assert list(await rows(store)) == ["m1"]

    async def test_an_empty_dedupe_key_is_none(self, store: HistoryStore) -> None:
        """N-08: it is optional."""
        assert [r.outcome for r in await put(store, message("m1"), message("m2"))] == [STORED] * 2

    async def test_nothing_to_do_is_nothing_done(self, store: HistoryStore) -> None:
        """An empty group, an append of nothing."""
        assert list(await store.apply([])) == []
        (applied,) = await store.apply([append()])
        assert (applied.append_results, applied.stored, applied.error) == ((), (), None)
