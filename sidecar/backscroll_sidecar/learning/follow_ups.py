"""What people write behind an answer, read for what it says of the answer. Nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    ChannelKey,
    Member,
    MessageState,
    Role,
    StoredMessage,
)
from backscroll_sidecar.errors import BackscrollError, Gone
from backscroll_sidecar.learning.signals import DEFAULT_WINDOW, implicit_signals
from backscroll_sidecar.learning.turn import ChatLine, Turn
from backscroll_sidecar.ports import (
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    ListQuery,
    Signal,
    SignalChange,
    SignalKind,
    StoredUsage,
    TurnMark,
    UsageQuery,
)

log = structlog.get_logger(__name__)

GATHER_S = 0.5
"""So long lines of a channel are gathered before they are read."""
MAX_CHANNELS = 10_000
"""Channels of which it is known whether there is an answer to speak of."""
LATEST_ANSWERS = 5
EARLIER_LINES = 60
MAX_LINES = 160
"""Around one question: those before it, and those behind it while the bot answers and is answered."""


class FollowUps:
    """Reads follow-ups of recorded builds; one of the writer's publishers. Belongs to one event loop."""

    def __init__(self, reader: HistoryReader, writer: ChangeWriter, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._answered_ms: OrderedDict[ChannelKey, int] = OrderedDict()
        """When a bot spoke last. A channel that is not here may have answers from before the start."""
        self._due: dict[ChannelKey, None] = {}
        self._in_hand: dict[ChannelKey, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take note of answers, whoever got them, and of people who write behind them here."""
        if applied.is_foreign and applied.is_erasure:  # others wrote, and nobody says what
            self._answered_ms.pop(key, None)
        for row in applied.stored:
            message = row.message
            if message.role is Role.ASSISTANT:
                self._note(key, self._clock.now_ms())
            elif applied.is_foreign:
                continue
            elif message.author.kind is AuthorKind.HUMAN and self._may_follow(key):
                self._due[key] = None
                self._wake.set()

    def take_over(self, key: ChannelKey, rows: Sequence[StoredMessage]) -> None:
        """Read what another server did not."""
        self.publish(key, Applied(stored=tuple(rows)))

    def is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:  # noqa: ARG002
        """Whether the channel is still to be read."""
        return key in self._due or key in self._in_hand

    def _may_follow(self, key: ChannelKey) -> bool:
        now_ms = self._clock.now_ms()
        answered_ms = self._answered_ms.get(key)
        if answered_ms is None:
            self._note(key, 0)
            return True
        return now_ms - answered_ms <= DEFAULT_WINDOW.max_age_ms

    def _note(self, key: ChannelKey, at_ms: int) -> None:
        self._answered_ms[key] = at_ms
        self._answered_ms.move_to_end(key)
        if len(self._answered_ms) > MAX_CHANNELS:
            self._answered_ms.popitem(last=False)

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-follow-ups")

    async def close(self) -> None:
        """Stop. What is not read yet is read with the next line of its channel."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_S)
            self._wake.clear()
            self._in_hand, self._due = self._due, {}
            while self._in_hand:
                key = next(iter(self._in_hand))
                try:
                    await self.read(key)
                except BackscrollError as error:
                    log.warning("follow-ups are not read", reason=error.reason.value)
                except Exception:
                    log.exception("follow-ups of a channel could not be read")
                del self._in_hand[key]

    async def read(self, key: ChannelKey) -> None:
        """Read what stands behind a channel's latest answers, and keep what that says. Raises `StoreUnavailable`."""
        mark = TurnMark(self._writer.erasures_seen)
        since_ms = self._clock.now_ms() - 2 * DEFAULT_WINDOW.max_age_ms
        query = UsageQuery(
            channel=key.channel, since_ms=since_ms, limit=LATEST_ANSWERS, newest_first=True
        )
        found = await self._reader.usage_records(key.tenant, query)
        builds = [one for one in found if one.reply_seq and one.record.trigger_message_id]
        if not builds:
            return
        triggers = [one.record.trigger_message_id for one in builds]
        asked = await self._reader.get_messages(key, triggers)
        people = await self._reader.members(key)
        known = await self._reader.signals(key.tenant, [one.record.context_id for one in builds])
        for build in builds:
            context_id, question = (
                build.record.context_id,
                asked.get(build.record.trigger_message_id),
            )
            signals = None
            if question is not None:
                signals = await self._signals(key, build, question, people)
            said = known.get(context_id, ())
            read_before = {one for one in said if one.kind is not SignalKind.FEEDBACK}
            if signals is not None and read_before != set(signals):
                change = SignalChange(key, context_id, signals, is_reading=True, turn=mark)
                with contextlib.suppress(Gone):  # what was read is erased
                    await self._writer.submit(change)

    async def _signals(
        self, key: ChannelKey, build: StoredUsage, question: StoredMessage, people: Sequence[Member]
    ) -> tuple[Signal, ...] | None:
        after_seq = max(0, question.seq - EARLIER_LINES - 1)
        listing = ListQuery(limit=MAX_LINES, after_seq=after_seq)
        rows = await self._reader.list_messages(key, listing)
        shown = await self._reader.ids_by_seq(key, build.record.context)
        reply_seq, shown_ids = build.reply_seq, frozenset(shown.values())
        # Milliseconds of pure Python where lines are long.
        return await asyncio.to_thread(signals_of, question, reply_seq, shown_ids, rows, people)


def signals_of(
    question: StoredMessage,
    reply_seq: int | None,
    shown_ids: frozenset[str],
    rows: Sequence[StoredMessage],
    people: Sequence[Member],
) -> tuple[Signal, ...] | None:
    """What the lines behind an answer say; None: the answer is retracted, or not among `rows`."""
    reply = next((row for row in rows if row.seq == reply_seq), None)
    if reply is None or reply.state is not MessageState.LIVE:
        return None
    turn = Turn(
        _line(question),
        _line(reply),
        shown_ids,
        [_line(row) for row in rows if row.seq < question.seq],
        [Author(one.user_id, one.name, one.kind) for one in people],
    )
    following = [_line(row) for row in rows if row.seq > question.seq]
    return tuple(one.stored() for one in implicit_signals(turn, following))


def _line(row: StoredMessage) -> ChatLine:
    message = row.message
    reply = message.reply
    return ChatLine(
        message.id,
        message.author,
        row.analysis.text,
        row.rank_time_ms,
        "" if reply is None or reply.inferred else reply.message_id,
        row.analysis.mention_ids,
    )
