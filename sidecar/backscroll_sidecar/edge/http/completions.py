"""OpenAI's Chat Completions with the server's context: one method of the call pipeline.

The client's request goes on to the configured model with other messages, and the answer comes back as it is. The turn
is one of StreamChat's (`chat.service`), so question, reply and what is left of a broken one are stored as there. Where
no channel is found the request goes on untouched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import orjson

from backscroll_sidecar.allowed_channels import is_allowed
from backscroll_sidecar.chat.events import ChatEnd, ChatError, ChatEvent, ContextBuilt, EndReason
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.context.model import BuildRequest, BuiltContext, SystemPrompt
from backscroll_sidecar.domain import (
    MAX_BATCH_ITEMS,
    MAX_TEXT_BYTES,
    Author,
    AuthorKind,
    ChannelKey,
    Message,
    Role,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.edge.call_pipeline import Call, Method
from backscroll_sidecar.edge.convert.fields import check_text
from backscroll_sidecar.edge.http.addressing import Address, address_of, without_address
from backscroll_sidecar.edge.http.json_messages import json_object
from backscroll_sidecar.edge.http.merging import (
    Conversation,
    Merge,
    conversation_of,
    merged,
    text_of,
)
from backscroll_sidecar.edge.http.openai_errors import error_body, fault_status
from backscroll_sidecar.edge.http.passing import PassedOn
from backscroll_sidecar.edge.keys import Right
from backscroll_sidecar.edge.rights import Need
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.errors import (
    BudgetTooSmall,
    FailedPrecondition,
    InvalidRequest,
    NotAllowed,
    NotFound,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import (
    Clock,
    ListQuery,
    ModelError,
    Relay,
    Relayed,
    Upstream,
    VendorAnswer,
)

CONTEXT = "x-backscroll-context"
MERGE = "x-backscroll-merge"
RETRY = "x-stainless-retry-count"
"""OpenAI's clients tell here how often they have sent the request before."""
BOT = "assistant"
"""The author of replies where the client names no bot, as in StreamChat."""
LONG_BYTES = 256 * 1024
"""Longer bodies are read in a thread."""
LATEST = 20
"""Among so many of the newest messages a question that is asked again is looked for, where no history tells it."""
ROOM_TOKENS = 4_096
"""What the history gets beside a question that takes the usual budget alone."""
TASK = "### Task:"
"""How open-webui begins what it asks for itself: titles, tags, follow-up questions. They are no part of the chat."""
COMPLETIONS, MODELS = "/chat/completions", "/models"
NO_UPSTREAM = (
    "requests are passed on to a model of OpenAI's Chat Completions, and none is configured: set model_base_url or "
    "model_api_key, and model_api to openai_chat"
)


class Posted(bytes):
    """A request's body, with its headers by lower-case names."""

    headers: Mapping[str, str]

    @classmethod
    def of(cls, body: bytes, headers: Mapping[str, str]) -> Posted:
        """Both."""
        made = cls(body)
        made.headers = headers
        return made


