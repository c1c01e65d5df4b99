"""Header blocks: read as a decoder without a memory reads them, and sent so that any decoder can read them."""

import base64
from typing import Any
from urllib.parse import unquote_to_bytes

import hpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.edge.http2 import messages as headers
from backscroll_sidecar.edge.http2.frames import ConnectionFault, ErrorCode
from backscroll_sidecar.edge.http2.messages import Asked, HeaderReader
from tests.kit.examples import examples

CALL = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/a.Service/Method"),
    (":authority", "localhost"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
)


def block(*more: tuple[str, str | bytes], call: Any = CALL, without: str = "") -> bytes:
    fields: Any = [one for one in (*call, *more) if one[0] != without]
    return bytes(hpack.Encoder().encode(fields))


def read(*more: tuple[str, str | bytes], without: str = "") -> Asked:
    return HeaderReader().read(block(*more, without=without))


def plain(raw: bytes) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in hpack.Decoder().decode(raw)]


# --- the memory of known blocks ------------------------------------------------------------------------

NAMES = st.sampled_from(["user", "tenant", "trace", "x", "y", "z"])
VALUES = st.sampled_from(["", "a", "b", "long" * 30, "very long" * 90])
FIELDS = st.lists(st.tuples(NAMES, VALUES, st.booleans()), max_size=5)
PATHS = st.sampled_from(["/a/B", "/a/C", "/a/D" + "d" * 300])
CALLS = st.tuples(PATHS, FIELDS, st.booleans(), st.sampled_from(["", "1S", "20m"]))
SIZES = st.sampled_from([None, None, None, 0, 60, 200, 1_000, 4_096])


def fields_of(call: Any) -> list[Any]:
    path, more, _, timeout = call
    timed = [("grpc-timeout", timeout, False)] if timeout else []
    return [
        *((n, v) for n, v in CALL if n not in {":path", "te"}), (":path", path), *timed, *more,
    ]  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(CALLS, SIZES), min_size=1, max_size=4), st.lists(st.integers(0, 3)))
def test_blocks_are_read_as_a_decoder_without_a_memory_reads_them(
    calls: list[Any], order: list[int]
) -> None:
    """The same calls again and again, so that blocks of mere places come up, stay known, and change their meaning."""
    encoder, decoder, reader = hpack.Encoder(), hpack.Decoder(), HeaderReader()
    for number in [*range(len(calls)), *order, *order]:
        call, size = calls[number % len(calls)]
        if size is not None:
            encoder.header_table_size = size
        raw = bytes(encoder.encode(fields_of(call), huffman=call[2]))
        expected = [(bytes(n).decode(), bytes(v).decode()) for n, v in decoder.decode(raw, raw=True)]  # fmt: skip
        asked = reader.read(raw)
        assert asked.path == dict(expected)[":path"] == call[0]
        assert asked.metadata == tuple(
            one for one in expected if one[0][0] != ":" and one[0] not in {"content-type", "grpc-timeout"}
        )  # fmt: skip
        assert asked.timeout_s == {"": None, "1S": 1.0, "20m": 0.02}[call[3]]
        assert not asked.refusal


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.lists(st.integers(0x80, 0xFF), max_size=6).map(bytes),  # places
            st.sampled_from(
                [b"\x40\x01a\x01b", b"\x40\x01a\x01c", b"\x20", b"\x3f\xe1\x1f", b"\x00\x01a\x01b"]
            ),
            st.binary(max_size=10),
        ),
        max_size=12,
    )
)
def test_any_blocks_are_read_alike_or_refused_alike(blocks: list[bytes]) -> None:
    decoder, reader = hpack.Decoder(), HeaderReader()
    for raw in blocks:
        try:
            fields = list(decoder.decode(raw, raw=True))
        except hpack.HPACKError:
            with pytest.raises(ConnectionFault) as caught:
                reader.read(raw)
            assert caught.value.code is ErrorCode.COMPRESSION_ERROR
            return
        asked = reader.read(raw)
        if asked.metadata:
            assert len(asked.metadata) <= len(fields)
            assert all(one in {bytes(n).decode() for n, _ in fields} for one, _ in asked.metadata)


def test_a_known_block_means_something_else_once_the_table_has_changed() -> None:
    encoder, reader = hpack.Encoder(), HeaderReader()
    first = [*CALL, ("who", "ann")]
    encoder.encode(first)
    reader.read(bytes(block(("who", "ann"))))
    known = bytes(encoder.encode(first))
    assert min(known) >= 0x80  # nothing but places
    for _ in range(3):
        assert reader.read(known).metadata == (("who", "ann"),)
    other = [*CALL, ("who", "bob")]
    assert reader.read(bytes(encoder.encode(other))).metadata == (("who", "bob"),)
    # every place has moved by one: what `known` said is now said by other bytes
    assert reader.read(bytes(encoder.encode(other))).metadata == (("who", "bob"),)
    assert reader.read(bytes(encoder.encode(first))).metadata == (("who", "ann"),)


