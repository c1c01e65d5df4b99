"""Compactions: one at a time for a conversation, by itself or when asked, and never one that gets nowhere."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

import structlog

from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import (
    Event,
    MessageState,
    MessageType,
    Role,
    StoredMessage,
)
from backscroll_sidecar.errors import Gone, unknown_channel
from backscroll_sidecar.ports import (
    Applied,
    Change,
    Clock,
    EventSink,
    HistoryReader,
    ListQuery,
    RecordChange,
    TurnMark,
    about_chain,
    about_text,
)
from backscroll_sidecar.summaries.compaction import (
    Compaction,
    CompactionSettings,
    Conversation,
    Missing,
    Outcome,
)
from backscroll_sidecar.summaries.cut_points import Cut, entry_of, find_cut
from backscroll_sidecar.summaries.key_lines import ChatLine, key_lines
from backscroll_sidecar.summaries.progress import most_after
from backscroll_sidecar.summaries.summariser import Summariser
from backscroll_sidecar.summaries.summary import (
    GENERATIONS,
    SUMMARY,
    Summary,
    SummaryKind,
    encode_summary,
    record_id,
    summaries_of,
    text_of,
)
from backscroll_sidecar.summaries.transcript import speakers_of, transcript_line
from backscroll_sidecar.whole_answers import NoAnswer

log = structlog.get_logger(__name__)

MAX_ROWS = 10_000
"""One compaction looks at so many: the first behind the summary, and where there is none the newest."""
PAGE_ROWS = 1_000
LARGE_SHARE = 2
"""Where what stays as it is takes so many times what it should, something in it is too large."""
TITLE_TOKENS = 12
"""Between notes and words."""
WORDS_TOKENS = 500
"""The most of a summary without notes of a model."""
WORDS_BESIDE_NOTES = 200
"""Tokens of people's own words behind a model's notes."""
MOST_SUMMARY_TOKENS = 4_000
"""Notes that are longer are not kept: a context has other things to show."""
LEAST_SUMMARY_TOKENS = 64
"""With less room for it no summary is made, and no model is asked."""


class Writer(Protocol):
    """What keeps a change; `history.writer.Writer` does."""

    @property
    def erasures_seen(self) -> int:
        """`TurnMark.since` of what reads from now on."""

    async def submit(self, change: Change) -> Applied:
        """Once it is committed. Raises `BackscrollError` where it is not."""


class Compactor:
    """Makes summaries and keeps them. Safe from any task of one event loop.

    `summariser` None: there is no model to ask.
    """

    def __init__(
        self,
        reader: HistoryReader,
        writer: Writer,
        events: EventSink,
        clock: Clock,
        settings: CompactionSettings,
        summariser: Summariser | None = None,
        locks: Locks | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._events = events
        self._clock = clock
        self._settings = settings
        self._summariser = summariser
        self._locks = locks or Locks()

    async def compact(
        self,
        conversation: Conversation,
        *,
        focus: str = "",
        with_model: bool = True,
        settings: CompactionSettings | None = None,
        only_if_due: bool = False,
    ) -> Compaction:
        """Summarise what stands before the newest part. Who comes meanwhile waits, and finds it done.

        `settings`: how, where that is not as usual. `only_if_due`: not where another server has just done it.

        Raises
        ------
        NotFound
            Nobody ever heard of the channel.
        Gone
            Messages were taken back while it was made, twice.
        StoreUnavailable
            The store cannot answer.
        """
        key, thread_id, session_id = conversation
        async with self._locks.hold(key.tenant, "compaction", key.channel, thread_id, session_id):
            if only_if_due and not (await self.missing(conversation, settings)).is_due:
                return Compaction(Outcome.NOTHING_TO_DO, None)
            compact = partial(
                self._compact,
                conversation,
                focus,
                settings or self._settings,
                with_model=with_model,
            )
            try:
                return await compact()
            except Gone:  # something of it was taken back meanwhile
                return await compact()

    async def missing(
        self, conversation: Conversation, settings: CompactionSettings | None = None
    ) -> Missing:
        """What must still come behind the summary before a compaction begins by itself."""
        previous = next(iter(await self.newest(conversation)), None)
        rows = await self._rows_behind(conversation, previous)
        settings = settings or self._settings
        if len(rows) <= settings.keep_messages:
            return Missing(settings.threshold_tokens, settings.keep_messages + 1 - len(rows))
        tokens = sum(settings.counted(entry_of(one).tokens) for one in rows)
        return Missing(settings.threshold_tokens - tokens, settings.threshold_messages - len(rows))

    async def newest(self, conversation: Conversation) -> tuple[Summary, ...]:
        """The summary that holds now and the one before it, the newest first, from the store."""
        key, now_ms = conversation.key, self._clock.now_ms()
        return summaries_of(
            await self._reader.newest_records(key, SUMMARY, conversation.owner, now_ms, GENERATIONS)
        )

    async def _compact(
        self,
        conversation: Conversation,
        focus: str,
        settings: CompactionSettings,
        *,
        with_model: bool,
    ) -> Compaction:
        since = self._writer.erasures_seen  # before anything is read: what goes from now on counts
        previous = next(iter(await self.newest(conversation)), None)
        rows = await self._rows_behind(conversation, previous)
        if (
            not rows
            and previous is None
            and await self._reader.channel_info(conversation.key) is None
        ):
            raise unknown_channel()
        entries = [entry_of(one) for one in rows]
        cut = find_cut(entries, settings.keep_tokens, settings.keep_messages)
        first_id = entries[0].message_id if entries else ""
        if cut is None:
            return Compaction(Outcome.NOTHING_TO_DO, previous, first_id)
        before = sum(one.tokens for one in entries) + (previous.tokens if previous else 0)
        kept = entries[cut.first_kept :]
        kept_tokens = sum(one.tokens for one in kept)
        largest = max(kept, key=lambda one: one.tokens).message_id
        room = (most_after(before) if settings.must_gain else before) - kept_tokens
        least = max(previous.tokens + TITLE_TOKENS if previous else 0, LEAST_SUMMARY_TOKENS)
        if room < least:  # whatever a summary says
            is_large = kept_tokens > LARGE_SHARE * max(settings.keep_tokens, 1)
            outcome = Outcome.NO_PROGRESS if is_large else Outcome.NOTHING_TO_DO
            return Compaction(
                outcome, previous, first_id, before, before, largest if is_large else ""
            )
        replaced = rows[: cut.first_kept]
        made, failure = "", ""
        if self._summariser is not None and with_model:
            made, failure = await self._notes(self._summariser, rows, cut, previous, focus)
        room = min(room, max(least, MOST_SUMMARY_TOKENS))
        text = await asyncio.to_thread(self._written, made, replaced, previous, room, focus)
        if text is None:
            return Compaction(
                Outcome.NO_PROGRESS, previous, first_id, before, before, largest, failure
            )
        if made and text.notes != made:
            failure = "too_large"
        is_by_model = bool(made) and not failure
        summary = _next_summary(previous, replaced, text, is_by_model=is_by_model)
        await self._keep(conversation, summary, replaced, since)
        compaction = Compaction(
            Outcome.COMPACTED,
            summary,
            kept[0].message_id,
            before,
            text.tokens + kept_tokens,
            "",
            failure,
        )
        self._tell(conversation, summary, compaction)
        return compaction

    async def _rows_behind(
        self, conversation: Conversation, previous: Summary | None
    ) -> list[StoredMessage]:
        """The live messages behind the summary, in order of arrival; without one, the newest `MAX_ROWS`."""
        key = conversation.key
        after = previous.upto_seq if previous else 0
        if previous is None and (info := await self._reader.channel_info(key)) is not None:
            after = max(0, info.last_seq - MAX_ROWS)
        rows: list[StoredMessage] = []
        while len(rows) < MAX_ROWS:
            page = await self._reader.list_messages(
                key, ListQuery(limit=PAGE_ROWS, after_seq=after, thread_id=conversation.thread_id)
            )
            rows += [
                one
                for one in page
                if one.state is MessageState.LIVE and conversation.holds(one.message)
            ]
            if len(page) < PAGE_ROWS:
                break
            after = page[-1].seq
        return rows

    async def _notes(
        self,
        summariser: Summariser,
        rows: Sequence[StoredMessage],
        cut: Cut,
        previous: Summary | None,
        focus: str,
    ) -> tuple[str, str]:
        """A model's notes, or why there are none."""
        lines = await asyncio.to_thread(transcript, rows[: cut.first_kept])
        before, split = lines[: cut.turn_start], lines[cut.turn_start :]
        notes = previous.notes if previous else ""
        try:
            return await summariser.notes(before, split, notes, focus), ""
        except NoAnswer as failed:
            log.warning("a summary by the model failed", reason=failed.word)
            return "", failed.word

    def _written(
        self,
        made: str,
        replaced: Sequence[StoredMessage],
        previous: Summary | None,
        room: int,
        focus: str,
    ) -> _Text | None:
        """A summary in so many tokens: a model's notes if they fit, else those before; None: nothing fits."""
        count = token_counter().count
        known_notes, known = (previous.notes, previous.words) if previous else ("", "")
        lines = list(map(chat_line, replaced, speakers_of(replaced)))
        for notes in dict.fromkeys((made or known_notes, known_notes)):
            left = room - (count(notes) + TITLE_TOKENS if notes else 0)
            most = WORDS_BESIDE_NOTES if notes else WORDS_TOKENS
            if left < 0:
                continue
            words = key_lines(lines, min(most, left), count, known, focus)
            text = text_of(notes, words)
            if text and (tokens := count(text)) <= room:
                return _Text(notes, words, tokens)
        return None

    async def _keep(
        self,
        conversation: Conversation,
        summary: Summary,
        replaced: Sequence[StoredMessage],
        since: int,
    ) -> None:
        """Keep a generation."""
        key = conversation.key
        named = (about_text(one.message.id) for one in replaced)
        before = summary.generation - 1
        await self._writer.submit(
            RecordChange(
                key,
                SUMMARY,
                record_id(summary.chain, summary.generation),
                encode_summary(summary),
                (about_chain(summary.chain), *named),
                self._clock.now_ms(),
                owner=conversation.owner,
                turn=TurnMark(since),
                after=record_id(summary.chain, before) if before else "",
            )
        )

    def _tell(self, conversation: Conversation, summary: Summary, compaction: Compaction) -> None:
        """Record that a conversation was compacted."""
        context_id = uuid.uuid4().hex
        payload: dict[str, int | float | str | bool] = {
            "kind": summary.kind.value,
            "generation": summary.generation,
            "message_count": summary.message_count,
            "tokens_before": compaction.tokens_before,
            "tokens_after": compaction.tokens_after,
            "summary_tokens": summary.tokens,
        }
        event = Event(
            f"{context_id}:compressed",
            "context.compressed",
            "agent",
            self._clock.now_ms(),
            "",
            payload,
        )
        self._events.emit(conversation.key, context_id, (event,))


