"""Who is known in a channel, so that analysis finds the people a text names.

A roster is a cache of the store: loaded once a channel (one load at a time), kept right by what the writer publishes,
dropped when it is the least recently used or when keeping it right would cost more than loading it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from backscroll_sidecar.analyze.mentions import RosterOverTime, StaticRoster
from backscroll_sidecar.channel_cache import ChannelCache
from backscroll_sidecar.domain import (
    ChannelKey,
    Member,
    Message,
    MessageState,
    MessageType,
    StoredMessage,
)
from backscroll_sidecar.known_names import NameTimes, looked_up_by, with_name_seen
from backscroll_sidecar.ports import Applied, HistoryReader, LastMessage

__all__ = ["BatchRoster", "ChannelRoster", "RosterOverTime", "Rosters"]

MAX_ROSTERS = 1_000
MAX_ENTRIES = 200_000
"""Names, users and message ids in all rosters together, some 150 bytes each; one roster always stays."""
RECENT_TYPES = 256
_LIVE, _QUESTION = MessageState.LIVE, MessageType.QUESTION


class ChannelRoster(StaticRoster):
    """The people of one channel as committed. Changed on the event loop only; look-ups may come from any thread.

    `newest_ms` is the time of the channel's newest row when the rest was read: a row not older than that is its
    author's newest for sure. `unsure` are the users of whom only the store knows which message is their newest.
    """

    def __init__(
        self,
        members: Sequence[Member] = (),
        last_messages: Mapping[str, LastMessage] | None = None,
        newest_ms: int = 0,
    ) -> None:
        last = last_messages or {}
        super().__init__(members, {user_id: one.id for user_id, one in last.items()})
        self.unsure: set[str] = set()
        self._newest_ms = newest_ms
        self._last_ms: dict[str, int] = {}
        self._questions: dict[str, bool] = {}
        self._last_asks = {one.id: _asks(one.message_type) for one in last.values()}
        self._aliases = {one.user_id: one.aliases for one in members if one.aliases}

    @property
    def entries(self) -> int:
        """Names, users and message ids it holds."""
        return (
            len(self._holders) + len(self._now) + len(self._last) + len(self._last_ms)
            + len(self._questions) + len(self._last_asks) + len(self._aliases) + len(self._times)
        )  # fmt: skip

    def last_ms(self, user_id: str) -> int:
        """The time of a user's newest message, where it came since the roster was loaded; else 0."""
        return self._last_ms.get(user_id, 0)

    def is_question(self, message_id: str) -> bool | None:
        """Whether a message asks something; None when it is neither its author's newest nor one of the last ones here.

        Whoever is mentioned is answered by their newest message: of that it must be known, however long ago it came.
        """
        asks = self._questions.get(message_id)
        return self._last_asks.get(message_id) if asks is None else asks

    def take(self, applied: Applied) -> bool:
        """Learn from a committed change; False when names were taken away, so that it must be loaded anew."""
        kept = not applied.is_erasure
        for member in applied.members:
            kept &= set(self._aliases.get(member.user_id, ())) <= set(member.aliases)
            if member.aliases:
                self._aliases[member.user_id] = member.aliases
            self._learn_member(member)
        for row in applied.stored:
            self._take_row(row)
        return kept

    def settle(self, user_id: str, newest: StoredMessage | None) -> None:
        """Take the store's word for a user's newest message, unless a newer one was committed meanwhile."""
        if newest is None:
            if user_id not in self._last_ms:
                self._last_asks.pop(self._last.pop(user_id, ""), None)
        elif newest.rank_time_ms >= self._last_ms.get(user_id, 0):
            self._set_last(newest)

    def _take_row(self, row: StoredMessage) -> None:
        author = row.message.author
        author_id, message_id = author.id, row.message.id
        last_id = self._last.get(author_id)
        self._note_type(row)
        self._learn(author.name, author_id)
        if row.state is not _LIVE:
            if last_id == message_id:
                self.unsure.add(author_id)
                self._last_ms.pop(author_id, None)
            return
        known_ms = self._last_ms.get(author_id)
        if known_ms is None and last_id is not None and last_id != message_id:
            if row.rank_time_ms < self._newest_ms:
                self.unsure.add(author_id)
                return
            known_ms = self._newest_ms
        if known_ms is None or row.rank_time_ms >= known_ms:
            self._set_last(row)

    def _note_type(self, row: StoredMessage) -> None:
        """Remember whether a message asks something, for those that answer it; the oldest is forgotten."""
        questions, message_id = self._questions, row.message.id
        questions.pop(message_id, None)
        questions[message_id] = _asks(row.analysis.message_type)
        if len(questions) > RECENT_TYPES:
            del questions[next(iter(questions))]

    def _set_last(self, row: StoredMessage) -> None:
        """Make this its author's newest message."""
        message_id, author_id = row.message.id, row.message.author.id
        self._last_asks.pop(self._last.get(author_id, ""), None)
        self._last[author_id] = message_id
        self._last_asks[message_id] = _asks(row.analysis.message_type)
        self._last_ms[author_id] = row.rank_time_ms


