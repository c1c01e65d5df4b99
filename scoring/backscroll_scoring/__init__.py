"""Relevance of the messages of a channel for a question: arrays in, arrays out.

No I/O, no logging, no configuration. What computes is in `kernels_*`; `tests/reference` says the same another way.
"""

from __future__ import annotations

from .decay import decay_per_hour
from .diversity import (
    Similarity,
    mmr_order,
    set_similarity,
)
from .features import CLASSIC_FACTORS, ChannelColumns, QueryFeatures
from .fusion import (
    Fused,
    Turns,
    linear_fusion,
    reciprocal_rank_fusion,
    take_turns,
    turns,
    unite,
)
from .graph import NEAR, GraphParameters, graph_scores
from .history_candidates import Few, LongHistory
from .layout import GONE, SCORE_BUCKETS
from .lexical import (
    MAX_QUERY_TERMS,
    Matches,
    Postings,
    PostingsView,
    Worth,
    bm25,
    bound_bm25,
    count_rows,
    in_use,
    rows_alike,
    rows_of_pairs,
    rows_with,
)
from .line_table import LineTable, Pieces, add_up, key_of, take_fitting
from .memory import MEMORY_FACTORS, MEMORY_WEIGHTS, MemoryCues, score_memory
from .newest import newest_by
from .recency import recency_multipliers
from .replies import ancestors, roots
from .score import score_only, score_reaching, score_rows
from .selection import (
    Rules,
    select,
)
from .shingle_cache import ShingleCache
from .shown import no_scores, tally
from .strings import Packed, Slots, StringsView, StringTable
from .texts import FeatureSets, shingle_sets
from .top_k import look_at_rows, top_order
from .warmup import warm
from .weights import CLASSIC, ScoreParameters

__all__ = [
    "CLASSIC",
    "CLASSIC_FACTORS",
    "GONE",
    "MAX_QUERY_TERMS",
    "MEMORY_FACTORS",
    "MEMORY_WEIGHTS",
    "NEAR",
    "SCORE_BUCKETS",
    "ChannelColumns",
    "FeatureSets",
    "Few",
    "Fused",
    "GraphParameters",
    "LineTable",
    "LongHistory",
    "Matches",
    "MemoryCues",
    "Packed",
    "Pieces",
    "Postings",
    "PostingsView",
    "QueryFeatures",
    "Rules",
    "ScoreParameters",
    "ShingleCache",
    "Similarity",
    "Slots",
    "StringTable",
    "StringsView",
    "Turns",
    "Worth",
    "add_up",
    "ancestors",
    "bm25",
    "bound_bm25",
    "count_rows",
    "decay_per_hour",
    "graph_scores",
    "in_use",
    "key_of",
    "linear_fusion",
    "look_at_rows",
    "mmr_order",
    "newest_by",
    "no_scores",
    "recency_multipliers",
    "reciprocal_rank_fusion",
    "roots",
    "rows_alike",
    "rows_of_pairs",
    "rows_with",
    "score_memory",
    "score_only",
    "score_reaching",
    "score_rows",
    "select",
    "set_similarity",
    "shingle_sets",
    "take_fitting",
    "take_turns",
    "tally",
    "top_order",
    "turns",
    "unite",
    "warm",
]
