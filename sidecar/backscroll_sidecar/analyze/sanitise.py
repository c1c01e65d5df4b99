"""Finds what cannot be stored or counted: lone surrogates and NUL. Pure."""

from __future__ import annotations

REPLACEMENT = "\ufffd"


def clean_text(text: str) -> tuple[str, bool]:
    """Return `text` without lone surrogates, and whether anything had to change.

    A lone surrogate becomes U+FFFD; a high and a low one in a row are one character written in two halves
    (Java and JavaScript callers do that) and are joined.
    """
    if text.isascii():
        return text, False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        units = text.encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "replace"), True
    return text, False


def has_nul(text: str) -> bool:
    """Whether `text` holds U+0000, which SQLite's text functions and PostgreSQL do not survive."""
    return "\0" in text
