"""What shown candidates score and take, compiled."""

from __future__ import annotations

import numba as nb

from .arrays import Float64, Int32, Int64
from .compile import I64, READ_F64, READ_I32, READ_I64, kernel
from .layout import SCORE_BUCKETS


@kernel(
    nb.types.Tuple((nb.float64, nb.int64, nb.int64))(
        READ_I64, READ_I32, READ_F64, READ_I32, READ_I32, READ_I32, nb.int64, I64
    )
)
def tally(
    shown: Int64,
    rows: Int32,
    scores: Float64,
    scored: Int32,
    token_count: Int32,
    window: Int32,
    room_tokens: int,
    buckets: Int64,
) -> tuple[float, int, int]:
    """See `shown.tally`."""
    score, text_tokens, window_tokens = 0.0, 0, 0
    for i in range(shown.shape[0]):
        place = shown[i]
        row = rows[place]
        if row < token_count.shape[0]:
            text_tokens += token_count[row]
        if scored.shape[0]:
            low, high = 0, scored.shape[0]
            while low < high:
                middle = (low + high) // 2
                if scored[middle] < place:
                    low = middle + 1
                else:
                    high = middle
            is_scored = low < scored.shape[0] and scored[low] == place
            place = low if is_scored else scores.shape[0]
        if place < scores.shape[0]:
            value = scores[place]
            score += value
            bucket = min(int(value * SCORE_BUCKETS), SCORE_BUCKETS - 1)
            if bucket and value <= bucket / SCORE_BUCKETS:
                bucket -= 1
            buckets[bucket] += 1
    for i in range(window.shape[0] - 1, -1, -1):
        more = window_tokens + token_count[window[i]]
        if more > room_tokens:
            break
        window_tokens = more
    return score, text_tokens, window_tokens
