"""Touch every kernel once, before the first request."""

from __future__ import annotations

import numpy as np

from .arrays import Float32, Int64
from .diversity import set_similarity
from .features import ChannelColumns, QueryFeatures
from .fusion import take_turns, unite
from .graph import graph_scores
from .history_candidates import LongHistory
from .hnsw import Graph
from .index import ScanIndex, VectorRows
from .layout import ADDED, FORMS, NUMBERS, TURN_COST, WRITE_ITEMS
from .lexical import (
    Postings,
    PostingsView,
    bm25,
    bound_bm25,
    count_rows,
    in_use,
    rows_alike,
    rows_of_pairs,
    rows_with,
)
from .line_table import LineTable, Pieces, add_up, take_fitting
from .link_columns import LinkArrays, LinkQuestion
from .link_model import shipped
from .links import candidates, extend_links, new_links, rank, reply_order, window_sizes
from .memory import MemoryCues, score_memory
from .newest import newest_by
from .replies import ancestors, roots
from .score import score_only, score_reaching, score_rows
from .selection import Rules, select
from .shingle_cache import ShingleCache
from .shown import no_scores, tally
from .strings import Packed, StringTable
from .texts import shingle_sets
from .top_k import look_at_rows, top_order
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
    score_reaching(columns, query, rows, at_least=0.1)
    eligible = np.ones(2, np.uint8)
    look_at_rows(rows, eligible.view(np.bool_))
    postings = Postings()
    postings.append(rows, ids, rows)
    postings.renumber(rows)
    postings.compact()
    rows_with(postings.view(), ids[:1], eligible)
    count_rows(postings.view(), ids[:1], eligible, 1)
    rows_alike(postings.view(), ids[:1], np.ones(1, np.float32), eligible, 1, 1)
    rows_of_pairs(postings.view(), ids, one_a_row, ids, eligible, 1)
    in_use(postings.view(), ids[:1], eligible)
    matches = bm25(postings.view(), one_a_row, ids[:1], np.ones(1, np.float32), eligible)
    bound_bm25(postings.view(), one_a_row, ids[:1], np.ones(1, np.float32), eligible, 1)
    matches.best(1)
    _warm_long_history(postings.view(), one_a_row, np.ones(1, np.float32))
    score_memory(matches, one_a_row[:2], ids, eligible, eligible, MemoryCues())
    marks = np.ones(2, np.uint32)
    flags = eligible.view(np.bool_)
    unite(
        (rows, marks, flags),
        ids,
        rows,
        rows[:0],
        rows,
        np.zeros((2, 2), np.bool_),
        (-1,) * ADDED,
        0,
        0,
    )
    near = rows, one_a_row[:2], np.zeros(2), eligible
    take_turns(rows, near, (rows, np.zeros(2)), flags, (1.0, 0.0))
    ancestors(parent, 1, 1)
    roots(parent)
    graph_scores(parent, ids, question_parent=1, end=2, own_authors=ids[:1])
    sets = shingle_sets(("one", "two"))
    set_similarity(sets)(0)
    kept = ShingleCache()
    kept.add(one_a_row[:2], sets)
    kept.without_repeats(one_a_row[:2], rows, rows, one_a_row[:2], flags)
    strings = StringTable()
    strings.reserve([Packed.of(("one",))])
    strings.add(Packed.of(("one",)))
    strings.view().find("one")
    strings.view().numbers(("one",))
    newest_by(ids, one_a_row[:2], 0, 2)
    select(np.zeros(2), one_a_row[:2], eligible, eligible, rows, Rules())
    tally(one_a_row[:1], rows, np.zeros(2), None, ids, rows, 1, no_scores())
    _warm_table()
    _warm_vectors()
    _warm_links()


def _warm_table() -> None:
    table, at, tails = LineTable(), np.zeros(1, np.int64), Pieces.of([b"e"])
    table.add([0], [[b"f"] * FORMS], [[1] * NUMBERS])
    rows, kinds = at.astype(np.int32), at.astype(np.uint32)
    columns, *_ = table.lay_out(at, rows, at.astype(np.bool_), kinds, at, at, 0)
    table.look_up(at, columns)
    add_up(columns)
    state, fates = np.zeros(3, np.int64), at.astype(np.uint8)
    take_fitting(columns, TURN_COST, at, (-1, -1), 0, state, fates)
    program = np.array([[WRITE_ITEMS, TURN_COST, 0, 0, 0]], np.int64)
    table.assemble(columns, np.zeros(1), None, tails, Pieces.of([b"p"] * 16), program)


def _warm_vectors() -> None:
    vectors, seqs = np.eye(2, 64, dtype=np.float32), np.arange(2, dtype=np.int64)
    index = ScanIndex(VectorRows.of(vectors), seqs.astype(np.int32))
    index.search(vectors[0], 1, seqs)
    index.similarities(vectors[0], seqs)
    Graph.build(vectors, seqs).search(vectors[0], 1)


def _warm_long_history(postings: PostingsView, offsets: Int64, boosts: Float32) -> None:
    term = np.zeros(1, np.int32)
    history = LongHistory(postings, offsets, term, boosts, np.ones(2, np.uint8))
    everybody = history.by(np.zeros(2, np.int32), 0)
    rows, _ = history.candidates([(everybody & history.between(0, 2), 1.0)], 1.0)
    history.words(rows)
    history.marks(everybody, history.few(rows).rows)


def _warm_links() -> None:
    """Read the reply model's weights and call its kernels on the same two messages."""
    one_a_row = np.arange(3, dtype=np.int64)
    ids, nobody = np.zeros(2, np.int32), np.full(2, -1, np.int32)
    arrays = LinkArrays(
        one_a_row[:2],
        ids,
        nobody,
        one_a_row,
        ids,
        one_a_row,
        ids,
        ids.astype(np.uint8),
        ids,
        ids,
        nobody,
        nobody,
    )
    question = LinkQuestion(2, 0, 1, 0, -1, -1, ids[:1], ids[:1], 1, ids[:1], ids[:1])
    allowed, links = np.ones(2, np.uint8), new_links(0)
    extend_links(arrays, allowed, 0, links, 0, 2, shipped())
    candidates(arrays, 2, allowed, 0, question)
    ranking = rank(arrays, links, question, 2, allowed, shipped(), sizes=window_sizes(links, 2))
    reply_order(ranking.link_linear, ranking.tail_linear, 0, 1)
    _ = ranking.link_shares
