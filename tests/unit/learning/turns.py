"""Turns for tests: those of tests/data/follow_ups.jsonl, and short ones written down."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from backscroll_sidecar.domain import Author, AuthorKind
from backscroll_sidecar.learning.turn import ChatLine, Turn

_FIXTURE = Path(__file__).parents[2] / "data" / "follow_ups.jsonl"
ROWS = [json.loads(line) for line in _FIXTURE.read_text(encoding="utf-8").splitlines()]
ANN, BEN, KIT, OTHER_BOT = (
    Author("u1", "Ann"),
    Author("u2", "Ben"),
    Author("u9", "Kit", AuthorKind.BOT),
    Author("u8", "Feed", AuthorKind.BOT),
)


def is_held_out(row: dict) -> bool:
    return hashlib.sha256(f"53/{row['id']}".encode()).digest()[0] % 2 == 1


def turn_of(row: dict) -> tuple[Turn, list[ChatLine]]:
    """A row of the fixture as a turn and the lines that follow."""
    turn = Turn(
        _line_of(row["question"]),
        _line_of(row["reply"]),
        frozenset(row.get("shown", ())),
        [_line_of(one) for one in row.get("earlier", ())],
    )
    return turn, [_line_of(one) for one in row.get("following", ())]


def _line_of(row: dict) -> ChatLine:
    kind = AuthorKind.BOT if row.get("kind") == "bot" else AuthorKind.HUMAN
    return ChatLine(
        row["id"],
        Author(row["author"], row["author"], kind),
        row["text"],
        row["at_s"] * 1000,
        row.get("reply_to", ""),
        tuple(row.get("mentions", ())),
    )


def say(
    author: Author, text: str, *, to: str = "", mentions: tuple[str, ...] = (), at_s: int = 0
) -> ChatLine:
    return ChatLine("", author, text, at_s * 1000, to, mentions)


def ask(
    question: str = "Kit, how do I reset the router?",
    reply: str = "Hold the button for ten seconds.",
    earlier: tuple[ChatLine, ...] = (),
    shown: frozenset[str] = frozenset(),
) -> Turn:
    """Ann asks (``q``), Kit replies (``r``) five seconds later; earlier lines are ``e0``, ``e1`` …"""
    named = [replace(line, message_id=f"e{place}") for place, line in enumerate(earlier)]
    asked = ChatLine("q", ANN, question, 0, mention_ids=(KIT.id,))
    return Turn(asked, ChatLine("r", KIT, reply, 5_000), shown, named, [BEN])


def behind(*lines: ChatLine) -> list[ChatLine]:
    """The lines as ``a0``, ``a1`` …, ten seconds apart from second 20 on unless they name a second."""
    return [
        replace(line, message_id=f"a{place}", sent_at_ms=line.sent_at_ms or 20_000 + 10_000 * place)
        for place, line in enumerate(lines)
    ]
