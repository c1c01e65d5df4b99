"""A model with answers made by a function. `backscroll.testing` serves one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelError, ModelEvent, ModelFault, ModelRequest

Script = Sequence[ModelEvent | ModelError]
"""The events of one answer; a `ModelError` is raised where it stands."""


class ScriptedModel:
    """`ChatModel` that asks a function for the answer to each request."""

    def __init__(self, answer: Callable[[ModelRequest], Script]) -> None:
        self._answer = answer
        self._is_closed = False

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        if self._is_closed:
            raise failed(ModelFault.CONNECTION)
        if request.timeout_s is not None and request.timeout_s <= 0:
            raise failed(ModelFault.TIMEOUT)
        async with aclosing(_played(self._answer(request))) as events:
            yield events

    async def close(self) -> None:
        self._is_closed = True


async def _played(answer: Script) -> AsyncGenerator[ModelEvent, None]:
    for step in answer:
        await asyncio.sleep(0)
        if isinstance(step, ModelError):
            raise step
        yield step
