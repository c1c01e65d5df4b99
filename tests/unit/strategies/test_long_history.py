"""Candidates of a long history against a look at every row: what is chosen is as good."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from msgspec.structs import replace as changed

from backscroll_bench.speed import chats
from backscroll_scoring import history_candidates
from backscroll_scoring.hnsw import Graph
from backscroll_scoring.index import GraphIndex, ScanIndex, VectorRows, normalised
from backscroll_sidecar.channels import HotChannel
from backscroll_sidecar.domain import Author
from backscroll_sidecar.ports import Applied
from backscroll_sidecar.strategies import long_history
from backscroll_sidecar.strategies.memory import (
    MemoryQuestion,
    best_by_words,
    rank_memory,
    seek,
)
from backscroll_sidecar.vectors.looking import Looking
from tests.kit.chats import HOUR_MS, KEY, NOON_MS, PlainCodec, say, stored_in_order

ROWS, KEPT, DIMS = 10_000, 64, 64
STORED_LINES = 3_000
ROUNDING = 1e-6
ENOUGH = 0.98
SELF = [
    "what did I say about the printer driver?",
    "how many packages did I install in 2011?",
    "我上次说的电影是哪部？",
    "did I ever ask about wireless?",
]


@cache
def lines():
    """Lines of the shipped chats as a store returns them."""
    said = chats.said(STORED_LINES)
    messages = [
        say(f"0:{one.id}", Author(one.line.user_id, one.line.name), one.line.content, 0)
        for one in said
    ]
    stored = stored_in_order(messages)
    return [
        replace_line(line, f"0:{one.id}", one.sent_at_ms)
        for line, one in zip(stored, said, strict=True)
    ]


def replace_line(line, id, at_ms, words=None):
    message = changed(line.message, id=id, sent_at_ms=at_ms)
    analysis = changed(line.analysis, reply=None, keywords=words or line.analysis.keywords)
    return changed(line, message=message, analysis=analysis, rank_time_ms=at_ms)


@cache
def view():
    """The lines again and again, one word in ten exchanged."""
    draw, made = np.random.default_rng(1), []
    every = [word for line in lines() for word in line.analysis.keywords]
    span_ms = lines()[-1].rank_time_ms - lines()[0].rank_time_ms + HOUR_MS
    for n in range(ROWS):
        turn, line = n // STORED_LINES, lines()[n % STORED_LINES]
        words = tuple(
            dict.fromkeys(
                every[draw.integers(len(every))] if draw.random() < 0.1 else word
                for word in line.analysis.keywords
            )
        )
        at_ms = line.rank_time_ms + turn * span_ms
        made.append(changed(replace_line(line, f"{turn}:{n}", at_ms, words), seq=n + 1))
    return HotChannel(KEY, PlainCodec(), made).view()


@cache
def vectors():
    """float32[n, d]: of each row the sum of its words' directions, and noise."""
    words, draw = {}, np.random.default_rng(2)
    out = draw.normal(0, 0.05, (ROWS, DIMS))
    ids, offsets = view().columns.keyword_ids, view().columns.keyword_offsets
    for row in range(ROWS):
        for word in ids[offsets[row] : offsets[row + 1]].tolist():
            out[row] += words.setdefault(word, draw.normal(0, 1, DIMS))
    return normalised((out + draw.normal(0, 0.3, DIMS)).astype(np.float32))


@cache
def index():
    rows, labels = VectorRows.of(vectors()), np.arange(1, ROWS + 1, dtype=np.int64)
    graph = Graph(DIMS)
    for start in range(0, ROWS, 1_024):
        part = slice(start, start + 1_024)
        graph.add(VectorRows(rows.codes[part], rows.scales[part]), labels[part])
    slot_of = np.arange(-1, ROWS, dtype=np.int32)
    scan = ScanIndex(rows, slot_of)
    return GraphIndex(graph, np.arange(ROWS + 1) < ROWS, labels[:0], scan, scan)


def eligible():
    marks = np.random.default_rng(3).random(ROWS) > 0.02
    marks[-1] = True
    return marks


def questions():
    asked = [
        (line.message.parts[0].text, place)
        for place, line in enumerate(lines())
        if line.message.parts[0].text.endswith(("?", "？")) and len(line.analysis.keywords) > 1
    ]
    return asked[::4][:40] + [(text, 100 + n) for n, text in enumerate(SELF)]


