"""What an append answers and stores, over each store: N-08, S1-01, S5-01, P-23, P-27 and law 1."""

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    MediaPart,
    Member,
    Mention,
    MessageType,
    RefusalCode,
    Reply,
    ReplyKind,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    WarningCode,
)
from backscroll_sidecar.ports import ListQuery
from tests.kit.history import (
    CONFLICT,
    DUPLICATE,
    GONE,
    KEY,
    NOW_MS,
    REFUSED,
    STORED,
    listed,
    message,
    outcomes,
)


class TestStored:
    async def test_role_content_and_features_come_back_as_sent(self, service):
        """S1-01, S5-01: multi-line, emoji, every kind of part (P-23), reply, mentions."""
        sent = [
            message("m1", "two\nlines 😀\n你好", role=Role.USER, thread_id="t1", session_id="s1"),
            message(
                "m2", "of course", role=Role.ASSISTANT, author=Author("b", "Bot", AuthorKind.BOT)
            ),
            message("m3", "be kind", role=Role.SYSTEM),
            message(
                "m4",
                parts=(
                    TextPart("look"),
                    MediaPart("image", "https://x/cat.png", "a red bicycle", "image/png"),
                    ToolCallPart("c1", "weather", '{"city": "上海"}'),
                    ToolResultPart("c1", "weather", "rain", is_error=True),
                ),
                reply=Reply("m1", ReplyKind.QUOTE, user_id="u1"),
                mentions=(Mention("u9", "Zed", 0, 4),),
                dedupe_key="k4",
                role=Role.TOOL,
            ),
        ]
        results = await service.append(KEY, sent)
        assert outcomes(results) == [STORED] * 4
        assert [one.seq for one in results] == [1, 2, 3, 4]
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.message for row in rows] == sent
        last = rows[-1]
        assert last.analysis.text == (
            'look\n[image: a red bicycle]\n[call weather {"city": "上海"}]\n[error weather: rain]'
        )
        assert last.analysis.mention_ids == ("u9",)
        assert last.analysis.reply == Reply("m1", ReplyKind.QUOTE, user_id="u1")
        assert last.rank_time_ms == sent[3].sent_at_ms

    async def test_a_picture_is_found_by_its_alt_text(self, service):
        """P-23."""
        picture = message("m1", parts=(MediaPart("image", "u", "a red bicycle"),))
        await service.append(KEY, [picture, message("m2", "no wheels here")])
        hits = await service.search(KEY, "red bicycle")
        assert [row.message.id for row in hits.messages] == ["m1"]

    async def test_nothing_asked_nothing_stored(self, service, history):
        assert await service.append(KEY, []) == []
        assert history.store.calls["apply"] == 0


class TestOutcomes:
    async def test_each_item_has_its_own(self, service):
        """N-08, law 1: nothing twice, first wins, gone stays gone, refused by field."""
        first = message("m1", "hello")
        await service.append(KEY, [first, message("gone"), message("k1", dedupe_key="k")])
        await service.retract(KEY, "gone")
        results = await service.append(
            KEY,
            [
                first,
                message("m1", "other text"),
                replace(first, author=replace(first.author, name="Renamed")),
                message("gone"),
                message("k2", dedupe_key="k"),
                message(""),
                message("m2"),
                message("m2"),
                message("m3", "nul \0"),
                message("m4", sent_at_ms=0, reply=Reply("m4")),
            ],
        )
        assert outcomes(results) == [
            *(DUPLICATE, CONFLICT, DUPLICATE, GONE, DUPLICATE),
            *(REFUSED, STORED, DUPLICATE, REFUSED, STORED),
        ]
        assert results[2].warnings == (WarningCode.METADATA_DIFFERS,)
        assert results[4].duplicate_of == "k1"
        assert (results[5].refusal, results[5].field) == (RefusalCode.MISSING_ID, "id")
        assert (results[8].refusal, results[8].field) == (RefusalCode.NUL_CHARACTER, "parts")
        assert results[9].warnings == (WarningCode.TIME_ZERO, WarningCode.REPLY_TO_SELF)
        assert await listed(service) == ["m1", "gone", "k1", "m2", "m4"]
        stored = await service.get_message(KEY, "m4")
        assert (stored.message.sent_at_ms, stored.rank_time_ms) == (0, NOW_MS)
        assert (await service.get_message(KEY, "m1")).message == first

    async def test_only_refused_items_cost_no_commit(self, service, history):
        results = await service.append(KEY, [message(""), message("x", sent_at_ms=-1)])
        assert outcomes(results) == [REFUSED, REFUSED]
        assert history.store.calls["apply"] == 0

    async def test_sanitised_text_is_a_duplicate_of_itself(self, service):
        sent = message("m1", "half \ud83d")
        (first,) = await service.append(KEY, [sent])
        (again,) = await service.append(KEY, [sent])
        assert (first.outcome, again.outcome) == (STORED, DUPLICATE)
        assert first.warnings == again.warnings == (WarningCode.TEXT_SANITISED,)
        assert (await service.get_message(KEY, "m1")).message.text == "half \ufffd"


