"""Messages of one channel as arrays, on their way into memory or into a segment.

Words, people and ids have numbers of the batch's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Packed
from backscroll_sidecar.channels.tool_exchanges import ToolIds, tool_ids
from backscroll_sidecar.domain import Message, MessageState, StoredMessage
from backscroll_sidecar.ports import FragmentCodec
from backscroll_sidecar.scripts import grams, is_gram, shows_nothing

NONE = -1
LIVE, RECALLED, PARTIAL = map(
    np.uint8, (MessageState.LIVE, MessageState.RECALLED, MessageState.PARTIAL)
)
"""Plain integers: comparing a column with an enum member takes ten times as long."""
BLANK = 3
"""A value of the column `state`: a live message with nothing to show. Never a candidate."""
HIDDEN = 4
"""A value of `state` in one build's view: a live message that the asker may not see."""
_LIVE = MessageState.LIVE
_SCOPE = "\0"
"""The contract refuses ids with it."""
WITHHELD = 5
"""A value of `state` in one build's view: a live message meant for others. Never a candidate."""
Scope = tuple[str, tuple[str, ...]]
"""Of what session a message is, empty of none, and for whom: ids, ascending; none: everybody."""
EVERYBODY: Scope = ("", ())
AuthorAs = tuple[str, str]
"""A user id, and the name a message of that user was written under."""

SENT: Mapping[str, type[np.generic]] = {
    "time_ms": np.int64,
    "seq": np.int64,
    "state": np.uint8,
    "role": np.uint8,
    "kind": np.uint8,
    "message_type": np.uint8,
    "token_count": np.int32,
    "inferred": np.uint8,
    "fragment_size": np.int32,
    "text_at": np.int32,
    "text_size": np.int32,
}
"""What a message has that is a number in itself. `text_at` counts from the beginning of the fragment."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """A run of int32 for each of k rows: row i has ``values[offsets[i] : offsets[i + 1]]``."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, runs: Sequence[Sequence[int]]) -> Runs:
        """Lists as arrays."""
        offsets = np.array([0, *accumulate(map(len, runs))], np.int64)
        return cls(offsets, np.array([value for run in runs for value in run], np.int32))

    def run(self, row: int) -> NDArray[np.int32]:
        """The values of one row."""
        return self.values[self.offsets.item(row) : self.offsets.item(row + 1)]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self.values[start:end] for start, end in pairwise(self.offsets.tolist()))

    def numbered(self, numbers: NDArray[np.int32] | None) -> Runs:
        """Value v becomes ``numbers[v]``; None: stays."""
        return self if numbers is None else Runs(self.offsets, numbers[self.values])

    def ascending(self) -> Runs:
        """Each run in ascending order. Values are not negative."""
        if len(self.offsets) == 2:
            return Runs(self.offsets, np.sort(self.values))
        rises = self.values[1:] > self.values[:-1]
        begins = self.offsets[(self.offsets > 0) & (self.offsets < len(self.values))]
        rises[begins - 1] = True
        if rises.all():
            return self
        rows = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64), np.diff(self.offsets))
        ordered = np.sort((rows << 32) | self.values)
        return Runs(self.offsets, (ordered & 0x7FFFFFFF).astype(np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Words that rows have: row ``rows[i]`` has ``words[i]``, int32 both; the rows of a word ascend."""

    words: NDArray[np.int32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, runs: Runs) -> Pairs:
        """From a run of words a row, each once."""
        rows = np.arange(len(runs.offsets) - 1, dtype=np.int32)
        return cls(runs.values, np.repeat(rows, np.diff(runs.offsets)))

    def numbered(self, numbers: NDArray[np.int32] | None) -> Pairs:
        """Word w becomes ``numbers[w]``; None: stays."""
        return self if numbers is None else Pairs(numbers[self.words], self.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The same word by word, as the inverted index keeps it (`Postings.append_block`).

    Attributes
    ----------
    words : int32[m]
        Words, each once; None: the batch's own, 0, 1, …
    counts : int32[m]
        How many rows each has.
    block : int32[]
        For each word that has any, -1 and then its rows, ascending.
    """

    words: NDArray[np.int32] | None
    counts: NDArray[np.int32]
    block: NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Pairs, count: int) -> Block:
        """From pairs of words below `count`."""
        counts = np.bincount(pairs.words, minlength=count).astype(np.int32)
        lengths = counts[counts > 0]
        heads = np.cumsum(lengths) - lengths
        rows = pairs.rows[np.argsort(pairs.words, kind="stable")]
        return cls(None, counts, np.insert(rows, heads, -1))

    def numbered(self, numbers: NDArray[np.int32] | None) -> Block:
        """The batch's own word w becomes ``numbers[w]``; None: stays."""
        return self if numbers is None else Block(numbers, self.counts, self.block)


Terms = Pairs | Block


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """k messages in order of arrival.

    Attributes
    ----------
    sent : name to array[k]
        The columns of `SENT`.
    author, thread, scope : int32[k]
        Places in `authors`, `threads` and `scopes`.
    ids : Packed
        Ids of messages, each once: those of the rows, then those that are replied to and no row here.
    number, target : int32[k]
        Places in `ids`: of the row's own, of the one it replies to, `NONE`: no reply.
    keywords : Runs
        Places in `words`.
    terms : Terms
        What the inverted index knows the rows by.
    starts_with_digit : bool[]
        Of each word.
    mentions : Runs
        Places in `users`.
    revised : int64[m, 2]
        seq of rows that changed since they came, and how often: revision and moves together.
    tools : sequence of (id, ToolIds)
        The tool messages among them.
    bodies : bytes
        Records behind each other: a fragment, and the text behind it where it is no part of it.
    body_ends : int64[k + 1]
        Where each record begins, and the end.
    """

    sent: Mapping[str, NDArray[Any]]
    author: NDArray[np.int32]
    authors: Sequence[AuthorAs]
    thread: NDArray[np.int32]
    threads: Sequence[str]
    scope: NDArray[np.int32]
    scopes: Sequence[Scope]
    ids: Packed
    number: NDArray[np.int32]
    target: NDArray[np.int32]
    keywords: Runs
    terms: Terms
    words: Packed
    starts_with_digit: NDArray[np.bool_]
    mentions: Runs
    users: Sequence[str]
    revised: NDArray[np.int64]
    tools: Sequence[tuple[str, ToolIds]]
    bodies: bytes
    body_ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.author)

    def block(self) -> Block:
        """The terms word by word."""
        terms = self.terms
        return terms if isinstance(terms, Block) else Block.of(terms, len(self.words))


