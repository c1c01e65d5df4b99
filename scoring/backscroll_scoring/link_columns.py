"""The columns of the reply model: what is measured of a candidate for a message that may answer it.

`FAMILIES` names them, family by family; a column's place in that order is its index everywhere (the kernels' constants,
the weights file, the shares). `QUIET` columns are repeated, multiplied by how little the asker names anybody.

Several crowds may share a channel. The *asker's crowd* are those who write in the asker's script. Rows are
counted, and the pace is told, among theirs; how often they name each other stands in for who wrote little.
"""

from __future__ import annotations

from typing import NamedTuple

from .arrays import Int32, Int64, UInt8

WINDOW = 100
"""The newest messages that are candidates."""
MAX_EXTRA = 8
"""Older candidates at most: of the asker, of who is named, of who names the asker; those of the same rare words are
found elsewhere (`lexical.rows_alike`)."""
REACH = 1_500
"""How many messages before the window are searched for them."""
TOP = 5
"""Reply links kept a message: the likeliest parents."""
CROWD = 0.5
"""Whose share of lines in the asker's scripts is lower is not of the asker's crowd."""
FEW_LINES = 40.0
"""So many lines of a person tell as much of a habit of naming as the crowd does."""
NAMING_RATE = 0.15
"""Who names somebody in so many lines is not quiet at all."""
MAX_NAMED = 12
"""Who mentions more people mentions nobody in particular."""
MOST_ROWS = 256
"""Candidates ranked at most: the cost of a ranking grows with their square."""
MAX_WORDS = 256
"""A question of more keywords is a paste: its words are not compared."""