class Chat(Protocol):
    """Runs turns; `chat.ChatService` does."""

    def run(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The events of one turn, the end last."""


class _Asked(NamedTuple):
    """A question of a known channel. `is_new`: the channel begins with it."""

    key: ChannelKey
    address: Address
    client: Conversation
    body: Mapping[str, Any]
    question_id: str
    merge: Merge
    is_new: bool


class Completions:
    """Answers Chat Completions and lists models. Each answer is its head as JSON, then its body in pieces.

    Parameters
    ----------
    upstream : the vendor's API; None: the one that is configured is no such.
    """

    def __init__(
        self, chat: Chat, history: HistoryService, upstream: Upstream | None, clock: Clock
    ) -> None:
        self._chat = chat
        self._history = history
        self._upstream = upstream
        self._clock = clock

    @property
    def methods(self) -> tuple[Method, ...]:
        """For the pipeline: a key needs the right to chat."""
        need = Need(Right.CHAT, lambda _: ())
        return (
            Method("backscroll.http/ChatCompletions", _same, self.complete, server_streaming=True, need=need),
            Method("backscroll.http/ListModels", _same, self.models, server_streaming=True, need=need),
        )  # fmt: skip

    async def models(self, _: Posted, __: Call) -> AsyncGenerator[bytes]:
        """The vendor's own list."""
        async with aclosing(self._passed_on(MODELS, None, {})) as pieces:
            async for piece in pieces:
                yield piece

    async def complete(self, posted: Posted, call: Call) -> AsyncGenerator[bytes]:
        """One completion."""
        if self._upstream is None:
            raise FailedPrecondition(NO_UPSTREAM)
        body = await _object(posted)
        asked = await self._asked(posted, body, call)
        if isinstance(asked, str):
            told = {CONTEXT: f"none; reason={asked}"}
            answer = self._passed_on(COMPLETIONS, bytes(posted), told)
        else:
            answer = self._answered(asked, call)
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                yield piece

    # --- which channel, which question ---------------------------------------------------------------

    async def _asked(self, posted: Posted, body: dict[str, Any], call: Call) -> _Asked | str:
        """The question, or why there is none for us."""
        address = address_of(posted.headers, body)
        merge = _merge_of(posted.headers)
        messages = body.get("messages")
        if not address.channel:
            return "no_channel"
        if not is_allowed(address.channel, call.allowed):
            if address.is_explicit:
                raise NotAllowed("the key does not permit this channel", field="channel")
            return "channel_not_permitted"
        key = ChannelKey(call.tenant, address.channel)
        is_known = await self._is_known(key)
        if not is_known and not address.is_explicit:
            return "unknown_channel"
        if merge is Merge.OFF:
            return "off"
        client = await asyncio.to_thread(_conversation, messages)
        if client is None:
            return "no_messages"
        text = client.question_text
        if not text.strip():
            return "no_question"
        if text.startswith(TASK) and "x-openwebui-chat-id" in posted.headers:
            return "task"
        try:
            check_text(text, "messages", MAX_TEXT_BYTES)
        except InvalidRequest:
            return "question_cannot_be_stored"
        question_id = address.message_id or await self._question_id(
            key, address, client, is_again=posted.headers.get(RETRY, "0") != "0"
        )
        if not is_known and client.history:
            await self._take_over(key, address, client)
        return _Asked(key, address, client, body, question_id, merge, not is_known)

    async def _is_known(self, key: ChannelKey) -> bool:
        try:
            await self._history.channel_info(key)
        except NotFound:
            return False
        return True

    async def _question_id(
        self, key: ChannelKey, address: Address, client: Conversation, *, is_again: bool
    ) -> str:
        """The same for the same request again, and in every round of its tool loop; else another.

        Where the client sends its history, that tells. Else the same words are another question once they were
        answered, unless the client says that it sends them again.
        """
        said = [(address.asker_id, client.question_text)]
        if client.history:
            return await asyncio.to_thread(_made_id, key.channel, client.history, said)
        latest = await self._latest(key)
        answered = {one.message.reply.message_id for one in latest if one.message.reply}
        for one in latest:
            message = one.message
            same = (message.author.id, message.text) == said[0]
            if same and (is_again or client.tail or message.id not in answered):
                return message.id
        return _made_id(key.channel, (), [*said, ("at", str(latest[0].seq if latest else 0))])

    async def _latest(self, key: ChannelKey) -> Sequence[StoredMessage]:
        try:
            query = ListQuery(limit=LATEST, newest_first=True)
            return await self._history.list_messages(key, query)
        except NotFound:
            return ()

    async def _take_over(self, key: ChannelKey, address: Address, client: Conversation) -> None:
        """Store what the client sent before a channel's first question, once: later questions will go by it."""
        now_ms = self._clock.now_ms()
        rows = await asyncio.to_thread(_rows_before, key, address, client.history, now_ms)
        for at in range(0, len(rows), MAX_BATCH_ITEMS):
            await self._history.append(key, rows[at : at + MAX_BATCH_ITEMS])

    # --- answers ---------------------------------------------------------------------------------------

    async def _passed_on(
        self, path: str, body: bytes | None, told: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """The vendor's own answer to a request as it is."""
        if self._upstream is None:
            raise FailedPrecondition(NO_UPSTREAM)
        answer: PassedOn | None = None
        try:
            async with self._upstream.relay(path, body) as (head, pieces):
                answer = PassedOn(head)
                yield _head(head, told)
                async for read in pieces:
                    if piece := answer.feed(read):
                        yield piece
            yield answer.end()
        except ModelError as failed:
            error = ChatError(failed.safe_reason, failed.fault.value, answer=failed.answer)
            for piece in _refused(error, told) if answer is None else _broken(error, answer):
                yield piece

    async def _answered(self, asked: _Asked, call: Call) -> AsyncGenerator[bytes]:
        """The answer of a turn. Where the question takes the whole budget, it gets more."""
        budget = None
        try:
            async with aclosing(self._run(asked, call, budget)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except BudgetTooSmall as small:  # before anything was said
            budget = small.least_tokens + ROOM_TOKENS
        async with aclosing(self._run(asked, call, budget)) as pieces:
            async for piece in pieces:
                yield piece

    async def _run(self, asked: _Asked, call: Call, budget: int | None) -> AsyncGenerator[bytes]:
        told: dict[str, str] = {}
        error: ChatError | None = None
        answer: PassedOn | None = None
        async with aclosing(self._chat.run(_chat_request(asked, call, budget))) as events:
            async for event in events:
                match event:
                    case ContextBuilt(built):
                        told = {CONTEXT: _told(built, is_new=asked.is_new)}
                    case VendorAnswer():
                        answer = PassedOn(event)
                        yield _head(event, told)
                    case Relayed(read) if answer is not None:
                        if piece := answer.feed(read):
                            yield piece
                    case ChatError():
                        error = event
                    case ChatEnd(reason) if reason in _BROKEN:
                        failed = error or _TIMED_OUT
                        for piece in (
                            _refused(failed, told) if answer is None else _broken(failed, answer)
                        ):
                            yield piece
                        return
                    case _:
                        pass
        if answer is not None:
            yield answer.end()


_BROKEN = (EndReason.UPSTREAM_ERROR, EndReason.DEADLINE)
_TIMED_OUT = ChatError("the caller's time is up", "timeout")


def _same(posted: bytes) -> bytes:
    return posted


async def _object(posted: Posted) -> dict[str, Any]:
    body = memoryview(posted)
    if len(posted) > LONG_BYTES:
        return await asyncio.to_thread(json_object, body)
    return json_object(body)


def _merge_of(headers: Mapping[str, str]) -> Merge:
    """Raises `InvalidRequest`."""
    value = headers.get(MERGE, Merge.REPLACE)
    try:
        return Merge(value.strip().lower())
    except ValueError:
        raise InvalidRequest(f"is none of {', '.join(Merge)}", field=MERGE) from None


def _rows_before(
    key: ChannelKey, address: Address, history: Sequence[Mapping[str, Any]], now_ms: int
) -> list[Message]:
    """What was said before a question, as messages right before now."""
    asker = Author(address.asker_id, address.asker_name)
    bot = Author(address.bot or BOT, kind=AuthorKind.BOT)
    said = _said_in(history)
    rows: list[Message] = []
    for place, id_ in enumerate(_made_ids(key.channel, said)):
        role, text = said[place]
        if role not in {"user", "assistant"} or not text.strip():
            continue
        is_bot = role == "assistant"
        rows.append(
            Message(
                id_,
                key.channel,
                bot if is_bot else asker,
                (TextPart(text),),
                now_ms - len(history) + place,
                Role.ASSISTANT if is_bot else Role.USER,
                session_id=address.session,
            )
        )
    return rows


def _made_ids(channel: str, said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """An id for each thing that was said, by all that was said up to it."""
    digest = blake2b(orjson.dumps(channel), digest_size=12)
    for one in said:
        digest.update(orjson.dumps(one))
        yield f"said-{digest.hexdigest()}"


def _made_id(
    channel: str, history: Sequence[Mapping[str, Any]], said: Sequence[tuple[str, str]]
) -> str:
    """That of the last, of what was said behind a history."""
    *_, last = _made_ids(channel, [*_said_in(history), *said])
    return last


def _said_in(history: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(str(one.get("role")), text_of(one)) for one in history]


def _conversation(messages: object) -> Conversation | None:
    """The messages by what they are; None where they are none. Of some clients they are very many."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        return None
    return conversation_of(messages)


def _chat_request(asked: _Asked, call: Call, budget: int | None) -> ChatRequest:
    address, client = asked.address, asked.client
    model = asked.body.get("model")
    context = BuildRequest(
        asked.key,
        client.question_text,
        Author(address.asker_id, address.asker_name),
        session_id=address.session,
        self_ids=(address.bot,) if address.bot else (),
        # The client's own stand before the context, and leave no room for the server's.
        system=SystemPrompt("") if client.system else None,
        token_budget=budget,
        model=model if isinstance(model, str) else "",
        time_left_s=call.time_left_s,
        allowed=call.allowed,
    )
    return ChatRequest(
        tenant=call.tenant,
        context=context,
        question_message_id=asked.question_id,
        relay=Relay(without_address(asked.body), partial(merged, client=client, merge=asked.merge)),
        model_api="openai_chat",
        time_left_s=call.time_left_s,
        allowed=call.allowed,
    )


def _told(built: BuiltContext, *, is_new: bool) -> str:
    """The header that says what was added."""
    tokens = built.tokens.total - built.tokens.reserve
    said = f"{built.context_id}; tokens={tokens}; rung={built.rung.name.lower()}; messages={built.item_count}"
    if built.item_count:
        return said
    return f"{said}; reason={'new_channel' if is_new else 'nothing_found'}"


def _head(answer: VendorAnswer, told: Mapping[str, str]) -> bytes:
    return orjson.dumps({"status": answer.status, "headers": {**answer.headers, **told}})


def _broken(error: ChatError, answer: PassedOn) -> Iterator[bytes]:
    """How an answer ends that has begun. Raises `Refused` where nothing of ours can stand behind it."""
    if not answer.has_events:
        raise Refused(Code.UNAVAILABLE, error.message)
    yield answer.broken(error_body(error.message, error.reason))


def _refused(error: ChatError, told: Mapping[str, str]) -> tuple[bytes, bytes]:
    """What the vendor itself said where that may be told, else our words for it."""
    if error.answer is not None:
        return _head(error.answer, told), error.answer.body
    headers = {"content-type": "application/json"}
    if error.retry_after_ms is not None:
        headers["retry-after-ms"] = str(error.retry_after_ms)
    head = VendorAnswer(fault_status(error.reason), headers)
    return _head(head, told), error_body(error.message, error.reason)
