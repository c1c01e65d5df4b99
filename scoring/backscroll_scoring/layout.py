"""What stands where in the arrays that kernels and their callers share.

A kernel is compiled with these numbers: whoever changes one deletes the cache of compiled kernels.
"""

from __future__ import annotations

# The forms of a message in a table of rendered lines, each a range of bytes.
ITEM, CONTENT, BODY, LINE, ESCAPED_LINE, ID_FIELD = range(6)
"""The fields that its item begins with; its text as a message of its own, UTF-8; that message for a vendor's API, JSON;
its line, UTF-8; that as it stands inside a JSON text; the field that names it among those shown together."""
FORMS = 6

# The columns of lines on their way into an answer.
PLACE, RANK, SLOT, IS_REFERENCE, KIND, KNOWN = range(6)
MISSING_SLOT, OWN_SLOT = -1, -2
"""Its place among the candidates, its rank from 1 on, its slot in the table (-1: it is not there; -2: it is this
answer's alone), whether it is a reference, its kind. In the first places of the last stand the kinds there are, each
once, in the order in which they come."""
(
    TURN_TOKENS,
    TURN_COST,
    LINE_TOKENS,
    LINE_COST,
    LAST_TOKENS,
    GAP_TOKENS,
    CHARS,
    IS_SEAMLESS,
    ROLE,
    NAME_TOKENS,
) = range(6, 16)
"""What a table knows of a message. The tokens it adds as a message of its own, and the most that may be; of its line
with a break behind it the tokens and the most; of its line without one, and with an empty line behind it; the
characters of its text; whether the tokens of its line are the same behind another line (1); the number of its role; the
tokens of its name, where it is a message of its own."""
COLUMNS, FIRST_NUMBER, NUMBERS = 16, 6, 10

# Sums over lines, of the talk and of the references.
TALK, REFERENCES = 0, 1
COUNT, LINES_TOKENS, LINES_COST, TURNS_TOKENS, TURNS_COST, NAMES_TOKENS, LAST_LINE, NOT_SEAMLESS = (
    range(8)
)
"""How many; tokens of their lines, each with a break behind it, and the most that may be; of them as messages of their
own, and the most; of their names; the last of them (-1: none); how many are not seamless."""
GROUP_SUMS, MISSING, SUMS = 8, 16, 17
"""Eight of each, then how many lines are not in the table."""

# How far lines were taken into a budget: the place in their order, the tokens left, those kept for the newest line.
AT, LEFT, KEPT = range(3)
TAKEN, PASSED_OVER = 1, 2

# The steps of a program that puts an answer together: rows of five numbers.
COPY_PIECE, OPEN_FIELD, CLOSE_FIELD, COPY_LINES, WRITE_ITEMS, WRITE_MESSAGES = range(6)
"""A piece; a piece, behind it the size of what follows; its end; a form of the lines of a group, with a piece before
and behind each (-1: none); the lines as items, with the column that the talk's cost is in; the talk as messages."""
STEP = 5

# The first piece of all: single bytes that items and messages are made with.
ITEM_KEY, CATEGORY_KEY, COST_KEY, RANK_KEY, SCORE_KEY, MESSAGE_KEY, ROLE_KEY, CONTENT_KEY = range(8)
"""Keys of fields: of an item, its category, its cost, its rank, its score; of a message, its role, its text."""
CATEGORIES, ROLES = 8, 10
"""Behind them the values of the talk's and the references' category, and those of all roles by their number, from 0."""

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

SCORE_BUCKETS = 10
"""Ranges of equal size from 0 to 1 that scores are counted in."""

# The inverted index.
CHUNK, BESIDE = 128, 4
"""Rows of a long history that are passed over together where none of them, nor one so near, has a word of the question.
(Of 100,000 rows a fifth to two fifths lie in chunks that have one, of smaller chunks fewer, but each costs as much.)"""
FIRST_CHUNK, LARGEST_CHUNK = 2, 512  # postings of a term's first chunk, and the most of a chunk
GONE = 2**31 - 1
"""Of an entry whose text was taken out: a row no view has."""

# The table of strings.
EMPTY = -1  # a slot without a string
UNKNOWN = -1  # the number of a string that is not there
BETWEEN = 0xFF  # a byte that no string has in UTF-8

HEAD = 3
"""Words before the ids of a kept set: how many ids, and the facts in two halves, the lower first."""

NO_ROW = -1
