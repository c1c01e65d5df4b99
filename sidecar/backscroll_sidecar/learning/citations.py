"""Earlier lines that a context left out, and whether a line points to one. Pure.

By a link to it, by a quotation, or by the same words where somebody says that they had been said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from backscroll_sidecar.analyze.keywords import as_compared, keywords
from backscroll_sidecar.learning.turn import ChatLine

MOST_EARLIER = 100
"""How many earlier lines are looked through, the newest."""
MAX_CHARS = 1_000
"""Characters that are read of a text."""
_SHORTEST_QUOTE, _SHORTEST_HAN_QUOTE = 10, 5
_MOST_QUOTES = 4
_LEAST_SHARE = 0.45

_LINK = re.compile(r"https?://[^\s>\])）」]{1,300}")
_SLACK_ID = re.compile(r"p(\d{10})(\d{6})", re.ASCII)
_QUOTE = re.compile(
    r"^[ \t]*[>＞][ \t]*(.+)$|“([^”]+)”|\"([^\"]+)\"|「([^」]+)」|『([^』]+)』", re.MULTILINE
)
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、\n]+\s*")


class Earlier:
    """The lines before a question, for finding those that a context left out."""

    __slots__ = ("_left_out", "_shown")

    def __init__(self, lines: Sequence[ChatLine], shown_ids: AbstractSet[str]) -> None:
        newest = lines[-MOST_EARLIER:]
        self._left_out = {one.message_id: one for one in newest if one.message_id not in shown_ids}
        self._shown = [one for one in newest if one.message_id in shown_ids]

    def author_of(self, message_id: str) -> str | None:
        """The author of a left-out line; None where it is not among the lines."""
        line = self._left_out.get(message_id)
        return None if line is None else line.author.id

    def linked_in(self, text: str) -> str | None:
        """The left-out line that a text has a link to: its id, as the platform numbers it, ends the path."""
        if "://" not in text or not self._left_out:
            return None
        for link in _LINK.findall(text[:MAX_CHARS]):
            number = link.rstrip("/.,;:!?").rpartition("/")[2].partition("?")[0]
            if slack := _SLACK_ID.fullmatch(number):
                number = f"{slack[1]}.{slack[2]}"
            if number and (
                found := next((one for one in self._left_out if _ends(one, number)), None)
            ):
                return found
        return None

    def quoted_in(self, text: str, *known_texts: str) -> str | None:
        """The left-out line that a text quotes; None where a known text or a shown line says the same."""
        if not self._left_out:
            return None
        for quote in _quotes_in(text):
            if any(
                quote in _compared(text)
                for text in (*known_texts, *[one.text for one in self._shown])
            ):
                continue
            for line in reversed(self._left_out.values()):
                if quote in _compared(line.text):
                    return line.message_id
        return None

    def said_again_in(self, text: str) -> str | None:
        """The left-out line whose words or clause come back in a text; None where a shown line has as many."""
        words, compared = set(keywords(text[:MAX_CHARS])), _compared(text)
        most_shown = max((_share(words, line.text) for line in self._shown), default=0.0)
        for line in reversed(self._left_out.values()):
            if _share(words, line.text) > max(most_shown, _LEAST_SHARE) or _clause_in(
                compared, line.text
            ):
                return line.message_id
        return None


def _compared(text: str) -> str:
    return as_compared(text[:MAX_CHARS])


def _ends(message_id: str, number: str) -> bool:
    """Whether an id is a platform's number, alone or behind the channel's."""
    head = message_id.removesuffix(number)
    return len(head) < len(message_id) and not head[-1:].isalnum()


def _quotes_in(text: str) -> list[str]:
    """Quotations long enough to tell one message, as phrases are compared."""
    quotes = (as_compared("".join(groups)) for groups in _QUOTE.findall(text[:MAX_CHARS]))
    return [quote for quote in quotes if _tells(quote)][:_MOST_QUOTES]


def _tells(quote: str) -> bool:
    return len(quote) >= (_SHORTEST_QUOTE if quote.isascii() else _SHORTEST_HAN_QUOTE)


def _share(words: AbstractSet[str], text: str) -> float:
    """How much of the shorter of two texts is in both, by keywords; 0 where they share less than two."""
    others = set(keywords(text[:MAX_CHARS]))
    common = len(words & others)
    return common / min(len(words), len(others)) if common >= 2 else 0.0


def _clause_in(compared: str, text: str) -> bool:
    """Whether a clause of a text, long enough to tell it, stands in another one."""
    clauses = _CLAUSE.split(_compared(text))
    return any(_tells(clause) and clause in compared for clause in clauses)
