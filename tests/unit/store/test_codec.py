"""Rows become the same values the constructors would make."""

import copy
import pickle

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    Mention,
    MessageState,
    MessageType,
    Reply,
    ReplyKind,
    Role,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.store.codec import decode_rows, encode_row
from backscroll_sidecar.store.facts import MessageRow
from tests.contract.store.builders import analysis, message

SENT = message(
    "m1", "hello", author=Author("u", "Name", AuthorKind.BOT), role=Role.TOOL, thread_id="t",
    session_id="s", reply=Reply("p", ReplyKind.THREAD), mentions=(Mention("u2", "x", 1, 2),),
    dedupe_key="k",
)  # fmt: skip
STORED = StoredMessage(
    SENT,
    analysis(SENT, message_type=MessageType.CASUAL, token_count=7, mention_ids=("u2", "u3")),
    seq=5,
    rank_time_ms=9,
    revision=3,
    state=MessageState.LIVE,
)


def through_a_row(stored: StoredMessage) -> StoredMessage:
    """As SQLite would hand it back: the row's columns in the order of `statements.COLUMNS`."""
    (tenant, channel, seq, id_, author_id, author_name, kind, role, sent, rank, received, thread,
     session, reply_to, reply_kind, inferred, dedupe, edited, state, revision, type_, tokens, text,
     keywords, details, moves) = encode_row("t", MessageRow(stored, 1, 2))  # fmt: skip
    packed = kind | role << 4 | state << 8 | type_ << 12
    packed |= reply_kind << 16 | max(inferred, 0) << 20 | moves << 24
    row = (seq, id_, author_id, author_name, sent, rank, packed, revision, tokens, text,
           keywords or None, reply_to or None, thread, session, dedupe, details or None)  # fmt: skip
    (decoded,) = decode_rows([row], channel)
    assert (tenant, received, edited) == ("t", 1, 2)
    return decoded


@pytest.mark.parametrize(
    "stored",
    [
        STORED,
        replace(STORED, message=replace(SENT, reply=None)),
        replace(STORED, moves=300),
        replace(STORED, analysis=replace(STORED.analysis, reply=None, keywords=())),
        replace(STORED, message=replace(SENT, mentions=(), parts=()), state=MessageState.RECALLED),
        replace(STORED, message=replace(SENT, parts=(TextPart("a"), TextPart("b")))),
        replace(STORED, message=message("m1"), analysis=analysis(message("m1"))),
        replace(STORED, message=replace(SENT, is_partial=True), state=MessageState.PARTIAL),
    ],
)
def test_a_row_decodes_to_the_value_it_was_made_from(stored: StoredMessage) -> None:
    """S1-01: equal, of the very classes of the domain, hashable, frozen, copied like any other."""
    decoded = through_a_row(stored)
    assert decoded == stored
    for made, given in (
        (decoded, stored),
        (decoded.message, stored.message),
        (decoded.analysis, stored.analysis),
    ):
        assert type(made) is type(given)
        assert hash(made) == hash(given)
        assert repr(made) == repr(given)
    assert all(type(part) is TextPart for part in decoded.message.parts)
    assert pickle.loads(pickle.dumps(decoded)) == copy.copy(decoded) == stored
    with pytest.raises(AttributeError):
        decoded.seq = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        decoded.message.id = ""  # type: ignore[misc]
