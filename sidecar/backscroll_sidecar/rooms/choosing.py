"""Lets a model choose who speaks next, where the session wants that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from backscroll_sidecar.domain import NeutralMessage, Role
from backscroll_sidecar.ports import ChatModel, ModelError, ModelRequest, TextDelta, TextTakenBack
from backscroll_sidecar.sessions.participants import Participant, name_key
from backscroll_sidecar.texts import Language

log = structlog.get_logger(__name__)

CHOICE_TOKENS = 64
CHOICE_S = 20.0
ASKED = {
    Language.EN: "These can answer the next message:\n{names}\nWhich one of them should? Answer with the name alone.",
    Language.ZH: "以下成员可以回复下一条消息：\n{names}\n应该由谁来回复？只回答名字。",
}


class Chooser:
    """Asks a model for a name. An answer that names nobody chooses the first."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def choose(
        self,
        personas: Sequence[Participant],
        text: str,
        model: str,
        language: Language,
        time_left_s: float | None,
    ) -> str | None:
        """The id of one of them; None: there are none. It takes half of the time that is left, at most."""
        if len(personas) < 2:
            return personas[0].id if personas else None
        names = "\n".join(f"- {one.name}: {one.summary or one.persona[:200]}" for one in personas)
        request = ModelRequest(
            (
                NeutralMessage(Role.SYSTEM, ASKED[language].format(names=names)),
                NeutralMessage(Role.USER, text),
            ),
            model,
            temperature=0.0,
            max_output_tokens=CHOICE_TOKENS,
            timeout_s=CHOICE_S,
        )
        limit_s = CHOICE_S if time_left_s is None else min(CHOICE_S, time_left_s / 2)
        said = ""
        try:
            async with asyncio.timeout(limit_s):
                said = await self._said(request)
        except ModelError as error:
            log.warning("nobody could be chosen", fault=error.fault.value)
        except TimeoutError:
            log.warning("nobody could be chosen", fault="timeout")
        return chosen_of(personas, said)

    async def _said(self, request: ModelRequest) -> str:
        pieces: list[str] = []
        async with self._model.stream(request) as events:
            async for event in events:
                match event:
                    case TextDelta(text):
                        pieces.append(text)
                    case TextTakenBack():
                        pieces.clear()
        return "".join(pieces)


def chosen_of(personas: Sequence[Participant], said: str) -> str:
    """Whom an answer names: the one whose name comes first in it, else the first of all."""
    text = name_key(said)
    places = [
        (text.find(name_key(name)), -len(name), one.id)
        for one in personas
        for name in (*one.names(), one.id)
        if name_key(name) in text
    ]
    return min(places)[2] if places else personas[0].id
