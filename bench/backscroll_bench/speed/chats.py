"""Real chats as load: the messages that come with the quality samples, in one stream as long as is asked for.

Groups follow each other; where the stream is longer than the samples they come again, with other message ids. A set of
your own in `BACKSCROLL_CHATS` takes the place of the samples.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll_bench.quality import read_set, shipped_sets
from backscroll_bench.quality.data import Line, find_set
from backscroll_bench.speed.everything import NAME as EVERYTHING

SETS = ("irc", "kdconv")
"""English and Chinese group chats; the rest that ships is short."""
OWN_SET = "BACKSCROLL_CHATS"
"""The environment's name for a set of your own, as `backscroll quality --data` takes it."""
VectorOf: TypeAlias = Callable[[str], message_pb2.Embedding]
"""Gives the vector of a text."""
START_MS = 1_700_000_000_000
BETWEEN_GROUPS_MS = 60_000


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the stream."""

    id: str
    line: Line
    sent_at_ms: int

    def message(self, *, with_reply: bool = False) -> message_pb2.Message:
        """The same as a message of the contract; `with_reply`: with the platform's reply where it has one."""
        made = message_pb2.Message(
            id=self.id,
            author=message_pb2.Author(id=self.line.user_id, name=self.line.name),
            parts=[message_pb2.Part(text=message_pb2.TextPart(text=self.line.content))],
            sent_at_ms=self.sent_at_ms,
        )
        made.mentions.extend(
            message_pb2.Mention(user_id=user_id, name=name) for user_id, name in self.line.mentions
        )
        if with_reply and self.line.reply_to:
            turn = self.id.partition(":")[0]
            made.reply.message_id = f"{turn}:{self.line.reply_to}"
        return made


@lru_cache(1)
def groups() -> tuple[tuple[Line, ...], ...]:
    """The groups of the sets, by turns, so that both languages come early."""
    with shipped_sets() as shipped:
        own = os.environ.get(OWN_SET)
        names = [own] if own else [shipped[name] for name in SETS]
        sets = [list(read_set(*find_set(name), explicit=True).groups.values()) for name in names]
    longest = max(map(len, sets))
    return tuple(one[n] for n in range(longest) for one in sets if n < len(one))


def stream() -> Iterator[Said]:
    """Messages without end, in time order, ids unique."""
    now_ms, turn = START_MS, 0
    while True:
        for lines in groups():
            first_ms = lines[0].timestamp
            for line in lines:
                sent_at_ms = now_ms + max(0, line.timestamp - first_ms)
                yield Said(f"{turn}:{line.message_id}", line, sent_at_ms)
            now_ms += lines[-1].timestamp - first_ms + BETWEEN_GROUPS_MS
        turn += 1


def said(count: int, *, skip: int = 0) -> list[Said]:
    """`count` messages of the stream, after the first `skip`."""
    return list(islice(stream(), skip, skip + count))


def messages(count: int, *, vector_of: VectorOf | None = None) -> Iterator[message_pb2.Message]:
    """The first `count` of the stream; with `vector_of` each brings its vector."""
    for one in islice(stream(), count):
        made = one.message()
        if vector_of is not None:
            made.embeddings.append(vector_of(one.line.content))
        yield made


def append_requests(
    channel: str, messages: Iterable[message_pb2.Message], batch: int
) -> Iterator[bytes]:
    """The messages as serialised calls of AppendMessages, `batch` in each."""
    rest = iter(messages)
    while some := list(islice(rest, batch)):
        yield history_pb2.AppendMessagesRequest(channel=channel, messages=some).SerializeToString()


def build_request(channel: str, asked: Said, profile: str) -> context_pb2.BuildContextRequest:
    """A message of the stream as the question it is; `classic_full` is `classic` over everything."""
    request = context_pb2.BuildContextRequest(
        channel=channel,
        question=asked.line.content,
        asker=message_pb2.Author(id=asked.line.user_id, name=asked.line.name),
        asked_at_ms=asked.sent_at_ms,
        profile=profile,
    )
    if profile == "classic_full":
        request.profile = "classic"
        request.overrides.sources.append(EVERYTHING)
    return request
