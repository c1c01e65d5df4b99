"""Shingles of one text, and which sets repeat a better one."""

import re

HASHES, BASE = 2**31 - 1, 0x61C88647
NO_CONTENT = re.compile(
    "[\x00-\x22'()*,.:;?\\[\\]\\\\_`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    "\u2000-\u206f\u3000-\u303f\ufe00-\ufe0f\uff5f-\uff65]"
)
FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def shingles(text, size):
    """The set of a text, hashes modulo 2 ** 31, ascending; and its facts: twice the hash of its numbers (digits, each
    run with an end mark), and 1 for a question mark.
    """
    text = text.casefold().translate(FULL_WIDTH)
    numbers = [m for run in re.findall("[0-9]+", text) for m in [*map(ord, run), 1]]
    content = list(map(ord, NO_CONTENT.sub("", text)))
    wide = min(size, len(content))
    starts = range(len(content) - wide + 1 if content else 0)
    ids = {_hash(content[i : i + wide]) for i in starts}
    return sorted(ids), 2 * _hash(numbers) + ("?" in text)


def _hash(values):
    h = 0
    for value in values:
        h = (h + value) * BASE & HASHES
    return h


def jaccard(a, b):
    """Shared / in either; 0 if nothing is shared."""
    return len(a & b) / len(a | b) if a & b else 0.0


def repeats(sets, facts, authors, threshold, across_authors):
    """Whether each of an order, best first, repeats one before it that repeats none: with equal facts and a similarity
    of at least the threshold, by the same author (negative: unknown) or with so many members in both.
    """
    kept = []
    for i, own in enumerate(sets):
        for j in kept:
            known = authors[i] == authors[j] >= 0 or min(len(own), len(sets[j])) >= across_authors
            if known and facts[i] == facts[j] and jaccard(own, sets[j]) >= threshold:
                break
        else:
            kept.append(i)
    return [i not in kept for i in range(len(sets))]
