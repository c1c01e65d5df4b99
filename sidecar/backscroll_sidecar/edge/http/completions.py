"""OpenAI's Chat Completions with the server's context: one method of the call pipeline.

The client's request goes on to the configured model with other messages, and the answer comes back as it is. The turn
is one of StreamChat's (`chat.service`), so question, reply and what is left of a broken one are stored as there. Where
no channel is found the request goes on untouched.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ChatEvent,
    ContextBuilt,
    EndReason,
    NotStored,
)
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.edge.call_pipeline import Call, Method
from backscroll_sidecar.edge.http.addressing import without_address
from backscroll_sidecar.edge.http.answer_pieces import (
    Answer,
    failed,
    told_of,
    told_of_none,
)
from backscroll_sidecar.edge.http.asked_questions import AskedQuestion, AskedQuestions
from backscroll_sidecar.edge.http.json_messages import json_object
from backscroll_sidecar.edge.http.merging import merged
from backscroll_sidecar.edge.keys import Right
from backscroll_sidecar.edge.rights import Need
from backscroll_sidecar.errors import BudgetTooSmall, FailedPrecondition
from backscroll_sidecar.ports import ModelError, Relay, Relayed, Upstream, VendorAnswer

LONG_BYTES = 256 * 1024
"""Longer bodies are read in a thread."""
ROOM_TOKENS = 4_096
"""What the history gets beside a question that takes the usual budget alone."""
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


class Completions:
    """Answers Chat Completions and lists models. Each answer is its head as JSON, then its body in pieces.

    Parameters
    ----------
    upstream : the vendor's API; None: the one that is configured is no such.
    """

    def __init__(self, chat: Chat, questions: AskedQuestions, upstream: Upstream | None) -> None:
        self._chat = chat
        self._questions = questions
        self._upstream = upstream

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
        asked = await self._questions.find(posted.headers, body, call)
        if isinstance(asked, str):
            answer = self._passed_on(COMPLETIONS, bytes(posted), told_of_none(asked))
        else:
            answer = self._answered(asked, call)
        async with aclosing(answer) as pieces:
            async for piece in pieces:
                yield piece

    async def _passed_on(
        self, path: str, body: bytes | None, told: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """The vendor's own answer to a request as it is."""
        if self._upstream is None:
            raise FailedPrecondition(NO_UPSTREAM)
        answer: Answer | None = None
        try:
            async with self._upstream.relay(path, body) as (head, pieces):
                answer = Answer(head, told)
                for piece in answer.begin():
                    yield piece
                async for read in pieces:
                    for piece in answer.feed(read):
                        yield piece
            for piece in answer.end():
                yield piece
        except ModelError as wrong:
            error = ChatError(wrong.safe_reason, wrong.fault.value, answer=wrong.answer)
            for piece in failed(error, told) if answer is None else answer.broken(error):
                yield piece

    async def _answered(self, asked: AskedQuestion, call: Call) -> AsyncGenerator[bytes]:
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

    async def _run(
        self, asked: AskedQuestion, call: Call, budget: int | None
    ) -> AsyncGenerator[bytes]:
        answer = _TurnAnswer(is_new=asked.is_new)
        async with aclosing(self._chat.run(_chat_request(asked, call, budget))) as events:
            async for event in events:
                for piece in answer.hear(event):
                    yield piece
        for piece in answer.end():
            yield piece


class _TurnAnswer:
    """The answer of a turn, event by event."""

    def __init__(self, *, is_new: bool) -> None:
        self._is_new = is_new
        self._told: dict[str, str] = {}
        self._error: ChatError | None = None
        self._unstored: NotStored | None = None
        self._answer: Answer | None = None

    def hear(self, event: ChatEvent) -> Iterable[bytes]:
        """What goes to the client now."""
        match event:
            case ContextBuilt(built):
                self._told = told_of(built, is_new=self._is_new)
            case VendorAnswer():
                self._answer = Answer(event, self._told)
                return self._answer.begin()
            case Relayed(read) if self._answer is not None:
                return self._answer.feed(read)
            case NotStored():
                self._unstored = event
            case ChatError():
                self._error = event
            case ChatEnd(EndReason.DEADLINE):
                self._error = _TIMED_OUT
            case _:
                pass
        return ()

    def end(self) -> Iterable[bytes]:
        """What goes at the end, once all is stored that can be. Raises `Refused` as `Answer.broken` does."""
        if self._error is not None:
            if self._answer is None:
                return failed(self._error, self._told)
            return self._answer.broken(self._error)
        return () if self._answer is None else self._answer.end(self._unstored)


_TIMED_OUT = ChatError("the caller's time is up", "timeout")


def _same(posted: bytes) -> bytes:
    return posted


async def _object(posted: Posted) -> dict[str, Any]:
    body = memoryview(posted)
    if len(posted) > LONG_BYTES:
        return await asyncio.to_thread(json_object, body)
    return json_object(body)


def _chat_request(asked: AskedQuestion, call: Call, budget: int | None) -> ChatRequest:
    address, client = asked.address, asked.client
    model = asked.body.get("model")
    context = BuildRequest(
        asked.key,
        asked.text,
        asked.asker,
        trigger_message_id="" if asked.stored is None else asked.stored.id,
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
