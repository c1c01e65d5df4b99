"""A model without a key or network: it repeats the question and says so."""

from collections.abc import Sequence

from backscroll_sidecar.domain import Role
from backscroll_sidecar.models.scripted import ScriptedModel
from backscroll_sidecar.models.tool_calls import clean
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelRequest,
    TextDelta,
)
from backscroll_sidecar.texts import NEUTRAL, Wordings

MAX_QUESTION_CHARS = 1_000
QUESTION_DELTAS = 3
BYTES_A_TOKEN = 4


class EchoModel(ScriptedModel):
    """`ChatModel` that answers with a notice and the last message of a user.

    The notice is in the server's language, else in the message's. It says that there is no model or, with
    `is_refused`, that the one there is can never be called. `max_output_tokens` of four bytes each cut the answer,
    which then ends with LENGTH. There is no usage.
    """

    def __init__(self, wordings: Wordings = NEUTRAL, *, is_refused: bool = False) -> None:
        super().__init__(lambda request: _answer(request, wordings, is_refused))


def _answer(request: ModelRequest, wordings: Wordings, is_refused: bool) -> list[ModelEvent]:
    said = (one.content for one in reversed(request.messages) if one.role is Role.USER)
    question = clean(next(said, "")).strip()
    texts = wordings.of(None, question)
    question = question or texts.no_text
    if len(question) > MAX_QUESTION_CHARS:
        question = "…" + question[1 - MAX_QUESTION_CHARS :]
    size = -(-len(question) // QUESTION_DELTAS)
    pieces = [
        texts.refused_model_notice if is_refused else texts.echo_notice,
        *(question[at : at + size] for at in range(0, len(question), size)),
    ]
    limit = request.max_output_tokens
    reason = FinishReason.STOP
    if limit is not None and len("".join(pieces).encode()) > limit * BYTES_A_TOKEN:
        pieces, reason = _cut(pieces, limit * BYTES_A_TOKEN), FinishReason.LENGTH
    return [*map(TextDelta, pieces), Finished(reason)]


def _cut(pieces: Sequence[str], size: int) -> list[str]:
    kept = []
    for piece in pieces:
        part = piece.encode()[: max(size, 0)].decode(errors="ignore")
        size -= len(piece.encode())
        if part:
            kept.append(part)
    return kept
