"""What builds are told of the preferences of their asker, from memory.

Builds ask before everything else, so it is kept in memory who has any, by tenant, and the preferences of those who
asked last. Who has none costs a look into two sets.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Sequence

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.ports import EVERYWHERE, Applied, Clock, HistoryReader
from backscroll_sidecar.preferences.preference import KINDS, READ, SET, Preference, preferences_of
from backscroll_sidecar.preferences.relevance import Chooser
from backscroll_sidecar.preferences.topics import KNOWN, Topics
from backscroll_sidecar.preferences.validity import Timeline

REMEMBERED_USERS = 4_096
"""Users whose preferences are in memory; most have a handful of short ones."""
OWNERS_PAGE = 10_000
SHOWN = 20
"""A build is shown so many of those that are stored."""
MOST_STRETCHES = 8
"""Of one person in one channel what holds is in memory for so many stretches of time."""
ASKED_CHARS = 2_000
"""Of a question so much is compared with preferences, where there are too many."""

Owners = dict[str, set[str]]
"""By kind of record."""


class RememberedPreferences:
    """Remembers preferences; one of the writer's publishers. Belongs to one event loop.

    `shown`: a build is told so many, those that matter most for its question.
    """

    def __init__(
        self, reader: HistoryReader, clock: Clock, topics: Topics = KNOWN, shown: int = SHOWN
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._topics = topics
        self._shown = shown
        self._owners: dict[str, Owners] = {}
        """By tenant: all who have any, and some who had."""
        self._being_read: dict[str, Owners] = {}
        self._people: OrderedDict[tuple[str, str], _Person] = OrderedDict()
        """By tenant and user."""
        self._changes = 0

    def known(
        self, key: ChannelKey, user_id: str, question: str, at_ms: int
    ) -> tuple[str, ...] | None:
        """The lines about a user that hold in a channel at a moment, those that hold everywhere first; None: `read`
        them.
        """
        owners = self._owners.get(key.tenant)
        if owners is None:
            return None
        if user_id not in owners[SET] and user_id not in owners[READ]:
            return ()
        person = self._people.get((key.tenant, user_id))
        if person is None:
            return None
        self._people.move_to_end((key.tenant, user_id))
        return person.lines(key.channel, question, at_ms)

    async def read(
        self, key: ChannelKey, user_id: str, question: str, at_ms: int
    ) -> tuple[str, ...]:
        """The same from the store. Raises `StoreUnavailable`."""
        tenant = key.tenant
        await self.prepare(tenant)
        owners = self._owners[tenant]
        kinds = [kind for kind in KINDS if user_id in owners[kind]]
        if not kinds:
            return ()
        changes = self._changes
        found: list[Preference] = []
        for kind in kinds:
            now_ms = self._clock.now_ms()
            records = await self._reader.records_of_owner(tenant, kind, user_id, now_ms)
            found += preferences_of(user_id, records)
        person = _Person(found, self._topics, self._shown)
        if changes == self._changes:  # else what was read may be older than what was answered
            self._people[tenant, user_id] = person
            if len(self._people) > REMEMBERED_USERS:
                self._people.popitem(last=False)
        return person.lines(key.channel, question, at_ms)

    async def prepare(self, tenant: str) -> None:
        """Read who has any, if that is not known yet. Raises `StoreUnavailable`."""
        if tenant in self._owners:
            return
        owners = self._being_read.setdefault(tenant, {kind: set() for kind in KINDS})
        for kind in KINDS:  # who comes meanwhile is told
            after = ""
            while page := await self._reader.record_owners(tenant, kind, after, OWNERS_PAGE):
                owners[kind].update(page)
                after = page[-1]
        self._owners[tenant] = owners
        self._being_read.pop(tenant, None)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        for change in applied.records:
            if change.kind not in KINDS:
                continue
            self._forget(key.tenant, change.owner)
            if change.body is not None:
                for owners in (self._owners, self._being_read):
                    if key.tenant in owners:
                        owners[key.tenant][change.kind].add(change.owner)
        for one in applied.stored:  # what was read from a message goes with it, and with an edit
            if one.revision or one.state is MessageState.RECALLED:
                self._forget(key.tenant, one.message.author.id)
        if applied.is_erasure:
            self._changes += 1
            self._people.clear()

    def _forget(self, tenant: str, user_id: str) -> None:
        self._changes += 1
        self._people.pop((tenant, user_id), None)


class _Held:
    """What holds in one stretch of time: the lines, and the means to choose among them where they are too many."""

    def __init__(self, held: Sequence[Preference], topics: Topics, shown: int) -> None:
        self.all = tuple(one.text for one in held)
        self.chooser = Chooser(held, topics) if len(held) > shown else None


class _Person:
    """The preferences of one person. What holds is worked out once for each channel and stretch of time."""

    def __init__(self, found: Sequence[Preference], topics: Topics, shown: int) -> None:
        self._by_channel: dict[str, list[Preference]] = defaultdict(list)
        for one in found:
            self._by_channel[one.channel].append(one)
        self._topics = topics
        self._shown = shown
        self._timelines: dict[str, Timeline] = {}
        self._held: dict[tuple[str, int], _Held] = {}

    def lines(self, channel: str, question: str, at_ms: int) -> tuple[str, ...]:
        """Those that hold in a channel."""
        if channel not in self._by_channel:
            channel = EVERYWHERE
        timeline = self._timelines.get(channel)
        if timeline is None:
            timeline = self._timelines[channel] = self._timeline(channel)
        stretch = (channel, timeline.stretch(at_ms))
        held = self._held.get(stretch)
        if held is None:
            if len(self._held) == MOST_STRETCHES:
                self._held.clear()
            held = _Held(timeline.holding(at_ms), self._topics, self._shown)
            self._held[stretch] = held
        if held.chooser is None:
            return held.all
        return held.chooser.lines(question[:ASKED_CHARS], self._shown)

    def _timeline(self, channel: str) -> Timeline:
        own = self._by_channel.get(channel, []) if channel != EVERYWHERE else []
        return Timeline([*self._by_channel.get(EVERYWHERE, ()), *own], self._topics)
