"""Messages cut from the bytes of a stream, however the bytes come."""

import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.edge.http2.messages import MessageReader
from backscroll_sidecar.edge.status import Code, Refused

MAX_BYTES = 10_000
BODIES = st.one_of(st.binary(max_size=40), st.integers(0, 3_000).map(bytes))


def packed(body: bytes, flag: int = 0) -> bytes:
    return bytes((flag,)) + len(body).to_bytes(4, "big") + body


def pieces(raw: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    return [raw[start:end] for start, end in itertools.pairwise(places)]


def read(reader: MessageReader, raw: bytes) -> list[bytes]:
    return [reader.plain(sent) for sent in reader.read(raw)]


def read_all(reader: MessageReader, reads: list[bytes]) -> list[bytes]:
    return [message for one in reads for message in read(reader, one)]


def refusal(raw: bytes, encoding: str = "", max_bytes: int = MAX_BYTES) -> Refused:
    with pytest.raises(Refused) as caught:
        read(MessageReader(encoding, max_bytes), raw)
    return caught.value


@given(
    st.lists(st.tuples(BODIES, st.booleans()), max_size=8),
    st.sampled_from(["gzip", "deflate"]),
    st.lists(st.integers(0, 50_000), max_size=12),
)
def test_any_split_into_reads_gives_the_same_messages(
    messages: list[tuple[bytes, bool]], encoding: str, cuts: list[int]
) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    raw = b"".join(packed(pack(body), 1) if is_zipped else packed(body) for body, is_zipped in messages)  # fmt: skip
    reader = MessageReader(encoding, MAX_BYTES)
    assert read_all(reader, pieces(raw, cuts)) == [body for body, _ in messages]
    assert not reader.held_bytes


@given(st.lists(BODIES, min_size=1, max_size=4), st.data())
def test_a_message_that_is_not_whole_is_held_and_known_to_be(
    messages: list[bytes], data: st.DataObject
) -> None:
    raw = b"".join(map(packed, messages))
    last = len(packed(messages[-1]))
    short = raw[: -data.draw(st.integers(1, last - 1))]
    reader = MessageReader("", MAX_BYTES)
    assert read(reader, short) == messages[:-1]
    assert reader.held_bytes
    assert read(reader, raw[len(short) :]) == messages[-1:]
    assert not reader.held_bytes


def test_byte_by_byte_gives_the_same_messages() -> None:
    raw = packed(b"one") + packed(b"") + packed(gzip.compress(b"three"), 1)
    reads = [raw[at : at + 1] for at in range(len(raw))]
    assert read_all(MessageReader("gzip", MAX_BYTES), reads) == [b"one", b"", b"three"]


def test_no_bytes_are_no_message() -> None:
    reader = MessageReader("", MAX_BYTES)
    assert read(reader, b"") == []
    assert not reader.held_bytes


def test_messages_are_bytes_of_their_own() -> None:
    reader = MessageReader("", MAX_BYTES)
    (alone,) = read(reader, packed(b"alone"))
    first, second = read(reader, packed(b"first") + packed(b"second"))
    assert [type(one) for one in (alone, first, second)] == [bytes] * 3


# --- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads", [1, 2, 3])
def test_a_message_of_just_the_most_bytes_is_read(reads: int) -> None:
    raw = packed(bytes(MAX_BYTES))
    at = len(raw) // reads
    reader = MessageReader("", MAX_BYTES)
    cuts = [at * one for one in range(1, reads)]
    assert read_all(reader, pieces(raw, cuts)) == [bytes(MAX_BYTES)]


TOO_LARGE = packed(bytes(MAX_BYTES + 1))


@pytest.mark.parametrize(
    "raw",
    [TOO_LARGE[:5], TOO_LARGE, b"\0\xff\xff\xff\xff", packed(b"good") + TOO_LARGE[:5]],
    ids=["by its prefix", "at once", "the longest a prefix can say", "behind a good one"],
)
def test_a_message_over_the_limit_is_refused(raw: bytes) -> None:
    bad = refusal(raw)
    assert bad.code is Code.RESOURCE_EXHAUSTED
    assert str(MAX_BYTES) in bad.text


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_unpacked_messages_are_held_to_the_limit(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    most, more = packed(pack(bytes(MAX_BYTES)), 1), packed(pack(bytes(MAX_BYTES + 1)), 1)
    assert read(MessageReader(encoding, MAX_BYTES), most) == [bytes(MAX_BYTES)]
    assert refusal(more, encoding).code is Code.RESOURCE_EXHAUSTED


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = packed(zlib.compress(bytes(20 * 2**20), 9), 1)
    bad = refusal(bomb, "deflate", 100_000)
    assert bad.code is Code.RESOURCE_EXHAUSTED


def test_nothing_is_unpacked_before_somebody_asks_for_it() -> None:
    raw = packed(zlib.compress(bytes(MAX_BYTES)), 1)
    (sent,) = MessageReader("deflate", MAX_BYTES).read(raw)
    assert len(sent.body) < 100


# --- packed messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["snappy", "br", "GZIP", "x" * 5_000])
def test_an_encoding_that_nobody_knows_is_unimplemented(encoding: str) -> None:
    bad = refusal(packed(b"1234", 1), encoding)
    assert bad.code is Code.UNIMPLEMENTED
    assert len(bad.text) < 200


@pytest.mark.parametrize("encoding", ["snappy", "identity", ""])
def test_a_plain_message_needs_no_encoding(encoding: str) -> None:
    assert read(MessageReader(encoding, MAX_BYTES), packed(b"plain")) == [b"plain"]


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_a_packed_message_of_a_call_without_packing_is_internal(encoding: str) -> None:
    """Compression in gRPC, test cases: a flag without an encoding fails with INTERNAL."""
    assert refusal(packed(gzip.compress(b"text"), 1), encoding).code is Code.INTERNAL


@pytest.mark.parametrize("flag", [2, 3, 128, 255])
def test_a_flag_that_is_neither_0_nor_1_is_refused(flag: int) -> None:
    assert refusal(packed(gzip.compress(b"text"), flag), "gzip").code is Code.INTERNAL


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("spoil", [lambda raw: raw[:-1], lambda raw: b"x" + raw, lambda _: b""])
def test_what_cannot_be_unpacked_is_internal(encoding: str, spoil: object) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    assert callable(spoil)
    raw = packed(spoil(pack(b"text" * 50)), 1)
    assert refusal(raw, encoding).code is Code.INTERNAL


def test_gzip_is_no_deflate() -> None:
    assert refusal(packed(gzip.compress(b"a"), 1), "deflate").code is Code.INTERNAL
    assert refusal(packed(zlib.compress(b"a"), 1), "gzip").code is Code.INTERNAL


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "", "no"]))
def test_any_bytes_are_messages_or_a_bad_message(raw: bytes, encoding: str) -> None:
    reader = MessageReader(encoding, 100)
    codes = set()
    found = []
    try:
        found = read(reader, raw)
    except Refused as bad:
        codes.add(bad.code)
    assert all(len(one) <= 100 for one in found)
    assert codes <= {
        Code.RESOURCE_EXHAUSTED, Code.INTERNAL, Code.UNIMPLEMENTED,
    }  # fmt: skip
