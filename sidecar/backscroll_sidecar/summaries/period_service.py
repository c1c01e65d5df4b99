"""Makes summaries of past periods behind everything else, keeps them, and tells builds of the newest."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
import structlog

from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.concurrency.jobs import ALONE, Job, Jobs
from backscroll_sidecar.domain import ChannelKey, ChannelSettings, MessageState, StoredMessage
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import (
    Applied,
    Clock,
    HistoryReader,
    RecordChange,
    StoredChannelSettings,
    StoredRecord,
    TurnMark,
    about_text,
)
from backscroll_sidecar.summaries.compactor import (
    MOST_SUMMARY_TOKENS,
    WORDS_BESIDE_NOTES,
    WORDS_TOKENS,
    Writer,
    chat_line,
    transcript,
)
from backscroll_sidecar.summaries.key_lines import key_lines
from backscroll_sidecar.summaries.periods import (
    PERIOD_SUMMARY,
    Due,
    PeriodSummary,
    due_periods,
    summaries_of,
)
from backscroll_sidecar.summaries.summariser import Summariser
from backscroll_sidecar.summaries.summary import SummaryKind, text_of
from backscroll_sidecar.summaries.transcript import speakers_of
from backscroll_sidecar.whole_answers import NoAnswer

log = structlog.get_logger(__name__)
PAUSE_S = 1.0
"""Between two looks: what comes meanwhile is looked at together."""
CHECK_S = 600.0
"""So often all channels are looked at: where nothing comes periods end, too."""
PAGE = 1_000
REMEMBERED = 4_096
SHOWN_TOKENS = 1_000
"""Of the newest summaries a build shows so much."""


class Views(Protocol):
    """Where channels are had from."""

    async def view(self, key: ChannelKey) -> ChannelView | None:
        """The channel; None when it was never heard of. Raises `StoreUnavailable`."""


class PeriodSummaries:
    """Summaries of periods; one of the writer's publishers. Safe from any task of one event loop.

    Parameters
    ----------
    summariser : None: there is no model to ask.

    Attributes
    ----------
    usual_hours : the length of a period where a channel has none of its own; 0: none are made.
    made : how many were made, by kind.
    """

    def __init__(
        self,
        views: Views,
        reader: HistoryReader,
        writer: Writer,
        clock: Clock,
        settings: StoredChannelSettings,
        usual_hours: int,
        summariser: Summariser | None,
        jobs: Jobs = ALONE,
    ) -> None:
        self._views = views
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._settings = settings
        self.usual_hours = usual_hours
        self._summariser = summariser
        self._jobs = jobs
        self._due: set[ChannelKey] = set()
        self._wake = asyncio.Event()
        self._known: OrderedDict[ChannelKey, Sequence[PeriodSummary]] = OrderedDict()
        self._changes = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.made: Counter[str] = Counter()

    # --- what builds ask ---------------------------------------------------------------------------

    async def shown(self, key: ChannelKey, hours: int) -> Sequence[PeriodSummary]:
        """The newest summaries of periods of this length that fit a build, the oldest first.

        Raises `StoreUnavailable`.
        """
        if key not in self._known:
            changes = self._changes
            found = sorted(await self._all(key), key=lambda one: one.start_ms)
            if changes != self._changes:
                return _newest(found, hours)
            self._known[key] = found
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return _newest(self._known[key], hours)

    # --- what callers ask --------------------------------------------------------------------------

    async def page(
        self, key: ChannelKey, limit: int, after: int = 0
    ) -> Sequence[tuple[int, PeriodSummary]]:
        """A page in the order in which they were made, each with its number; `after`: behind that number."""
        now_ms = self._clock.now_ms()
        page: Sequence[StoredRecord] = await self._reader.records(
            key, PERIOD_SUMMARY, now_ms, after=after, limit=limit
        )
        return list(zip([one.number for one in page], summaries_of(page), strict=True))

    async def delete(self, key: ChannelKey, id: str) -> bool:
        """Empty a summary; whether there was one."""
        since = self._writer.erasures_seen
        found = await self._reader.record(key, PERIOD_SUMMARY, "", id, self._clock.now_ms())
        if found is None:
            return False
        (summary,) = summaries_of([found])
        emptied = msgspec.structs.replace(
            summary, notes="", words="", tokens=0, model_failure="", is_deleted=True
        )
        await self._keep(key, emptied, since)
        return not summary.is_deleted

    # --- what the writer tells ---------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what may have changed, and look at the channel later."""
        is_known = any(change.kind == PERIOD_SUMMARY for change in applied.records)
        is_other = any(one.state is not MessageState.LIVE or one.revision for one in applied.stored)
        if applied.is_erasure or is_other or is_known:
            self._changes += 1
            self._known.pop(key, None)
        if applied.is_foreign:
            return
        if key.channel and (applied.stored or applied.records or applied.is_erasure):
            self._due.add(key)
            self._wake.set()

    # --- the work behind everything ----------------------------------------------------------------

    async def start(self) -> None:
        """Begin with all channels: what was not made before the server stopped is made now."""
        self._tasks = [
            asyncio.create_task(self._run(), name="backscroll-periods-here"),
            asyncio.create_task(self._find(), name=Job.PERIODS),
        ]

    async def close(self) -> None:
        """Stop. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            due, self._due = self._due, set()
            self._wake.clear()
            for key in sorted(due):
                try:
                    await self._look_at(key)
                except BackscrollError as error:
                    log.warning("periods are not summarised now", reason=error.message)
                except Exception:
                    log.exception("periods could not be summarised; it is tried again")
            await asyncio.sleep(PAUSE_S)

    async def _find(self) -> None:
        while True:
            await self._jobs.turn(Job.PERIODS)
            try:
                await self._find_all()
            except BackscrollError as error:
                log.warning(
                    "the channels with summaries of periods are not known", reason=error.message
                )
            except Exception:
                log.exception("the channels with summaries of periods could not be read")
            await asyncio.sleep(CHECK_S)

    async def _find_all(self) -> None:
        after: ChannelKey | None = None
        while page := await self._reader.channels(after, PAGE):
            for key in page:
                settings = self._settings.known(key)
                if settings is None or self._hours(settings):
                    self._due.add(key)
            after = page[-1]
            await asyncio.sleep(0)
        self._wake.set()

    def _hours(self, settings: ChannelSettings) -> int:
        """The length of a channel's periods; 0: it has none."""
        hours = settings.summary_hours
        return self.usual_hours if hours is None else hours

    async def _look_at(self, key: ChannelKey) -> None:
        """Make what is due in a channel, one after the other."""
        await self._jobs.catch_up(key.tenant, ())
        hours = self._hours(self._settings.known(key) or await self._settings.read(key))
        if hours:
            async with self._jobs.locks.hold(key.tenant, "periods", key.channel):
                await self._jobs.catch_up(key.tenant, [key.channel])
                await self._make_due(key, hours)

    async def _make_due(self, key: ChannelKey, hours: int) -> None:
        view = await self._views.view(key)
        if view is None:
            return
        known = {
            one.start_ms: len(one.message_ids) for one in await self._all(key) if one.hours == hours
        }
        for_all = np.array([not audience for _, audience in view.scopes], np.bool_)
        counts = for_all[view.scope] & (view.state == LIVE)
        due = due_periods(view.columns.time_ms, counts, hours, self._clock.now_ms(), known)
        for one in due:
            await self._make(key, view, one, hours)

    async def _make(self, key: ChannelKey, view: ChannelView, due: Due, hours: int) -> None:
        since = self._writer.erasures_seen  # before anything is read: what goes from now on counts
        ids = [view.message_ids[row] for row in due.rows.tolist()]
        stored: dict[str, StoredMessage] = {}
        for first in range(0, len(ids), PAGE):
            stored |= await self._reader.get_messages(key, ids[first : first + PAGE])
        rows = [stored[id] for id in ids if id in stored and stored[id].state is MessageState.LIVE]
        if not rows:
            return
        notes, failure = await self._notes(rows)
        words, tokens = await asyncio.to_thread(_words, rows, notes)
        if tokens > MOST_SUMMARY_TOKENS:
            notes, failure = "", "too_large"
            words, tokens = await asyncio.to_thread(_words, rows, notes)
        kind = SummaryKind.MODEL if notes else SummaryKind.KEY_LINES
        summary = PeriodSummary(
            hours,
            due.start_ms,
            tuple(one.message.id for one in rows),
            max(one.seq for one in rows),
            max(one.rank_time_ms for one in rows),
            self._clock.now_ms(),
            kind,
            notes,
            words,
            tokens,
            failure,
        )
        await self._keep(key, summary, since)
        self.made[kind.value] += 1

    async def _notes(self, rows: Sequence[StoredMessage]) -> tuple[str, str]:
        """A model's notes, or why there are none."""
        if self._summariser is None:
            return "", ""
        try:
            lines = await asyncio.to_thread(transcript, rows)
            return await self._summariser.notes(lines, (), "", ""), ""
        except NoAnswer as failed:
            log.warning("a summary by the model failed", reason=failed.word)
            return "", failed.word

    async def _keep(self, key: ChannelKey, summary: PeriodSummary, since: int) -> None:
        await self._writer.submit(
            RecordChange(
                key,
                PERIOD_SUMMARY,
                summary.id,
                msgspec.json.encode(summary),
                tuple(map(about_text, summary.message_ids)),
                self._clock.now_ms(),
                turn=TurnMark(since),
            )
        )

    async def _all(self, key: ChannelKey) -> list[PeriodSummary]:
        found: list[PeriodSummary] = []
        after = 0
        while page := await self.page(key, PAGE, after):
            found += [one for _, one in page]
            after = page[-1][0]
        return found


def _words(rows: Sequence[StoredMessage], notes: str) -> tuple[str, int]:
    """People's own words beside the notes, and the tokens of both."""
    count = token_counter().count
    lines = list(map(chat_line, rows, speakers_of(rows)))
    words = key_lines(lines, WORDS_BESIDE_NOTES if notes else WORDS_TOKENS, count)
    return words, count(text_of(notes, words))


def _newest(found: Sequence[PeriodSummary], hours: int) -> Sequence[PeriodSummary]:
    """The last ones of this length that fit together, the oldest first."""
    shown: list[PeriodSummary] = []
    left = SHOWN_TOKENS
    for one in reversed([one for one in found if one.hours == hours and one.text]):
        left -= one.tokens
        if left < 0 and shown:
            break
        shown.append(one)
    return shown[::-1]