CHANCE, LINK_LINEAR, TAIL_LINEAR, LINK, TOGETHER, SCORE = range(6)
"""The numbers of a ranking, a row each: the chance by the first stage, then what `links.Ranking` has."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "names": (
        "named", "called", "shortened", "names_me", "calls_me", "shortens_me", "names_other", "calls_other",
        "shared_name", "mutual", "newest_of_named", "newest_naming_me", "absent_named_mine", "names_nobody",
        "author_habit", "author_habit_no_name", "my_habit_no_name", "pair_habit_no_name",
    ),
    "turns": (
        "mine", "mine_newest", "mine_newest_no_name", "mine_directly_before", "mine_newest_seconds", "mine_later",
        "author_newest", "later_by_author", "author_newest_no_name", "last_i_named", "last_i_named_newest",
        "last_naming_me", "last_naming_me_newest", "newest_not_mine", "names_me_since_mine", "first_naming_me_since",
        "others_unnamed_since", "named_later", "named_later_count", "i_named_later", "addressee_spoke_since",
        "unanswered_question", "author_first", "author_first_question", "after_mine", "from_mine", "exchanged",
        "new_asker_question", "new_asker_distance", "author_count", "habit_no_name_mine", "turns_taken", "turns_share",
    ),
    "distance": (
        "distance", "directly_before", "second_before", "third_before", "beyond_ten", "beyond_thirty", "authors_since",
        "older", "older_mine", "author_goes_on", "author_went_on", "question_goes_on", "distance_named",
        "distance_mine",
    ),
    "time": ("seconds", "seconds_pace", "gap_before", "pause_directly_before", "seconds_mine"),
    "text": (
        "words_shared_share", "words_weight", "words_weight_best", "words_shared", "rarest_shared",
        "weight_not_mine", "length", "short_after_question", "same_script", "author_script", "older_weight",
        "older_rarest",
    ),
    "identifiers": ("identifier", "identifier_newest", "identifier_older"),
    "cues": (
        "question", "question_by_mark", "question_question", "question_statement", "greets", "greets_both", "thanks",
        "thanked_named_me", "thanks_mine", "yes_no_question", "yes_no_you", "correction_mine", "goes_on_mine_newest",
        "goes_on_directly_before", "command", "command_both", "laughs", "laugh_directly_before", "has_link",
        "link_after_question", "you_first_person", "second_person_mine", "casual", "answer",
    ),
}  # fmt: skip
"""Names of the columns by family."""

BASE: tuple[str, ...] = tuple(name for names in FAMILIES.values() for name in names)

_QUIET = frozenset(
    [
        "mine",
        "mine_newest",
        "mine_directly_before",
        "mine_later",
        "author_newest",
        "later_by_author",
        "newest_not_mine",
        "unanswered_question",
        "author_first",
        "after_mine",
        "from_mine",
        "author_count",
        "turns_taken",
        "turns_share",
        "mine_newest_seconds",
        "distance",
        "directly_before",
        "second_before",
        "third_before",
        "beyond_ten",
        "beyond_thirty",
        "authors_since",
        "author_goes_on",
        "author_went_on",
        "distance_mine",
        "seconds",
        "seconds_pace",
        "words_shared_share",
        "words_weight",
        "words_weight_best",
        "words_shared",
        "rarest_shared",
        "weight_not_mine",
        "length",
        "short_after_question",
        "question",
        "question_by_mark",
        "question_question",
        "question_statement",
        "yes_no_question",
        "answer",
    ]
)
QUIET: tuple[str, ...] = tuple(name for name in BASE if name in _QUIET)

COLUMNS: tuple[str, ...] = BASE + tuple(f"quiet_{name}" for name in QUIET)
"""Every column, in the order of the arrays."""

QUIET_OF: tuple[int, ...] = tuple(BASE.index(name) for name in QUIET)

FAMILY_OF: dict[str, str] = {name: family for family, names in FAMILIES.items() for name in names}

CONVERSATION: tuple[str, ...] = (
    "link", "link_log", "link_rank", "together", "together_rank", "answered", "starts", "answers_me", "answered_by_me",
    "with_my_newest", "with_newest_naming_me", "with_newest", "size", "size_since", "together_log", "starts_new",
    "size_for_me", "link_mine", "together_if_new", "together_share", "author_together", "author_share",
    "author_before", "author_after", "author_link_log", "link_of_author", "author_linked", "author_linked_share",
    "quiet_link_log", "quiet_link_rank", "quiet_together_log", "quiet_together_rank", "quiet_answers_me",
    "quiet_with_my_newest", "quiet_answered", "quiet_author_together", "quiet_author_share", "quiet_author_linked",
    "quiet_author_linked_share",
)  # fmt: skip
"""What the second models see beside `COLUMNS`: the links of the first one, and the conversations they make."""

QUIET_OF_CONVERSATION: tuple[int, ...] = tuple(
    CONVERSATION.index(name.removeprefix("quiet_"))
    for name in CONVERSATION
    if name.startswith("quiet_")
)
"""What each of its last columns repeats, multiplied by how quiet it is about names."""

START: tuple[str, ...] = (
    "best_score", "log_sum", "best_chance", "entropy", "lead", "new_asker", "names_nobody", "absent_named", "greets",
    "question", "length", "quiet", "yes_no", "since_mine", "named_since", "closes",
)  # fmt: skip
"""What the start model sees of a message: does it answer anything at all?"""


class LinkArrays(NamedTuple):
    """A channel as the reply model reads it, one entry a row, in time order. Kernels take it as a tuple.

    Attributes
    ----------
    time_ms : int64[n]
    author : int32[n]
    parent : int32[n]
        The row a platform says this one answers; -1 none. Inferred edges do not belong here.
    mention_offsets, mention_ids, keyword_offsets, keyword_ids
        As in `ChannelColumns`.
    message_type : uint8[n]
    tokens : int32[n]
    flags, called, shortened : int32[k]
        Cues of the rows from `cues_from` on: bits, who is called first, whose name is shortened (-1 nobody). Rows
        before have none.
    """

    time_ms: Int64
    author: Int32
    parent: Int32
    mention_offsets: Int64
    mention_ids: Int32
    keyword_offsets: Int64
    keyword_ids: Int32
    message_type: UInt8
    tokens: Int32
    flags: Int32
    called: Int32
    shortened: Int32
    cues_from: int = 0


class LinkQuestion(NamedTuple):
    """The message that may answer something. Kernels take it as a tuple.

    `names` are the people it names (mentions, who is called first, the author of the message it replies to), without
    repeats; `words` its keywords, ascending, unknown ones negative; `tokens` counts the text and a newline.
    `identifiers` are those of the words that are addresses, codes or names in programs and that hardly any row has,
    ascending; `same_error` are the rows, ascending, that have an error text of it as hardly any row does.
    Of a stored message neither is told.
    """

    time_ms: int
    author: int
    message_type: int
    flags: int
    called: int
    shortened: int
    names: Int32
    words: Int32
    tokens: int
    identifiers: Int32
    same_error: Int32
