"""Notes of a conversation by a model: in one call where it fits, else piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from backscroll_sidecar.ports import (
    ChatModel,
    Finished,
    FinishReason,
    ModelError,
    ModelRequest,
    TextDelta,
    TextTakenBack,
    ToolCallDelta,
)
from backscroll_sidecar.summaries.prompts import SPLIT_TITLE, summary_messages
from backscroll_sidecar.summaries.transcript import count_fitting, fenced

MAX_HALVINGS = 3
"""So often a piece is halved that is larger than the model's window."""
_WHOLE = {FinishReason.STOP, FinishReason.UNKNOWN}
_WORDS = {
    FinishReason.LENGTH: "length",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.TOOL_CALLS: "tool_call",
}


class NotesFailed(Exception):
    """A model gave no notes that may be kept. `word` says why: a fault, or how its answer ended."""

    def __init__(self, word: str, *, is_overflow: bool = False) -> None:
        super().__init__(word)
        self.word = word
        self.is_overflow = is_overflow


@dataclass(frozen=True, slots=True)
class Summariser:
    """Asks a model for notes.

    Attributes
    ----------
    name : of the model there; what payloads call `model`.
    api : the interface it is asked by; empty: its own.
    piece_chars : the most characters of messages in one call.
    timeout_s : of one call.
    """

    model: ChatModel
    name: str
    api: str = ""
    piece_chars: int = 60_000
    timeout_s: float = 120.0

    async def notes(
        self, lines: Sequence[str], split: Sequence[str], previous: str, focus: str
    ) -> str:
        """Notes of the lines, and of those of a turn that the cut goes through; `previous` are brought up to date.

        Raises
        ------
        NotesFailed
            No answer, or one that may not be kept: cut off, empty, with a call of a tool.
        """
        notes = previous
        if lines:
            notes = await self._in_pieces(lines, previous, focus, is_split=False)
        if split:
            task = await self._in_pieces(split, "", focus, is_split=True)
            notes = "\n\n".join(filter(None, (notes, f"{SPLIT_TITLE}\n\n{task}")))
        return notes

    async def _in_pieces(
        self, lines: Sequence[str], notes: str, focus: str, *, is_split: bool
    ) -> str:
        """One call where all fits; else each piece brings the notes before it up to date."""
        chars, at, halvings = self.piece_chars, 0, 0
        while at < len(lines):
            count = count_fitting(lines[at:], chars)
            piece = "\n".join(line[:chars] for line in lines[at : at + count])
            messages = summary_messages(
                piece, previous=fenced(notes), focus=fenced(focus), is_split=is_split
            )
            try:
                notes = await self._ask(ModelRequest(tuple(messages), self.name, api=self.api))
            except NotesFailed as failed:
                if not failed.is_overflow or halvings == MAX_HALVINGS:
                    raise
                halvings, chars = halvings + 1, chars // 2
                continue
            at += count
        return notes

    async def _ask(self, request: ModelRequest) -> str:
        """One answer, if it may be kept."""
        texts: list[str] = []
        ending = FinishReason.NONE
        try:
            async with asyncio.timeout(self.timeout_s), self.model.stream(request) as events:
                async for event in events:
                    match event:
                        case TextDelta(text):
                            texts.append(text)
                        case TextTakenBack():
                            texts.clear()
                        case ToolCallDelta():
                            raise NotesFailed("tool_call")
                        case Finished(reason):
                            ending = reason
        except ModelError as failed:
            raise NotesFailed(failed.fault.value, is_overflow=failed.is_overflow) from None
        except TimeoutError:
            raise NotesFailed("timeout") from None
        if ending not in _WHOLE:
            raise NotesFailed(_WORDS.get(ending, "incomplete"))
        notes = "".join(texts).strip()
        if not notes:
            raise NotesFailed("empty")
        return notes
