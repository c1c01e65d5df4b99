"""Short ways to write messages down, and a codec and a clock without surprises."""

import base64
import pickle
from dataclasses import dataclass

from backscroll_sidecar.analyze import Analyzer, StaticRoster
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    ChannelKey,
    Mention,
    Message,
    MessageState,
    Part,
    Reply,
    Role,
    StoredMessage,
    TextPart,
)

KEY = ChannelKey("default", "room")
NOON_MS = 1_795_176_000_000
"""2026-11-20T12:00:00Z: when questions are asked unless a test says otherwise."""
SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS = 1_000, 60_000, 3_600_000, 86_400_000

ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "Cat")
BOT = Author("bot", "Helper", AuthorKind.BOT)
PEOPLE = {author.id: author for author in (ANN, BEN, CAT, BOT)}


def say(
    id: str,
    author: Author | str = ANN,
    text: str = "hello",
    ago_ms: int = MINUTE_MS,
    *,
    reply_to: str | Reply = "",
    mentions: tuple[str, ...] = (),
    role: Role | None = None,
    **fields,
) -> Message:
    """A message sent `ago_ms` before noon; the bot's are ROLE_ASSISTANT unless `role` says otherwise."""
    if isinstance(author, str):
        author = PEOPLE.get(author) or Author(author)
    if role is None:
        role = Role.ASSISTANT if author.id == BOT.id else Role.USER
    reply = Reply(reply_to) if isinstance(reply_to, str) and reply_to else reply_to or None
    fields.setdefault("channel", KEY.channel)
    fields.setdefault("parts", (TextPart(text),))
    return Message(
        id=id,
        author=author,
        sent_at_ms=NOON_MS - ago_ms,
        role=role,
        reply=reply,
        mentions=tuple(Mention(user_id) for user_id in mentions),
        **fields,
    )


def stored_in_order(messages: list[Message]) -> list[StoredMessage]:
    """The messages as a store would return them: analysed one after the other, numbered by arrival."""
    analyzer, roster, out = Analyzer(), StaticRoster(), []
    for seq, message in enumerate(messages, 1):
        analysis = analyzer.analyze(message, roster)
        roster.note_author(message.author, message.id)
        state = MessageState.PARTIAL if message.is_partial else MessageState.LIVE
        out.append(StoredMessage(message, analysis, seq, message.sent_at_ms, state=state))
    return out


class PlainCodec:
    """The wire form as readable bytes: id, revision, text."""

    version = "plain"

    def encode(self, stored: StoredMessage) -> bytes:
        head = f"{stored.message.id}|{stored.revision}|".encode()
        match stored.message.parts:
            case (TextPart(),):
                return head + stored.analysis.text.encode(errors="surrogatepass")
            case parts:
                return head + base64.b64encode(pickle.dumps(parts))

    def parts(self, fragment: bytes) -> tuple[Part, ...]:
        return pickle.loads(base64.b64decode(fragment.rsplit(b"|", 1)[1]))

    def mentions(self, fragment: bytes) -> tuple[Mention, ...]:
        return ()

    def sent_at_ms(self, fragment: bytes) -> int:
        return 0  # no clock of its own

    def answering(self, fragment: bytes, user_id: str) -> bytes:
        return fragment


@dataclass
class StillClock:
    """It is noon, for ever. Durations are real, so that deadlines can be tested."""

    at_ms: int = NOON_MS
    at_s: float | None = None

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_s(self) -> float:
        if self.at_s is not None:
            return self.at_s
        import time

        return time.monotonic()