class _Text(NamedTuple):
    """What a summary says, and its tokens."""

    notes: str
    words: str
    tokens: int


def _next_summary(
    previous: Summary | None, replaced: Sequence[StoredMessage], text: _Text, *, is_by_model: bool
) -> Summary:
    """The summary that goes on from the one before and stands for these messages, too."""
    newest_ms = max(one.rank_time_ms for one in replaced)
    return Summary(
        kind=SummaryKind.MODEL if is_by_model else SummaryKind.KEY_LINES,
        chain=previous.chain if previous else uuid.uuid4().hex,
        generation=1 + (previous.generation if previous else 0),
        message_count=len(replaced) + (previous.message_count if previous else 0),
        upto_seq=max(one.seq for one in replaced),
        newest_ms=max(previous.newest_ms if previous else 0, newest_ms),
        notes=text.notes,
        words=text.words,
        tokens=text.tokens,
    )


def transcript(rows: Sequence[StoredMessage]) -> list[str]:
    """The messages as lines for a model."""
    return list(map(transcript_line, rows, speakers_of(rows)))


def chat_line(stored: StoredMessage, speaker: str) -> ChatLine:
    """A message as it may stand in a summary without a model."""
    analysis = stored.analysis
    is_talk = stored.message.role in {Role.USER, Role.ASSISTANT}
    is_small_talk = analysis.message_type is MessageType.CASUAL
    return ChatLine(
        stored.message.id,
        speaker,
        analysis.text if is_talk and not is_small_talk else "",
        analysis.keywords,
        stored.message.role is Role.ASSISTANT,
    )
