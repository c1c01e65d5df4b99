"""One stored message and what it is compared with: a resend, an edit, its own older revisions. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Analysis,
    AppendOutcome,
    AppendResult,
    Message,
    MessageState,
    WarningCode,
)
from backscroll_sidecar.ports import EditChange
from backscroll_sidecar.store.facts import MessageRow, bare


def judge_known(message: Message, record: MessageRow) -> AppendResult:
    """An id that has a row is sent again: DUPLICATE of any revision, CONFLICT, or GONE when it was recalled."""
    seq = record.stored.seq
    if record.stored.state is MessageState.RECALLED:
        return AppendResult(message.id, AppendOutcome.GONE, seq=seq)
    known = record.stored.message
    text = message.text
    differs = False
    if message.author.id == known.author.id and message.sent_at_ms == known.sent_at_ms:
        for content in record.contents():
            then = replace(known, parts=content.parts, mentions=content.mentions)
            if then.text != text:
                continue
            if _equal(bare(message, known.channel), then):
                return AppendResult(message.id, AppendOutcome.DUPLICATE, seq=seq)
            differs = True
    if differs:
        warnings = (WarningCode.METADATA_DIFFERS,)
        return AppendResult(message.id, AppendOutcome.DUPLICATE, warnings, seq=seq)
    return AppendResult(message.id, AppendOutcome.CONFLICT, seq=seq)


def _equal(sent: Message, kept: Message) -> bool:
    """Whether both are the same, whomever the sender says that the answered message is by."""
    if sent == kept:
        return True
    if sent.reply is None or kept.reply is None:
        return False
    return replace(sent, reply=replace(sent.reply, user_id=kept.reply.user_id)) == kept


def emptied(record: MessageRow) -> MessageRow:
    """A recalled message: no content in any revision, no longer partial, everything else as it was."""
    stored = record.stored
    older = tuple(replace(revision, parts=(), mentions=()) for revision in record.older)
    recalled = replace(
        stored,
        message=replace(stored.message, parts=(), mentions=(), is_partial=False),
        analysis=Analysis(
            text="", message_type=stored.analysis.message_type, reply=stored.analysis.reply
        ),
        state=MessageState.RECALLED,
    )
    return record._replace(stored=recalled, older=older)


def is_known_edit(record: MessageRow, change: EditChange) -> bool:
    """The current content again, or an edit that was already replaced and is sent again."""
    edit = change.message
    return any(
        content.parts == edit.parts
        and content.mentions == edit.mentions
        and (number == 0 or change.edited_at_ms <= content.edited_at_ms)
        for number, content in enumerate(record.contents())
    )
