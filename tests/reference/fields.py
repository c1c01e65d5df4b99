"""The specification of `kernels_answers.join_records` in plain Python; see `reference`."""

from __future__ import annotations

from backscroll_scoring.arrays import Float64, Int64, UInt8, UInt32


def varint(value: int) -> bytes:
    """Encode a number that is not negative in protobuf's base 128, the lowest seven bits first.

    https://protobuf.dev/programming-guides/encoding/#varints
    """
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _read(encoded: bytes, start: int) -> tuple[int, int]:
    """Decode the varint that begins at `start`; return where it ends, too."""
    value = shift = 0
    while True:
        byte = encoded[start]
        value |= (byte & 0x7F) << shift
        start, shift = start + 1, shift + 7
        if byte < 0x80:
            return value, start


def join_records(
    keys: bytes,
    bodies: bytes,
    numbers: Int64,
    scores: Float64,
    kinds: UInt32,
    known: UInt32,
    tails: bytes,
    tail_ends: Int64,
    out: UInt8,
) -> int:
    """Write records as fields of a protobuf message, one behind the other; return how many bytes.

    A record is its key and its size, then its body, its number and its score, each of the two behind
    a key, and the tail of its kind.

    Parameters
    ----------
    keys : 3 bytes
        Of a record, of a number (a varint), of a score (8 bytes), each of one byte.
    bodies : bytes
        The fields that each record begins with, one record behind the other, each behind its size (a varint).
    numbers : int64[n]
        Not negative.
    scores : float64[n]
    kinds : uint32[n]
        Each one of `known`.
    known, tails, tail_ends : uint32[k], bytes, int64[k]
        The fields that records of a kind end with, and where those of each kind end.
    out : uint8[at least as many as are written], written
    """
    of_record, of_number, of_score = (bytes((key,)) for key in keys)
    ends = [0, *tail_ends.tolist()]
    written, start = bytearray(), 0
    for i, number in enumerate(numbers.tolist()):
        size, start = _read(bodies, start)
        kind = known.tolist().index(kinds[i])
        record = bodies[start : start + size] + of_number + varint(number)
        record += of_score + scores[i].tobytes()
        record += tails[ends[kind] : ends[kind + 1]]
        written += of_record + varint(len(record)) + record
        start += size
    out[: len(written)] = list(written)
    return len(written)
