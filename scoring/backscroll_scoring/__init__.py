"""Relevance of the messages of a channel for a question: arrays in, arrays out.

No I/O, no logging, no configuration. `reference` is the specification in plain Python, `kernels`
the same compiled.
"""

from __future__ import annotations

from .decay import decay_per_hour
from .engine import Engine, EngineChoice
from .features import CLASSIC_FACTORS, ChannelColumns, QueryFeatures
from .lexical import GONE, MAX_QUERY_TERMS, Matches, Postings, PostingsView, bm25, rows_with
from .memory import MEMORY_FACTORS, MemoryCues, MemoryScores, score_memory
from .replies import ancestors, reply_tree, roots
from .score import Scored, score_only, score_rows
from .top_k import top_order
from .warmup import warm
from .weights import CLASSIC, ScoreParameters

__all__ = [
    "CLASSIC",
    "CLASSIC_FACTORS",
    "GONE",
    "MAX_QUERY_TERMS",
    "MEMORY_FACTORS",
    "ChannelColumns",
    "Engine",
    "EngineChoice",
    "Matches",
    "MemoryCues",
    "MemoryScores",
    "Postings",
    "PostingsView",
    "QueryFeatures",
    "ScoreParameters",
    "Scored",
    "ancestors",
    "bm25",
    "decay_per_hour",
    "reply_tree",
    "roots",
    "rows_with",
    "score_memory",
    "score_only",
    "score_rows",
    "top_order",
    "warm",
]
