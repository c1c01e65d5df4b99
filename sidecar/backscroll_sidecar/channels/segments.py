"""Segments: ranges of a channel as stored arrays, so that a channel loads quickly.

They are a cache of rows. Here is what they look like inside; the store keeps them, and drops them in the
transaction that changes one of their rows. A segment is the lengths of its arrays, the size of a header in JSON, the
header, the arrays and a checksum over all of it, its bodies, its numbers and the channel it belongs to: bytes of a
damaged disk, or of another segment, put no text into a context that nobody sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from xxhash import xxh3_64

from backscroll_scoring import Packed, Slots
from backscroll_sidecar.channels import reply_snapshot
from backscroll_sidecar.channels.batch import (
    NONE,
    RECALLED,
    SENT,
    Batch,
    Block,
    Pairs,
    Runs,
    terms_of,
)
from backscroll_sidecar.channels.tool_exchanges import ToolIds
from backscroll_sidecar.channels.view import ChannelView
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import FragmentCodec, Segment

FORMAT = 9
"""Raise it when the bytes, or what analysis and rendering put into rows, change their meaning."""
SEGMENT_ROWS = 1_024
ARRAYS: Mapping[str, type[np.generic]] = {
    **SENT,
    "author": np.int32,
    "thread": np.int32,
    "scope": np.int32,
    "number": np.int32,
    "target": np.int32,
    "starts_with_digit": np.bool_,
    "revised": np.int64,
    "body_ends": np.int64,
    **{f"{name}.data": np.uint8 for name in ("ids", "words")},
    **{f"{name}.ends": np.int32 for name in ("ids", "words")},
    **{f"{name}.slots": np.int32 for name in ("ids", "words")},
    **{f"{name}.seed": np.int64 for name in ("ids", "words")},
    **{f"{name}.offsets": np.int64 for name in ("keywords", "mentions")},
    **{f"{name}.values": np.int32 for name in ("keywords", "mentions")},
    "terms.counts": np.int32,
    "terms.block": np.int32,
    **reply_snapshot.ARRAYS,
}
"""In the order in which they stand."""
TOGETHER = 512
"""Rows whose words are looked up at once: a call into C must not hold the interpreter for long."""
ALIGNED = 8
CHECKSUM_BYTES = 8


class BadSegmentError(ValueError):
    """These bytes are no segment; the rows are read instead."""


def format_of(codec: FragmentCodec) -> str:
    """The name of what a segment holds. Segments of another name are never read."""
    return f"{FORMAT}:{codec.version}:{reply_snapshot.model()}"


def pack(
    key: ChannelKey, batch: Batch, links: reply_snapshot.Arrays = reply_snapshot.NOTHING
) -> Segment:
    """A batch, at least one row, as a segment, and with it what is known of the channel's newest rows."""
    seq, terms = batch.sent["seq"], batch.block()
    arrays: dict[str, NDArray[Any]] = {
        **batch.sent,
        "author": batch.author,
        "thread": batch.thread,
        "scope": batch.scope,
        "number": batch.number,
        "target": batch.target,
        "starts_with_digit": batch.starts_with_digit,
        "revised": batch.revised.ravel(),
        "body_ends": batch.body_ends,
        "terms.counts": terms.counts,
        "terms.block": terms.block,
        **links,
    }
    for name in ("ids", "words"):
        arrays |= _string_arrays(name, getattr(batch, name))
    for name in ("keywords", "mentions"):
        runs: Runs = getattr(batch, name)
        arrays |= {f"{name}.offsets": runs.offsets, f"{name}.values": runs.values}
    segment = Segment(
        first_seq=seq[0].item(),
        last_seq=seq[-1].item(),
        row_count=len(batch),
        revisions=int(batch.revised[:, 1].sum()),
        recalled=int((batch.sent["state"] == RECALLED).sum()),
        columns=_joined(arrays, batch),
        bodies=batch.bodies,
    )
    return replace(segment, columns=segment.columns + _checksum(key, segment, segment.columns))


