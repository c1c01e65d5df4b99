"""Hands out recorded builds as data to learn from, as far as those who took part agree."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
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

Labels = Mapping[str, Sequence[str]]


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

        Of channels that are not allowed there is nothing, and they are not counted.

        Consent is asked for page by page: who refuses while an export runs is left out of what follows.
        """
        run = _Run(self, tenant, summary, with_texts=with_texts)
        after = query.after
        while page := await self._usage.list(
            tenant,
            replace(query, limit=PAGE, after=after),
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

    async def labels_of(self, key: ChannelKey) -> Labels:
        """All labels of a channel."""
        return await self._labels.by_message(key)

    async def rows_of(
        self, tenant: str, channel: str, places: Iterable[Place]
    ) -> Mapping[Place, StoredMessage]:
        """The stored messages at these places; `channel`: the build's own."""
        wanted: dict[str, list[str]] = {}
        for of, id_ in dict.fromkeys(places):
            wanted.setdefault(of, []).append(id_)
        rows: dict[Place, StoredMessage] = {}
        for of, ids in wanted.items():
            key = ChannelKey(tenant, of or channel)
            for start in range(0, len(ids), ROWS_AT_ONCE):
                found = await self._reader.get_messages(key, ids[start : start + ROWS_AT_ONCE])
                rows |= {(of, id_): row for id_, row in found.items()}
        return rows


class _Run:
    """One export; remembers labels and settings of the channels it met."""

    def __init__(
        self, export: UsageExport, tenant: str, summary: ExportSummary, *, with_texts: bool
    ) -> None:
        self._export = export
        self._tenant = tenant
        self._summary = summary
        self._with_texts = with_texts
        self._labels: dict[str, Labels] = {}

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
        labels = {of: await self._labels_of(of or channel) for of, _ in places_of(usage)}
        messages = messages_of(
            usage,
            lambda place: labels[place[0]].get(place[1], ()),
            rows if self._with_texts else {},
        )
        return ExportedUsage(usage if self._with_texts else without_texts(usage), messages)

    async def _closed(self, channels: Iterable[str]) -> set[str]:
        keys = [ChannelKey(self._tenant, one) for one in channels]
        return {key.channel for key in keys if not await self._export.collects(key)}

    async def _labels_of(self, channel: str) -> Labels:
        if channel not in self._labels:
            self._labels[channel] = await self._export.labels_of(ChannelKey(self._tenant, channel))
        return self._labels[channel]
