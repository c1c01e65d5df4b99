"""Touch every kernel once, before the first request."""

from __future__ import annotations

import numpy as np

from .diversity import near_duplicates, set_similarity
from .features import ChannelColumns, QueryFeatures
from .graph import graph_scores
from .index import ExactIndex, SignIndex, VectorRows, query_blocks, sign_bits
from .replies import ancestors, reply_tree
from .score import score_only, score_rows
from .texts import shingle_sets
from .top_k import top_order
from .weights import CLASSIC, ScoreParameters


def warm() -> None:
    """Call every kernel once on a channel of two messages.

    Kernels are compiled, or loaded from numba's cache, when the package is imported; what is left
    for the first call is a few milliseconds of lazy binding. This keeps them out of the first
    request.
    """
    one_a_row = np.arange(3, dtype=np.int64)
    ids = np.zeros(2, np.int32)
    parent = np.array([-1, 0], np.int32)
    columns = ChannelColumns(one_a_row[:2], ids, parent, one_a_row, ids, one_a_row, ids)
    query = QueryFeatures(2, 0, 1, ids[:1], ids[:1])
    rows = np.arange(2, dtype=np.int32)
    for parameters in (CLASSIC, ScoreParameters(link="logistic")):
        score_rows(columns, query, rows, parameters)
    top_order(score_only(columns, query, rows), rows, limit=1)
    ancestors(parent, 1, 1)
    reply_tree(parent, 1)
    graph_scores(parent, ids, question_parent=1, end=2, own_authors=ids[:1])
    sets = shingle_sets(("one", "two"))
    near_duplicates(sets, rows)
    set_similarity(sets)(0)
    _warm_vectors()


def _warm_vectors() -> None:
    vectors = np.eye(2, 64, dtype=np.float32)
    rows, allowed, centre = VectorRows.of(vectors), np.ones(2, np.bool_), np.zeros(64, np.float32)
    for index in (ExactIndex(rows), SignIndex(rows, sign_bits(vectors, centre), centre)):
        index.search(query_blocks(vectors[0]), 1, allowed)
