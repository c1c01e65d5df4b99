"""Records what a server asks of its store, sources and model, for tests of bots and of the server."""

from __future__ import annotations

import itertools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from backscroll_sidecar.domain import NeutralMessage, Role
from backscroll_sidecar.ports import (
    AppendChange,
    Applied,
    Change,
    ChatModel,
    HistoryStore,
    ModelEvent,
    ModelRequest,
)
from backscroll_sidecar.strategies import Strategy, StrategyQuery, StrategyResult


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call.

    Attributes
    ----------
    number : its place among all, 1 and up.
    name : "store.add" for each message that is stored, "store.change" for other changes, "search.NAME" for each source
        that is asked, "model" for each call of the model.
    arguments : what it was given.
    """

    number: int
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


class Recorder:
    """Keeps calls in the order in which they began. Safe to read from another thread."""

    def __init__(self) -> None:
        self._calls: list[RecordedCall] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)

    def note(self, name: str, **arguments: Any) -> None:  # noqa: ANN401 - what a call was given
        """Add a call."""
        with self._lock:
            self._calls.append(RecordedCall(next(self._numbers), name, arguments))

    @property
    def calls(self) -> Sequence[RecordedCall]:
        """All calls so far."""
        with self._lock:
            return tuple(self._calls)

    def clear(self) -> None:
        """Forget all calls; numbers go on."""
        with self._lock:
            self._calls.clear()

    def watch(self, store: HistoryStore) -> None:
        """Record the changes of a store from now on, in place."""
        apply = store.apply

        async def noted(changes: Sequence[Change]) -> Sequence[Applied]:
            for change in changes:
                self._note_change(change)
            return await apply(changes)

        setattr(store, "apply", noted)  # noqa: B010 - a method of this one store is replaced, on purpose

    def _note_change(self, change: Change) -> None:
        if not isinstance(change, AppendChange):
            self.note("store.change", kind=type(change).__name__)
            return
        for message in change.messages:
            self.note(
                "store.add",
                channel=change.key.channel,
                message_id=message.id,
                author_id=message.author.id,
                role=message.role.name.lower(),
                text=message.text,
            )

    def strategy(self, inner: Strategy) -> Strategy:
        """The same source, recorded when it is asked."""
        return _RecordingStrategy(inner, self)

    def model(self, inner: ChatModel) -> ChatModel:
        """The same model, its calls recorded."""
        return _RecordingModel(inner, self)


class _Recording:
    """Passes everything else to the inner object."""

    def __init__(self, inner: Any, recorder: Recorder) -> None:  # noqa: ANN401 - of each kind one
        self._inner = inner
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the inner object has
        return getattr(self._inner, name)


class _RecordingStrategy(_Recording):
    @property
    def name(self) -> str:
        return cast("str", self._inner.name)

    def gather(self, query: StrategyQuery) -> StrategyResult | Awaitable[StrategyResult]:
        self._note(query)
        return cast("Strategy", self._inner).gather(query)

    async def compare(self, query: StrategyQuery) -> Any:  # noqa: ANN401 - the semantic source's
        """How a question about long ago asks the semantic source."""
        self._note(query)
        return await self._inner.compare(query)

    def _note(self, query: StrategyQuery) -> None:
        self._recorder.note(
            f"search.{self.name}",
            channel=query.key.channel,
            user_id=query.user_id,
            question=query.question,
            limit=_limit_of(self.name, query),
        )


class _RecordingModel(_Recording):
    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self._note(request)
        async with self._inner.stream(request) as events:
            yield events

    async def close(self) -> None:
        await self._inner.close()

    def _note(self, request: ModelRequest) -> None:
        self._recorder.note(
            "model",
            model=request.model,
            messages=[_plain(message) for message in request.messages],
            temperature=request.temperature,
            tools_json=request.tools_json,
        )


_LIMITS: dict[str, Callable[[StrategyQuery], int]] = {
    "recent": lambda query: query.recent_limit,
    "window": lambda query: query.window_limit,
    "thread": lambda query: query.thread_limit,
    "chain": lambda query: query.thread_limit,
    "graph": lambda query: query.thread_limit,
    "semantic": lambda query: query.semantic_limit,
}


def _limit_of(name: str, query: StrategyQuery) -> int:
    """How many messages a source may propose; those with no limit of their own share `recall_limit`."""
    limit = _LIMITS.get(name)
    return query.recall_limit if limit is None else limit(query)


_ROLES = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.SYSTEM: "system", Role.TOOL: "tool"}


def _plain(message: NeutralMessage) -> dict[str, Any]:
    """A message as a test reads it."""
    return {"role": _ROLES[message.role], "content": message.content}
