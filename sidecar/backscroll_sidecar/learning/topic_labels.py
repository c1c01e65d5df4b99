"""Topic labels: what people say that messages are about. They go with their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.errors import Gone, NotFound, Reason, unknown_channel
from backscroll_sidecar.ports import (
    AppendChange,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
    StoredRecord,
    about_message,
    about_user,
)

KIND = "topic_label"
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class TopicLabel:
    """A label of a message. `number` grows in the order in which labels were set first."""

    message_id: str
    label: str
    set_by: str
    set_at_ms: int
    number: int = 0


class TopicLabels:
    """Keeps labels. Safe from any task of one event loop. `deadline_s` is as `Writer.submit` takes it."""

    def __init__(self, reader: HistoryReader, writer: ChangeWriter, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def set(
        self,
        key: ChannelKey,
        label: str,
        message_ids: Sequence[str],
        set_by: str = "",
        deadline_s: float | None = None,
    ) -> Sequence[TopicLabel]:
        """Label messages, all of them or none.

        Raises
        ------
        NotFound, Gone
            One of them is not there, or was recalled.
        """
        true_ids = await self._true_ids(key, message_ids)
        now_ms = self._clock.now_ms()
        records = tuple(_record(key, label, id_, set_by, now_ms) for id_ in true_ids)
        await self._submit(key, records, now_ms, deadline_s)
        return [TopicLabel(id_, label, set_by, now_ms) for id_ in true_ids]

    async def list(
        self, key: ChannelKey, label: str = "", *, after: int = 0, limit: int = PAGE
    ) -> Sequence[TopicLabel]:
        """A page in the order in which they were set first; of one label where it is named."""
        found = await self._reader.records(
            key, KIND, self._clock.now_ms(), owner=label or None, after=after, limit=limit
        )
        return [_label(one) for one in found]

    async def by_message(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, Sequence[str]]:
        """The labels of these messages, by message and by name."""
        names = [about_message(id_) for id_ in message_ids]
        found: dict[str, list[str]] = {}
        for one in await self._reader.records_about(key, KIND, names, self._clock.now_ms()):
            found.setdefault(one.id, []).append(one.owner)
        return {id_: sorted(labels) for id_, labels in found.items()}

    async def delete(
        self,
        key: ChannelKey,
        label: str,
        message_ids: Sequence[str] = (),
        deadline_s: float | None = None,
    ) -> int:
        """Take a label from these messages, or from all; how many had it."""
        now_ms = self._clock.now_ms()
        ids = [""]
        if message_ids:
            found = await self._reader.get_messages(key, message_ids)
            true_ids = [found[id_].message.id for id_ in message_ids if id_ in found]
            ids = list(dict.fromkeys((*message_ids, *true_ids)))
        records = tuple(RecordChange(key, KIND, id_, None, (), now_ms, 0, label) for id_ in ids)
        return await self._submit(key, records, now_ms, deadline_s)

    async def _submit(
        self,
        key: ChannelKey,
        records: tuple[RecordChange, ...],
        at_ms: int,
        deadline_s: float | None,
    ) -> int:
        """Make changes of records in one transaction; how many they deleted."""
        change = AppendChange(key, (), (), (), at_ms, records=records)
        return (await self._writer.submit(change, deadline_s)).deleted_records

    async def _true_ids(self, key: ChannelKey, message_ids: Sequence[str]) -> Sequence[str]:
        """The ids under which messages are stored, each once."""
        found = await self._reader.get_messages(key, message_ids)
        if not found and await self._reader.channel_info(key) is None:
            raise unknown_channel()
        true_ids: dict[str, None] = {}
        for place, id_ in enumerate(message_ids):
            field, row = f"message_ids[{place}]", found.get(id_)
            if row is None:
                raise NotFound(
                    f"{field}: no such message in this channel",
                    field=field,
                    reason=Reason.MESSAGE_NOT_FOUND,
                )
            if row.state is MessageState.RECALLED:
                raise Gone(f"{field}: the message was recalled", field=field)
            true_ids[row.message.id] = None
        return list(true_ids)


def _record(key: ChannelKey, label: str, id_: str, set_by: str, now_ms: int) -> RecordChange:
    named = (about_message(id_), about_user(set_by)) if set_by else (about_message(id_),)
    return RecordChange(key, KIND, id_, set_by.encode(), named, now_ms, owner=label)


def _label(record: StoredRecord) -> TopicLabel:
    return TopicLabel(
        record.id, record.owner, record.body.decode(), record.updated_at_ms, record.number
    )
