"""What shown candidates score and take, and what the newest messages beside them would take."""

from __future__ import annotations

import numpy as np

from .arrays import Float64, Int32, Int64
from .kernels_shown import tally as _tally
from .layout import SCORE_BUCKETS

NO_SCORES = np.empty(0)
NO_PLACES = np.empty(0, np.int32)


def tally(
    shown: Int64,
    rows: Int32,
    scores: Float64,
    scored: Int32 | None,
    token_count: Int32,
    window: Int32,
    room_tokens: int,
    buckets: Int64,
) -> tuple[float, int, int]:
    """Add up one selection. Some 0.6 us for 30 shown of 100 (measured on an AMD EPYC).

    Parameters
    ----------
    shown : int64[k]
        Places of the shown candidates in `rows`.
    rows : int32[m]
        The candidates' rows; those from n on are of other channels and have no tokens here.
    scores, scored : float64[s], int32[s] or None
        Scores from 0 to 1, and of which candidates, ascending; None: of all. Without scores (s = 0) none are added up.
    token_count : int32[n]
        Tokens of each row's text.
    window : int32[w]
        The newest rows, ascending.
    room_tokens : int
        What those may take together; from the first that does not fit on none counts.
    buckets : int64[SCORE_BUCKETS]
        Raised by one for each score, of equal ranges from 0 to 1; a bound belongs to the lower range.

    Returns
    -------
    score : float
        The sum of the scores of the shown.
    text_tokens, window_tokens : int
        Of the shown, and of the window as far as it fits.
    """
    places = NO_PLACES if scored is None else scored
    return _tally(shown, rows, scores, places, token_count, window, room_tokens, buckets)


def no_scores() -> Int64:
    """Buckets for `tally`, all of them empty."""
    return np.zeros(SCORE_BUCKETS, np.int64)
