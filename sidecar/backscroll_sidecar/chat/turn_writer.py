"""Stores a turn in tasks that outlive its caller."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple

import msgspec
import structlog
from msgspec.structs import replace

from backscroll_sidecar.chat.companion import ALONE, Companion
from backscroll_sidecar.chat.events import ChatEnd, EndReason, NotStored
from backscroll_sidecar.chat.finish_reasons import Ending
from backscroll_sidecar.chat.turn_events import TurnEvents
from backscroll_sidecar.chat.turn_store import TurnStore
from backscroll_sidecar.chat.turns import ModelReply, Turn
from backscroll_sidecar.errors import BackscrollError, Conflict, Reason, StoreUnavailable
from backscroll_sidecar.ports import VERSION_FIELD, Clock, RecordChange

log = structlog.get_logger(__name__)

NOT_STORED = "the turn could not be stored"
NOT_STORED_YET = "the turn was not stored before the caller's time was up; it still may be"

COMMIT_TRIES = 8
"""Of a reply, while records that go with it change."""


class TimeLimits(NamedTuple):
    """Ends of a caller's time, on the loop's clock.

    Attributes
    ----------
    model_s : of waiting for the model; then the stream ends with DEADLINE.
    commit_s : of waiting for commits.
    """

    model_s: float
    commit_s: float


class WriteOutcome(msgspec.Struct, frozen=True):
    """What was stored: the reply's id or nothing, whether the turn is kept, and what failed."""

    message_id: str = ""
    is_kept: bool = False
    failure: BaseException | None = None


