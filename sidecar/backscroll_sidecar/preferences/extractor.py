"""Reads messages for preferences, behind the answers: nobody who appends or builds waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

import structlog
from msgspec.structs import replace

from backscroll_sidecar.concurrency.jobs import ALONE, Jobs
from backscroll_sidecar.domain import (
    AuthorKind,
    ChannelKey,
    MessageState,
    PreferenceExtraction,
    Role,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied, HistoryReader, StoredChannelSettings
from backscroll_sidecar.preferences.clauses import may_tell
from backscroll_sidecar.preferences.model_reader import ModelReader
from backscroll_sidecar.preferences.preference import Kept
from backscroll_sidecar.preferences.rules import read_text
from backscroll_sidecar.preferences.service import PreferenceService, Source
from backscroll_sidecar.whole_answers import NoAnswer

log = structlog.get_logger(__name__)

GATHER_S = 0.1
"""So long messages are gathered before they are read."""
MOST_WAITING = 50_000
"""More messages than these are not read."""
BATCH = 200
MODEL_BATCH = 20
"""Messages of one call of the model."""
MOST_FOR_MODEL = 1_000
CLOSE_S = 2.0
"""Seconds that what waits gets to be read by rules when the server stops."""

Waiting = dict[tuple[ChannelKey, str], int]
"""By message: the moment when it came."""


class People(Protocol):
    """Some people, by their ids."""

    def __contains__(self, user_id: str, /) -> bool: ...


class StoredConsent(Protocol):
    """Where it is known who does not want to be learnt from."""

    async def refusals(self, tenant: str) -> People:
        """Their user ids. Raises `StoreUnavailable`."""


class Extractor:
    """Reads what people say of themselves; one of the writer's publishers. Belongs to one event loop.

    `usual`: what reads where a channel says nothing. `model_reader` None: rules alone.
    """

    def __init__(
        self,
        reader: HistoryReader,
        preferences: PreferenceService,
        channel_settings: StoredChannelSettings,
        consent: StoredConsent,
        usual: PreferenceExtraction,
        model_reader: ModelReader | None = None,
        jobs: Jobs = ALONE,
    ) -> None:
        self._reader = reader
        self._preferences = preferences
        self._channel_settings = channel_settings
        self._consent = consent
        self._usual = usual
        self._model_reader = model_reader
        self._jobs = jobs
        self._waiting: Waiting = {}
        self._for_model: Waiting = {}
        self._in_hand: Counter[tuple[ChannelKey, str]] = Counter()
        """What is being read now, by rules or by the model."""
        self._dropped_count = 0
        self._wake = asyncio.Event()
        self._wake_model = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # --- what the writer tells ---------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Queue the messages that came or were edited, where they may be read."""
        if not applied.stored or not key.channel:
            return
        known = self._channel_settings.known(key)
        if (
            known is not None
            and self._mode(known.preference_extraction) is PreferenceExtraction.OFF
        ):
            return
        moment = self._preferences.moment()
        for row in applied.stored:
            self._come(key, row, moment)
        self._wake.set()

    def _come(self, key: ChannelKey, row: StoredMessage, moment: int) -> None:
        if is_own_word(row) and (row.revision or not row.moves):  # else only its place changed
            self._queue(self._waiting, (key, row.message.id), moment, MOST_WAITING)

    def take_over(self, key: ChannelKey, rows: Sequence[StoredMessage]) -> None:
        """Read what another server did not. All that was deleted of a person since it came stays away."""
        for row in rows:
            self._come(key, row, 1_000 * row.rank_time_ms)
        self._wake.set()

    def is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:  # noqa: ARG002
        """Whether a message is still to be read."""
        one = (key, message_id)
        return one in self._waiting or one in self._for_model or one in self._in_hand

    def _mode(self, of_channel: PreferenceExtraction | None) -> PreferenceExtraction:
        return self._usual if of_channel is None else of_channel

    def _queue(
        self, waiting: Waiting, message: tuple[ChannelKey, str], moment: int, most: int
    ) -> None:
        if len(waiting) >= most and message not in waiting:
            self._dropped_count += 1
            return
        waiting.pop(message, None)
        waiting[message] = moment

    # --- reading -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the tasks, once."""
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._run(), name="backscroll-preferences"),
                asyncio.create_task(self._run_model(), name="backscroll-preferences-model"),
            ]

    async def close(self) -> None:
        """Stop; what waits is read by rules for a bounded time."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                while self._waiting:
                    await self._read_some()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_S)
            self._wake.clear()
            while self._waiting:
                await self._read_some()
            if self._dropped_count:
                log.warning("messages were not read for preferences", count=self._dropped_count)
                self._dropped_count = 0

    async def _run_model(self) -> None:
        while True:
            await self._wake_model.wait()
            self._wake_model.clear()
            while self._for_model:
                await self._read_some_by_model()

    async def _read_some(self) -> None:
        with self._taken(self._waiting, BATCH) as (key, batch):
            try:
                await self._read_by_rules(key, batch)
            except BackscrollError as error:
                log.warning("messages are not read for preferences", reason=error.reason.value)
            except Exception:
                log.exception("messages could not be read for preferences")

    async def _read_by_rules(self, key: ChannelKey, batch: Mapping[str, int]) -> None:
        await self._jobs.catch_up(key.tenant, ())
        settings = self._channel_settings.known(key) or await self._channel_settings.read(key)
        mode = self._mode(settings.preference_extraction)
        if mode is PreferenceExtraction.OFF:
            return
        asks_model = mode is PreferenceExtraction.MODEL and self._model_reader is not None
        rows = await self._rows(key, batch)
        found = await asyncio.to_thread(self._found, rows)  # a long text takes milliseconds
        for row, kept in zip(rows, found, strict=True):
            message_id = row.message.id
            await self._keep(key, row, kept, batch[message_id])
            if asks_model and may_tell(text_of(row)):
                self._queue(self._for_model, (key, message_id), batch[message_id], MOST_FOR_MODEL)
                self._wake_model.set()

    async def _read_some_by_model(self) -> None:
        with self._taken(self._for_model, MODEL_BATCH) as (key, batch):
            if self._model_reader is not None:
                await self._read_by_model(self._model_reader, key, batch)

    async def _read_by_model(
        self, model_reader: ModelReader, key: ChannelKey, batch: Mapping[str, int]
    ) -> None:
        try:
            rows = await self._rows(key, batch)
            said = [(row.message.author.id, text_of(row)) for row in rows]
            found = await model_reader.read(said) if said else {}
            still = {row.message.id: row.revision for row in await self._rows(key, batch)}
            for index, kept in found.items():
                row = rows[index]
                if still.get(row.message.id) != row.revision:
                    continue  # it was edited or taken back meanwhile
                by_rules = await asyncio.to_thread(
                    read_text, text_of(row), self._preferences.topics
                )
                await self._keep(key, row, _united(by_rules, kept), batch[row.message.id])
        except NoAnswer as error:
            log.warning("the model reads no preferences now", reason=error.word)
        except BackscrollError as error:
            log.warning("messages are not read for preferences", reason=error.reason.value)
        except Exception:
            log.exception("messages could not be read for preferences")

    @contextlib.contextmanager
    def _taken(self, waiting: Waiting, most: int) -> Iterator[tuple[ChannelKey, dict[str, int]]]:
        """Take messages of the channel that has waited longest; they are in hand until the block ends."""
        key = next(iter(waiting))[0]
        taken = [*islice((one for one in waiting if one[0] == key), most)]
        self._in_hand.update(taken)
        moments = {one: waiting.pop(one) for one in taken}
        try:
            yield key, {one[1]: moment for one, moment in moments.items()}
        except asyncio.CancelledError:
            waiting.update(moments)
            raise
        finally:
            self._in_hand -= Counter(taken)

    async def _rows(self, key: ChannelKey, batch: Mapping[str, int]) -> list[StoredMessage]:
        rows = await self._reader.get_messages(key, [*batch])
        await self._jobs.catch_up(key.tenant, ())
        refused = await self._consent.refusals(key.tenant)
        found = (rows[id_] for id_ in batch if id_ in rows)
        return [one for one in found if is_own_word(one) and one.message.author.id not in refused]

    def _found(self, rows: Sequence[StoredMessage]) -> list[list[Kept]]:
        return [read_text(text_of(row), self._preferences.topics) for row in rows]

    async def _keep(
        self, key: ChannelKey, row: StoredMessage, found: Sequence[Kept], moment: int
    ) -> None:
        """Keep what was found in a message. Nothing in a new one needs no look at the store."""
        if not found and not row.revision:
            return
        message = row.message
        source = Source(key, message.id, message.author.id, moment)
        dated = [
            replace(one, valid_from_ms=row.rank_time_ms, source_ids=(message.id,)) for one in found
        ]
        await self._preferences.keep_read(source, dated)


def is_own_word(row: StoredMessage) -> bool:
    """Whether a message is what a person says to everybody in the channel."""
    message = row.message
    return (
        row.state is MessageState.LIVE
        and message.role is Role.USER
        and message.author.kind is AuthorKind.HUMAN
        and bool(message.author.id)
        and not message.audience
    )


def text_of(row: StoredMessage) -> str:
    """What the author typed: no marks of pictures, no results of tools."""
    return "\n".join(part.text for part in row.message.parts if type(part) is TextPart)


def _united(first: Sequence[Kept], then: Sequence[Kept]) -> list[Kept]:
    both = {(one.topic, one.value.casefold()): one for one in (*then, *first)}
    return [*both.values()]
