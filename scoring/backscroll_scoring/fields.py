"""Records as fields of a protobuf message: many small pieces of bytes joined at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import kernels_answers
from .arrays import Float64, Int64, UInt32

VARINT_BYTES = 10
"""The most that a number takes."""
RECORD_BYTES = 11 + 2 * VARINT_BYTES
"""The most that a record takes beside its body and its tail: three keys, a score, its size and its number."""


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """The fields that a record ends with, by its kind. Make one with `of`.

    Attributes
    ----------
    known : uint32[k]
    joined : bytes
        One tail behind the other.
    ends : int64[k]
        Where each ends.
    longest : int
        Bytes.
    """

    known: UInt32
    joined: bytes
    ends: Int64
    longest: int

    @classmethod
    def of(cls, kinds: Sequence[int], tails: Sequence[bytes]) -> Tails:
        """The tail of each kind."""
        sizes = np.array([len(one) for one in tails], np.int64)
        longest = int(sizes.max(initial=0))
        return cls(np.array(kinds, np.uint32), b"".join(tails), sizes.cumsum(), longest)


def join_records(
    keys: bytes,
    bodies: Sequence[bytes],
    numbers: Sequence[int],
    scores: Float64,
    kinds: Sequence[int] | UInt32,
    tails: Tails,
) -> bytes:
    """Write n records as fields of a protobuf message, one behind the other.

    A record is its key and its size, then its body, its number and its score, each of the two behind a key, and the
    tail of its kind.

    Parameters
    ----------
    keys : 3 bytes
        Of a record, of its number (a varint) and of its score (8 bytes), each of one byte.
    bodies, numbers, scores, kinds : n each
        The fields that a record begins with, behind their size (a varint); a number >= 0; a score; one of
        `tails.known`.
    """
    joined = b"".join(bodies)
    most = len(joined) + len(bodies) * (RECORD_BYTES + tails.longest)
    out = np.empty(most, np.uint8)
    used = kernels_answers.join_records(
        keys,
        joined,
        np.asarray(numbers, np.int64),
        scores,
        np.asarray(kinds, np.uint32),
        tails.known,
        tails.joined,
        tails.ends,
        out,
    )
    return out[:used].tobytes()
