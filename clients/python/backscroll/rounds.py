"""What has come of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backscroll.results import text_of
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
    """What has come of a round so far.

    Attributes
    ----------
    request_id, session_id : str
        `resume` of the session's room goes on with the round.
    events : list of RoundEvent
        Every event so far.
    replies : mapping of str to str
        What each persona answered, by name or id; without those who failed.
    started, ended : RoundStarted, RoundEnded, or None
        The first and the last event, once they came.
    state : dict or None
        The state of the mode, where the round changed it.
    errors : dict of str to TargetEnded
        What went wrong with whose answer, by name. Nothing raises for it.
    interrupts : list of Interrupt
        What the round waits for.
    """

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

    @property
    def responses(self) -> tuple[message_pb2.Message, ...]:
        """The answers as stored, in the order of those who gave them; empty until the round ended."""
        return () if self.ended is None else self.ended.responses

    @property
    def route(self) -> Route | None:
        """Who answers, and why; None until the round began."""
        return None if self.started is None else self.started.route

    @property
    def announcements(self) -> list[str]:
        """What the mode announced to everybody, in order."""
        changes = [one for one in self.events if isinstance(one, StateChanged)]
        return [text_of(one) for each in changes for one in each.announcements if not one.audience]

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

    def __repr__(self) -> str:
        how = "under way" if self.ended is None else self.ended.reason
        return f"<{type(self).__name__} {self.request_id} in {self.session_id}: {how}, {self.replies!r}>"