def both(text, asker):
    """The question, to candidates and to every row."""
    author = lines()[asker].message.author
    at_ms = int(view().columns.time_ms[-1]) + HOUR_MS
    found = seek(view(), MemoryQuestion(text, at_ms, author.id, author.name), eligible())
    return replace(found, is_long=True), replace(found, is_long=False)


def recalls(dense):
    """For each question: the share of chosen rows that score as much as the last one of the best."""
    shares = {}
    for n, (text, place) in enumerate(questions()):
        few, every = both(text, 5 + n % 2 * 60)
        question = vectors()[place]
        cosines = index().exact(question, view().seq) if dense else None
        nearby = Looking(index(), question, view().seq) if dense else None
        best = rank_memory(view(), every, cosines, limit=KEPT)
        rows = np.arange(ROWS, dtype=np.int32)
        scores = rank_memory(view(), every, cosines, rows=rows).scores
        chosen = rank_memory(view(), few, nearby, limit=KEPT).positive().rows
        assert eligible()[chosen].all()
        least = best.scores[-1] if len(best.rows) == KEPT else 0.0
        shares[text] = float((scores[chosen] >= least - ROUNDING).mean()) if len(chosen) else 1.0
    return shares


@pytest.mark.parametrize("dense", [False, True], ids=["words", "words and meaning"])
def test_candidates_find_what_every_row_gives(dense):
    """What is chosen of the candidates is among the best of all, in both languages, about others and oneself."""
    shares = recalls(dense)
    assert len(shares) > 30
    assert np.mean(list(shares.values())) >= ENOUGH, shares
    assert np.mean([shares[text] for text in SELF]) >= 0.95, shares


@pytest.mark.parametrize("source", ["words", "meaning", "kinds"])
def test_a_source_that_proposes_nothing_is_missed(monkeypatch, source):
    """The test above can fail: each source of candidates is needed."""
    if source == "words":
        monkeypatch.setattr(history_candidates, "CANDIDATES", 8)
    elif source == "meaning":
        monkeypatch.setattr(long_history, "MEANING_ROWS", 1)
    else:
        monkeypatch.setattr(history_candidates, "CANDIDATES", 256)
        monkeypatch.setattr(long_history, "_ASKER", 0.0)
    shares = recalls(dense=True)
    worst = [shares[text] for text in SELF] if source == "kinds" else list(shares.values())
    assert np.mean(worst) < ENOUGH


def test_scores_are_those_of_every_row():
    """BM25 of a candidate, to the last bit, and the weight of each term, as the scan has them."""
    for text, place in questions()[::3]:
        few, every = both(text, place)
        history, rows, _ = few.proposed
        found = history.few(np.append(rows, np.array([3, 77, ROWS - 1], np.int32)))
        there = found.rows >= 0
        assert np.array_equal(history.idf, every.matches.idf)
        scanned = np.zeros(ROWS, np.float32)
        known = every.matches.rows()
        scanned[known] = every.matches.scores[known]
        assert np.array_equal(found.matches.scores[there], scanned[found.rows[there]])
        assert not found.matches.scores[~there].any()
        assert np.array_equal(history.words(rows), scanned[rows])
        cut = ROWS - 100
        best = few.best_before(cut, Never())
        assert best == pytest.approx(every.matches.best(cut), rel=1e-6)


class Never:
    """No bound is enough."""

    def is_beyond(self, *_bounds):
        return False


def test_given_rows_keep_their_places():
    """With `rows` the scores of these, in their order, whether words propose them or not."""
    few, every = both(questions()[3][0], 9)
    rows = np.array([9_000, 17, 4_321, 18], np.int32)
    one, other = rank_memory(view(), few, rows=rows), rank_memory(view(), every, rows=rows)
    assert one.rows.tolist() == rows.tolist()
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


def test_given_rows_that_do_not_count_are_no_others():
    """Recalled or hidden ones, in whatever place, and where no row is left: each is itself and has no score."""
    few, every = both(questions()[3][0], 9)
    out = np.flatnonzero(~eligible()).astype(np.int32)
    rows = np.concatenate((out[-1:], [ROWS - 1], out[:2], [17])).astype(np.int32)
    one, other = rank_memory(view(), few, rows=rows), rank_memory(view(), every, rows=rows)
    assert one.rows.tolist() == rows.tolist()
    assert np.isneginf(one.scores).tolist() == [True, False, True, True, False]
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)
    assert one.shares.shape == other.shares.shape
    none = replace(few, eligible=np.zeros(ROWS, np.uint8))
    assert np.isneginf(rank_memory(view(), none, rows=rows).scores).all()


