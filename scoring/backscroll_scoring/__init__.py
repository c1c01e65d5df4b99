"""Relevance of the messages of a channel for a question: arrays in, arrays out.

No I/O, no logging, no configuration. What computes is in `kernels_*`; `tests/reference` says the same another way.
"""

from __future__ import annotations

from .answers import LaidOut, Page, Pieces
from .decay import decay_per_hour
from .diversity import (
    Similarity,
    mmr_order,
    set_similarity,
)
from .features import CLASSIC_FACTORS, ChannelColumns, QueryFeatures
from .fields import Tails, join_records
from .fusion import (
    Fused,
    Interleaved,
    interleave,
    linear_fusion,
    reciprocal_rank_fusion,
    turns,
    with_marked,
    with_recalled,
)
from .graph import NEAR, GraphParameters, graph_scores
from .kept_sets import KeptSets
from .lately import newest_by
from .lexical import (
    GONE,
    MAX_QUERY_TERMS,
    Matches,
    Postings,
    PostingsView,
    Worth,
    bm25,
    bound_bm25,
    in_use,
    rows_with,
)
from .memory import MEMORY_FACTORS, MemoryCues, score_memory
from .recency import recency_multipliers
from .replies import ancestors, roots
from .score import score_only, score_reaching, score_rows
from .selection import (
    Rules,
    choose,
    choose_far,
    choose_near,
    give_places,
    older_marks,
    spread,
)
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
    "NEAR",
    "ChannelColumns",
    "FeatureSets",
    "Fused",
    "GraphParameters",
    "Interleaved",
    "KeptSets",
    "LaidOut",
    "Matches",
    "MemoryCues",
    "Packed",
    "Page",
    "Pieces",
    "Postings",
    "PostingsView",
    "QueryFeatures",
    "Rules",
    "ScoreParameters",
    "Similarity",
    "Slots",
    "StringTable",
    "StringsView",
    "Tails",
    "Worth",
    "ancestors",
    "bm25",
    "bound_bm25",
    "choose",
    "choose_far",
    "choose_near",
    "decay_per_hour",
    "give_places",
    "graph_scores",
    "in_use",
    "interleave",
    "join_records",
    "linear_fusion",
    "look_at_rows",
    "mmr_order",
    "newest_by",
    "older_marks",
    "recency_multipliers",
    "reciprocal_rank_fusion",
    "roots",
    "rows_with",
    "score_memory",
    "score_only",
    "score_reaching",
    "score_rows",
    "set_similarity",
    "shingle_sets",
    "spread",
    "top_order",
    "turns",
    "warm",
    "with_marked",
    "with_recalled",
]
