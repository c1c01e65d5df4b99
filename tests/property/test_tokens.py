"""Law 3: a text counted piece by piece counts what the whole does."""

import quicktok
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll_sidecar.analyze import begins_anew, count_with_breaks, token_counter
from backscroll_sidecar.domain import TokenizerName
from tests.property.chats import plain_texts, texts

COUNT = quicktok.get_encoding("o200k_base").count
CHARS = "aA1猫é\u0301 \t\r\n/!.'…👩\u200d\u00a0\u3000\u2028\x0b\x1c\x85\u180e\u200b<>[]"
"""Where the words of o200k begin, end and go on, and all that breaks lines or looks like it."""
pieces = (
    st.text(st.sampled_from(CHARS), max_size=12) | st.sampled_from(["\n", "\n\n", "\n/"]) | texts
)
wild = st.lists(pieces, max_size=12).map("".join)


@settings(max_examples=1_000)
@given(wild | plain_texts, st.sampled_from(["\n", "\n\n"]), wild | plain_texts)
@example("!", "\n", "/x")
@example("a \n \n", "\n", " b\n\n")
@example("1\r\n2", "\n", "\u00853")
@example("a", "\n\n", "b")
def test_what_begins_anew_adds_up(text, breaks, behind):
    """S3-21: whatever is in the texts, and though BPE does not add up over other joins."""
    if begins_anew(behind):
        assert COUNT(text + breaks + behind) == COUNT(text + breaks) + COUNT(behind)
    else:
        assert behind[:1].isspace() or behind[:1] in ("", "/")


@settings(max_examples=1_000)
@given(
    wild | plain_texts,
    st.sampled_from(["", "a", "Z", "0", "12", "'s", "猫", "。", "é", ".", " "]),
    st.sampled_from(TokenizerName),
)
@example("", "", TokenizerName.O200K)
def test_a_line_break_behind_a_word_is_a_token(text, end, name):
    """S3-21: what is not counted again with a line break behind it counts the same."""
    counter, text = token_counter(name), text + end
    each = tuple(counter.count(text + behind) for behind in ("", "\n", "\n\n"))
    assert count_with_breaks(counter, text) == each
