"""What a client says was said before its question, as ids and as messages to store. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import orjson

from backscroll_sidecar.domain import Author, AuthorKind, Message, Role, TextPart
from backscroll_sidecar.edge.http.addressing import Address
from backscroll_sidecar.edge.http.merging import text_of

BOT = "assistant"
"""The author of replies where the client names no bot, as in StreamChat."""

History = Sequence[Mapping[str, Any]]


def id_behind(channel: str, history: History, said: Sequence[tuple[str, str]]) -> str:
    """An id for the last of what was said behind a history, the same for the same words in the same order."""
    *_, last = _ids(channel, [*_said_in(history), *said])
    return last


def messages_before(channel: str, address: Address, history: History, now_ms: int) -> list[Message]:
    """A history as messages right before now, without what has no text."""
    asker = Author(address.asker_id, address.asker_name)
    bot = Author(address.bot or BOT, kind=AuthorKind.BOT)
    said = _said_in(history)
    found: list[Message] = []
    for place, id_ in enumerate(_ids(channel, said)):
        role, text = said[place]
        if role not in {"user", "assistant"} or not text.strip():
            continue
        is_bot = role == "assistant"
        found.append(
            Message(
                id_,
                channel,
                bot if is_bot else asker,
                (TextPart(text),),
                now_ms - len(history) + place,
                Role.ASSISTANT if is_bot else Role.USER,
                session_id=address.session,
            )
        )
    return found


def _ids(channel: str, said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """An id for each thing that was said, by all that was said up to it."""
    digest = blake2b(orjson.dumps(channel), digest_size=12)
    for one in said:
        digest.update(orjson.dumps(one))
        yield f"said-{digest.hexdigest()}"


def _said_in(history: History) -> list[tuple[str, str]]:
    return [(str(one.get("role")), text_of(one)) for one in history]
