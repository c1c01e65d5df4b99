"""Chunks are joined and nothing else: whatever the cuts, an HTTP library reads the same from fewer chunks."""

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.models.chunk_merger import BrokenChunksError, ChunkMerger

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(pieces: list[bytes], end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + end


def merged(raw: bytes, cuts: list[int]) -> list[bytes]:
    merger, places = ChunkMerger(), [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    merger.expect()
    return [merger.feed(raw[a:b]) for a, b in pairwise(places)]


def read(raw: bytes) -> tuple[bytes, int, bool]:
    """What h11 makes of an answer: its body, how many pieces it came in, whether it is whole."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("host", "a")]))
    client.send(h11.EndOfMessage())
    if raw:
        client.receive_data(raw)
    body, pieces = b"", 0
    while (event := client.next_event()) is not h11.NEED_DATA:
        if isinstance(event, h11.Data):
            body, pieces = body + event.data, pieces + 1
        elif isinstance(event, h11.EndOfMessage):
            return body, pieces, True
    return body, pieces, False


BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=12)
ENDS = st.sampled_from(
    [b"0\r\n\r\n", b"00\r\n\r\n", b"0\r\nx-t: 1\r\n\r\n", b"5;a=b\r\nhello\r\n0\r\n\r\n", b"3\r\nab", b"1", b""]
)  # fmt: skip
HEADS = st.sampled_from(
    [HEAD, b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" + HEAD, HEAD.replace(b"\r\n", b"\n")]
)


@given(BODIES, ENDS, HEADS, st.lists(st.integers(0, 2_000), max_size=12))
def test_the_library_reads_the_same(pieces, end, head, cuts):
    raw = head + chunked(pieces, end)
    plain, joined = read(raw), read(b"".join(merged(raw, cuts)))
    assert (joined[0], joined[2]) == (plain[0], plain[2])


@given(BODIES, st.lists(st.integers(0, 2_000), max_size=6))
def test_nothing_is_held_back(pieces, cuts):
    """At every cut the library has all the data that it would have had."""
    raw = HEAD + chunked(pieces)
    places = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    out = merged(raw, cuts)
    for n, end in enumerate(places[1:], 1):
        assert read(b"".join(out[:n]))[0] == read(raw[:end])[0]


def test_what_comes_together_is_one_chunk():
    assert read(HEAD + chunked([b"a"] * 60))[1] == 60
    assert read(b"".join(merged(HEAD + chunked([b"a"] * 60), [])))[1] == 1


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"]
)
def test_other_bodies_stay_as_they_are(head):
    raw = head + b"3\r\nabc\r\n3\r\nabc\r\n"
    assert merged(raw, [len(head) + 5]) == [raw[: len(head) + 5], raw[len(head) + 5 :]]


def test_each_answer_of_a_connection_is_read_anew():
    merger = ChunkMerger()
    for _ in range(3):
        merger.expect()
        assert merger.feed(HEAD + chunked([b"a", b"b"])) == HEAD + chunked([b"ab"])


def test_a_chunk_longer_than_it_said():
    with pytest.raises(BrokenChunksError):
        merged(HEAD + b"3\r\nabcdef\r\n", [])
