"""What goes along with a turn: it hears the answer as it comes, and says what is kept with it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

from backscroll_sidecar.domain import Message, ToolCallPart
from backscroll_sidecar.ports import RecordChange


class WithReply(NamedTuple):
    """What is stored with a reply, in its transaction.

    Attributes
    ----------
    messages : behind the reply.
    records : kept where the reply is.
    audience : whom the reply is for; empty: everybody.
    is_silent : the reply itself is not stored.
    """

    messages: Sequence[Message] = ()
    records: Sequence[RecordChange] = ()
    audience: tuple[str, ...] = ()
    is_silent: bool = False


class Companion(Protocol):
    """Goes along with the model calls of one turn."""

    @property
    def is_cut(self) -> bool:
        """Whether the answer ends here, whatever the model says behind it."""

    def take(self, text: str) -> str:
        """A piece of the answer, as much of it as may be shown; what is not sure yet is held back."""

    def rest(self) -> str:
        """What was held back, where the answer ends."""

    def start_anew(self) -> None:
        """All of the answer so far was none."""

    def with_reply(self, text: str, message_id: str, at_ms: int, *, is_whole: bool) -> WithReply:
        """What is kept with the reply, asked for before each try to commit it."""

    def committing(self) -> AbstractAsyncContextManager[Any]:
        """Held while a reply or calls are committed: what goes with them is of the moment it was asked for."""

    async def renew(self) -> bool:
        """What goes with the reply was not kept, or has changed meanwhile: read it again. Whether that was done."""

    def with_calls(self, calls: Sequence[ToolCallPart]) -> Sequence[RecordChange]:
        """What is kept with a turn that waits for the results of these calls."""


NO_ADDITIONS = WithReply()


class Alone:
    """Nobody goes along: all of the answer is shown, and nothing is kept beside it."""

    is_cut = False

    def take(self, text: str) -> str:
        """All of it."""
        return text

    def rest(self) -> str:
        """Nothing."""
        return ""

    def start_anew(self) -> None:
        """Nothing to forget."""

    def with_reply(self, text: str, message_id: str, at_ms: int, *, is_whole: bool) -> WithReply:  # noqa: ARG002
        """Nothing."""
        return NO_ADDITIONS

    def committing(self) -> AbstractAsyncContextManager[Any]:
        """Nothing to hold."""
        return nullcontext()

    async def renew(self) -> bool:
        """Nothing to read."""
        return False

    def with_calls(self, calls: Sequence[ToolCallPart]) -> Sequence[RecordChange]:  # noqa: ARG002
        """Nothing."""
        return ()


ALONE = Alone()
