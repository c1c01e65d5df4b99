"""The specification of `kernels_answers` in plain Python; see `reference`."""

from __future__ import annotations

from google.protobuf.internal.encoder import _VarintBytes as varint

from backscroll_scoring.arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from backscroll_scoring.layout import (
    BODY,
    BYTES,
    CHARS,
    COST,
    ESCAPED_LINE,
    FORMS,
    ID_FIELD,
    IS_REFERENCE,
    ITEM,
    KIND,
    KINDS,
    KNOWN,
    LAST_LINE_TOKENS,
    LINE,
    LINE_COST,
    LINE_TOKENS,
    LONGEST,
    MISSING,
    PLACE,
    RANK,
    RECENT,
    REFERENCE_ITEM,
    RENDERED,
    SEAMLESS,
    SEMANTIC,
    SLASHED,
    SLOT,
    TURN_COST,
    TURN_TOKENS,
    TURNS,
)


def keep_slot(key: int, slot: int, keys: Int64, slots: Int32) -> None:
    """Remember where a message is kept, in a table whose keys are below 0 where it is empty.

    Parameters
    ----------
    key : not negative; a key that is there already gets the new slot.
    keys, slots : int64[2^c], int32[2^c], written
        Not full.
    """
    there = keys.tolist()
    at = there.index(key) if key in there else there.index(min(there))
    keys[at], slots[at] = key, slot


def lay_out(
    order: Int64,
    rows: Int32,
    semantic: Bool,
    kinds: UInt32,
    seq: Int64,
    time_ms: Int64,
    dated_before_ms: int,
    keys: Int64,
    slots: Int32,
    numbers: Int32,
    bounds: Int32,
    laid: Int64,
    totals: Int64,
) -> None:
    """Bring k selected candidates into the order of their places, find each on its page and add up what it costs.

    Parameters
    ----------
    order : int64[k]
        Places among the m candidates, the best first, each once.
    rows, semantic, kinds : int32[m], bool[m], uint32[m]
        The row of each candidate, ascending; whether it is a reference; its kind, which is any number. Of the last two
        any strides.
    seq, time_ms : int64[n]
        Of each row: its number for good, and when it was said.
    dated_before_ms : what was said before is kept with its date.
    keys, slots : int64[2^c], int32[2^c]
        The page's table: 2 seq, with a date 2 seq + 1, and the slot; -1 where it is gone.
    numbers, bounds : int32[s, NUMBERS], int32[s, FORMS + 1]
        By slot: what is known, and where in the page's bytes each form ends and the next begins.
    laid : int64[LAID, k], written
        In the order of their places.
    totals : int64[TOTALS], written
        Those not on the page count as missing only.
    """
    of = dict(zip(keys.tolist(), slots.tolist(), strict=True))
    ranked = sorted(zip(order.tolist(), range(1, len(order) + 1), strict=True))
    totals[:] = 0
    known_kinds = list(dict.fromkeys(int(kinds[place]) for place, _ in ranked))
    laid[KNOWN, : len(known_kinds)] = known_kinds
    totals[KINDS] = len(known_kinds)
    last = -1
    for i, (place, rank) in enumerate(ranked):
        row = int(rows[place])
        key = 2 * int(seq[row]) + int(time_ms[row] < dated_before_ms)
        slot = of.get(key, -1)
        laid[: KIND + 1, i] = place, rank, slot, semantic[place], kinds[place]
        if slot < 0:
            totals[MISSING] += 1
            continue
        known = numbers[slot].tolist()
        if semantic[place]:
            totals[SEMANTIC] += known[LINE_TOKENS]
            totals[COST] += known[LINE_COST]
            totals[SLASHED] += not known[SEAMLESS]
            last = slot
        else:
            totals[TURNS] += 1
            totals[RECENT] += known[TURN_TOKENS]
            totals[COST] += known[TURN_COST]
        totals[LONGEST] = max(int(totals[LONGEST]), known[CHARS])
        totals[BYTES] += bounds[slot, FORMS] - bounds[slot, 0]
    if last >= 0:  # nothing stands behind the last line
        totals[SEMANTIC] += numbers[last, LAST_LINE_TOKENS] - numbers[last, LINE_TOKENS]


