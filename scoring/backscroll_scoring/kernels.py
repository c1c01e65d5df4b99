"""The compiled engine: names, arguments and results are those of `reference`, which explains them.

Everything here was compiled, or loaded from numba's cache, when this module was imported. The
kernels read their arguments and write their outputs, nothing else: any thread may call them at any
time.
"""

from __future__ import annotations

from .kernels_diversity import collapse, jaccard, shingles
from .kernels_graph import tree_values
from .kernels_replies import roots
from .kernels_score import may_reach, reply_path, score_reaching, score_rows
from .kernels_top import survey, top

__all__ = [
    "collapse",
    "jaccard",
    "may_reach",
    "reply_path",
    "roots",
    "score_reaching",
    "score_rows",
    "shingles",
    "survey",
    "top",
    "tree_values",
]
