"""What is refused and what is corrected: S1-01, S5-01, P-23, each named by code and field."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    MAX_TEXT_BYTES,
    Author,
    ChannelKey,
    Embedding,
    MediaPart,
    Member,
    Mention,
    ProviderStatePart,
    RefusalCode,
    Reply,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    WarningCode,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.history import validate
from backscroll_sidecar.history.validate import (
    FUTURE_TOLERANCE_MS,
    MAX_BATCH_BYTES,
    MAX_TIME_MS,
    Accepted,
    Refused,
    check_batch_bytes,
    check_id,
    check_item_count,
    check_key,
    check_member,
    check_message,
    check_time,
)
from tests.kit.history import KEY, NOW_MS, message

LONG = "x" * 513
LONE = "\ud83d"
FULL = "x" * MAX_TEXT_BYTES
STATE = ProviderStatePart("host/v1", "openai_chat", "m", "extra_content", b"{}")


def check(one) -> Accepted | Refused:
    return check_message(KEY, one, NOW_MS)


REFUSED = [
    ({"id": ""}, "missing_id", "id"),
    ({"id": "a\0b"}, "nul_character", "id"),
    ({"id": LONG}, "id_too_long", "id"),
    ({"id": "猫" * 171}, "id_too_long", "id"),
    ({"id": LONE}, "bad_utf8", "id"),
    ({"author": Author("", "Ann")}, "missing_author", "author.id"),
    ({"author": Author(LONG)}, "id_too_long", "author.id"),
    ({"author": Author("u1", "A\0nn")}, "nul_character", "author.name"),
    ({"author": Author("u1", LONG)}, "id_too_long", "author.name"),
    ({"channel": "elsewhere"}, "wrong_channel", "channel"),
    ({"channel": ""}, "wrong_channel", "channel"),
    ({"sent_at_ms": -1}, "negative_time", "sent_at_ms"),
    ({"parts": (replace(STATE, provider=""),)}, "bad_state", "parts[0].provider_state.provider"),
    (
        {"parts": (TextPart("x"), replace(STATE, kind=""))},
        "bad_state",
        "parts[1].provider_state.kind",
    ),
    ({"parts": (replace(STATE, data=b"x" * 200_000),) * 2}, "bad_state", "parts"),
    ({"parts": (replace(STATE, api="a\0"),)}, "nul_character", "parts[0].provider_state.api"),
    ({"sent_at_ms": MAX_TIME_MS + 1}, "negative_time", "sent_at_ms"),
    ({"sent_at_ms": 2**70}, "negative_time", "sent_at_ms"),
    ({"text": "a\0b"}, "nul_character", "parts"),
    ({"text": FULL + "x"}, "text_too_large", "parts"),
    ({"text": "猫" * (MAX_TEXT_BYTES // 3 + 1)}, "text_too_large", "parts"),
    ({"parts": (TextPart(FULL), TextPart("y"))}, "text_too_large", "parts"),
    ({"parts": (MediaPart("image", alt_text=FULL),)}, "text_too_large", "parts"),
    ({"parts": (ToolCallPart("c", "t", FULL),)}, "text_too_large", "parts"),
    ({"parts": (ToolResultPart("c", "t", FULL),)}, "text_too_large", "parts"),
    ({"parts": (TextPart("x"), MediaPart("\0"))}, "nul_character", "parts[1].media.kind"),
    ({"parts": (MediaPart("image", uri="h" * 8193),)}, "id_too_long", "parts[0].media.uri"),
    ({"parts": (MediaPart("image", mime=LONE),)}, "bad_utf8", "parts[0].media.mime"),
    ({"parts": (ToolCallPart(LONG, "t"),)}, "id_too_long", "parts[0].tool_call.id"),
    ({"parts": (ToolCallPart("c", LONG),)}, "id_too_long", "parts[0].tool_call.name"),
    ({"parts": (ToolResultPart(LONG, "t", ""),)}, "id_too_long", "parts[0].tool_result.call_id"),
    ({"reply": Reply(LONG)}, "id_too_long", "reply.message_id"),
    ({"thread_id": "\0"}, "nul_character", "thread_id"),
    ({"session_id": LONG}, "id_too_long", "session_id"),
    ({"dedupe_key": LONE}, "bad_utf8", "dedupe_key"),
    ({"mentions": (Mention("u2"), Mention(LONG))}, "id_too_long", "mentions[1].user_id"),
    ({"mentions": (Mention("u2", "\0"),)}, "nul_character", "mentions[0].name"),
    ({"embeddings": (Embedding("e", ()),)}, "bad_embedding", "embeddings[0]"),
    ({"embeddings": (Embedding("e", (0.0, 0.0)),)}, "bad_embedding", "embeddings[0]"),
    ({"embeddings": (Embedding("e", (1.0, math.nan)),)}, "bad_embedding", "embeddings[0]"),
    ({"embeddings": (Embedding("e", (1.0, -math.inf)),)}, "bad_embedding", "embeddings[0]"),
    ({"embeddings": (Embedding("e", (math.nan, math.inf)),)}, "bad_embedding", "embeddings[0]"),
    ({"embeddings": (Embedding("", (1.0,)),)}, "bad_embedding", "embeddings[0]"),
]


class TestRefused:
    @pytest.mark.parametrize(("fields", "code", "field"), REFUSED)
    def test_by_code_and_field(self, fields, code, field):
        answer = check(message(**fields))
        assert isinstance(answer, Refused)
        assert (answer.code, answer.field) == (RefusalCode(code), field)
        assert answer.message_id == fields.get("id", "m1")

    def test_every_code_is_reachable(self):
        # A number without a word never gets this far: the edge refuses the item.
        reachable = {code.value for code in RefusalCode} - {RefusalCode.UNKNOWN_ENUM}
        assert {code for _, code, _ in REFUSED} == reachable

    def test_a_huge_text_counts_for_the_batch(self):
        assert check(message(text="x" * 5_000_000)).bytes == 5_000_000


class TestAccepted:
    @pytest.mark.parametrize(
        "fields",
        [
            {"text": "two\nlines and 😀 and 猫"},
            {"text": FULL},
            {"text": "猫" * (MAX_TEXT_BYTES // 3)},
            {"text": " "},
            {"text": ""},
            {"parts": ()},
            {"id": "x" * 512},
            {"id": "猫" * 170},
            {"parts": (MediaPart("", "https://host/cat.png"),)},
            {"parts": (TextPart(""),), "mentions": (Mention("bot"),)},  # a bare mention
            {"parts": (ToolCallPart("c1", "weather", '{"city": "上海"}'),)},
            {"embeddings": (Embedding("e", (0.0, 1e-20)),)},
            {"author": Author("u1")},
            {"mentions": (Mention("", "bob"),)},  # Telegram's @name entities carry no id
            {"sent_at_ms": 1},
            {"sent_at_ms": NOW_MS + FUTURE_TOLERANCE_MS},
        ],
    )
    def test_as_sent(self, fields):
        one = message(**fields)
        answer = check(one)
        assert isinstance(answer, Accepted)
        assert answer.message is one
        assert (answer.rank_time_ms, answer.warnings) == (one.sent_at_ms, ())

    @pytest.mark.parametrize(
        ("sent_at_ms", "warning"),
        [
            (0, WarningCode.TIME_ZERO),
            (NOW_MS + FUTURE_TOLERANCE_MS + 1, WarningCode.TIME_IN_FUTURE),
            (NOW_MS * 2, WarningCode.TIME_IN_FUTURE),
            (NOW_MS // 1_000, WarningCode.TIME_LOOKS_LIKE_SECONDS),
            (NOW_MS * 1_000, WarningCode.TIME_LOOKS_LIKE_SECONDS),
            (MAX_TIME_MS, WarningCode.TIME_LOOKS_LIKE_SECONDS),
        ],
    )
    def test_odd_times_are_kept_and_ranked_as_received(self, sent_at_ms, warning):
        answer = check(message(sent_at_ms=sent_at_ms))
        assert answer.message.sent_at_ms == sent_at_ms
        assert (answer.rank_time_ms, answer.warnings) == (NOW_MS, (warning,))

    def test_an_edge_to_nothing_is_dropped(self):
        answer = check(message(reply=Reply("")))
        assert answer.message == message(reply=None)
        assert answer.warnings == ()

    def test_size_counts_text_links_and_vectors(self):
        parts = (TextPart("猫"), MediaPart("image", uri="https://x"))
        one = message(parts=parts, embeddings=(Embedding("e", (1.0,) * 10),))
        assert check(one).bytes == len("猫\n[image]".encode()) + len("https://x") + 40


class TestSanitised:
    def test_lone_surrogates_become_replacement_characters(self):
        """What a client cannot encode must not reach SQLite, which would refuse the whole group."""
        sent = message(
            parts=(
                TextPart(f"a{LONE}b"),
                MediaPart("image", alt_text=f"{LONE}cat"),
                ToolCallPart("c", "t", f'"{LONE}"'),
                ToolResultPart("c", "t", f"{LONE}!"),
            ),
            author=Author("u1", f"Ann{LONE}"),
            mentions=(Mention("u2", f"Bob{LONE}", 1, 2),),
        )
        answer = check(sent)
        assert answer.warnings == (WarningCode.TEXT_SANITISED,)
        assert answer.message == message(
            parts=(
                TextPart("a\ufffdb"),
                MediaPart("image", alt_text="\ufffdcat"),
                ToolCallPart("c", "t", '"\ufffd"'),
                ToolResultPart("c", "t", "\ufffd!"),
            ),
            author=Author("u1", "Ann\ufffd"),
            mentions=(Mention("u2", "Bob\ufffd", 1, 2),),
        )

    def test_joined_halves_move_the_text_so_positions_become_unknown(self):
        sent = message(text="\ud83d\ude00 hi @bob", mentions=(Mention("u2", "bob", 6, 10),))
        answer = check(sent)
        assert answer.message.text == "😀 hi @bob"
        assert answer.message.mentions == (Mention("u2", "bob", 0, 0),)

    def test_both_warnings(self):
        answer = check(message(text=LONE, sent_at_ms=0))
        assert answer.warnings == (WarningCode.TIME_ZERO, WarningCode.TEXT_SANITISED)


_ANY = st.text(st.characters(codec=None, categories=None), max_size=30)


@given(
    id=_ANY,
    text=_ANY,
    author=st.builds(Author, _ANY, _ANY),
    parts=st.lists(
        st.one_of(
            st.builds(TextPart, _ANY),
            st.builds(MediaPart, _ANY, _ANY, _ANY, _ANY),
            st.builds(ToolCallPart, _ANY, _ANY, _ANY),
            st.builds(ToolResultPart, _ANY, _ANY, _ANY),
        ),
        max_size=4,
    ).map(tuple),
    sent_at_ms=st.integers(),
    reply=st.none() | st.builds(Reply, _ANY),
    mentions=st.lists(st.builds(Mention, _ANY, _ANY), max_size=2).map(tuple),
)
def test_whatever_is_accepted_can_be_stored(**fields):
    """No input makes the checks raise, and what they accept has no NUL, no surrogate, and fits SQLite's integers."""
    answer = check(message(**fields))
    if isinstance(answer, Accepted):
        shown = repr(answer.message)
        assert "\\x00" not in shown
        assert "\\ud" not in shown
        answer.message.text.encode()
        assert 0 <= answer.message.sent_at_ms < 2**63
        assert answer.message.id == fields["id"]
        again = check(answer.message)
        assert again == replace(answer, warnings=again.warnings), "idempotent"


