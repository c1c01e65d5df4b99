"""The compiled engine: the same names, arguments and results as `reference`, which says what they mean.

Everything here was compiled, or loaded from numba's cache, when this module was imported. The kernels read their
arguments and write their outputs, nothing else: any thread may call them at any time.
"""

from __future__ import annotations

from .kernels_replies import roots
from .kernels_score import reply_path, score_rows
from .kernels_top import top

__all__ = ["reply_path", "roots", "score_rows", "top"]
