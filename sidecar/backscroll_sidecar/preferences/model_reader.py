"""Messages read for preferences by a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll_sidecar.ports import ChatModel, ModelRequest
from backscroll_sidecar.preferences.model_answer import found_in
from backscroll_sidecar.preferences.preference import Kept
from backscroll_sidecar.preferences.prompts import reading_messages
from backscroll_sidecar.preferences.topics import Topics
from backscroll_sidecar.whole_answers import NoAnswer, whole_answer

MAX_CHARS = 2_000
"""Of a message so much is read."""


@dataclass(frozen=True, slots=True)
class ModelReader:
    """Asks a model.

    Attributes
    ----------
    name : of the model there; what payloads call `model`.
    api : the interface it is asked by; empty: its own.
    timeout_s : of one call.
    """

    model: ChatModel
    name: str
    topics: Topics
    api: str = ""
    timeout_s: float = 60.0

    async def read(self, texts: Sequence[tuple[str, str]]) -> Mapping[int, list[Kept]]:
        """What was found in texts, by their index. `texts`: pairs of who says it and what.

        Raises
        ------
        NoAnswer
            There is none, or none that can be read.
        """
        cut = [(author, text[:MAX_CHARS]) for author, text in texts]
        messages = reading_messages(cut, self.topics)
        request = ModelRequest(messages, self.name, api=self.api)
        answer = await whole_answer(self.model, request, self.timeout_s)
        try:
            return found_in(answer, [text for _, text in cut], self.topics)
        except ValueError:
            raise NoAnswer("not_json") from None