class BatchRoster(StaticRoster):
    """A channel's roster and, on top of it, what the batch being analysed says itself; dies with the batch."""

    def __init__(self, base: ChannelRoster) -> None:
        super().__init__()
        self._base = base
        self._questions: dict[str, bool] = {}
        self.longest_name_chars = base.longest_name_chars

    def holders(self, folded: str) -> tuple[str, ...]:
        mine, theirs = super().holders(folded), self._base.holders(folded)
        return tuple(dict.fromkeys((*theirs, *mine))) if mine and theirs else mine or theirs

    def name_now(self, user_id: str) -> str:
        return super().name_now(user_id) or self._base.name_now(user_id)

    def name_times(self, user_id: str) -> NameTimes:
        return super().name_times(user_id) or self._base.name_times(user_id)

    def last_message_id(self, user_id: str) -> str | None:
        return self._last.get(user_id) or self._base.last_message_id(user_id)

    def is_question(self, message_id: str) -> bool | None:
        """Whether a message asks something; None when it is neither of this batch nor known to the channel's roster."""
        mine = self._questions.get(message_id)
        return self._base.is_question(message_id) if mine is None else mine

    def note_type(self, message_id: str, message_type: MessageType) -> None:
        """Remember whether a message asks something, for those that answer it."""
        self._questions[message_id] = _asks(message_type)

    def note(self, message: Message, message_type: MessageType) -> None:
        """Learn from a message of the batch that was just analysed."""
        author, at_ms = message.author, message.sent_at_ms
        if message.is_partial:  # its author is known by name; a mention does not answer it
            self._learn_author(author)
        else:
            self.note_author(author, message.id)
        if author.id and at_ms > 0 and (name := looked_up_by(author.name)):
            last_ms = self._base.last_ms(author.id)
            times = with_name_seen(self.name_times(author.id), at_ms, name, last_ms)
            self._times[author.id], self._now[author.id] = times, times[-1][1]
        self.note_type(message.id, message_type)


def _asks(message_type: MessageType) -> bool:
    return message_type is _QUESTION


class Rosters(ChannelCache[ChannelRoster]):
    """The rosters in use, at most `max_rosters` with `max_entries` in all."""

    def __init__(
        self,
        reader: HistoryReader,
        *,
        max_rosters: int = MAX_ROSTERS,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        super().__init__(max_entries, max_rosters)
        self._reader = reader
        self.loads = 0

    def __len__(self) -> int:
        return len(self._kept)

    def _take(self, key: ChannelKey, kept: ChannelRoster, applied: Applied) -> bool:
        del key
        return kept.take(applied)

    def _size_of(self, kept: ChannelRoster) -> int:
        return kept.entries

    async def get(self, key: ChannelKey) -> ChannelRoster:
        """The roster of a channel; of one never heard of an empty one.

        Raises
        ------
        StoreUnavailable
            It is not in memory and cannot be loaded.
        """
        return await self._get(key, partial(self._read, key))

    async def for_batch(
        self, key: ChannelKey, messages: Sequence[Message]
    ) -> ChannelRoster | BatchRoster:
        """A roster to analyse these messages with; it knows the messages they reply to.

        The channel's own where nothing is to be added to it: for one message alone.

        Raises
        ------
        StoreUnavailable
            Something of it has to be read and cannot be.
        """
        base = self._kept.get(key)
        if base is None:
            base = await self.get(key)
        else:
            self._kept.move_to_end(key)
        if base.unsure:
            await self._settle(key, base)
        unknown: list[str] = []
        parents = [message.reply.message_id for message in messages if message.reply is not None]
        if parents:
            own_ids = {message.id for message in messages}
            unknown = [
                one
                for one in dict.fromkeys(parents)
                if one not in own_ids and base.is_question(one) is None
            ][:RECENT_TYPES]
        if len(messages) == 1 and not unknown:
            return base
        roster = BatchRoster(base)
        if unknown:
            for id, row in (await self._reader.get_messages(key, unknown)).items():
                roster.note_type(id, row.analysis.message_type)
        return roster

    async def _settle(self, key: ChannelKey, roster: ChannelRoster) -> None:
        while roster.unsure:
            user_id = roster.unsure.pop()
            try:
                rows = await self._reader.latest_of_user(key.tenant, user_id, [key.channel], 1)
            except BaseException:
                roster.unsure.add(user_id)
                raise
            roster.settle(user_id, rows[-1] if rows else None)

    async def _read(self, key: ChannelKey) -> ChannelRoster:
        self.loads += 1
        newest = await self._reader.latest(key, 1)
        members = await self._reader.members(key)
        last_messages = await self._reader.last_messages(key)
        return ChannelRoster(members, last_messages, newest[-1].rank_time_ms if newest else 0)
