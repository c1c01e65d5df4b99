"""A session, for programs with an event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
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

    carry_out: Callable[[Any], Awaitable[Any]]
    list: Callable[[Any, Any], AsyncIterator[Any]]
    stream: Callable[[Any], AsyncIterator[Any]]
    converse: Callable[[Any], AsyncGenerator[Any, None]]


class AsyncRound(RoundView):
    """A round: iterate over its events, then look at what came of it. Leaving an `async with` block ends it.

    Examples
    --------
    >>> async def talk() -> str:
    ...     async with AsyncClient(address) as client:
    ...         room = client.room("cats", personas=[Persona("tom", "Tom")])
    ...         async with room.say("hello", "u1") as heard:
    ...             async for event in heard:
    ...                 pass
    ...         return heard.replies["Tom"]
    >>> asyncio.run(talk())
    'Tom says: hello'
    """

    def __init__(self, plan: RoundPlan, events: AsyncGenerator[RoundEvent, None]) -> None:
        super().__init__(plan.log)
        self._coming = events

    def __aiter__(self) -> AsyncIterator[RoundEvent]:
        return self._coming

    async def wait(self) -> Self:
        """Go through to the end, and return the round."""
        async with contextlib.aclosing(self._coming) as events:
            async for _ in events:
                pass
        return self

    async def aclose(self) -> None:
        """End the call, and the models' work."""
        await self._coming.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _awaiting(
    describe: Callable[Concatenate[RoomCore, P], Plan[T]],
) -> Callable[Concatenate[AsyncRoom, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncRoom, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._by.carry_out(describe(self._core, *args, **kwargs))
        return result

    _calls.present(method, describe, "{}", 1)
    return method


def _listing(
    describe: Callable[Concatenate[RoomCore, P], Listing[T]],
) -> Callable[Concatenate[AsyncRoom, P], AsyncIterator[T]]:
    def method(self: AsyncRoom, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        listing = describe(self._core, *args, **kwargs)
        return self._by.list(listing, next(listing, ()))

    _calls.present(method, describe, "AsyncIterator[{}]", 1)
    return method


def _streaming(
    describe: Callable[Concatenate[RoomCore, P], Stream[T]],
) -> Callable[Concatenate[AsyncRoom, P], AsyncIterator[T]]:
    def method(self: AsyncRoom, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._by.stream(describe(self._core, *args, **kwargs))

    _calls.present(method, describe, "AsyncIterator[{}]", 1)
    return method


def _round(
    describe: Callable[Concatenate[RoomCore, P], RoundPlan],
) -> Callable[Concatenate[AsyncRoom, P], AsyncRound]:
    def method(self: AsyncRoom, /, *args: P.args, **kwargs: P.kwargs) -> AsyncRound:
        plan = describe(self._core, *args, **kwargs)
        return AsyncRound(plan, self._by.converse(plan.events()))

    _calls.present(method, describe, "AsyncRound", 1)
    return method


def _waited(
    describe: Callable[Concatenate[RoomCore, P], RoundPlan],
) -> Callable[Concatenate[AsyncRoom, P], Coroutine[Any, Any, AsyncRound]]:
    async def ask(self: AsyncRoom, /, *args: P.args, **kwargs: P.kwargs) -> AsyncRound:
        plan = describe(self._core, *args, **kwargs)
        return await AsyncRound(plan, self._by.converse(plan.events())).wait()

    _calls.present_waited(ask, describe, "AsyncRound")
    return ask


class AsyncRoom:
    """A session, as `AsyncClient.room` makes it: the calls of `Room`, awaited.

    Examples
    --------
    >>> async def talk() -> dict[str, str]:
    ...     async with AsyncClient(address) as client:
    ...         room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    ...         return dict((await room.ask("@Kit good morning", "u1")).replies)
    >>> asyncio.run(talk())
    {'Kit': 'Kit says: good morning'}
    """

    def __init__(self, core: RoomCore, by: Carriers) -> None:
        self._core = core
        self._by = by

    @property
    def session_id(self) -> str:
        """The id of the session, by which `AsyncClient.room` finds it again."""
        return self._core.ref.session_id

    act = _awaiting(_calls.act)
    add = _awaiting(_calls.add)
    ask = _waited(_calls.say)
    delete = _awaiting(_calls.delete)
    export = _streaming(_calls.export)
    go_on = _round(_calls.go_on)
    prepare = _awaiting(_calls.prepare)
    remove = _awaiting(_calls.remove)
    resume = _round(_calls.resume)
    route = _awaiting(_calls.route)
    say = _round(_calls.say)
    session = _awaiting(_calls.session)
    states = _listing(_calls.states)
    update = _awaiting(_calls.update)

    async def fork(
        self,
        *,
        message_id: str = "",
        new_session_id: str | None = None,
        timeout_s: float | None = None,
    ) -> AsyncRoom:
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
        return AsyncRoom(await self._by.carry_out(plan), self._by)