def test_more_different_blocks_than_are_remembered_are_all_read() -> None:
    encoder, reader = hpack.Encoder(), HeaderReader()
    values = [("a", str(number % 20)) for number in range(20)]
    reader.read(bytes(encoder.encode([*CALL, *values])))
    for round_ in range(2):
        for number in range(headers.KNOWN_BLOCKS + 50):
            chosen = [
                values[number % 20],
                values[number // 20 % 20],
                values[(number + round_) % 20],
            ]
            raw = bytes(encoder.encode([*CALL, *chosen]))
            assert reader.read(raw).metadata == tuple(chosen)


def test_a_block_that_cannot_be_read_is_not_remembered() -> None:
    reader = HeaderReader()
    for _ in range(2):
        with pytest.raises(ConnectionFault):
            reader.read(b"\x80")


@pytest.mark.parametrize(
    "raw",
    [b"\x80", b"\xfe", b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x40", b"\x00\x7f", b"\x3f\xff\xff\x7f",
     b"\x00\x81\xff\x01a", b"\x82\x20", b"\x00\x05ab"],
)  # fmt: skip
def test_what_is_no_block_ends_the_connection(raw: bytes) -> None:
    with pytest.raises(ConnectionFault) as caught:
        HeaderReader().read(raw)
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


def test_a_block_that_unpacks_to_more_than_anybody_sends_ends_the_connection() -> None:
    encoder, reader = hpack.Encoder(), HeaderReader()
    reader.read(bytes(encoder.encode([*CALL, ("a", "x" * 4_000)])))
    with pytest.raises(ConnectionFault):
        reader.read(b"\xbe" * 40)


# --- what a call asks for -------------------------------------------------------------------------------


def test_a_call_is_read() -> None:
    asked = read(("grpc-timeout", "5S"), ("grpc-encoding", "gzip"), ("k", "v"), ("k", "w"))
    assert asked == Asked("/a.Service/Method", (("k", "v"), ("k", "w")), 5.0, "gzip")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2H", 7_200.0), ("3M", 180.0), ("4S", 4.0), ("5m", 0.005), ("6u", 6e-6), ("7n", 7e-9), ("0n", 0.0),
     ("00000001S", 1.0)],
)  # fmt: skip
def test_a_deadline_is_read_in_every_unit(value: str, seconds: float) -> None:
    assert read(("grpc-timeout", value)).timeout_s == pytest.approx(seconds)


def test_the_longest_deadline_is_a_time_a_loop_can_wait_for() -> None:
    timeout_s = read(("grpc-timeout", "99999999H")).timeout_s
    assert timeout_s is not None
    assert 86_400 < timeout_s < 2**31


@pytest.mark.parametrize(
    "value", ["", "S", "1", "1s", "-1S", "1.5S", "123456789S", " 1S", "1S ", "1S\n", "٣S", "1SS"]
)
def test_a_malformed_deadline_is_refused(value: str) -> None:
    asked = read(("grpc-timeout", value.encode()))
    assert dict(plain(asked.refusal)).get("grpc-status") not in {None, "0"}


@given(st.binary(max_size=60), st.booleans(), st.booleans())
def test_binary_metadata_is_read_with_and_without_padding(
    value: bytes, is_padded: bool, is_huffman: bool
) -> None:
    text = base64.b64encode(value).decode()
    fields = [*CALL, ("data-bin", text if is_padded else text.rstrip("="))]
    asked = HeaderReader().read(bytes(hpack.Encoder().encode(fields, huffman=is_huffman)))
    assert asked.metadata == (("data-bin", value),)
    assert not asked.refusal


def test_binary_values_joined_by_commas_are_several() -> None:
    """gRPC over HTTP/2, Custom-Metadata: implementations must split on "," before decoding."""
    asked = read(("data-bin", "b25l,dHdv"))
    assert asked.metadata == (("data-bin", b"one"), ("data-bin", b"two"))


@pytest.mark.parametrize("value", ["a", "a*b=", "ab=c", "\x00", "b25l b25l"])
def test_bad_base64_is_refused_and_ends_no_connection(value: str) -> None:
    assert dict(plain(read(("data-bin", value)).refusal))["grpc-status"] != "0"


@pytest.mark.parametrize("value", [b"caf\xe9", "名".encode(), b"a\tb"])
def test_a_value_that_http_allows_is_no_error(value: bytes) -> None:
    """gRPC over HTTP/2, ASCII-Value: must not error for a valid field value of HTTP; throw it away or accept it."""
    asked = read(("who", value), ("k", "v"))
    assert not asked.refusal
    assert ("k", "v") in asked.metadata


@pytest.mark.parametrize("method", ["GET", "post", "", "PUT"])
def test_another_method_is_answered_405(method: str) -> None:
    asked = HeaderReader().read(block(call=((":method", method), *CALL[1:])))
    assert dict(plain(asked.refusal))[":status"] == "405"


