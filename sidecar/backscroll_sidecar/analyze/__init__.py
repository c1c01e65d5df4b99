"""Message to features: keywords, mentions, reply, type, tokens. Pure: no I/O, no clock; runs once, at ingest."""

from __future__ import annotations

from backscroll_sidecar.analyze.analyzer import Analyzer, is_addressed
from backscroll_sidecar.analyze.asking import (
    NUMBER_WORDS,
    TIME_WORDS,
    asks_how_many,
    asks_when,
    only_asks,
    recall_signs,
    speaks_of_nobody_else,
    speaks_of_self,
)
from backscroll_sidecar.analyze.dates import PLAIN_DATES, DateSpan, DateStyle, date_spans
from backscroll_sidecar.analyze.going_on import asks_to_go_on
from backscroll_sidecar.analyze.keywords import identifiers, keywords, segmenter_name
from backscroll_sidecar.analyze.mentions import Roster, StaticRoster, mention_ids
from backscroll_sidecar.analyze.same_question import is_same_question
from backscroll_sidecar.analyze.sanitise import clean_text, has_nul
from backscroll_sidecar.analyze.stopwords import is_stop_word
from backscroll_sidecar.analyze.tokens import (
    TokenCounter,
    begins_anew,
    count_with_breaks,
    exact_tokens,
    repeated_tokens,
    token_counter,
)
from backscroll_sidecar.analyze.types import classify
from backscroll_sidecar.domain import AuthorKind

__all__ = [
    "NUMBER_WORDS",
    "PLAIN_DATES",
    "TIME_WORDS",
    "Analyzer",
    "DateSpan",
    "DateStyle",
    "Roster",
    "StaticRoster",
    "TokenCounter",
    "asks_how_many",
    "asks_to_go_on",
    "asks_when",
    "begins_anew",
    "classify",
    "clean_text",
    "count_with_breaks",
    "date_spans",
    "exact_tokens",
    "has_nul",
    "identifiers",
    "is_addressed",
    "is_same_question",
    "is_stop_word",
    "keywords",
    "mention_ids",
    "only_asks",
    "recall_signs",
    "repeated_tokens",
    "segmenter_name",
    "speaks_of_nobody_else",
    "speaks_of_self",
    "token_counter",
    "warm",
]


def warm() -> None:
    """Load the Chinese dictionary and the token tables now, so that no request pays for it (about 0.6 s)."""
    line = "预热 analysis，明天去北京大学吗"
    keywords(line)
    token_counter().count(line)
    classify(line, is_reply=False, parent_is_question=None, author_kind=AuthorKind.HUMAN)