def unpack(key: ChannelKey, segment: Segment) -> Batch:
    """The batch that was packed.

    Raises
    ------
    BadSegmentError
        It is not what was packed.
    """
    columns = memoryview(segment.columns)
    if columns[-CHECKSUM_BYTES:] != _checksum(key, segment, columns[:-CHECKSUM_BYTES]):
        raise BadSegmentError("a segment has another checksum")
    try:
        arrays, header = _arrays(segment.columns), _header(segment.columns)
        batch = Batch(
            sent={name: arrays[name] for name in SENT},
            author=arrays["author"],
            authors=[(user_id, name) for user_id, name in header["authors"]],
            thread=arrays["thread"],
            threads=header["threads"],
            scope=arrays["scope"],
            scopes=[(session_id, tuple(ids)) for session_id, ids in header["scopes"]],
            ids=_strings(arrays, "ids"),
            number=arrays["number"],
            target=arrays["target"],
            keywords=Runs(arrays["keywords.offsets"], arrays["keywords.values"]),
            terms=Block(None, arrays["terms.counts"], arrays["terms.block"]),
            words=_strings(arrays, "words"),
            starts_with_digit=arrays["starts_with_digit"],
            mentions=Runs(arrays["mentions.offsets"], arrays["mentions.values"]),
            users=header["users"],
            revised=arrays["revised"].reshape(-1, 2),
            tools=[
                (id, ToolIds(seq, calls, frozenset(results)))
                for id, seq, calls, results in header["tools"]
            ],
            bodies=segment.bodies,
            body_ends=arrays["body_ends"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadSegmentError("a segment cannot be read") from error
    if not _fits(batch, segment):
        raise BadSegmentError("a segment does not fit together")
    return batch


def _checksum(key: ChannelKey, segment: Segment, columns: bytes | memoryview) -> bytes:
    """XXH3, 64 bits, of everything that is read of a segment, and of whose it is."""
    numbers = (
        segment.first_seq, segment.last_seq, segment.row_count, segment.revisions, segment.recalled,
    )  # fmt: skip
    whose = orjson.dumps([*key, *numbers, len(segment.bodies)])
    checksum = xxh3_64(whose)
    checksum.update(segment.bodies)
    checksum.update(columns)
    return checksum.digest()


def links_in(segment: Segment) -> reply_snapshot.Arrays:
    """What `pack` was given with the batch. The segment can be read (`unpack`)."""
    arrays = _arrays(segment.columns)
    return {name: arrays[name] for name in reply_snapshot.ARRAYS}


def batch_of_rows(view: ChannelView, rows: NDArray[np.intp], revised: Mapping[int, int]) -> Batch:
    """Rows of a hot channel, given in order of arrival; `revised`: revisions by seq of edited ones. For a thread."""
    columns, words = view.columns, view.lexicon.ids
    texts = [view.texts.bodies.text(row) for row in rows.tolist()]
    keywords = _runs_of(columns.keyword_offsets, columns.keyword_ids, rows)
    terms = _terms_of_rows(view, keywords, texts)
    word_numbers, places = _united(keywords.values, terms.values)
    own, target = view.message_ids.number[rows], view.target[rows]
    place = np.full(view.ids.count, NONE, np.int32)
    place[own] = np.arange(len(rows))
    replies = target != NONE
    others = np.unique(target[replies & (place[target] == NONE)])
    place[others] = len(rows) + np.arange(len(others))
    mentions = _runs_of(columns.mention_offsets, columns.mention_ids, rows)
    users, user_places = np.unique(mentions.values, return_inverse=True)
    authors, author = np.unique(view.name[rows], return_inverse=True)
    threads, thread = np.unique(view.thread[rows], return_inverse=True)
    scopes, scope = np.unique(view.scope[rows], return_inverse=True)
    thread_ids = list(view.thread_ids)
    seqs = view.seq[rows]
    records = [view.fragments.bodies.record(row) for row in rows.tolist()]
    strings = view.ids.packed()
    tools = view.tool_exchanges.all()
    bodies = view.texts.bodies
    return Batch(
        sent={
            "time_ms": columns.time_ms[rows],
            "seq": seqs,
            "state": view.state[rows],
            "role": view.role[rows],
            "kind": view.kind[rows],
            "message_type": view.message_type[rows],
            "token_count": view.token_count[rows],
            "inferred": view.inferred[rows],
            "fragment_size": bodies.size[rows],
            "text_at": bodies.text_at[rows],
            "text_size": bodies.text_size[rows],
        },
        author=author.astype(np.int32),
        authors=[view.authors[one] for one in authors.tolist()],
        thread=thread.astype(np.int32),
        threads=[thread_ids[one] for one in threads.tolist()],
        scope=scope.astype(np.int32),
        scopes=[view.scopes[one] for one in scopes.tolist()],
        ids=strings.take(np.concatenate([own, others])),
        number=place[own],
        target=np.where(replies, place[target], np.int32(NONE)),
        keywords=Runs(keywords.offsets, places[: len(keywords.values)]),
        terms=Pairs.of(Runs(terms.offsets, places[len(keywords.values) :])),
        words=words.packed().take(word_numbers),
        starts_with_digit=view.lexicon.starts_with_digit[word_numbers],
        mentions=Runs(mentions.offsets, user_places.astype(np.int32)),
        users=[view.people.ids[one] for one in users.tolist()],
        revised=np.array(
            [(seq, revised[seq]) for seq in seqs.tolist() if seq in revised], np.int64
        ).reshape(-1, 2),
        tools=[(id, tools[id]) for id in strings.take(own) if id in tools] if tools else [],
        bodies=b"".join(records),
        body_ends=np.cumsum([0, *map(len, records)], dtype=np.int64),
    )


def _terms_of_rows(view: ChannelView, keywords: Runs, texts: Sequence[str]) -> Runs:
    """The index terms of each row, made again from the texts."""
    ends, blocks = [0], [np.empty(0, np.int32)]
    for first in range(0, len(texts), TOGETHER):
        some = texts[first : first + TOGETHER]
        found = [
            () if text.isascii() else tuple(_terms(view, text, keywords.run(first + place)))
            for place, text in enumerate(some)
        ]
        flat = view.lexicon.ids.numbers([word for run in found for word in run])
        numbers, at, runs = np.array(flat, np.int32), 0, []
        for place, (text, words) in enumerate(zip(some, found, strict=True)):
            run = keywords.run(first + place) if text.isascii() else numbers[at : at + len(words)]
            runs.append(run)
            ends.append(ends[-1] + len(run))
            at += len(words)
        blocks.append(np.concatenate(runs))
    return Runs(np.array(ends, np.int64), np.concatenate(blocks))


def _terms(view: ChannelView, text: str, keywords: NDArray[np.int32]) -> Iterable[str]:
    words = view.lexicon.ids
    return dict.fromkeys(terms_of(text, [words.word(number) for number in keywords.tolist()]))


def _runs_of(offsets: NDArray[np.int64], values: NDArray[np.int32], rows: NDArray[np.intp]) -> Runs:
    starts, lengths = offsets[rows], np.diff(offsets)[rows]
    ends = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    return Runs(ends, values[np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)])


def _string_arrays(name: str, strings: Packed) -> dict[str, NDArray[Any]]:
    slots = strings.with_slots().slots
    assert slots is not None
    return {
        f"{name}.data": strings.data,
        f"{name}.ends": strings.ends,
        f"{name}.slots": slots.table,
        f"{name}.seed": np.array([slots.seed]),
    }


def _strings(arrays: Mapping[str, NDArray[Any]], name: str) -> Packed:
    slots = Slots(arrays[f"{name}.slots"], arrays[f"{name}.seed"].item())
    return Packed(arrays[f"{name}.data"], arrays[f"{name}.ends"], slots)


def _united(
    one: NDArray[np.int32], other: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The distinct values of both, and the place of each value of `one` and then of `other` among them."""
    distinct, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    return distinct, places.astype(np.int32)


def _joined(arrays: Mapping[str, NDArray[Any]], batch: Batch) -> bytes:
    header = orjson.dumps({
        "authors": batch.authors,
        "threads": batch.threads,
        "scopes": batch.scopes,
        "users": batch.users,
        "tools": [[id, t.seq, dict(t.calls), sorted(t.results)] for id, t in batch.tools],
    })  # fmt: skip
    sizes = np.array([*(len(arrays[name]) for name in ARRAYS), len(header)], np.int64)
    pieces = [sizes.tobytes(), header]
    at = sizes.nbytes + len(header)
    for name, dtype in ARRAYS.items():
        array, gap = arrays[name].astype(dtype, copy=False), -at % ALIGNED
        pieces += [bytes(gap), array.tobytes()]
        at += gap + array.nbytes
    return b"".join(pieces)


def _sizes(columns: bytes) -> NDArray[np.int64]:
    """How long each array is, and then the header."""
    sizes = np.frombuffer(columns, np.int64, len(ARRAYS) + 1)
    if (sizes < 0).any():  # `frombuffer` takes a negative length for all there is
        raise ValueError("a length is negative")
    return sizes


def _header(columns: bytes) -> Mapping[str, Any]:
    sizes = _sizes(columns)
    header: Mapping[str, Any] = orjson.loads(columns[sizes.nbytes : sizes.nbytes + sizes.item(-1)])
    return header


def _arrays(columns: bytes) -> dict[str, NDArray[Any]]:
    sizes = _sizes(columns)
    at = sizes.nbytes + sizes.item(-1)
    arrays: dict[str, NDArray[Any]] = {}
    for (name, dtype), length in zip(ARRAYS.items(), sizes.tolist(), strict=False):
        at += -at % ALIGNED
        arrays[name] = array = np.frombuffer(columns, dtype, length, at)
        at += array.nbytes
    return arrays


def _fits(batch: Batch, segment: Segment) -> bool:
    """Whether every number of a batch is in range."""
    k, words = len(batch.sent["seq"]), len(batch.words)
    sent = batch.sent
    text_end = sent["text_at"].astype(np.int64) + sent["text_size"]
    records = np.diff(batch.body_ends)
    return (
        k == segment.row_count > 0
        and all(len(sent[name]) == k for name in SENT)
        and len(batch.thread) == len(batch.target) == len(batch.author) == len(batch.number) == k
        and len(batch.body_ends) == k + 1
        and len(batch.starts_with_digit) == words
        and _are_places(batch.author, len(batch.authors))
        and _are_places(batch.thread, len(batch.threads))
        and len(batch.scope) == k
        and _are_places(batch.scope, len(batch.scopes))
        and _are_places(batch.number, len(batch.ids))
        and _are_places(batch.target, len(batch.ids), least=NONE)
        and all(_are_strings(strings) for strings in (batch.ids, batch.words))
        and _are_runs(batch.keywords, k, words)
        and isinstance(batch.terms, Block)
        and _is_block(batch.terms, k, words)
        and _are_runs(batch.mentions, k, len(batch.users))
        and bool((np.diff(sent["seq"]) > 0).all())
        and _ascend(batch.body_ends, len(batch.bodies))
        and bool((sent["text_at"] >= 0).all() and (text_end <= records).all())
        and bool((sent["fragment_size"] >= 0).all() and (sent["fragment_size"] <= records).all())
    )


def _are_strings(strings: Packed) -> bool:
    return (
        _ascend(strings.ends, len(strings.data))
        and strings.slots is not None
        and strings.slots.fit(len(strings))
    )


def _are_places(values: NDArray[Any], count: int, least: int = 0) -> bool:
    return len(values) == 0 or bool(values.min() >= least and values.max() < count)


def _are_runs(runs: Runs, rows: int, count: int) -> bool:
    return (
        len(runs.offsets) == rows + 1
        and _ascend(runs.offsets, len(runs.values))
        and _are_places(runs.values, count)
    )


def _is_block(terms: Block, rows: int, words: int) -> bool:
    if len(terms.counts) != words or terms.counts.min(initial=0) < 0:
        return False
    lengths = terms.counts[terms.counts > 0].astype(np.int64) + 1
    heads = np.cumsum(lengths) - lengths
    return (
        len(terms.block) == lengths.sum()
        and _are_places(terms.block, rows, least=-1)
        and bool((terms.block[heads] == -1).all())
        and np.count_nonzero(terms.block < 0) == len(heads)
    )


def _ascend(ends: NDArray[Any], last: int) -> bool:
    return len(ends) > 0 and bool(ends[0] == 0 and ends[-1] == last and (np.diff(ends) >= 0).all())
