"""A session, for programs without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from backscroll import _calls
from backscroll._calls import Listing, Plan, RoomCore, RoundPlan, Stream
from backscroll.room_events import RoundEvent
from backscroll.rounds import RoundView

P = ParamSpec("P")
T = TypeVar("T")


class Carriers(NamedTuple):
    """How a client carries descriptions out."""

    carry_out: Callable[[Any], Any]
    list: Callable[[Any, Any], Iterator[Any]]
    stream: Callable[[Any], Iterator[Any]]
    converse: Callable[[Any], Generator[Any, None, None]]


class Round(RoundView):
    """A round: iterate over its events, then look at what came of it. Leaving a `with` block ends it.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom")])
    >>> with room.say("hello", "u1") as heard:
    ...     texts = [event.text for event in heard if isinstance(event, TargetDelta)]
    >>> texts, heard.replies["Tom"], heard.ended.reason
    (['Tom says: hello'], 'Tom says: hello', 'complete')
    """

    def __init__(self, plan: RoundPlan, events: Generator[RoundEvent, None, None]) -> None:
        super().__init__(plan.log)
        self._coming = events

    def __iter__(self) -> Iterator[RoundEvent]:
        return self._coming

    def wait(self) -> Self:
        """Go through to the end, and return the round."""
        for _ in self._coming:
            pass
        return self

    def close(self) -> None:
        """End the call, and the models' work."""
        self._coming.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _blocking(
    describe: Callable[Concatenate[RoomCore, P], Plan[T]],
) -> Callable[Concatenate[Room, P], T]:
    def method(self: Room, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._by.carry_out(describe(self._core, *args, **kwargs))
        return result

    _calls.present(method, describe, "{}", 1)
    return method


def _listing(
    describe: Callable[Concatenate[RoomCore, P], Listing[T]],
) -> Callable[Concatenate[Room, P], Iterator[T]]:
    def method(self: Room, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        listing = describe(self._core, *args, **kwargs)
        return self._by.list(listing, next(listing, ()))

    _calls.present(method, describe, "Iterator[{}]", 1)
    return method


def _streaming(
    describe: Callable[Concatenate[RoomCore, P], Stream[T]],
) -> Callable[Concatenate[Room, P], Iterator[T]]:
    def method(self: Room, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._by.stream(describe(self._core, *args, **kwargs))

    _calls.present(method, describe, "Iterator[{}]", 1)
    return method


def _round(
    describe: Callable[Concatenate[RoomCore, P], RoundPlan],
) -> Callable[Concatenate[Room, P], Round]:
    def method(self: Room, /, *args: P.args, **kwargs: P.kwargs) -> Round:
        plan = describe(self._core, *args, **kwargs)
        return Round(plan, self._by.converse(plan.events()))

    _calls.present(method, describe, "Round", 1)
    return method


def _waited(
    describe: Callable[Concatenate[RoomCore, P], RoundPlan],
) -> Callable[Concatenate[Room, P], Round]:
    def ask(self: Room, /, *args: P.args, **kwargs: P.kwargs) -> Round:
        plan = describe(self._core, *args, **kwargs)
        return Round(plan, self._by.converse(plan.events())).wait()

    _calls.present_waited(ask, describe, "Round")
    return ask


class Room:
    """A session, as `Client.room` makes it. Safe to share between threads.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    >>> dict(room.ask("@Kit good morning", Author("u1", "Ann")).replies)
    {'Kit': 'Kit says: good morning'}
    """

    def __init__(self, core: RoomCore, by: Carriers) -> None:
        self._core = core
        self._by = by

    @property
    def session_id(self) -> str:
        """The id of the session, by which `Client.room` finds it again."""
        return self._core.ref.session_id

    act = _blocking(_calls.act)
    add = _blocking(_calls.add)
    ask = _waited(_calls.say)
    delete = _blocking(_calls.delete)
    export = _streaming(_calls.export)
    go_on = _round(_calls.go_on)
    prepare = _blocking(_calls.prepare)
    remove = _blocking(_calls.remove)
    resume = _round(_calls.resume)
    route = _blocking(_calls.route)
    say = _round(_calls.say)
    session = _blocking(_calls.session)
    states = _listing(_calls.states)
    update = _blocking(_calls.update)

    def fork(
        self,
        *,
        message_id: str = "",
        new_session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Room:
        """Begin a session with what this one holds: participants, mode, state, and copies of its messages.

        Parameters
        ----------
        message_id
            The last message that is taken over. "": the newest.
        new_session_id
            Id of the new one. None: made up.
        timeout_s
            Deadline of the call. None: the client's.

        Examples
        --------
        >>> room = client.room("cats", personas=["tom"])
        >>> _ = room.session()
        >>> room.fork(new_session_id="other").session_id
        'other'
        """
        plan = _calls.fork(
            self._core, message_id=message_id, new_session_id=new_session_id, timeout_s=timeout_s
        )
        return Room(self._by.carry_out(plan), self._by)