class TurnWriter:
    """Stores replies and keeps turns, in tasks that outlive their call."""

    def __init__(
        self, turn_store: TurnStore, turn_events: TurnEvents, clock: Clock, turn_lifetime_ms: int
    ) -> None:
        self._turn_store = turn_store
        self._turn_events = turn_events
        self._clock = clock
        self._turn_lifetime_ms = turn_lifetime_ms
        self._running: set[asyncio.Task[Any]] = set()
        self.failures = Counter[str]()
        """Turns of which something was not stored, by the reason's word."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` to its end. The task is held until then."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(_look_at)
        return task

    def finish(
        self,
        turn: Turn,
        reply: ModelReply,
        ending: Ending,
        saving: Sequence[asyncio.Task[Any]],
        companion: Companion = ALONE,
        replaced: str = "",
    ) -> asyncio.Task[WriteOutcome]:
        """Begin to store the reply and to keep the turn, once `saving` is done.

        A reply that is whole takes the place of the one with the id `replaced`.
        """
        finishing = self.spawn(self._finish(turn, reply, ending, saving, companion, replaced))
        finishing.add_done_callback(lambda _: self._count(turn, finishing))
        return finishing

    async def settle(
        self,
        turn: Turn,
        reply: ModelReply,
        ending: Ending,
        finishing: asyncio.Task[WriteOutcome],
        limits: TimeLimits | None,
    ) -> tuple[ChatEnd, NotStored | None]:
        """Wait for the turn's commits; the end, and an error where something was not stored.

        A store that hangs does not hold up the end; its commits go on.
        """
        now_s = asyncio.get_running_loop().time()
        left_s = None if limits is None else max(0.0, limits.commit_s - now_s)
        await asyncio.wait([finishing], timeout=left_s)  # a caller who leaves cancels no commit
        in_time = finishing.done()
        finish = _outcome(finishing)
        reason, turn_id = ending.reason, turn.id
        if reason is EndReason.TOOL_CALLS and not finish.is_kept:
            reason, turn_id = EndReason.UPSTREAM_ERROR, ""  # nobody could take the results
        end = ChatEnd(
            reason,
            turn_id,
            finish.message_id,
            bool(finish.message_id) and not ending.is_whole,
            reply.prompt_tokens,
            reply.completion_tokens,
            reply.finish_reason,
        )
        failed = finish.failure
        if failed is None:
            return end, None
        if in_time:
            return end, NotStored(NOT_STORED, _word(failed))
        log.warning("turn not stored in time", turn_id=turn.id)
        return end, NotStored(NOT_STORED_YET, _word(failed))

    def _count(self, turn: Turn, finishing: asyncio.Task[WriteOutcome]) -> None:
        """Take note of what was not stored, also where the caller has left."""
        failed = None if finishing.cancelled() else _outcome(finishing).failure
        if failed is not None:
            self.failures[_word(failed)] += 1
            log.warning("turn not stored", turn_id=turn.id, error=type(failed).__name__)

    @property
    def is_idle(self) -> bool:
        """Whether every commit that was begun has ended."""
        return not self._running

    async def drain(self) -> None:
        """Wait for what turns still have to store."""
        while self._running:
            await asyncio.wait(set(self._running))

    async def _finish(
        self,
        turn: Turn,
        reply: ModelReply,
        ending: Ending,
        saving: Sequence[asyncio.Task[Any]],
        companion: Companion,
        replaced: str,
    ) -> WriteOutcome:
        if saving:
            await asyncio.wait(saving)  # a reply comes after what it answers
            if turn.iteration == 1 and any(isinstance(one.exception(), Conflict) for one in saving):
                turn = replace(turn, question_message_id="")  # another question has that id
        finish = WriteOutcome()
        if ending.reason is EndReason.TOOL_CALLS:
            asked = replace(turn, asked=reply.whole)
            async with companion.committing():
                finish = await self._keep(asked, finish, companion.with_calls(asked.calls))
        else:
            finish = await self._end(turn, reply, ending, companion, replaced)
            self._turn_events.ended(turn, ending, reply, finish.message_id)
        failures = (task.exception() for task in saving)
        return replace(finish, failure=next(filter(None, failures), finish.failure))

    async def _end(
        self, turn: Turn, reply: ModelReply, ending: Ending, companion: Companion, replaced: str
    ) -> WriteOutcome:
        """Store the reply and, with it, the turn that is over, and what the companion keeps of it.

        What somebody else changed meanwhile is read again, and then all of it is tried anew.
        """
        outcome = WriteOutcome()
        async with companion.committing():
            for _ in range(COMMIT_TRIES):
                try:
                    outcome = await self._try_to_end(turn, reply, ending, companion, replaced)
                except Conflict as changed:
                    outcome = WriteOutcome(failure=changed)
                    if await self._renewed(companion):
                        continue
                break
            if outcome.failure is not None:
                await self._renewed(companion)
        return outcome

    async def _renewed(self, companion: Companion) -> bool:
        try:
            return await companion.renew()
        except BackscrollError:
            return False

    async def _try_to_end(
        self, turn: Turn, reply: ModelReply, ending: Ending, companion: Companion, replaced: str
    ) -> WriteOutcome:
        """Raises `Conflict` where a record is of another version than it was."""
        text, is_whole = reply.text, ending.is_whole
        message_id, at_ms = self._turn_store.name_reply(turn, is_partial=not is_whole)
        more = companion.with_reply(text, message_id, at_ms, is_whole=is_whole)
        is_stored = bool(text) and bool(turn.key.channel) and not more.is_silent
        ended = replace(
            turn,
            ended=ending.reason,
            reply_text=text,
            reply_message_id=message_id if is_stored else "",
            finish_reason=reply.finish_reason,
            messages=(),
            expires_at_ms=self._expires_at_ms(),
        )
        try:
            if is_stored:
                await self._turn_store.save_reply(
                    turn,
                    reply,
                    message_id,
                    at_ms,
                    more,
                    ended if is_whole else None,
                    replaced if is_whole else "",
                )
                return WriteOutcome(message_id, is_kept=is_whole)
            if is_whole or more.records:
                await self._turn_store.keep(ended, more.records, more.messages)
            return WriteOutcome(is_kept=is_whole)
        except Conflict as taken:
            if taken.field == VERSION_FIELD:
                raise
            return await self._answered_before(ended, taken)
        except BackscrollError as failed:
            return WriteOutcome(failure=failed)

    async def _answered_before(self, ended: Turn, taken: Conflict) -> WriteOutcome:
        """Another reply to the question is stored: that is what the turn came to."""
        first = await self._turn_store.reply_of(ended)
        if first is None:
            return await self._keep(
                replace(ended, reply_message_id=""), WriteOutcome(failure=taken)
            )
        message_id, text = first
        finish = WriteOutcome(message_id, failure=None if text == ended.reply_text else taken)
        said = replace(ended, reply_message_id=message_id, reply_text=text)
        return await self._keep(said, finish)

    async def _keep(
        self, turn: Turn, finish: WriteOutcome, more: Sequence[RecordChange] = ()
    ) -> WriteOutcome:
        try:
            await self._turn_store.keep(replace(turn, expires_at_ms=self._expires_at_ms()), more)
        except BackscrollError as failed:
            return replace(finish, failure=finish.failure or failed)
        return replace(finish, is_kept=True)

    def _expires_at_ms(self) -> int:
        return self._clock.now_ms() + self._turn_lifetime_ms


def _outcome(finishing: asyncio.Task[WriteOutcome]) -> WriteOutcome:
    if not finishing.done():
        return WriteOutcome(failure=StoreUnavailable("the commit did not end in time"))
    crashed = finishing.exception()
    return finishing.result() if crashed is None else WriteOutcome(failure=crashed)


def _word(failed: BaseException) -> str:
    return failed.reason.value if isinstance(failed, BackscrollError) else Reason.INTERNAL.value


def _look_at(task: asyncio.Task[Any]) -> None:
    """Take note of an error that nobody may be there to hear."""
    if not task.cancelled() and task.exception() is not None:
        log.debug("background work failed", error=type(task.exception()).__name__)
