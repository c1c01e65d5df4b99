"""What stands where in the arrays that kernels and their callers share.

A kernel is compiled with these numbers: whoever changes one deletes the cache of compiled kernels.
"""

from __future__ import annotations

# The forms of a message on a page, each a range of bytes.
ITEM, REFERENCE_ITEM, RENDERED, BODY, LINE, ESCAPED_LINE, ID_FIELD = range(7)
"""The fields an item begins with, as a message of its own and as a reference; the field of the answer that holds it
as a message of its own; the same for the model's API, JSON; its line, UTF-8; that as it stands inside a JSON text; the
field that names it among those shown together."""
FORMS = 7

# What a page knows of a message by number.
TURN_TOKENS, TURN_COST, LINE_TOKENS, LINE_COST, LAST_LINE_TOKENS, CHARS, SEAMLESS = range(7)
"""The tokens it adds as a message of its own, and the most that may be; of its line with a break behind it the tokens
and the most; of its line without one; the characters of its text; whether the tokens of its line are the same behind
another line (1)."""
NUMBERS = 7

# Sums over messages laid out.
MISSING, TURNS, RECENT, COST, SEMANTIC, LONGEST, SLASHED, BYTES, KINDS = range(9)
"""How many are not on the page; messages of their own; their tokens; the most all may cost; tokens of the references'
lines; characters of the longest text; references that are not seamless; bytes of all forms; how many kinds there
are."""
TOTALS = 9

# What is said of each message laid out.
PLACE, RANK, SLOT, IS_REFERENCE, KIND, KNOWN = range(6)
"""Its place among the candidates, its rank from 1 on, its slot on the page (-1: it is not there), whether it is a
reference, its kind. In the first places of the last row stand the kinds there are, each once, in the order in which
they come."""
LAID = 6

# The sources of rows that are added to the candidates.
OWN, OTHERS, BY_WORDS, BY_MEANING, BY_NEITHER = range(5)
"""Older rows of the asker, and of somebody else; what words and meaning found in the history, and what stands beside
such a row."""
ADDED = 5

# What is known of a candidate before the selection: bits.
IS_RECALLED, IS_HIDDEN, IN_CHAIN, IS_PINNED, IS_ORPHAN = 1, 2, 4, 8, 16
"""Recalled; partial or hidden; what the question replies to or an ancestor of that; pinned; half of a tool exchange
whose other half is missing. The first two are not shown whatever their score."""

# The rules of a selection.
LEAST_SCORE, LEAST, FLOOR, HEAD_COUNT, KEPT_STAGE, LIFTS_FLOOR, RANKED_ONLY = range(7)

# What became of a candidate, and what decided that.
(
    SELECTED,
    BELOW_THRESHOLD,
    OVER_LIMIT,
    OVER_BUDGET,
    DUPLICATE,
    TOO_ALIKE,
    NOT_VISIBLE,
    WAS_RECALLED,
) = range(8)
BY_CONVERSATION, BY_LINK, BY_CHAIN, BY_MEMORY, BY_SCORE, BY_MEANING_ALONE = range(6)
"""What gave a candidate its score; the next ones keep one whatever its score."""
BY_FLOOR, BY_PIN, BY_EXCHANGE = 6, 7, 8
BY_FATE, BY_COMPRESSOR = 9, 10
"""The fate says it all; what had to go to fit the budget."""

# The inverted index.
CHUNK, BESIDE = 128, 4
"""Rows of a long history that are passed over together where none of them, nor one so near, has a word of the question.
(Of 100,000 rows a fifth to two fifths lie in chunks that have one, of smaller chunks fewer, but each costs as much.)"""
FIRST_CHUNK, LARGEST_CHUNK = 2, 512  # postings of a term's first chunk, and the most of a chunk

# The table of strings.
EMPTY = -1  # a slot without a string
UNKNOWN = -1  # the number of a string that is not there
BETWEEN = 0xFF  # a byte that no string has in UTF-8

HEAD = 3
"""Words before the ids of a kept set: how many ids, and the facts in two halves, the lower first."""

NO_ROW = -1
