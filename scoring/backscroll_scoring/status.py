"""What a kernel returns: 0, or why it refused. (A kernel cannot raise with a useful text.)"""

OK = 0
ROW_OUT_OF_RANGE = 1
BAD_OFFSETS = 2
QUERY_NOT_SORTED = 3
NOT_A_NUMBER = 4
BAD_POSTINGS = 5
NOT_KEPT = 6
"""No error: what is asked for must be made and kept first."""

REFUSED, NOT_ASCENDING = 1, 2
"""Bits of what `survey` tells."""

MESSAGES = {
    ROW_OUT_OF_RANGE: "rows holds an index outside the channel",
    BAD_OFFSETS: "offsets are not ascending, or point outside the ids they index",
    QUERY_NOT_SORTED: "the query's keyword_ids and mention_ids must be ascending and unique",
    NOT_A_NUMBER: "scores hold NaN: there is no order to return",
    BAD_POSTINGS: "postings point outside their pool, or the pool is too small",
}


def check(status: int) -> None:
    """Raise what a status other than 0 means: IndexError for a row, ValueError for the rest."""
    if status == ROW_OUT_OF_RANGE:
        raise IndexError(MESSAGES[status])
    if status != OK:
        raise ValueError(MESSAGES[status])
