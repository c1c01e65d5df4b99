"""What is refused, with which words, and what data that slipped through cannot do."""

import dataclasses
import math

import numpy as np
import pytest

from backscroll_scoring import (
    ChannelColumns,
    QueryFeatures,
    ScoreParameters,
    decay_per_hour,
    score_rows,
)

NO_IDS = np.empty(0, np.int32)


@pytest.fixture
def talk(columns):
    return columns([{"time_ms": i, "keywords": [i, i + 1], "mentions": [i]} for i in range(4)])


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("time_ms", np.zeros(4, np.int32), TypeError, "time_ms must be int64, not int32"),
        ("time_ms", [0, 0, 0, 0], TypeError, "time_ms must be a numpy array, not list"),
        ("author", np.zeros(4, np.int64), TypeError, "author must be int32"),
        ("author", np.zeros(3, np.int32), ValueError, "author must have one entry a row: 4"),
        ("parent", np.zeros(8, np.int32)[::2], ValueError, "parent must be C-contiguous"),
        ("parent", np.zeros((4, 1), np.int32), ValueError, "1 dimension"),
        ("keyword_offsets", np.zeros(4, np.int64), ValueError, "one entry a row and one more: 5"),
        ("keyword_offsets", np.arange(5), ValueError, r"from 0 to len\(keyword_ids\) = 8"),
        ("keyword_offsets", np.arange(5) * 2 + 1, ValueError, "not from 1 to 9"),
        ("mention_ids", np.zeros(4, np.int64), TypeError, "mention_ids must be int32"),
        ("mention_ids", np.zeros(5, np.int32), ValueError, r"len\(mention_ids\) = 5"),
    ],
)
def test_columns_are_checked(talk, name, value, error, text):
    with pytest.raises(error, match=text):
        dataclasses.replace(talk, **{name: value})


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"time_ms": 1.5}, TypeError, "time_ms must be an integer, not float"),
        ({"time_ms": 2**63}, ValueError, "does not fit int64"),
        ({"author": True}, TypeError, "author must be an integer, not bool"),
        ({"parent": 2**31}, ValueError, "does not fit int32"),
        ({"keyword_ids": np.zeros(1)}, TypeError, "keyword_ids must be int32, not float64"),
        ({"mention_ids": ()}, TypeError, "mention_ids must be a numpy array"),
    ],
)
def test_queries_are_checked(query, change, error, text):
    with pytest.raises(error, match=text):
        dataclasses.replace(query(), **change)


def test_numpy_integers_are_integers(talk):
    asked = QueryFeatures(np.int64(3), np.int32(0), np.int32(1), NO_IDS, NO_IDS)
    assert score_rows(talk, asked, np.arange(4, dtype=np.int32)).scores.size == 4


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"weights": (1, 1, 1, 1)}, "weights must be 5 numbers, not 4"),
        ({"weights": (1, 1, 1, 1, math.nan)}, "weights must be finite"),
        ({"decay_per_hour": -0.1}, "decay_per_hour"),
        ({"decay_per_hour": math.inf}, "decay_per_hour"),
        ({"continuity_window_ms": 0}, "continuity_window_ms"),
        ({"chain_decay": 1.1}, "chain_decay"),
        ({"sibling_score": math.nan}, "sibling_score"),
        ({"max_chain_depth": -1}, "max_chain_depth"),
        ({"link": "probit"}, "link"),
    ],
)
def test_parameters_are_checked(change, text):
    with pytest.raises(ValueError, match=text):
        ScoreParameters(**change)


def test_half_lives():
    """S5-08: half-life in minutes to rate per hour."""
    assert decay_per_hour(60) == pytest.approx(math.log(2))
    assert decay_per_hour(2) == pytest.approx(20.79441541679836)
    assert decay_per_hour(math.inf) == 0
    for bad in (0, -1, math.nan, 1e-320):
        with pytest.raises(ValueError, match="half_life_minutes"):
            decay_per_hour(bad)


@pytest.mark.parametrize("bad", [-1, 4, 2**31 - 1, -(2**31)])
def test_rows_outside_the_channel_are_refused(talk, query, bad):
    for rows in ([bad], [0, 1, bad], [bad, 2]):
        with pytest.raises(IndexError, match="outside the channel"):
            score_rows(talk, query(), np.array(rows, np.int32))


def test_rows_of_another_type_are_refused(talk, query):
    with pytest.raises(TypeError, match="rows must be int32, not int64"):
        score_rows(talk, query(), np.arange(4))


@pytest.mark.parametrize("name", ["keyword_ids", "mention_ids"])
@pytest.mark.parametrize("ids", [[2, 1], [1, 1], [-1, -2]])
def test_unsorted_queries_are_refused(talk, query, name, ids):
    asked = dataclasses.replace(query(), **{name: np.array(ids, np.int32)})
    with pytest.raises(ValueError, match="ascending and unique"):
        score_rows(talk, asked, np.arange(4, dtype=np.int32))


@pytest.mark.parametrize("name", ["keyword", "mention"])
@pytest.mark.parametrize("middle", [-1, 10**6, -(2**62), 2**62])
@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_broken_offsets_are_refused_not_followed(talk, query, name, middle, rows):
    offsets = getattr(talk, f"{name}_offsets").copy()
    offsets[2] = middle
    broken = dataclasses.replace(talk, **{f"{name}_offsets": offsets})
    asked = query(keywords=[1], mentions=[1])
    with pytest.raises(ValueError, match="offsets"):
        score_rows(broken, asked, np.array(rows, np.int32))


def test_columns_know_their_length(talk):
    assert len(talk) == 4
    assert ChannelColumns.__slots__
