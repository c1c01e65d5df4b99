"""Counting tokens: S3-21 and the exact counter."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import quicktok
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.domain import TokenizerName
from tests.unit.analyze.texts import ANY_TEXT

FIXTURE = "小黑, the deploy failed at 10:04 again 🙂 明天再试试吧。"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [(TokenizerName.O200K, 20), (TokenizerName.CHARS_4, 12), (TokenizerName.BYTES_4, 17)],
)
def test_one_fixture_three_known_numbers(name, tokens):
    """S3-21: exact, chars/4 (pi parity), bytes/4."""
    assert token_counter(name).count(FIXTURE) == tokens
    assert token_counter(name).name is name


def test_exact_is_the_default():
    assert token_counter().name is TokenizerName.O200K
    assert token_counter() is token_counter(TokenizerName.O200K)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("tiktoken is great!", 6), ("\n", 1), ("你好", 1)],
)
def test_exact_counts_are_those_of_o200k_base(text, tokens):
    assert token_counter().count(text) == tokens


@pytest.mark.parametrize("special", ["<|endoftext|>", "<|endofprompt|>"])
def test_special_tokens_in_a_text_are_plain_text(special):
    assert token_counter().count(f"a {special} b") > 4
    assert token_counter().count(special) == 7


@given(st.text())
def test_exact_equals_the_length_of_the_encoding(text):
    encoding = quicktok.get_encoding("o200k_base")
    assert token_counter().count(text) == len(encoding.encode_ordinary(text))


def test_a_lone_surrogate_counts_as_its_replacement():
    assert token_counter().count("a\ud800b") == token_counter().count("a\ufffdb")


@given(ANY_TEXT, st.sampled_from(TokenizerName))
def test_no_text_raises(text, name):
    assert token_counter(name).count(text) >= (1 if text else 0)


@given(st.text())
def test_estimates_are_quarters_rounded_up(text):
    chars, size = len(text), len(text.encode())
    assert token_counter(TokenizerName.CHARS_4).count(text) == (chars + 3) // 4
    assert token_counter(TokenizerName.BYTES_4).count(text) == (size + 3) // 4


def test_counters_are_shared_between_threads():
    counter = token_counter()
    texts = [f"{FIXTURE} {i}" for i in range(500)]
    alone = [counter.count(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for together in [pool.map(counter.count, texts) for _ in range(4)]:
            assert list(together) == alone