def join_answer(
    stored: UInt8,
    bounds: Int32,
    laid: Int64,
    scores: Float64,
    scored: Int32,
    known: UInt32,
    tails: bytes,
    tail_ends: Int64,
    keys: bytes,
    pieces: bytes,
    ends: Int64,
    question: bytes,
    asked: bytes,
    out: UInt8,
) -> int:
    """Write what an answer says of its messages: the body for a model's API, the text, the items, the messages.

    Those of their own stand in the order in which they come; references follow in one message, a title above their
    lines; the question is last. Return how many bytes.

    Parameters
    ----------
    stored, bounds : uint8[b], int32[s, FORMS + 1]
        The forms of messages, and by slot where each ends and the next begins.
    laid : int64[LAID, k]
        As `lay_out` wrote it, all of them on the page, k > 0, each of a kind that is `known`.
    scores, scored : float64[s], int32[s] or int32[0]
        The score of each candidate; if only some have one, of those at these places, ascending.
    known, tails, tail_ends : uint32[q], bytes, int64[q]
        The fields that items of a kind end with.
    keys : 6 bytes
        Of the answer's payload (0: none is wanted), of its text, of an item, of its rank and its score, of a message.
    pieces, ends : bytes, int64[8]
        What is the same from question to question, one piece behind the other: how the payload begins and how its body
        does; how the references begin in it, and end; how it ends; the titles of the text's two parts; how the message
        with the references begins.
    question, asked : bytes
        The question in the body, and its field of the answer.
    out : uint8[at least as many as are written], written
    """
    bounds_of_pieces = zip([0, *ends.tolist()], ends.tolist(), strict=False)
    head, opening, begin, end, close, recent, semantic, rendered = (
        pieces[first:last] for first, last in bounds_of_pieces
    )
    slots, ranks, references = laid[SLOT], laid[RANK], laid[IS_REFERENCE]

    def form(i: int, which: int) -> bytes:
        first, last = bounds[slots[i], which : which + 2].tolist()
        return stored[first:last].tobytes()

    every = range(len(slots))
    turns, others = [i for i in every if not references[i]], [i for i in every if references[i]]
    written = bytearray()
    lines = semantic + b"".join(b"\n" + form(i, LINE) for i in others)
    if keys[0]:
        bodies = [form(i, BODY) for i in turns]
        if others:
            bodies.append(begin + b"".join(rb"\n" + form(i, ESCAPED_LINE) for i in others) + end)
        body = opening + b",".join((*bodies, question)) + close
        written += _field(keys[0:1], head + varint(len(body)) + body)
    parts = [recent + b"".join(b"\n" + form(i, LINE) for i in turns)] if turns else []
    written += _field(keys[1:2], b"\n\n".join([*parts, *([lines] if others else [])]))
    tail_starts = [0, *tail_ends.tolist()]
    score_of = dict(zip(scored.tolist() or range(len(scores)), scores, strict=True))
    for i in every:
        kind = known.tolist().index(laid[KIND, i])
        item = form(i, REFERENCE_ITEM if references[i] else ITEM)
        item += (
            keys[3:4] + varint(int(ranks[i])) + keys[4:5] + score_of[int(laid[PLACE, i])].tobytes()
        )
        item += tails[tail_starts[kind] : tail_starts[kind + 1]]
        written += _field(keys[2:3], item)
    written += b"".join(form(i, RENDERED) for i in turns)
    if others:
        shown = b"".join(form(i, ID_FIELD) for i in others)
        written += _field(keys[5:6], rendered + varint(len(lines)) + lines + shown)
    written += asked
    out[: len(written)] = list(written)
    return len(written)


def _field(key: bytes, content: bytes) -> bytes:
    return key + varint(len(content)) + content
