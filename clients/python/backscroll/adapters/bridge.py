"""Between a platform and the server: stores what happens, and says what is to be answered."""

from __future__ import annotations

import logging
from typing import Any, TypeVar, Unpack

from backscroll import _calls
from backscroll._aio import AsyncClient
from backscroll._calls import Plan
from backscroll._calls.context import ContextOptions
from backscroll._sync import Client
from backscroll.adapters.events import Edited, Event, Members, Recalled, Said
from backscroll.errors import Conflict, Gone, InvalidRequest, NotFound
from backscroll.events import ChatAnswer
from backscroll.results import Context
from backscroll.values import Member, Message, When

_T = TypeVar("_T")
_log = logging.getLogger("backscroll")
_REMEMBERED = 10_000
"""Most people, and most deletions of unknown messages, that a bridge remembers."""


class _Core:
    """Events as calls, for both bridges."""

    def __init__(self) -> None:
        self._told: set[tuple[object, ...]] = set()
        self._deleted: dict[tuple[str, str], None] = {}

    def take(self, event: Event | None, answers: Context | ChatAnswer | None) -> Plan[Said | None]:
        """Store what happened; the event itself where the bot should answer it."""
        match event:
            case Said(channel, message, members=members):
                yield from self._members(channel, members)
                if isinstance(answers, ChatAnswer) and answers.end.reply_message_id:
                    yield from self._alias(channel, answers.end.reply_message_id, message.id)
                    return None
                context_id = answers.id if isinstance(answers, Context) else ""
                is_new = yield from self._stored(channel, message, context_id)
                return event if is_new and event.is_for_bot else None
            case Edited(channel, message, edited_at):
                yield from self._edited(channel, message, edited_at)
            case Recalled(channel, message_ids):
                for one in message_ids:
                    yield from self._recalled(channel, one)
            case Members(channel, members):
                yield from self._members(channel, members)
        return None

    def _members(self, channel: str, members: tuple[Member, ...]) -> Plan[None]:
        """Tell of people what was not told already."""
        new = {
            (channel, one.user_id, one.name, tuple(one.aliases), one.joined_at, one.left_at): one
            for one in members
        }
        if unknown := [one for key, one in new.items() if key not in self._told]:
            yield from _heeded(channel, _calls.upsert_members(channel, unknown))
            if len(self._told) > _REMEMBERED:
                self._told.clear()
            self._told |= new.keys()

    def _stored(self, channel: str, message: Message, context_id: str = "") -> Plan[bool]:
        report = yield from _heeded(channel, _calls.append(channel, message, context_id=context_id))
        if report and report.problems:
            _log.warning("a message of %s was not stored: %r", channel, report)
        if (channel, message.id) in self._deleted:  # its deletion was told before it was stored
            yield from self._recalled(channel, message.id)
            return False
        return report is not None and report.stored == 1

    def _alias(self, channel: str, stored_id: str, message_id: str) -> Plan[None]:
        """The server has stored this answer itself: tell it the platform's id."""
        try:
            yield from _calls.alias_message(channel, stored_id, message_id)
        except Conflict:  # the platform told of it first, and it was stored as any other message
            yield from _calls.recall_message(channel, message_id)

    def _edited(self, channel: str, message: Message, edited_at: When | None) -> Plan[None]:
        edit = _calls.edit_message(
            channel,
            message.id,
            message.text,
            parts=message.parts,
            mentions=message.mentions,
            edited_at=edited_at,
        )
        try:
            yield from _heeded(channel, edit)
        except NotFound:  # sent before the bot was there
            yield from self._stored(channel, message)
        except Gone:
            pass

    def _recalled(self, channel: str, message_id: str) -> Plan[None]:
        try:
            yield from _heeded(channel, _calls.recall_message(channel, message_id))
        except NotFound:
            self._deleted[channel, message_id] = None
            if len(self._deleted) > _REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
        except Gone:
            pass


def _heeded(channel: str, call: Plan[_T]) -> Plan[_T | None]:
    """Make a call. What the server will never take is logged: an event that is no good must not stop the bot."""
    try:
        return (yield from call)
    except InvalidRequest as error:
        _log.warning("an event of %s was not stored: %s", channel, error)
        return None


def _asked(said: Said, options: Any) -> Any:  # noqa: ANN401 - keywords of a build
    return {"trigger_message_id": said.message.id, "self_ids": [said.self_id]} | options


class AsyncBridge:
    """Stores what a platform tells, for programs with an event loop; otherwise as `Bridge`."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self._core = _Core()

    async def take(
        self, event: Event | None, *, answers: Context | ChatAnswer | None = None
    ) -> Said | None:
        """As `Bridge.take`."""
        return await self.client._carry_out(self._core.take(event, answers))  # noqa: SLF001

    async def context(self, asked: Said, **options: Unpack[ContextOptions]) -> Context:
        """As `Bridge.context`."""
        return await self.client.build_context(asked.channel, **_asked(asked, options))

    async def chat(self, asked: Said, **options: Any) -> ChatAnswer:  # noqa: ANN401
        """As `Bridge.chat`."""
        return await self.client.chat(asked.channel, **_asked(asked, options))


class Bridge:
    """Stores what a platform tells, and says what the bot should answer.

    Examples
    --------
    >>> from backscroll.adapters import Bridge, Said
    >>> bridge = Bridge(client)
    >>> said = Said("room", Message("m7", "ann", "when?", 1795132900000), "cat", is_for_bot=True)
    >>> asked = bridge.take(said)
    >>> asked.message.id
    'm7'
    >>> context = bridge.context(asked, system="You are a cat.")
    >>> bridge.take(said)  # delivered again: answered already
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._core = _Core()

    def take(
        self, event: Event | None, *, answers: Context | ChatAnswer | None = None
    ) -> Said | None:
        """Store what happened. Returned is what the bot should answer, else None.

        A message is to be answered if it is for the bot and was not stored before, so one that is delivered twice is
        answered once. Edits, deletions and the bot's own messages are stored and never answered.

        Parameters
        ----------
        event
            What an adapter's `event_of` returned; None is nothing to store.
        answers
            With the bot's own message: the context it was made of, or the answer of `chat`, which the server has
            stored already and now learns the platform's id of.
        """
        return self.client._carry_out(self._core.take(event, answers))  # noqa: SLF001

    def context(self, asked: Said, **options: Unpack[ContextOptions]) -> Context:
        """Build the context of a question that was taken; options as of `Client.build_context`."""
        return self.client.build_context(asked.channel, **_asked(asked, options))

    def chat(self, asked: Said, **options: Any) -> ChatAnswer:  # noqa: ANN401 - those of Client.chat
        """Let the server's model answer it; options as of `Client.chat`."""
        return self.client.chat(asked.channel, **_asked(asked, options))
