"""The two engines, and how a caller names one."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from . import kernels, reference
from .arrays import Bool, Float64, Int32, Int64
from .weights import Constants, Weights


class Engine(Protocol):
    """What `kernels` and `reference` both are. `reference` documents the arguments."""

    def score_rows(
        self,
        time_ms: Int64,
        author: Int32,
        parent: Int32,
        keyword_offsets: Int64,
        keyword_ids: Int32,
        mention_offsets: Int64,
        mention_ids: Int32,
        rows: Int32,
        query_time: int,
        query_author: int,
        query_parent: int,
        query_keywords: Int32,
        query_mentions: Int32,
        weights: Weights,
        constants: Constants,
        max_chain_depth: int,
        logistic: bool,
        factors: Float64,
        shares: Float64,
        linear: Float64,
        scores: Float64,
    ) -> int: ...

    def score_reaching(
        self,
        time_ms: Int64,
        author: Int32,
        parent: Int32,
        keyword_offsets: Int64,
        keyword_ids: Int32,
        mention_offsets: Int64,
        mention_ids: Int32,
        rows: Int32,
        query_time: int,
        query_author: int,
        query_parent: int,
        query_keywords: Int32,
        query_mentions: Int32,
        weights: Weights,
        constants: Constants,
        max_chain_depth: int,
        logistic: bool,
        at_least: float,
        in_order: bool,
        places: Int32,
        scores: Float64,
    ) -> int: ...

    def reply_path(self, parent: Int32, start: int, out: Int32) -> int: ...

    def roots(self, parent: Int32, out: Int32) -> None: ...

    def top(self, scores: Float64, rows: Int32, out: Int32) -> int: ...

    def survey(self, rows: Int32, eligible: Bool) -> int: ...

    def tree_values(
        self,
        parent: Int32,
        end: int,
        starts: Int32,
        values: Float64,
        down: float,
        max_down: int,
        reach: int,
        out_rows: Int32,
        out_values: Float64,
    ) -> int: ...

    def shingles(
        self,
        codes: Int32,
        ends: Int64,
        size: int,
        out_offsets: Int64,
        out_ids: Int32,
        out_facts: Int64,
    ) -> int: ...

    def jaccard(self, offsets: Int64, ids: Int32, place: int, out: Float64) -> int: ...

    def collapse(
        self,
        offsets: Int64,
        ids: Int32,
        facts: Int64,
        author: Int32,
        order: Int32,
        threshold: float,
        across_authors: int,
        leaders: Int32,
    ) -> int: ...


EngineChoice: TypeAlias = Engine | Literal["kernels", "reference"]

_ENGINES: dict[str, Engine] = {"kernels": kernels, "reference": reference}


def resolve(engine: EngineChoice) -> Engine:
    """Return the engine itself for a name; an engine is passed through."""
    if not isinstance(engine, str):
        return engine
    if engine not in _ENGINES:
        raise ValueError(f"engine must be one of {sorted(_ENGINES)}, not {engine!r}")
    return _ENGINES[engine]
