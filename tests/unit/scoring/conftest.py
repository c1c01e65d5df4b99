"""Channels written as lists of messages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from backscroll_scoring import ChannelColumns, QueryFeatures

Message = dict[str, Any]


def csr(lists: Sequence[Iterable[int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = [sorted(set(ids)) for ids in lists]
    offsets = np.cumsum([0] + [len(ids) for ids in rows]).astype(np.int64)
    return offsets, np.array([i for ids in rows for i in ids], np.int32)


def make_columns(messages: Sequence[Message]) -> ChannelColumns:
    return ChannelColumns(
        np.array([m.get("time_ms", 0) for m in messages], np.int64),
        np.array([m.get("author", 0) for m in messages], np.int32),
        np.array([m.get("parent", -1) for m in messages], np.int32),
        *csr([m.get("keywords", ()) for m in messages]),
        *csr([m.get("mentions", ()) for m in messages]),
    )


def make_query(
    time_ms: int = 0,
    author: int = -1,
    parent: int = -1,
    keywords: Iterable[int] = (),
    mentions: Iterable[int] = (),
) -> QueryFeatures:
    return QueryFeatures(
        time_ms,
        author,
        parent,
        np.array(sorted(keywords), np.int32),
        np.array(sorted(mentions), np.int32),
    )


@pytest.fixture
def columns() -> Callable[..., ChannelColumns]:
    """Columns of messages given as dicts; what a dict leaves out is 0, -1 or empty."""
    return make_columns


@pytest.fixture
def query() -> Callable[..., QueryFeatures]:
    """A query that matches nothing, except for what is given."""
    return make_query
