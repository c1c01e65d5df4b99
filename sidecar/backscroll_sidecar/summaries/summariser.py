"""Notes of a conversation by a model: in one call where it fits, else piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll_sidecar.ports import ChatModel, ModelRequest
from backscroll_sidecar.summaries.prompts import SPLIT_TITLE, summary_messages
from backscroll_sidecar.summaries.transcript import count_fitting, fenced
from backscroll_sidecar.whole_answers import NoAnswer, whole_answer

MAX_HALVINGS = 3
"""So often a piece is halved that is larger than the model's window."""


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
        NoAnswer
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
            request = ModelRequest(tuple(messages), self.name, api=self.api)
            try:
                notes = await whole_answer(self.model, request, self.timeout_s)
            except NoAnswer as failed:
                if not failed.is_overflow or halvings == MAX_HALVINGS:
                    raise
                halvings, chars = halvings + 1, chars // 2
                continue
            at += count
        return notes
