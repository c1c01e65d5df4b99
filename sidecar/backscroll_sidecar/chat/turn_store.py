"""Reads and writes of a turn: its question, tool rounds and reply, and the kept turn itself."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.chat.companion import WithReply
from backscroll_sidecar.chat.turns import ModelReply, Turn, decode_turn, encode_turn
from backscroll_sidecar.domain import (
    CUT_ARGUMENTS,
    MAX_BATCH_BYTES,
    MAX_ID_BYTES,
    MAX_STATE_BYTES,
    MAX_TEXT_BYTES,
    AppendOutcome,
    AppendResult,
    ChannelKey,
    Message,
    MessageState,
    Part,
    ProviderStatePart,
    RefusalCode,
    Reply,
    Role,
    StoredMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    render_part,
)
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    Gone,
    InvalidRequest,
    NotFound,
    Reason,
    StoreUnavailable,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import (
    TURN,
    Clock,
    HistoryReader,
    RecordChange,
    TurnMark,
)
from backscroll_sidecar.texts import NEUTRAL, Wordings
from backscroll_sidecar.turn_ids import asked_mark, mark_of, partial_id, reply_id

log = structlog.get_logger(__name__)

T = TypeVar("T")

AGAIN_S = 0.25
"""Between two tries to store what a store does not take that is away."""
KEPT = {AppendOutcome.STORED, AppendOutcome.DUPLICATE}


class TurnStore:
    """What turns store. Ids are made from the turn's, so a retry stores nothing twice.

    `patience_s`: so long a store that is away is waited for, since an answer that was paid for is at stake.
    """

    def __init__(
        self,
        history: HistoryService,
        writer: Writer,
        reader: HistoryReader,
        clock: Clock,
        wordings: Wordings = NEUTRAL,
        patience_s: float = 0.0,
    ) -> None:
        self._patience_s = patience_s
        self._history = history
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._wordings = wordings

    async def save_question(self, key: ChannelKey, question: Message) -> None:
        """Store a question without a trigger. The same one again is a duplicate.

        Raises
        ------
        Conflict
            Another message has its id.
        InvalidRequest
            It cannot be stored.
        Gone
            It was recalled or erased.
        """
        (result,) = await self._patiently(lambda: self._history.append(key, [question]))
        if result.outcome is AppendOutcome.CONFLICT and not await self._is_stored(key, question):
            raise Conflict(
                "question_message_id is taken by another message", field="question_message_id"
            )
        if result.outcome is AppendOutcome.GONE:
            raise Gone("the question was recalled or erased", field="question_message_id")
        if result.outcome is AppendOutcome.REFUSED:
            raise InvalidRequest(
                f"the question cannot be stored: {result.refusal}", field=f"context.{result.field}"
            )

    async def _is_stored(self, key: ChannelKey, question: Message) -> bool:
        """Whether the stored message has the same author and text."""
        found = (await self._reader.get_messages(key, [question.id])).get(question.id)
        return found is not None and (
            found.message.author.id == question.author.id and found.message.text == question.text
        )

    def name_reply(self, turn: Turn, *, is_partial: bool) -> tuple[str, int]:
        """The id that a reply gets, and its time."""
        # A partial reply has an id of its own, since its round may be tried again.
        attempt = uuid.uuid4().hex[:12]
        id_ = partial_id(turn.id, attempt) if is_partial else reply_id(turn.id)
        return id_, self.next_ms(turn)

    async def save_reply(
        self,
        turn: Turn,
        reply: ModelReply,
        message_id: str,
        at_ms: int,
        more: WithReply,
        ended: Turn | None,
        replaced: str = "",
    ) -> None:
        """Store the reply, cut to what a row holds; with it what goes along, and the turn that is over.

        What only its vendor can read is stored with a text that is whole. Without `ended` the reply is partial. The
        message `replaced`, an earlier reply, goes in the same transaction.

        Raises
        ------
        Conflict
            Another reply of the turn is stored: see `reply_of`.
        BackscrollError
            The store did not take it.
        """
        text, is_partial = reply.text, ended is None
        parts: Sequence[Part] = [one for one in reply.parts if not isinstance(one, ToolCallPart)]
        if len(text.encode()) > MAX_TEXT_BYTES:
            text = _cut(text, MAX_TEXT_BYTES, self._cut_mark(turn))
        if is_partial or _texts(parts) != [text] or _state_bytes(parts) > MAX_STATE_BYTES:
            parts = (TextPart(text),)
        line = _line(turn, message_id, parts, at_ms, is_partial=is_partial)
        line = replace(line, audience=more.audience)
        records = more.records if ended is None else (self._record_of(ended), *more.records)
        context_id = "" if ended is None else turn.context_id
        await self._append(turn, [line, *more.messages], records, context_id, replaced)

    async def reply_of(self, turn: Turn) -> tuple[str, str] | None:
        """Id and text of the stored reply: the turn's, or an earlier turn's to the same question."""
        message_id = reply_id(turn.id)
        found = (await self._reader.get_messages(turn.key, [message_id])).get(message_id)
        if found is None or found.state is not MessageState.LIVE:
            found = await self._reader.answer_to(
                turn.key, turn.question_message_id, turn.self_id, asked_mark(turn.id)
            )
        return None if found is None else (found.message.id, found.message.text)

    async def results_of(
        self, turn: Turn, given: Sequence[ToolResultPart]
    ) -> tuple[Sequence[ToolResultPart], bool]:
        """The results that count, and whether an earlier try of the round stored them.

        Stored ones win, so that history and model have the same.

        Raises
        ------
        NotFound
            One of them was retracted.
        """
        if not turn.key.channel:
            return given, False
        rows = self._round(turn, given)[1:]
        stored = await self._reader.get_messages(turn.key, [row.id for row in rows])
        if not stored:
            return given, False
        first = []
        for row, one in zip(rows, given, strict=True):
            found = stored.get(row.id)
            part = found.message.parts[0] if found and found.message.parts else None
            if not isinstance(part, ToolResultPart):
                raise turn_not_found()
            # The model gets a result whole that the history had to cut.
            first.append(one if row.parts[0] == part else part)
        return first, True

    async def find_question(self, key: ChannelKey, message_id: str) -> StoredMessage | None:
        """The stored question, by any of its ids; None where it cannot be read."""
        try:
            return (await self._reader.get_messages(key, [message_id])).get(message_id)
        except Exception as error:  # noqa: BLE001 - it costs the reply its thread, not the answer
            log.warning("the question cannot be read", error=type(error).__name__)
            return None

    async def find_answer(
        self, key: ChannelKey, message_id: str, self_id: str, asked: str
    ) -> StoredMessage | None:
        """The reply that a bot stored to this question in these words; None: there is none."""
        try:
            return await self._reader.answer_to(key, message_id, self_id, mark_of(asked))
        except Exception as error:  # noqa: BLE001 - the model is asked again; the store keeps one answer
            log.warning("an earlier answer cannot be read", error=type(error).__name__)
            return None

    def next_ms(self, turn: Turn) -> int:
        """The time of what the turn stores next: now, but later than what it answers."""
        return max(self._clock.now_ms(), turn.after_ms + 1)

    async def save_round(self, turn: Turn, results: Sequence[ToolResultPart]) -> None:
        """Store a round's calls and results in one batch.

        They are sent at `turn.after_ms`; results rank after their calls.

        Raises
        ------
        BackscrollError
            The store did not take all of them.
        """
        await self._append(turn, self._round(turn, results))

    def _round(self, turn: Turn, results: Sequence[ToolResultPart]) -> list[Message]:
        asked: Sequence[Part] = turn.asked
        if _state_bytes(asked) > MAX_STATE_BYTES:
            asked = _without_states(asked)
        room = MAX_BATCH_BYTES - _state_bytes(asked)
        most = min(MAX_TEXT_BYTES, room // (len(results) + 1) - 2 * MAX_ID_BYTES)
        mark = self._cut_mark(turn)
        answers = [
            Message(
                turn.result_id(place),
                turn.key.channel,
                turn.author,
                (cut_result(one, most, mark),),
                turn.after_ms,
                Role.TOOL,
                turn.thread_id,
                turn.session_id,
                Reply(turn.calls_id),
            )
            for place, one in enumerate(results)
        ]
        return [_line(turn, turn.calls_id, cut_calls(asked, most, mark), turn.after_ms), *answers]

    def _cut_mark(self, turn: Turn) -> str:
        return self._wordings.by_language(turn.language).cut_mark

    async def _append(
        self,
        turn: Turn,
        rows: Sequence[Message],
        records: Sequence[RecordChange] = (),
        context_id: str = "",
        replaced: str = "",
    ) -> None:
        results = await self._patiently(
            lambda: self._history.append(
                turn.key,
                rows,
                turn=TurnMark(turn.since),
                records=records,
                context_id=context_id,
                replaces=replaced,
            )
        )
        for result in results:
            if result.outcome not in KEPT:
                raise _not_kept(result)

    async def keep(
        self,
        turn: Turn,
        records: Sequence[RecordChange] = (),
        messages: Sequence[Message] = (),
    ) -> None:
        """Keep the turn for its lifetime, and what goes along with it."""
        if records or messages:
            await self._append(turn, messages, (self._record_of(turn), *records))
        else:
            await self._patiently(lambda: self._writer.submit(self._record_of(turn)))

    async def _patiently(self, write: Callable[[], Awaitable[T]]) -> T:
        """What `write` returns, which is tried again while the store is away. Raises what it raises in the end."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._patience_s
        while True:
            try:
                return await write()
            except StoreUnavailable:
                if loop.time() >= ends_s:
                    raise
            await asyncio.sleep(AGAIN_S)

    def _record_of(self, turn: Turn) -> RecordChange:
        return RecordChange(
            turn.key,
            TURN,
            "",
            encode_turn(turn),
            turn.named_ids,
            self._clock.now_ms(),
            turn.expires_at_ms,
            owner=turn.id,
            turn=TurnMark(turn.since),
        )

    async def find(self, tenant: str, turn_id: str, allowed: AllowedChannels | None = None) -> Turn:
        """The kept turn. One of a channel that is not allowed is as good as none.

        Raises
        ------
        NotFound
            It is not kept, has expired, or is another tenant's.
        """
        since = self.erasures_seen  # before the row is read: erasures from now on count
        now_ms = self._clock.now_ms()
        found = await self._reader.records_of_owner(tenant, TURN, turn_id, now_ms)
        if not found or not is_allowed(found[0].channel, allowed):
            raise turn_not_found()
        return replace(decode_turn(found[0].body), since=since)

    @property
    def erasures_seen(self) -> int:
        """`TurnMark.since` of a turn that reads from now on."""
        return self._writer.erasures_seen


