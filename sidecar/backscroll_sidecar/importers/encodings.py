"""In which encoding a text without a byte order mark is. Pure: its first bytes in, a name of Python's out."""

import codecs
import re

GUESSES = {
    "gb18030": "Chinese of Windows, GB18030",
    "cp932": "Japanese of Windows, Shift-JIS",
    "cp1252": "Western of Windows, Latin-1",
}
"""What texts that are not UTF-8 are taken for, and what each is called."""
_KANA = re.compile(rb"\x82[\x9f-\xf1]|\x83[\x40-\x7e\x80-\x96]")
_HIGH = re.compile(rb"[\x80-\xff]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_WESTERN = re.compile(r"[À-ÖØ-öø-ÿŠšŽžŸŒœ]")
_WESTERN_SIGNS = re.compile("[“”„‘’‚–—…€£°§«»¿¡ªº·´¨©®\u00a0]")
MIN_KANA_SHARE = 0.2
MIN_LONE_SHARE = 0.7
MIN_WESTERN_SHARE = 0.9


def encoding_of(head: bytes) -> str:
    """Of a text: UTF-8 if that fits, UTF-16 by its zero bytes, else the likeliest of `GUESSES`."""
    if unmarked := _unmarked_utf_16(head):
        return unmarked
    if is_of(head, "utf-8") or b"\0" in head or head.startswith(b"{"):
        return "utf-8"
    if _is_japanese(head):
        return "cp932"
    if _is_western(head):
        return "cp1252"
    return "gb18030" if is_of(head, "gb18030") else "utf-8"


def is_of(head: bytes, encoding: str) -> bool:
    """Whether bytes that may end inside a character are of this encoding."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_utf_16(head: bytes) -> str:
    """UTF-16 without a byte order mark: spaces and line ends have a zero byte on one side. Empty for all else."""
    low, high = head[::2].count(0), head[1::2].count(0)
    encoding = "utf-16-le" if high > low else "utf-16-be"
    if max(low, high) <= 4 * min(low, high) or not is_of(head, encoding):
        return ""
    text = head.decode(encoding, "replace")
    return encoding if "\n" in text and "\0" not in text else ""


def _is_japanese(head: bytes) -> bool:
    """Whether it is Shift-JIS: one character in five is kana at least, whose bytes are rare in Chinese."""
    if not is_of(head, "cp932"):
        return False
    text = head.decode("cp932", "replace")
    kana = len(_KANA.findall(head))
    return kana > 0 and kana >= MIN_KANA_SHARE * len(_NOT_ASCII.findall(text))


def _is_western(head: bytes) -> bool:
    """Whether it is Latin-1: nearly all that is not ASCII are its letters, small ones, one at a time."""
    runs = _HIGH.findall(head)
    if not runs or not is_of(head, "cp1252"):
        return False
    high = head.decode("cp1252", "replace")
    signs = len(_NOT_ASCII.findall(high))
    letters = _WESTERN.findall(high)
    small = sum(map(str.islower, letters))
    known = len(letters) + len(_WESTERN_SIGNS.findall(high))
    lone = sum(len(run) == 1 for run in runs)
    return (
        known >= MIN_WESTERN_SHARE * signs
        and lone >= MIN_LONE_SHARE * len(runs)
        and 2 * small >= len(letters)  # Chinese characters begin with bytes of capitals
    )
