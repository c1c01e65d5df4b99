"""Real conversations as the server sees them: analysed, in a hot channel, with variants of clock and names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from backscroll_bench.quality.rows import read_rows
from backscroll_sidecar.analyze import Analyzer
from backscroll_sidecar.analyze.mentions import StaticRoster
from backscroll_sidecar.channels import ChannelView, HotChannel
from backscroll_sidecar.domain import (
    Author,
    ChannelKey,
    Mention,
    Message,
    Reply,
    StoredMessage,
    TextPart,
)  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """One annotated message: its row, the rows it answers (none: it starts something), its conversation, its data set's
    group.
    """

    row: int
    gold: tuple[int, ...]
    conversation: tuple[int, ...] | None
    judged_from: int
    group: str


@dataclass(frozen=True)
class Variant:
    """What is done to a chat before it is read.

    `keep_names`: share of messages that keep the names in them. `clock`: "as_is", "jitter" (moments drawn anew
    within the minute), "scaled" (jitter, then all pauses times a factor). `explicit`:
    share of the known reply buttons that were pressed; such a message loses the name it begins with. `identifiers`:
    share of the answers that are moved to a line said before, anywhere, by having both name the same made-up thing.
    """

    keep_names: float = 1.0
    clock: str = "as_is"
    explicit: float = 0.0
    strip_explicit: bool = False
    identifiers: float = 0.0


@dataclass
class Chat:
    """One conversation file in a hot channel, and its annotated messages."""

    name: str
    view: ChannelView
    asks: list[Ask] = field(default_factory=list)


LEAST_BACK, MOST_BACK = 8, 1_200
"""Lines between two that name the same made-up thing."""
Rows = list[dict[str, Any]]
Group = tuple[Rows, Rows]
"""The messages of a group, and its queries."""


class _NoFragments:
    version = "none"

    def encode(self, item: StoredMessage) -> bytes:
        del item
        return b""


def load(folder: Path, name: str) -> dict[str, Group]:
    """Messages and reply queries of a data set, by group, in file order."""
    messages: dict[str, list[dict[str, Any]]] = defaultdict(list)
    queries: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(folder / f"{name}.messages.jsonl.gz"):
        messages[row.text("group_id")].append(dict(row.values))
    for row in read_rows(folder / f"{name}.queries.jsonl.gz"):
        if row.text("task") == "reply":
            queries[row.text("group_id")].append(dict(row.values))
    return {group: (messages[group], queries[group]) for group in messages}


def mixed(one: Group, other: Group, *, same_people: bool = False) -> Group:
    """Two groups in one room, their lines interleaved by the first one's clock; gold and conversations stay.

    The other's times are moved and stretched to the first one's span. People of one name are two unless `same_people`.
    """
    (messages, queries), (others, more) = one, other
    begin, end = messages[0]["timestamp"], messages[-1]["timestamp"]
    since, until = others[0]["timestamp"], others[-1]["timestamp"]
    stretch = (end - begin) / max(1, until - since)
    known = {row["user_id"] for row in messages}
    moved = []
    for row in others:
        at = begin + round((row["timestamp"] - since) * stretch)
        new = {**row, "timestamp": at}
        if row["user_id"] in known and not same_people:
            new |= {"user_id": f"{row['user_id']}~", "name": f"{row['name']}~"}
        moved.append(new)
    room = sorted([*({**row} for row in messages), *moved], key=lambda row: row["timestamp"])
    for before, row in pairwise(room):
        row["timestamp"] = max(row["timestamp"], before["timestamp"] + 1)
    return room, [*queries, *more]


def chat(
    name: str,
    messages: Sequence[dict[str, Any]],
    queries: Sequence[dict[str, Any]],
    variant: Variant,
    seed: int,
) -> Chat:
    """A chat as the server would hold it. Between the first and the last query every message is annotated."""
    rng = np.random.default_rng(seed)
    if variant.identifiers:
        messages, queries = _with_identifiers(messages, queries, variant.identifiers, rng)
    place = {row["message_id"]: at for at, row in enumerate(messages)}
    times = _clock([row["timestamp"] for row in messages], variant.clock, rng)
    analyzer, roster = Analyzer(), StaticRoster()
    stored = []
    for at, row in enumerate(messages):
        text, mentions, reply = _written(row, variant, rng)
        message = Message(
            id=row["message_id"],
            channel=name,
            author=Author(row["user_id"], row["name"]),
            parts=(TextPart(text),),
            sent_at_ms=times[at],
            reply=Reply(reply) if reply else None,
            mentions=tuple(Mention(user_id=who, name=who) for who in mentions),
        )
        stored.append(StoredMessage(message, analyzer.analyze(message, roster), at + 1, times[at]))
        roster.note_author(message.author, message.id)
    view = HotChannel(ChannelKey("t", name), _NoFragments(), stored).view()
    groups = dict.fromkeys(row["group_id"] for row in queries)
    asks = [ask for group in groups for ask in _asks(group, messages, queries, place)]
    return Chat(name, view, sorted(asks, key=lambda ask: ask.row))


def _with_identifiers(
    messages: Sequence[dict[str, Any]],
    queries: Sequence[dict[str, Any]],
    share: float,
    rng: np.random.Generator,
) -> Group:
    rows, asked = [dict(row) for row in messages], [dict(query) for query in queries]
    place = {row["message_id"]: at for at, row in enumerate(rows)}
    for query in asked:
        at = place[query["message_id"]]
        if rng.random() >= share or at < LEAST_BACK * 2:
            continue
        back = int(np.exp(rng.uniform(np.log(LEAST_BACK), np.log(min(MOST_BACK, at)))))
        name = _made_up(rng)
        for one in (at, at - back):
            text = rows[one]["content"]
            rows[one]["content"] = f"{name} {text}" if rng.random() < 0.3 else f"{text} {name}"
        query |= {"gold": [rows[at - back]["message_id"]], "conversation": None}
    return rows, asked


def _made_up(rng: np.random.Generator) -> str:
    """An address, path, error code, version, hash or name in a program that nobody has."""
    word = lambda: "".join(rng.choice(list("abcdefghiklmnoprstuvwz"), rng.integers(3, 8)).tolist())  # noqa: E731
    digits = lambda k: "".join(map(str, rng.integers(0, 10, k).tolist()))  # noqa: E731
    kinds = (
        lambda: f"https://{word()}.org/{word()}/{word()}-{digits(3)}",
        lambda: f"/{word()}/{word()}/{word()}.conf",
        lambda: f"0x{digits(8)}",
        lambda: f"{word()[:3].upper()}-{digits(4)}",
        lambda: f"{digits(1)}.{digits(2)}.{digits(3)}",
        lambda: f"{digits(2)}{word()[:3]}{digits(4)}",
        lambda: f"{word()}_{word()}_{word()}",
        lambda: f"{word()}{word().title()}{word().title()}",
    )
    return kinds[rng.integers(len(kinds))]()


def _asks(
    group: str,
    messages: Sequence[dict[str, Any]],
    queries: Sequence[dict[str, Any]],
    place: dict[str, int],
) -> list[Ask]:
    by_row: dict[int, Ask] = {}
    for row in queries:
        if row["group_id"] != group:
            continue
        conversation = row.get("conversation")
        at = place[row["message_id"]]
        by_row[at] = Ask(
            at,
            tuple(sorted(place[one] for one in row["gold"])),
            None if conversation is None else tuple(sorted(place[one] for one in conversation)),
            place[row["judged_from"]],
            group,
        )
    begin = min(ask.judged_from for ask in by_row.values())
    starts = [
        at
        for at in range(begin, max(by_row) + 1)
        if at not in by_row and messages[at]["group_id"] == group
    ]
    return [*by_row.values(), *(Ask(at, (), None, begin, group) for at in starts)]


def _clock(times: Sequence[int], how: str, rng: np.random.Generator) -> list[int]:
    if how == "as_is":
        return list(times)
    minutes = np.array(times) // 60_000
    moments = minutes * 60_000 + rng.integers(0, 60_000, len(times))
    moments = np.sort(
        moments
    )  # within a minute: the order of the messages stays, their moments are new
    if how == "scaled":
        moments = moments[0] + (
            (moments - moments[0]) * float(np.exp(rng.uniform(-1.5, 1.5)))
        ).astype(np.int64)
    return [int(one) for one in moments]


def _written(
    row: dict[str, Any], variant: Variant, rng: np.random.Generator
) -> tuple[str, list[str], str | None]:
    text, mentions = row["content"], list(row.get("mentions", []))
    reply = row.get("explicit_reply_to")
    reply = reply if reply and rng.random() < variant.explicit else None
    drop = rng.random() >= variant.keep_names
    if mentions and (drop or (reply and variant.strip_explicit)):
        names = "|".join(re.escape(one) for one in sorted(mentions, key=len, reverse=True))
        text = re.sub(
            rf"^\s*@?(?:{names})\s*[:,;]?\s*|\s*@?(?:{names})(?!\w)", " ", text, flags=re.IGNORECASE
        ).strip()
        text = text or "."
        mentions = []
    return text, mentions, reply