def test_words_alone():
    """The best by BM25 are the best of all."""
    few, every = both(questions()[2][0], 9)
    (rows, scores), (best, most) = best_by_words(few, 20), best_by_words(every, 20)
    np.testing.assert_allclose(scores, most, rtol=1e-6)
    assert rows[0] == best[0]


def test_what_comes_and_goes_after_a_question():
    """Bits that are kept take in what is appended, and give up what is edited away."""
    texts = [f"ubuntu line {n % 7}" for n in range(300)]
    said = stored_in_order(
        [say(f"m{n}", text=text, ago_ms=1_000_000 - n) for n, text in enumerate(texts)]
    )
    channel = HotChannel(KEY, PlainCodec(), said)

    def found(word):
        view = channel.view()
        asked = seek(view, MemoryQuestion(word, NOON_MS), np.ones(view.count, np.bool_))
        long = replace(asked, is_long=True)
        return [view.message_ids[row] for row in best_by_words(long, 400)[0].tolist()]

    assert len(found("ubuntu")) == 300
    late = stored_in_order([say("late", text="ubuntu again", ago_ms=1)])
    channel.publish(Applied(stored=(changed(late[0], seq=301),)))
    assert "late" in found("ubuntu")
    edited = stored_in_order([say("m5", text="nothing of it", ago_ms=1_000_000 - 5)])
    channel.publish(Applied(stored=(changed(edited[0], seq=6, revision=1),)))
    assert len(found("ubuntu")) == 300
    assert "m5" not in found("ubuntu")


def test_no_vector_at_all():
    """Where no row has a vector the words decide."""
    few, _ = both(questions()[1][0], 9)
    empty = VectorRows(np.empty((0, 1, 64), np.int8), np.empty((0, 1), np.float32))
    nearby = Looking(ScanIndex(empty, np.array([-1], np.int32)), vectors()[0], view().seq)
    with_none, without = rank_memory(view(), few, nearby), rank_memory(view(), few)
    assert with_none.rows.tolist() == without.rows.tolist()
    assert with_none.weights == without.weights


def test_where_few_rows_count_all_of_them_are_compared():
    """A thread's rows among many others: a graph would have to be walked through before it met them."""
    rng = np.random.default_rng(1)
    vectors = normalised(rng.normal(size=(6_000, 16)).astype(np.float32))
    rows, labels = VectorRows.of(vectors), np.arange(6_000, dtype=np.int64)
    graph = Graph(16)
    graph.add(rows, labels)
    scan = ScanIndex(rows, labels.astype(np.int32))
    index = GraphIndex(graph, np.arange(6_001) < 6_000, labels[:0], scan, scan)
    counts = np.zeros(6_000, np.bool_)
    counts[rng.choice(6_000, 80, replace=False)] = True
    for question in vectors[:5]:
        found, exact = (Looking(one, question, labels).nearest(60, counts) for one in (index, scan))
        assert found.tolist() == exact.tolist()
        places, _, exhaustive = index.search(question, 60, np.flatnonzero(counts))
        assert exhaustive
        assert np.flatnonzero(counts)[places].tolist() == exact.tolist()


def test_a_row_that_comes_while_a_question_is_embedded_is_not_lost():
    """The older view reads postings that already have the row: what it kept as read must not leave it out."""
    said = [say(f"m{n}", text="ubuntu line", ago_ms=1_000_000 - n) for n in range(300)]
    channel = HotChannel(KEY, PlainCodec(), stored_in_order(said))

    def asked(view):
        question = MemoryQuestion("ubuntu", NOON_MS)
        return replace(seek(view, question, np.ones(view.count, np.bool_)), is_long=True)

    first = asked(channel.view())
    (late,) = stored_in_order([say("late", text="ubuntu line", ago_ms=1)])
    channel.publish(Applied(stored=(changed(late, seq=301),)))
    assert len(best_by_words(first, 400)[0]) == 300
    assert 300 in best_by_words(asked(channel.view()), 400)[0]
