"""clean_text and has_nul."""

import pytest
from hypothesis import given

from backscroll_sidecar.analyze import clean_text, has_nul
from tests.unit.analyze.texts import ANY_TEXT


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", ("plain", False)),
        ("", ("", False)),
        ("你好 🙂", ("你好 🙂", False)),
        ("a\ud800b", ("a\ufffdb", True)),
        ("\udc00", ("\ufffd", True)),
        ("x\ud800", ("x\ufffd", True)),
        ("\ud83d\ude42", ("🙂", True)),  # two halves of one character
        ("\ud800\ud800\udc00", ("\ufffd\U00010000", True)),
    ],
)
def test_lone_surrogates_become_replacement_characters(text, clean):
    assert clean_text(text) == clean


@given(ANY_TEXT)
def test_a_cleaned_text_is_utf8_and_stays_as_it_is(text):
    clean, changed = clean_text(text)
    clean.encode()
    assert changed == (clean != text)
    assert clean_text(clean) == (clean, False)


def test_nul_is_found():
    assert has_nul("a\0b")
    assert not has_nul("a0b")
