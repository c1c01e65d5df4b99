"""Rows of a database and the domain's values: one place that knows both, whichever database it is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Analysis,
    Author,
    AuthorKind,
    Mention,
    Message,
    MessageState,
    MessageType,
    Part,
    Reply,
    ReplyKind,
    Role,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.parts_json import decode_parts, encode_parts
from backscroll_sidecar.store.encoding import (
    Row,
    decode_mentions,
    encode_mentions,
    encode_words,
)
from backscroll_sidecar.store.facts import MessageRow


def decode_rows(rows: Iterable[Iterable[Any]], channel: str) -> list[StoredMessage]:
    """Rows of `statements.COLUMNS`, all of one channel."""
    loads, enums, partial = orjson.loads, _enums, MessageState.PARTIAL
    authors: dict[tuple[str, str, int], Author] = {}
    out: list[StoredMessage] = []
    for (
        seq, id_, author_id, author_name, sent_at_ms, rank_time_ms, packed, revision, token_count,
        text, keywords, reply_to, thread_id, session_id, dedupe_key, details,
    ) in rows:  # fmt: skip
        author_kind, role, state, message_type, reply_kind, inferred, moves = enums(packed)
        who = (author_id, author_name, packed & 15)
        author = authors.get(who)
        if author is None:
            author = authors[who] = Author(author_id, author_name, author_kind)
        sent = None if reply_kind is None else Reply(reply_to, reply_kind, inferred)
        parts: tuple[Part, ...]
        mentions: tuple[Mention, ...]
        mention_ids: tuple[str, ...]
        audience: tuple[str, ...] = ()
        if details is None:
            parts, mentions, mention_ids, reply = (TextPart(text),), (), (), sent
        else:
            more = loads(details)
            audience = tuple(more.get("audience", ()))
            if sent is not None and "answers" in more:
                sent = replace(sent, user_id=more["answers"])
            parts, mentions, mention_ids, reply = _decode_details(more, text, sent)
        message = Message(
            id_, channel, author, parts, sent_at_ms, role, thread_id, session_id, sent, mentions, (), dedupe_key,
            state is partial, audience,
        )  # fmt: skip
        words = tuple(loads(keywords)) if keywords else ()
        analysis = Analysis(text, message_type, mention_ids, words, token_count, reply)
        out.append(StoredMessage(message, analysis, seq, rank_time_ms, revision, state, moves))
    return out


def decode_placed(rows: Iterable[Row]) -> list[StoredMessage]:
    """Rows of `statements.COLUMNS` and then the channel, of any channels."""
    return [stored for row in rows for stored in decode_rows((row[:-1],), row[-1])]


def encode_place(stored: StoredMessage) -> Row:
    """What a late parent or an alias changes, in the order of `statements.UPDATE_MESSAGE`; no edge: ''."""
    reply = stored.message.reply
    return (stored.rank_time_ms, "" if reply is None else reply.message_id, stored.moves)


def encode_content(stored: StoredMessage) -> Row:
    """What an edit or a retraction changes, in the order of `statements.CONTENT_COLUMNS`; no words, no details: ''."""
    analysis = stored.analysis
    return (
        int(stored.state),
        stored.revision,
        int(analysis.message_type),
        analysis.token_count,
        analysis.text,
        encode_words(analysis.keywords) or "",
        _encode_details(stored),
    )


def encode_row(tenant: str, record: MessageRow) -> Row:
    """A new row, in the order of `statements.INSERT_MESSAGE`, which knows what stands for NULL."""
    stored = record.stored
    message = stored.message
    author, reply = message.author, message.reply
    if reply is None:
        parent, reply_kind, inferred = "", 0, -1
    else:
        parent, reply_kind, inferred = reply.message_id, int(reply.kind), int(reply.inferred)
    return (
        tenant, message.channel, stored.seq, message.id, author.id, author.name, int(author.kind),
        int(message.role), message.sent_at_ms, stored.rank_time_ms, record.received_at_ms,
        message.thread_id, message.session_id, parent, reply_kind, inferred, message.dedupe_key,
        record.edited_at_ms, *encode_content(stored), stored.moves,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _enums(
    packed: int,
) -> tuple[AuthorKind, Role, MessageState, MessageType, ReplyKind | None, bool, int]:
    """The small numbers of a row, four bits each, and what is left: its moves; see `statements.COLUMNS`."""
    kind, role, state, type_, reply, inferred = (packed >> shift & 15 for shift in range(0, 24, 4))
    return (
        AuthorKind(kind),
        Role(role),
        MessageState(state),
        MessageType(type_),
        ReplyKind(reply) if reply else None,
        bool(inferred),
        packed >> 24,
    )


def _encode_details(stored: StoredMessage) -> str:
    message, analysis = stored.message, stored.analysis
    parts, found = message.parts, analysis.reply
    is_plain = len(parts) == 1 and type(parts[0]) is TextPart and parts[0].text == analysis.text
    as_sent = found is message.reply or found == message.reply
    answers = "" if message.reply is None else message.reply.user_id
    others = message.mentions or analysis.mention_ids or answers or message.audience
    if is_plain and as_sent and not others:
        return ""
    details: dict[str, Any] = {"answers": answers} if answers else {}
    if message.audience:
        details["audience"] = message.audience
    if not is_plain:
        details["parts"] = encode_parts(parts)
    if message.mentions:
        details["mentions"] = encode_mentions(message.mentions)
    if analysis.mention_ids:
        details["mention_ids"] = analysis.mention_ids
    if not as_sent:
        details["reply"] = found and [found.message_id, int(found.kind), found.inferred]
    return orjson.dumps(details).decode()


def _decode_details(
    details: dict[str, Any], text: str, sent: Reply | None
) -> tuple[tuple[Part, ...], tuple[Mention, ...], tuple[str, ...], Reply | None]:
    reply = sent
    if "reply" in details:
        found = details["reply"]
        reply = found and Reply(found[0], ReplyKind(found[1]), found[2])
    return (
        decode_parts(details["parts"]) if "parts" in details else (TextPart(text),),
        decode_mentions(details.get("mentions", ())),
        tuple(details.get("mention_ids", ())),
        reply,
    )