def cut_result(part: ToolResultPart, most: int, mark: str) -> ToolResultPart:
    """The result, rendered in at most `most` bytes, with a mark where it was cut."""
    spare = most - len(render_part(part).encode())
    if spare >= 0:
        return part
    return replace(part, text=_cut(part.text, len(part.text.encode()) + spare, mark))


def cut_calls(parts: Sequence[Part], most: int, mark: str) -> tuple[Part, ...]:
    """Text and calls in at most `most` bytes: the longest arguments go first, then text.

    What only their vendor can read stays with what is whole.
    """
    excess = len("\n".join(filter(None, map(render_part, parts))).encode()) - most
    cut = list(parts) if excess <= 0 else _without_states(parts)
    calls = [(place, part) for place, part in enumerate(cut) if isinstance(part, ToolCallPart)]
    for place, call in sorted(calls, key=lambda one: -len(one[1].arguments_json)):
        gain = len(call.arguments_json.encode()) - len(CUT_ARGUMENTS)
        if excess <= 0 or gain <= 0:
            break
        cut[place] = replace(call, arguments_json=CUT_ARGUMENTS)
        excess -= gain
    texts = [(place, part) for place, part in enumerate(cut) if isinstance(part, TextPart)]
    for place, said in sorted(texts, key=lambda one: -len(one[1].text)):
        if excess <= 0:
            break
        less = TextPart(_cut(said.text, len(said.text.encode()) - excess, mark))
        excess -= len(said.text.encode()) - len(less.text.encode())
        cut[place] = less
    return tuple(cut)


