"""Texts for property tests."""

from hypothesis import strategies as st

_AWKWARD = [
    "\ud800",
    "\udc00",
    "\ud83d\ude42",
    "\0",
    "@",
    "门票",
    "吗",
    "?",
    "a.b",
    "~/x",
    "\u0300",
    "ﷺ",
]

ANY_TEXT = st.lists(st.one_of(st.text(), st.sampled_from(_AWKWARD))).map("".join)
"""Any `str` at all: also with lone surrogates, which `st.text` hardly ever has."""
