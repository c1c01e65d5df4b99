"""What a reader yields: messages, what was left out and why, and what cannot be read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from backscroll.v1 import history_pb2, message_pb2
from backscroll_sidecar.importers.times import BadTime, Times


class NotUnderstood(Exception):
    """A file is of no format we read, or lacks what its format needs; the text says which."""


class Unreadable(Exception):
    """A file broke off; the text names it and the place."""


class BadRecord(ValueError):
    """A record is no message; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its file something stands, counted from 1."""

    number: int
    unit: str = "line"

    def __str__(self) -> str:
        return str(self.number) if self.unit == "line" else f"{self.unit} {self.number}"


@dataclass(frozen=True, slots=True)
class Read:
    """A message. A mention in it without a user id is one by name, resolved later; `unread` are fields not kept."""

    place: Place
    message: message_pb2.Message
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is no message of a person: its kind is counted."""

    place: Place
    kind: str


@dataclass(frozen=True, slots=True)
class Bad:
    """Something that should have been a message and cannot be read."""

    place: Place
    why: str


@dataclass(frozen=True, slots=True)
class Retracted:
    """A message of this file that was taken back: it is left out wherever it stands."""

    channel: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Members:
    """People of a channel as of a time, 0: now; known before the messages that stand behind them."""

    place: Place
    channel: str
    members: tuple[history_pb2.Member, ...]
    at_ms: int = 0
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pins:
    """Messages that are pinned, the first one first."""

    place: Place
    channel: str
    message_ids: tuple[str, ...]


Record: TypeAlias = dict[str, Any]
AnyRecord = TypeVar("AnyRecord")
Item: TypeAlias = Read | Skipped | Bad | Retracted | Members | Pins


@dataclass(slots=True)
class Options:
    """How files are read. `notes` collects what a reader had to assume, in words for the user."""

    channel: str = ""
    channel_prefix: str = ""
    links: bool = False
    times: Times = field(default_factory=Times)
    notes: dict[str, None] = field(default_factory=dict)

    def note(self, words: str) -> None:
        """Tell the user, once."""
        self.notes[words] = None


def first_text(record: Record, *keys: str) -> str:
    """The first of these fields that is set, as text; empty where none is."""
    return str(next(filter(None, map(record.get, keys)), ""))


def inner(record: Record, *keys: str) -> Record:
    """The first of these fields that is set, if it is an object; else an empty one."""
    found = next(filter(None, map(record.get, keys)), None)
    return found if isinstance(found, dict) else {}


def items_of(
    records: Iterable[tuple[Place, AnyRecord] | Bad],
    items: Callable[[Place, AnyRecord], Iterable[Item]],
) -> Iterator[Item]:
    """The items of all records in order, `guarded`; what is bad already is passed on."""
    for one in records:
        if isinstance(one, Bad):
            yield one
        else:
            yield from guarded(items(*one), one[0])


def guarded(items: Iterable[Item], place: Place) -> Iterator[Item]:
    """The items of one record, or one `Bad` where it cannot be read.

    Platforms change what they export. An odd field costs its record, not the import.
    """
    try:
        yield from items
    except (BadRecord, BadTime) as error:
        yield Bad(place, str(error))
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        yield Bad(place, f"a field is not what it is in this format: {error}")