@pytest.mark.parametrize("kind", ["text/html", "application/json", "", "application/grp"])
def test_another_content_type_is_answered_415(kind: str) -> None:
    asked = read(("content-type", kind), without="content-type")
    assert dict(plain(asked.refusal))[":status"] == "415"


@pytest.mark.parametrize("kind", ["application/grpc-web", "application/grpc-web+proto"])
def test_the_protocol_of_browsers_is_another_one(kind: str) -> None:
    """Its trailers come in the body: a client that asks for it cannot read our answer."""
    fields = [one if one[0] != "content-type" else ("content-type", kind) for one in CALL]
    assert dict(plain(HeaderReader().read(block(call=fields)).refusal))[":status"] == "415"


@pytest.mark.parametrize(
    "kind", ["application/grpc", "application/grpc+proto", "application/grpc;x=y"]
)
def test_every_content_type_of_grpc_is_taken(kind: str) -> None:
    fields = [one if one[0] != "content-type" else ("content-type", kind) for one in CALL]
    assert not HeaderReader().read(block(call=fields)).refusal


def test_headers_up_to_the_limit_are_taken_and_more_are_refused() -> None:
    base = sum(len(name) + len(value) + 32 for name, value in CALL)
    room = headers.MAX_METADATA_BYTES - base - 32 - 1
    assert not read(("k", "x" * room)).refusal
    assert dict(plain(read(("k", "x" * (room + 1))).refusal))["grpc-status"] == "8"


@pytest.mark.parametrize("path", [b"", b"\xff", "/名/a".encode()])
def test_odd_paths_are_read_or_refused(path: bytes) -> None:
    asked = HeaderReader().read(block((":path", path), without=":path"))
    assert asked.refusal or isinstance(asked.path, str)


# --- what is sent --------------------------------------------------------------------------------------


@given(st.text(max_size=80))
def test_a_status_text_decodes_back(text: str) -> None:
    sent = dict(plain(headers.trailers(3, text)))
    assert sent["grpc-status"] == "3"
    raw = sent.get("grpc-message", "")
    assert all(" " <= one <= "~" for one in raw)
    assert unquote_to_bytes(raw) == text.encode(errors="replace")


@given(st.text(st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), max_size=3))
def test_a_text_with_lone_surrogates_is_sent_all_the_same(text: str) -> None:
    unquote_to_bytes(dict(plain(headers.trailers(3, text))).get("grpc-message", "")).decode()


@pytest.mark.parametrize(
    "size", [0, 1, 126, 127, 128, 254, 255, 256, 16_510, 16_511, 16_512, 40_000]
)
def test_a_literal_of_any_length_is_read_back(size: int) -> None:
    assert plain(headers.literal("k" * 130, "v" * size)) == [("k" * 130, "v" * size)]


@given(
    st.binary(max_size=100),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
)
def test_trailing_metadata_is_read_back(value: bytes, text: str) -> None:
    sent = plain(headers.trailers(5, "", (("d-bin", value), ("k", text), ("k", "again"))))
    assert sent[1:] == [
        ("d-bin", base64.b64encode(value).decode().rstrip("=")), ("k", text), ("k", "again"),
    ]  # fmt: skip


def test_blocks_that_are_always_the_same_are_right() -> None:
    assert plain(headers.OK_TRAILERS) == [("grpc-status", "0")]
    assert dict(plain(headers.OK_BLOCK)) == {
        ":status": "200",
        "content-type": "application/grpc",
        "grpc-accept-encoding": "identity,deflate,gzip",
    }
    alone = plain(headers.status_block(12, "no"))
    assert alone[0] == (":status", "200")
    assert alone[-2:] == [("grpc-status", "12"), ("grpc-message", "no")]


def test_blocks_that_are_sent_change_no_table() -> None:
    decoder = hpack.Decoder()
    for raw in (headers.OK_BLOCK, headers.status_block(3, "x", (("a-bin", b"1"),))):
        decoder.decode(raw)
    assert not decoder.header_table.dynamic_entries


def test_the_same_block_is_read_anew_once_another_has_changed_the_table() -> None:
    encoder, decoder, reader = hpack.Encoder(), hpack.Decoder(), HeaderReader()

    def both(raw: bytes) -> tuple[Asked, Any]:
        fields = [(bytes(name), bytes(value)) for name, value in decoder.decode(raw, raw=True)]
        return reader.read(raw), fields

    fields: Any = [*CALL, ("a", "1"), ("b", "2")]
    for _ in range(3):
        raw = bytes(encoder.encode(fields))
        asked, _known = both(raw)
        assert asked.metadata == (("a", "1"), ("b", "2"))
    assert min(raw) >= 0x80  # places alone
    both(bytes(encoder.encode([("c", "3")])))
    asked, fields = both(raw)  # each place is now what was one before
    assert asked == headers._asked(fields)
    assert asked.metadata != (("a", "1"), ("b", "2"))
