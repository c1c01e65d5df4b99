"""Who a message mentions, as user ids.

The sender's entities decide, exactly as sent. Only a message without any is searched for known names:
``@name``, a space after it or not (``@小黑你好``), and an address at the start of a line (``name: …``).
A name is looked up in a roster and nowhere else, so a display name never stands in for an id, and a name
that two people share names nobody.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

import msgspec

from backscroll_sidecar.analyze.memo import remembered
from backscroll_sidecar.analyze.stopwords import STOP_WORDS
from backscroll_sidecar.known_names import looked_up_by, name_at, the_one

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from backscroll_sidecar.domain import Author, Member, Mention
    from backscroll_sidecar.known_names import NameTimes

MAX_NAME_CHARS = 64
"""Longer names are found by the sender's entities only: each character costs one look-up a mention."""

MAX_PLACES = 256
"""At signs and lines read in one text, which bounds the work of a flood of ``@@@@``."""

_AT = re.compile(r"(?<![A-Za-z0-9._%+\-])[@\uff20]")
_ADDRESS_END = re.compile(r"[:,](?=\s|$)|[\uff1a\uff0c]")
_GOES_ON = re.compile(r"(?a:\w|[.\-]\w)")
"""What must not follow a name that ends in an ASCII letter or digit: ``@bob`` is not in ``@bobby``, ``@bob.smith``."""


class Roster(Protocol):
    """The people of a channel as known when a message is analysed. Pure look-ups, no I/O."""

    @property
    def longest_name_chars(self) -> int:
        """Code points of the longest known name; 0 when nobody is known."""
        ...

    def user_for_name(self, name: str) -> str | None:
        """The id of the one user with that name (case-folded, whole); None if unknown or shared."""
        ...

    def last_message_id(self, user_id: str) -> str | None:
        """The newest message of that user in the channel, None if there is none."""
        ...


class RosterOverTime(Roster, Protocol):
    """A roster that also knows names over time."""

    def as_of(self, at_ms: int) -> Roster:
        """The same people under the names they had then; 0: now."""
        ...


class StaticRoster:
    """A roster in memory: members by name, and the last message of each user.

    Names are current names, former names and aliases. Of several users who have or had a name the one who has it now is
    meant; where that is nobody or several it finds nobody. `as_of` asks who had it then. Mutable through
    `note_author`: owned by one thread or task, neither locked nor to be shared while it learns.
    """

    def __init__(
        self,
        members: Iterable[Member] = (),
        last_message_ids: Mapping[str, str] | None = None,
    ) -> None:
        self._holders: dict[str, tuple[str, ...]] = {}
        self._now: dict[str, str] = {}
        self._times: dict[str, NameTimes] = {}
        self._last: dict[str, str] = dict(last_message_ids or {})
        self.longest_name_chars = 0
        for member in members:
            self._learn_member(member)

    def user_for_name(self, name: str) -> str | None:
        folded = name.casefold()
        return the_one(self.holders(folded), folded, self.name_now)

    def as_of(self, at_ms: int) -> Roster:
        return _RosterThen(self, at_ms) if at_ms > 0 else self

    def user_for_name_at(self, name: str, at_ms: int) -> str | None:
        """The user meant by a name at a time: seen under it then, else the one whose first known name it is."""
        folded = name.casefold()
        holders = self.holders(folded)
        if len(holders) > 1:
            times = {user_id: self.name_times(user_id) for user_id in holders}
            had = [one for one in holders if name_at(times[one], at_ms) == folded]
            holders = tuple(had) or tuple(
                one
                for one in holders
                if (times[one][0][1] if times[one] else self.name_now(one)) == folded
                and not name_at(times[one], at_ms)
            )
        return holders[0] if len(holders) == 1 else None

    def holders(self, folded: str) -> tuple[str, ...]:
        """The users who have or had a case-folded name."""
        return self._holders.get(folded, ())

    def name_now(self, user_id: str) -> str:
        """The name a user has now, as it is looked up by; empty where none is known."""
        return self._now.get(user_id, "")

    def name_times(self, user_id: str) -> NameTimes:
        """The names of a user, as they are looked up by, since when; empty where it is not known."""
        return self._times.get(user_id, ())

    def last_message_id(self, user_id: str) -> str | None:
        return self._last.get(user_id)

    def note_author(self, author: Author, message_id: str) -> None:
        """Learn the author and the id of a message, for the next ones of its batch."""
        self._learn_author(author)
        if author.id:
            self._last[author.id] = message_id

    def _learn_member(self, member: Member) -> None:
        for name in (member.name, *member.former_names, *member.aliases):
            self._learn(name, member.user_id)
        if key := looked_up_by(member.name):
            self._now[member.user_id] = key
        if member.name_times:
            self._times[member.user_id] = tuple(
                [(at_ms, looked_up_by(name)) for at_ms, name in member.name_times]
            )

    def _learn_author(self, author: Author) -> None:
        """An author goes by the name they wrote under."""
        self._learn(author.name, author.id)
        if author.id and (key := looked_up_by(author.name)):
            self._now[author.id] = key

    def _learn(self, name: str, user_id: str) -> None:
        key = looked_up_by(name)
        known = self._holders.get(key, ())
        if not key or not user_id or user_id in known:
            return
        self._holders[key] = (*known, user_id)
        self.longest_name_chars = max(self.longest_name_chars, len(key))