class Numbers(dict[str, int]):
    """Gives each string the next number when it first comes."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def scope_of(message: Message) -> Scope:
    """Of what session a message is, and for whom."""
    if not message.session_id and not message.audience:
        return EVERYBODY
    return message.session_id, tuple(sorted({*message.audience}))


def terms_of(text: str, keywords: Sequence[str]) -> Sequence[str]:
    """The terms that find a row: keywords, and characters and pairs in scripts without spaces."""
    if text.isascii():
        return keywords
    return [*grams(text), *(word for word in keywords if not is_gram(word))]


def _own_ids(stored: Sequence[StoredMessage]) -> list[str]:
    """A unique id for each message of several channels. Of those that share one, the last keeps it."""
    last = {item.message.id: place for place, item in enumerate(stored)}
    return [
        item.message.id
        if last[item.message.id] == place
        else f"{item.message.id}{_SCOPE}{item.message.channel}"
        for place, item in enumerate(stored)
    ]


def shown_id(message_id: str) -> str:
    """The id of a message in its own channel."""
    return message_id.partition(_SCOPE)[0]


def _state(item: StoredMessage) -> int:
    return BLANK if item.state is _LIVE and shows_nothing(item.analysis.text) else item.state


def batch_of(
    stored: Sequence[StoredMessage], codec: FragmentCodec, *, of_many_channels: bool = False
) -> Batch:
    """Rows of a store, in order of arrival. Some 20 µs a row.

    `of_many_channels`: the same id may stand in several of them. The last message keeps it; those before get ids of
    their own (`shown_id`), and a tool's call is answered in its own channel only.
    """
    sent: list[tuple[int, ...]] = []
    ids, words, threads, users = Numbers(), Numbers(), Numbers(), Numbers()
    own_ids = _own_ids(stored) if of_many_channels else [item.message.id for item in stored]
    number = [ids[one] for one in own_ids]
    authors: dict[AuthorAs, int] = {}
    author, thread, target, scope = [], [], [], []
    scopes: dict[Scope, int] = {}
    keywords, terms, mentions, revised, tools = [], [], [], [], []
    bodies, body_ends = bytearray(), [0]
    for own_id, item in zip(own_ids, stored, strict=True):
        message, analysis = item.message, item.analysis
        fragment, text = codec.encode(item), analysis.text.encode("utf-8", "surrogatepass")
        text_at = fragment.find(text)
        bodies += fragment
        if text_at < 0:
            text_at = len(fragment)
            bodies += text
        body_ends.append(len(bodies))
        reply = analysis.reply
        sent.append((
            item.rank_time_ms, item.seq, _state(item), message.role, message.author.kind,
            analysis.message_type, analysis.token_count, reply is not None and reply.inferred,
            len(fragment), text_at, len(text),
        ))  # fmt: skip
        target.append(ids[reply.message_id] if reply and reply.message_id else NONE)
        author.append(authors.setdefault((message.author.id, message.author.name), len(authors)))
        thread.append(threads[message.thread_id])
        scope.append(scopes.setdefault(scope_of(message), len(scopes)))
        keywords.append(numbers := [words[word] for word in dict.fromkeys(analysis.keywords)])
        found = terms_of(analysis.text, analysis.keywords)
        if found is not analysis.keywords:
            numbers = [words[word] for word in dict.fromkeys(found)]
        terms.append(numbers)
        mentions.append([users[user] for user in dict.fromkeys(analysis.mention_ids)])
        if item.revision or item.moves:
            revised.append((item.seq, item.revision + item.moves))
        channel = message.channel if of_many_channels else ""
        if (found_tools := tool_ids(item.seq, message.parts, channel)) is not None:
            tools.append((own_id, found_tools))
    columns = zip(*sent, strict=True) if sent else [()] * len(SENT)
    return Batch(
        sent={
            name: np.array(column, SENT[name]) for name, column in zip(SENT, columns, strict=True)
        },
        author=np.array(author, np.int32),
        authors=list(authors),
        thread=np.array(thread, np.int32),
        threads=list(threads),
        scope=np.array(scope, np.int32),
        scopes=list(scopes),
        ids=Packed.of(ids),
        number=np.array(number, np.int32),
        target=np.array(target, np.int32),
        keywords=Runs.of(keywords),
        terms=Pairs.of(Runs.of(terms)),
        words=Packed.of(words),
        starts_with_digit=np.array([word[:1].isdigit() for word in words], np.bool_),
        mentions=Runs.of(mentions),
        users=list(users),
        revised=np.array(revised, np.int64).reshape(-1, 2),
        tools=tools,
        bodies=bytes(bodies),
        body_ends=np.array(body_ends, np.int64),
    )
