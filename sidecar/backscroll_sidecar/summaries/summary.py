"""A summary as a value, and as the records that keep it. Pure.

Each compaction keeps one record, a generation, which names the messages that it took in and has the whole text. A
message that is erased, retracted or edited takes along, in the same transaction, the record that names it and those
that go on from it: no summary outlives a message that it stands for. What the generations before say holds again.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from backscroll_sidecar.ports import StoredRecord

SUMMARY = "summary"
"""The kind of the records. Their owner is the thread, their id the chain and the generation."""

GENERATIONS = 2
"""So many of the newest are in memory: what goes on from the last but one is what builds may show in full."""


class SummaryKind(StrEnum):
    """How a summary was made."""

    MODEL = "model"
    KEY_LINES = "key_lines"


class Summary(msgspec.Struct, frozen=True):
    """What a conversation holds before its newest part.

    Attributes
    ----------
    chain, generation : which summaries it goes on from, each by the one before, and how many these are.
    message_count : how many messages it stands for.
    upto_seq : the arrival number of the newest of them.
    newest_ms : the latest time that one of them is ranked by.
    notes : what a model wrote; empty: none did.
    words : lines of people, word for word.
    tokens : of the text.
    """

    kind: SummaryKind
    chain: str
    generation: int
    message_count: int
    upto_seq: int
    newest_ms: int
    notes: str = ""
    words: str = ""
    tokens: int = 0

    @property
    def text(self) -> str:
        """All of it."""
        return text_of(self.notes, self.words)


WORDS_TITLE = "## In Their Words"


def text_of(notes: str, words: str) -> str:
    """Notes with people's own words behind them, or one of the two."""
    if not notes or not words:
        return notes or words
    return f"{notes}\n\n{WORDS_TITLE}\n{words}"


def record_id(chain: str, generation: int) -> str:
    """The id of a generation's record."""
    return f"{chain}:{generation}"


def encode_summary(summary: Summary) -> bytes:
    """The body of its record."""
    return msgspec.json.encode(summary)


def summaries_of(records: Sequence[StoredRecord]) -> tuple[Summary, ...]:
    """The summaries that records of a conversation hold."""
    return tuple([msgspec.json.decode(one.body, type=Summary) for one in records])