def _texts(parts: Sequence[Part]) -> list[str]:
    return [one.text for one in parts if isinstance(one, TextPart)]


def _state_bytes(parts: Sequence[Part]) -> int:
    return sum(len(one.data) for one in parts if isinstance(one, ProviderStatePart))


def _without_states(parts: Sequence[Part]) -> list[Part]:
    return [one for one in parts if not isinstance(one, ProviderStatePart)]


def turn_not_found() -> NotFound:
    """The error for a turn_id that no kept turn has."""
    return NotFound(
        "turn_id names no turn that is kept", field="turn_id", reason=Reason.TURN_NOT_FOUND
    )


def _cut(text: str, most: int, mark: str) -> str:
    kept = max(most - len(mark.encode()), 0)
    return text.encode()[:kept].decode(errors="ignore") + mark


def _not_kept(result: AppendResult) -> BackscrollError:
    if result.outcome is AppendOutcome.REFUSED:
        too_large = result.refusal is RefusalCode.TEXT_TOO_LARGE
        return InvalidRequest(
            f"{result.field} cannot be stored: {result.refusal}",
            reason=Reason.TOO_LARGE if too_large else None,
        )
    if result.outcome is AppendOutcome.GONE:
        return Gone("the message was recalled or erased")
    return Conflict("the message's id is taken")


def _line(
    turn: Turn, message_id: str, parts: Sequence[Part], at_ms: int, *, is_partial: bool = False
) -> Message:
    """A message of the bot in a turn."""
    return Message(
        message_id,
        turn.key.channel,
        turn.author,
        tuple(parts),
        at_ms,
        Role.ASSISTANT,
        turn.thread_id,
        turn.session_id,
        Reply(turn.question_message_id) if turn.question_message_id else None,
        is_partial=is_partial,
    )