class TestRequests:
    def test_batches(self):
        check_item_count(1_000)
        check_batch_bytes(MAX_BATCH_BYTES)
        for call in (lambda: check_item_count(1_001), lambda: check_batch_bytes(2**22 + 1)):
            with pytest.raises(InvalidRequest) as caught:
                call()
            assert (caught.value.reason, caught.value.field) == (
                Reason.BATCH_TOO_LARGE,
                "messages",
            )

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("", Reason.MISSING_FIELD),
            (LONG, Reason.INVALID_FIELD),
            ("\0", Reason.INVALID_FIELD),
            (LONE, Reason.INVALID_FIELD),
        ],
    )
    def test_ids(self, value, reason):
        with pytest.raises(InvalidRequest) as caught:
            check_id(value, "message_id")
        assert (caught.value.field, caught.value.reason) == ("message_id", reason)
        assert value[:1] not in caught.value.message or not value.strip("x")
        with pytest.raises(InvalidRequest):
            check_key(ChannelKey("default", value))

    @pytest.mark.parametrize("at_ms", [-1, MAX_TIME_MS + 1])
    def test_times(self, at_ms):
        check_time(0, "edited_at_ms")
        with pytest.raises(InvalidRequest):
            check_time(at_ms, "edited_at_ms")

    def test_a_member_is_cleaned(self):
        member = check_member(Member("u1", f"A{LONE}", ("", f"B{LONE}")), "members[0]")
        assert member == Member("u1", "A\ufffd", ("B\ufffd",))

    @pytest.mark.parametrize(
        ("member", "field"),
        [
            (Member(""), "members[3].user_id"),
            (Member("u", LONG), "members[3].name"),
            (Member("u", "ok", ("\0",)), "members[3].aliases"),
            (Member("u", joined_at_ms=-1), "members[3].joined_at_ms"),
            (Member("u", left_at_ms=2**70), "members[3].left_at_ms"),
            (Member("u", aliases=("a",) * 1_001), "members[3].aliases"),
        ],
    )
    def test_a_bad_member_is_named(self, member, field):
        with pytest.raises(InvalidRequest) as caught:
            check_member(member, "members[3]")
        assert caught.value.field == field


@pytest.mark.parametrize(
    "changes",
    [
        *[changes for changes, _, _ in REFUSED],
        {},
        {"id": "猫" * 170},
        {"author": Author("猫" * 100, "n" * 300)},
        {"thread_id": "t" * 400, "session_id": "s" * 400},
        {"reply": Reply("r" * 500)},
        {"mentions": (Mention("u" * 300, "n" * 300),)},
        {"parts": (TextPart(FULL),)},
        {"parts": (TextPart("猫"), TextPart("b"))},
        {"parts": (TextPart(LONE),)},
        {"sent_at_ms": 0},
    ],
    ids=",".join,
)
def test_one_look_finds_what_a_look_at_each_finds(changes, monkeypatch):
    """S1-01: what most messages are spared changes the answer of none."""
    one = message(**changes)
    quickly = check(one)
    monkeypatch.setattr(validate, "_plain_bytes", lambda *_: None)
    assert check(one) == quickly