class _RosterThen(msgspec.Struct, frozen=True):
    """A roster as of one moment: a message may come long after it was sent."""

    now: StaticRoster
    at_ms: int

    @property
    def longest_name_chars(self) -> int:
        return self.now.longest_name_chars

    def user_for_name(self, name: str) -> str | None:
        return self.now.user_for_name_at(name, self.at_ms)

    def last_message_id(self, user_id: str) -> str | None:
        return self.now.last_message_id(user_id)


def mention_ids(
    message_text: str, mentions: tuple[Mention, ...], roster: Roster
) -> tuple[str, ...]:
    """The ids of the users a message mentions, without repeats, in order of appearance.

    An entity without an id (Telegram's ``@name`` entities have none) is looked up by its name. O(n) in the text plus,
    for each of at most `MAX_PLACES` places, one look-up per character of the longest known name.
    """
    if mentions:
        ids = [mention.user_id or _by_name(mention.name, roster) for mention in mentions]
    else:
        found: list[tuple[int, str]] = []
        if "@" in message_text or "\uff20" in message_text:
            found += _after_at(message_text, roster)
        if _has_separator(message_text):
            found += _addressed(message_text, roster)
        if not found:
            return ()
        if len(found) > 1:
            found.sort(key=itemgetter(0))
        ids = [user_id for _, user_id in found]
    return tuple(dict.fromkeys(filter(None, ids)))


def _by_name(name: str, roster: Roster) -> str | None:
    name = name.strip().lstrip("@\uff20")
    return roster.user_for_name(name) if name else None


def _after_at(text: str, roster: Roster) -> Iterator[tuple[int, str]]:
    """Position and user of each ``@`` that a known name follows; the longest name wins."""
    longest = min(roster.longest_name_chars, MAX_NAME_CHARS)
    for place, at in enumerate(_AT.finditer(text)):
        if place == MAX_PLACES:
            return
        start = at.end()
        for end in range(min(start + longest, len(text)), start, -1):
            if _ends_inside_word(text, end):
                continue
            user_id = roster.user_for_name(text[start:end])
            if user_id is not None:
                yield at.start(), user_id
                break


def _ends_inside_word(text: str, end: int) -> bool:
    """Whether a name that ends at `end` would break an ASCII word in two. Chinese needs no boundary."""
    last = text[end - 1]
    return last.isascii() and last.isalnum() and _GOES_ON.match(text, end) is not None


def _has_separator(text: str) -> bool:
    return ":" in text or "," in text or "\uff1a" in text or "\uff0c" in text


def _addressed(text: str, roster: Roster) -> Iterator[tuple[int, str]]:
    """Position and user of each line that begins ``name: ``, ``name, ``, ``name：`` or ``name，``."""
    for start, names in _addresses(text):
        user_id: str | None = None
        for name in names:  # the longest known one
            user_id = roster.user_for_name(name) or user_id
        if user_id is not None:
            yield start, user_id


@remembered
def _addresses(text: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Position of each line that may address somebody, and what stands before the separators near its start."""
    start = 0
    found: list[tuple[int, tuple[str, ...]]] = []
    lines = text.split("\n", MAX_PLACES)[:MAX_PLACES] if "\n" in text else (text,)
    for line in lines:
        if names := tuple(_names_before(line.lstrip())):
            found.append((start, names))
        start += len(line) + 1
    return tuple(found)


def _names_before(line: str) -> Iterator[str]:
    """What may be names before the separators near the start of `line`, the shortest first."""
    head = line[: MAX_NAME_CHARS + 2]  # the longest name, its separator, and what must follow that
    for end in _ADDRESS_END.finditer(head):
        if end.start() > MAX_NAME_CHARS:
            return
        name = head[: end.start()].rstrip()
        if name and not (end.group() in ",\uff0c" and name.lower() in STOP_WORDS):
            yield name  # "no, …" and "ok, …" answer somebody; they do not call a user of that name
