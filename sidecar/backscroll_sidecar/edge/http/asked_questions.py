"""Which question of which channel a request asks, or why it asks none that is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import is_allowed
from backscroll_sidecar.analyze import is_same_question
from backscroll_sidecar.domain import (
    MAX_BATCH_ITEMS,
    MAX_TEXT_BYTES,
    Author,
    ChannelKey,
    Message,
    MessageState,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.fields import check_text
from backscroll_sidecar.edge.http.addressing import DEFAULT_ASKER, Address, address_of
from backscroll_sidecar.edge.http.client_history import id_behind, messages_before
from backscroll_sidecar.edge.http.merging import Conversation, Merge, conversation_of
from backscroll_sidecar.errors import InvalidRequest, NotAllowed, NotFound
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import Clock, ListQuery

MERGE = "x-backscroll-merge"
MESSAGE_ID = "x-backscroll-message-id"
RETRY = "x-stainless-retry-count"
"""OpenAI's clients tell here how often they have sent the request before."""
LATEST = 20
"""Among so many of the newest messages a question that is asked again is looked for, where no history tells it."""
TASK = "### Task:"
"""How open-webui begins what it asks for itself: titles, tags, follow-up questions. They are no part of the chat."""


class AskedQuestion(NamedTuple):
    """A question of a known channel.

    Attributes
    ----------
    question_id : under which it is stored, or will be.
    merge : what becomes of the client's history.
    is_new : the channel begins with it.
    stored : the message that is this question, where the client named one that is there.
    """

    key: ChannelKey
    address: Address
    client: Conversation
    body: Mapping[str, Any]
    question_id: str
    merge: Merge
    is_new: bool
    stored: Message | None = None

    @property
    def text(self) -> str:
        """Its words; of a stored one those that were stored, if the client merely left out whom they call."""
        if self.stored is not None and _is_same(self.stored, self.client):
            return self.stored.text
        return self.client.question_text

    @property
    def asker(self) -> Author:
        """Who asks."""
        if self.stored is not None:
            return self.stored.author
        return Author(self.address.asker_id, self.address.asker_name)


class AskedQuestions:
    """Finds questions in requests."""

    def __init__(self, history: HistoryService, clock: Clock) -> None:
        self._history = history
        self._clock = clock

    async def find(
        self, headers: Mapping[str, str], body: Mapping[str, Any], call: Call
    ) -> AskedQuestion | str:
        """The question; else a word that says why the request goes on as it is.

        What the client sent before the first question of a channel is stored.

        Raises
        ------
        NotAllowed
            The key does not permit the channel that is named to us.
        InvalidRequest
            A header or an id is none.
        """
        address = address_of(headers, body)
        merge = _merge_of(headers)
        if not address.channel:
            return "no_channel"
        if not is_allowed(address.channel, call.allowed):
            if address.is_explicit:
                raise NotAllowed("the key does not permit this channel", field="channel")
            return "channel_not_permitted"
        key = ChannelKey(call.tenant, address.channel)
        # One round of waiting: each of these comes from a thread.
        is_known, named, client = await asyncio.gather(
            self._history.has_channel(key),
            self._named(key, address.message_id),
            asyncio.to_thread(_conversation, body.get("messages")),
        )
        if not is_known and not address.is_explicit:
            return "unknown_channel"
        if merge is Merge.OFF:
            return "off"
        if client is None:
            return "no_messages"
        if reason := _not_ours(client.question_text, headers):
            return reason
        stored = None if named is None else await self._stored(key, named, address, client)
        is_again = headers.get(RETRY, "0") != "0"
        question_id = address.message_id or await self._question_id(key, address, client, is_again)
        if not is_known and client.history:
            await self._take_over(key, address, client)
        return AskedQuestion(key, address, client, body, question_id, merge, not is_known, stored)

    async def _named(self, key: ChannelKey, message_id: str) -> StoredMessage | None:
        return await self._history.find_message(key, message_id) if message_id else None

    async def _stored(
        self, key: ChannelKey, found: StoredMessage, address: Address, client: Conversation
    ) -> Message:
        """The message that the client names as its question.

        Raises
        ------
        InvalidRequest
            It is another one: by other words, by somebody else, or recalled.
        """
        message = found.message
        if found.state is MessageState.RECALLED:
            raise InvalidRequest("names a message that was recalled", field=MESSAGE_ID)
        if address.asker_id not in (DEFAULT_ASKER, message.author.id):
            raise InvalidRequest(
                "names a message of somebody else than the asker", field=MESSAGE_ID
            )
        if not _is_same(message, client):
            asked = replace(message, parts=(TextPart(client.question_text),))
            if (await self._history.redacted(key, asked)).text != message.text:
                raise InvalidRequest(
                    "names a stored message with other words: edit that message first, or ask under another id",
                    field=MESSAGE_ID,
                )
        return message

    async def _question_id(
        self, key: ChannelKey, address: Address, client: Conversation, is_again: bool
    ) -> str:
        """The same for the same request again, and in every round of its tool loop; else another.

        Where the client sends its history, that tells. Else the same words are another question once they were
        answered, unless the client says that it sends them again.
        """
        said = [(address.asker_id, client.question_text)]
        if client.history:
            return await asyncio.to_thread(id_behind, key.channel, client.history, said)
        latest = await self._latest(key)
        answered = {one.message.reply.message_id for one in latest if one.message.reply}
        for one in latest:
            message = one.message
            same = (message.author.id, message.text) == said[0]
            if same and (is_again or client.tail or message.id not in answered):
                return message.id
        return id_behind(key.channel, (), [*said, ("at", str(latest[0].seq if latest else 0))])

    async def _latest(self, key: ChannelKey) -> Sequence[StoredMessage]:
        try:
            query = ListQuery(limit=LATEST, newest_first=True)
            return await self._history.list_messages(key, query)
        except NotFound:
            return ()

    async def _take_over(self, key: ChannelKey, address: Address, client: Conversation) -> None:
        """Store what the client sent before a channel's first question, once: later questions will go by it."""
        now_ms = self._clock.now_ms()
        rows = await asyncio.to_thread(
            messages_before, key.channel, address, client.history, now_ms
        )
        for at in range(0, len(rows), MAX_BATCH_ITEMS):
            await self._history.append(key, rows[at : at + MAX_BATCH_ITEMS])


def _is_same(stored: Message, client: Conversation) -> bool:
    """Whether the client asks in the words of a stored message, or in those without whom it calls."""
    names = [one.name for one in stored.mentions]
    texts = "\n".join(part.text for part in stored.parts if isinstance(part, TextPart))
    return is_same_question(stored.text, client.question_text, names) or is_same_question(
        texts, client.question_words, names
    )


def _merge_of(headers: Mapping[str, str]) -> Merge:
    """Raises `InvalidRequest`."""
    value = headers.get(MERGE, Merge.REPLACE)
    try:
        return Merge(value.strip().lower())
    except ValueError:
        raise InvalidRequest(f"is none of {', '.join(Merge)}", field=MERGE) from None


def _conversation(messages: object) -> Conversation | None:
    """The messages by what they are; None where they are none. Of some clients they are very many."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        return None
    return conversation_of(messages)


def _not_ours(question: str, headers: Mapping[str, str]) -> str:
    """Why these words are no question of a channel's; empty: they are one."""
    if not question.strip():
        return "no_question"
    if question.startswith(TASK) and "x-openwebui-chat-id" in headers:
        return "task"
    try:
        check_text(question, "messages", MAX_TEXT_BYTES)
    except InvalidRequest:
        return "question_cannot_be_stored"
    return ""
