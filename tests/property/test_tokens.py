"""Law 3: a text counted line by line counts what the whole does."""

import quicktok
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll_sidecar.analyze import count_and_with_break, count_lines, token_counter
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
@given(wild | plain_texts)
@example("!\n/x")
@example("a \n \n b\n\n")
@example("1\r\n2\n\u00853")
def test_lines_add_up(text):
    """S3-21: whatever is in the text, and though BPE does not add up over other joins."""
    assert count_lines(token_counter(), text, {}) == COUNT(text)


@settings(max_examples=300)
@given(st.lists(wild, max_size=8), st.lists(wild, max_size=8), st.sampled_from(TokenizerName))
def test_known_lines_change_no_count(lines, others, name):
    """S3-21: lines that were counted before count the same in the middle of a text, by every tokenizer."""
    counter = token_counter(name)
    text = "\n".join([*others[:3], *lines, *others[3:]])
    known = {line: counter.count(line + "\n") for line in lines}
    assert count_lines(counter, text, known) == counter.count(text)


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
    both = counter.count(text), counter.count(text + "\n")
    assert count_and_with_break(counter, text) == both


def test_known_lines_are_not_counted_again():
    """A line is looked up whole, with what its own line breaks are followed by."""
    lines = ["Ann <u1>: one", "Ben <u2>: two\n  and more", "[2026-11-20] Ann <u1>: three"]
    text = "\n".join(["title", *lines, "the end"])
    counted = []

    class Counter:
        name = TokenizerName.O200K

        def count(self, text):
            counted.append(text)
            return COUNT(text)

    known = {line: COUNT(line + "\n") for line in lines}
    assert count_lines(Counter(), text, known) == COUNT(text)
    assert counted == ["title\n", "the end"]
