"""Hands out recorded builds as data to learn from, as far as those who took part agree."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.learning.consent import Refusals, UsageConsent
from backscroll_sidecar.learning.consented import (
    ExportedUsage,
    ExportSummary,
    Place,
    messages_of,
    places_of,
    without_messages,
    without_texts,
)
from backscroll_sidecar.learning.topic_labels import TopicLabels
from backscroll_sidecar.learning.usage import Usage, UsageReads
from backscroll_sidecar.ports import HistoryReader, UsageQuery

PAGE = 50
ROWS_AT_ONCE = 1_000


class UsageExport:
    """Exports usage records. Safe for any number of exports at once on one event loop."""

    def __init__(
        self,
        usage: UsageReads,
        reader: HistoryReader,
        labels: TopicLabels,
        settings: ChannelSettingsService,
        consent: UsageConsent,
    ) -> None:
        self._usage = usage
        self._reader = reader
        self._labels = labels
        self._settings = settings
        self._consent = consent

    async def export(
        self,
        tenant: str,
        query: UsageQuery,
        summary: ExportSummary,
        *,
        with_texts: bool = False,
        allowed: AllowedChannels | None = None,
    ) -> AsyncGenerator[ExportedUsage]:
        """The builds of a query in the order of recording; `summary` is counted up. Raises `StoreUnavailable`.

        What is recorded after the export began is not in it, so that it ends however many builds are made.
        Of channels that are not allowed there is nothing, and they are not counted.

        Consent is asked for page by page: who refuses while an export runs is left out of what follows.
        """
        run = _Run(self, tenant, summary, with_texts=with_texts)
        newest = await self._usage.newest(tenant)
        after = query.after
        while page := await self._usage.list(
            tenant,
            replace(query, limit=PAGE, after=after, before=newest + 1),
            with_candidates=True,
            allowed=allowed,
        ):
            refusals = await self._consent.refusals(tenant)
            for usage in page:
                if (exported := await run.exported(usage, refusals)) is not None:
                    yield exported
            after = page[-1].number

    async def collects(self, key: ChannelKey) -> bool:
        """Whether a channel may be learnt from."""
        known = self._settings.known(key) or await self._settings.read(key)
        return known.collects_usage

    async def labels_of(
        self, tenant: str, channel: str, places: Iterable[Place]
    ) -> Mapping[Place, Sequence[str]]:
        """The labels of the messages at these places; `channel`: the build's own."""
        found: dict[Place, Sequence[str]] = {}
        for of, key, ids in _asked(tenant, channel, places):
            labels = await self._labels.by_message(key, ids)
            found |= {(of, id_): some for id_, some in labels.items()}
        return found

    async def rows_of(
        self, tenant: str, channel: str, places: Iterable[Place]
    ) -> Mapping[Place, StoredMessage]:
        """The stored messages at these places; `channel`: the build's own."""
        rows: dict[Place, StoredMessage] = {}
        for of, key, ids in _asked(tenant, channel, places):
            found = await self._reader.get_messages(key, ids)
            rows |= {(of, id_): row for id_, row in found.items()}
        return rows


def _asked(
    tenant: str, channel: str, places: Iterable[Place]
) -> Iterator[tuple[str, ChannelKey, Sequence[str]]]:
    """The ids by channel, so many as are read at once: the channel as places name it, its key, ids."""
    wanted: dict[str, list[str]] = {}
    for of, id_ in dict.fromkeys(places):
        wanted.setdefault(of, []).append(id_)
    for of, ids in wanted.items():
        for start in range(0, len(ids), ROWS_AT_ONCE):
            yield of, ChannelKey(tenant, of or channel), ids[start : start + ROWS_AT_ONCE]


class _Run:
    """One export."""

    def __init__(
        self, export: UsageExport, tenant: str, summary: ExportSummary, *, with_texts: bool
    ) -> None:
        self._export = export
        self._tenant = tenant
        self._summary = summary
        self._with_texts = with_texts

    async def exported(self, usage: Usage, refusals: Refusals) -> ExportedUsage | None:
        """A build as it may be handed out; None: it may not."""
        channel, places = usage.channel, list(dict.fromkeys(places_of(usage)))
        closed = await self._closed({channel, *(of for of, _ in places if of)})
        if channel in closed:
            self._summary.left_out_by_channel += 1
            return None
        rows: Mapping[Place, StoredMessage] = {}
        if refusals or self._with_texts:
            rows = await self._export.rows_of(self._tenant, channel, places)
        authors = {place: row.message.author.id for place, row in rows.items()}
        trigger = ("", usage.record.trigger_message_id)
        if usage.record.user_id in refusals or authors.get(trigger, "") in refusals:
            self._summary.left_out_by_user += 1
            return None
        usage, lost = without_messages(
            usage,
            lambda place: place[0] in closed or authors.get(place, "") in refusals,
            lambda user_id: user_id in refusals,
        )
        self._summary.left_out_messages += lost
        self._summary.builds += 1
        labels = await self._export.labels_of(self._tenant, channel, places_of(usage))
        messages = messages_of(
            usage,
            lambda place: labels.get(place, ()),
            rows if self._with_texts else {},
        )
        return ExportedUsage(usage if self._with_texts else without_texts(usage), messages)

    async def _closed(self, channels: Iterable[str]) -> set[str]:
        keys = [ChannelKey(self._tenant, one) for one in channels]
        return {key.channel for key in keys if not await self._export.collects(key)}
