"""Who is answered: the author of the message that each row replies to, read with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from backscroll_sidecar.domain import MAX_BATCH_ITEMS, ChannelKey, Reply, StoredMessage
from backscroll_sidecar.ports import HistoryReader


async def with_answered(
    reader: HistoryReader, tenant: str, rows: Sequence[StoredMessage]
) -> list[StoredMessage]:
    """The rows, of whatever channels; each edge names the author of its message, where that is stored.

    Else it names whom the sender said. Raises `StoreUnavailable`.
    """
    authors = {(row.message.channel, row.message.id): row.message.author.id for row in rows}
    wanted: dict[str, dict[str, None]] = {}
    for row in rows:
        reply, channel = row.analysis.reply, row.message.channel
        if reply is not None and (channel, reply.message_id) not in authors:
            wanted.setdefault(channel, {})[reply.message_id] = None
    for channel, ids in wanted.items():
        names, key = list(ids), ChannelKey(tenant, channel)
        for start in range(0, len(names), MAX_BATCH_ITEMS):
            found = await reader.get_messages(key, names[start : start + MAX_BATCH_ITEMS])
            authors |= {(channel, id_): one.message.author.id for id_, one in found.items()}

    def told(channel: str, reply: Reply | None) -> Reply | None:
        author = None if reply is None else authors.get((channel, reply.message_id))
        if reply is None or author is None or author == reply.user_id:
            return reply
        return replace(reply, user_id=author)

    out = []
    for row in rows:
        message, analysis = row.message, row.analysis
        named = told(message.channel, analysis.reply)
        if named is analysis.reply:
            out.append(row)
            continue
        sent = told(message.channel, message.reply)
        out.append(
            replace(
                row,
                message=replace(message, reply=sent),
                analysis=replace(analysis, reply=named),
            )
        )
    return out
