"""Records joined to fields, on whatever hypothesis finds. Also run with NUMBA_DISABLE_JIT=1."""

import struct

import numpy as np
from google.protobuf.internal.encoder import _VarintBytes as varint
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import Tails, join_records

KEYS = b"\x0a\x18\x21"
number = st.integers(0, 300) | st.integers(0, 2**63 - 1)
body = st.binary(max_size=5) | st.integers(100, 20_000).map(bytes)
record = st.tuples(body, number, st.floats(), st.integers(0, 5))


def joined(records, tails):
    bodies, numbers, scores, kinds = zip(*records, strict=True) if records else [()] * 4
    sized = [varint(len(one)) + one for one in bodies]
    ends = Tails.of(list(tails), list(tails.values()))
    floats = np.array(scores, np.float64)
    return join_records(KEYS, sized, numbers, floats, kinds, ends)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(record, max_size=4), st.permutations(range(6)), st.lists(body, min_size=6, max_size=6)
)
def test_records(records, kinds, tails):
    """The same bytes, whatever the sizes."""
    given_tails = dict(zip(kinds, tails, strict=True))
    expected = b""
    for content, number, score, kind in records:
        record = content + KEYS[1:2] + varint(number) + KEYS[2:] + struct.pack("<d", score)
        record += given_tails[kind]
        expected += KEYS[:1] + varint(len(record)) + record
    assert joined(records, given_tails) == expected


def test_by_hand():
    """Key, size, body, key, number, key, score, tail; a size or number from 128 on takes two bytes."""
    records = [(b"ab", 5, 0.5, 7), (bytes(200), 300, -1.0, 2**32 - 1)]
    assert joined(records, {2**32 - 1: b"", 7: b"xyz"}) == (
        b"\x0a\x10ab\x18\x05\x21" + struct.pack("<d", 0.5) + b"xyz"
        b"\x0a\xd4\x01" + bytes(200) + b"\x18\xac\x02\x21" + struct.pack("<d", -1.0)
    )
    assert joined([], {1: b"x"}) == b""
