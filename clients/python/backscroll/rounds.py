"""What has come of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backscroll.room_events import (
    Interrupt,
    RoundEnded,
    RoundEvent,
    RoundStarted,
    Route,
    StateChanged,
    TargetEnded,
    TargetStarted,
)
from backscroll.v1 import message_pb2


class Replies(Mapping[str, str]):
    """What each persona answered, by name; found by id as well. Several answers of one: a line each."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}

    def add(self, target_id: str, name: str, text: str) -> None:
        self._names[target_id] = name
        self._texts.setdefault(name, []).append(text)

    def __getitem__(self, name: str) -> str:
        return "\n".join(self._texts[self._names.get(name, name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __repr__(self) -> str:
        return repr(dict(self))


class RoundLog:
    """What has come of a round so far."""

    def __init__(self, request_id: str, session_id: str) -> None:
        self.request_id = request_id
        self.session_id = session_id
        self.events: list[RoundEvent] = []
        self.replies = Replies()
        self.started: RoundStarted | None = None
        self.ended: RoundEnded | None = None
        self.state: dict[str, Any] | None = None
        self.errors: dict[str, TargetEnded] = {}
        self.interrupts: list[Interrupt] = []
        self._names: dict[str, str] = {}

    def name_of(self, target_id: str) -> str:
        """What a persona of the round is called."""
        return self._names.get(target_id) or target_id

    def take(self, event: RoundEvent) -> None:
        """Remember an event."""
        self.events.append(event)
        match event:
            case RoundStarted():
                self.started, self.session_id = event, event.session_id
                self._names |= {one.id: one.name for one in event.route.targets}
            case TargetStarted(target):
                self._names[target.id] = target.name
            case TargetEnded():
                name = self.name_of(event.target_id)
                if event.message is not None:
                    self.replies.add(event.target_id, name, event.text)
                if event.error:
                    self.errors[name] = event
            case StateChanged():
                self.state = event.state
            case Interrupt():
                self.interrupts.append(event)
            case RoundEnded():
                self.ended = event
            case _:
                pass


class RoundView:
    """What both clients' rounds show of their log; see `RoundLog`."""

    def __init__(self, log: RoundLog) -> None:
        self._log = log

    @property
    def request_id(self) -> str:
        """Names the round: `resume` of the room goes on with it."""
        return self._log.request_id

    @property
    def session_id(self) -> str:
        """The session it is said in."""
        return self._log.session_id

    @property
    def events(self) -> Sequence[RoundEvent]:
        """Every event so far."""
        return self._log.events

    @property
    def replies(self) -> Mapping[str, str]:
        """What each persona answered, by name or id; without those who failed or were silent."""
        return self._log.replies

    @property
    def responses(self) -> tuple[message_pb2.Message, ...]:
        """The answers as stored, in the order of those who gave them; empty until the round ended."""
        return () if self._log.ended is None else self._log.ended.responses

    @property
    def route(self) -> Route | None:
        """Who answers, and why; None until the round began."""
        return None if self._log.started is None else self._log.started.route

    @property
    def state(self) -> dict[str, Any] | None:
        """The state of the mode; None where the round did not change it."""
        return self._log.state

    @property
    def announcements(self) -> list[message_pb2.Message]:
        """What the mode announced, each for its `audience` (empty: everybody), in order."""
        changes = [one for one in self._log.events if isinstance(one, StateChanged)]
        return [message for one in changes for message in one.announcements]

    @property
    def errors(self) -> Mapping[str, TargetEnded]:
        """What went wrong with whose answer, by name. Nothing raises for it."""
        return self._log.errors

    @property
    def interrupts(self) -> Sequence[Interrupt]:
        """What the round waits for, where the bot's own functions did not answer."""
        return self._log.interrupts

    @property
    def started(self) -> RoundStarted | None:
        """The first event; None until it came."""
        return self._log.started

    @property
    def ended(self) -> RoundEnded | None:
        """The last event; None until it came."""
        return self._log.ended

    def name_of(self, target_id: str) -> str:
        """What a persona of the round is called."""
        return self._log.name_of(target_id)

    def __repr__(self) -> str:
        log = self._log
        how = "under way" if log.ended is None else log.ended.reason
        return (
            f"<{type(self).__name__} {log.request_id} in {log.session_id}: {how}, {log.replies!r}>"
        )