class TestPeople:
    async def test_a_chinese_mention_without_a_space_right_after_its_first_message(self, service):
        """P-27: the author was never seen before this batch."""
        await service.append(
            KEY,
            [
                message("m1", "大家好", author=Author("u7", "小黑")),
                message("m2", "@小黑你好", author=Author("u8", "小白")),
                message("m3", "小白：在吗", author=Author("u7", "小黑")),
            ],
        )
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.analysis.mention_ids for row in rows] == [(), ("u7",), ("u8",)]
        assert rows[1].analysis.reply == Reply("m1", ReplyKind.MENTION, True, "u7")
        assert rows[1].message.reply is None, "an inferred edge is not the sender's"

    async def test_a_rename_keeps_old_and_new_names(self, service, open_history, history):
        """P-27, in memory and after a restart."""
        await service.append(KEY, [message("m1", author=Author("u1", "Tom"))])
        await service.append(KEY, [message("m2", author=Author("u1", "Tommy"), sent_at_ms=NOW_MS)])

        async def mentioned(service, id: str) -> list[tuple[str, ...]]:
            both = [message(f"{id}a", "hi @Tom"), message(f"{id}b", "hi @Tommy")]
            both = [replace(one, author=Author("u2", "Ann")) for one in both]
            await service.append(KEY, both)
            rows = await service.get_messages(KEY, [f"{id}a", f"{id}b"])
            return [rows[f"{id}a"].analysis.mention_ids, rows[f"{id}b"].analysis.mention_ids]

        assert await mentioned(service, "x") == [("u1",), ("u1",)]
        await open_history.close(history)
        again = (await open_history()).service
        assert await mentioned(again, "y") == [("u1",), ("u1",)]
        (tom,) = [one for one in await again.members(KEY) if one.user_id == "u1"]
        assert (tom.name, tom.former_names) == ("Tommy", ("Tom",))

    async def test_members_told_are_found_and_removed_aliases_are_not(self, service):
        await service.upsert_members(KEY, [Member("u5", "Nova", aliases=("nv", "星"))])
        await service.append(KEY, [message("m1", "@nv hi"), message("m2", "@星在吗")])
        await service.upsert_members(KEY, [Member("u5", aliases=("nv",))])
        await service.append(KEY, [message("m3", "@nv hi"), message("m4", "@星在吗")])
        rows = await service.list_messages(KEY, ListQuery())
        assert [row.analysis.mention_ids for row in rows] == [("u5",), ("u5",), ("u5",), ()]

    async def test_an_answer_to_a_question_is_one(self, service):
        """S5-04: what a reply answers is known in the batch, from memory and from the store."""
        await service.append(KEY, [message("q", "who has the keys?", author="u1")])
        reply = Reply("q")
        await service.append(
            KEY,
            [
                message("a", "in the kitchen drawer", author="u2", reply=reply),
                message("b", "in the kitchen drawer", author="u2", reply=Reply("a")),
            ],
        )
        rows = await service.list_messages(KEY, ListQuery())
        types = [row.analysis.message_type for row in rows]
        assert types[:2] == [MessageType.QUESTION, MessageType.ANSWER]
        assert types[2] is not MessageType.ANSWER
