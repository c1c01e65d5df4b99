"""Frames as they are packed and unpacked: every byte by RFC 9113, section 4.1 and 6."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.edge.http2 import frames
from backscroll_sidecar.edge.http2.frames import ConnectionFault, ErrorCode

STREAM_IDS = st.integers(0, 2**31 - 1)
BODIES = st.binary(max_size=200)


def parts(raw: bytes) -> tuple[int, int, int, int, bytes]:
    """Length, kind, flags, stream, body: read on their own, not by the names of the sources."""
    size = int.from_bytes(raw[:3], "big")
    return size, raw[3], raw[4], int.from_bytes(raw[5:9], "big"), raw[9:]


@given(st.integers(0, 255), st.integers(0, 255), STREAM_IDS, BODIES)
def test_a_frame_says_its_length_kind_flags_and_stream(
    kind: int, flags: int, stream_id: int, body: bytes
) -> None:
    assert parts(frames.frame(kind, flags, stream_id, body)) == (
        len(body), kind, flags, stream_id, body,
    )  # fmt: skip


@pytest.mark.parametrize("size", [0, 1, 255, 256, 16_384, 65_535, 65_536, 2**24 - 1])
def test_the_length_of_a_frame_has_24_bits(size: int) -> None:
    raw = frames.frame(frames.DATA, 0, 1, bytes(size))
    assert parts(raw)[0] == size
    assert len(raw) == size + 9


def test_kinds_flags_and_settings_have_the_numbers_of_the_rfc() -> None:
    assert tuple(range(10)) == (
        frames.DATA, frames.HEADERS, frames.PRIORITY, frames.RST_STREAM, frames.SETTINGS,
        frames.PUSH_PROMISE, frames.PING, frames.GOAWAY, frames.WINDOW_UPDATE, frames.CONTINUATION,
    )  # fmt: skip
    assert (frames.END_STREAM, frames.ACK, frames.END_HEADERS) == (1, 1, 4)
    assert (frames.PADDED, frames.HAS_PRIORITY) == (8, 32)
    assert frames.MAX_CONCURRENT_STREAMS == 3
    assert frames.INITIAL_WINDOW_SIZE == 4
    assert frames.MAX_FRAME_SIZE == 5
    assert frames.MAX_HEADER_LIST_SIZE == 6
    assert bytes.fromhex("505249202a20485454502f322e300d0a0d0a534d0d0a0d0a") == frames.PREFACE


def test_settings_are_pairs_of_16_and_32_bits() -> None:
    raw = frames.settings((frames.INITIAL_WINDOW_SIZE, 2**31 - 1), (frames.MAX_FRAME_SIZE, 16_384))
    size, kind, flags, stream_id, body = parts(raw)
    assert (size, kind, flags, stream_id) == (12, 4, 0, 0)
    assert list(struct.iter_unpack(">HI", body)) == [(4, 2**31 - 1), (5, 16_384)]
    assert parts(frames.settings())[0] == 0


def test_small_frames_carry_their_number() -> None:
    assert parts(frames.window_update(7, 2**31 - 1)) == (4, 8, 0, 7, b"\x7f\xff\xff\xff")
    assert parts(frames.reset(9, ErrorCode.CANCEL)) == (4, 3, 0, 9, b"\0\0\0\x08")


@given(STREAM_IDS, st.sampled_from(ErrorCode), st.text(max_size=50))
def test_a_farewell_says_the_last_stream_why_and_a_text(
    last: int, code: ErrorCode, text: str
) -> None:
    _, kind, flags, stream_id, body = parts(frames.goaway(last, code, text))
    assert (kind, flags, stream_id) == (7, 0, 0)
    assert struct.unpack(">II", body[:8]) == (last, code)
    assert body[8:].decode() == text


@given(BODIES, st.integers(0, 255), st.integers(0, 255))
def test_padding_is_taken_off(content: bytes, padding: int, other_flags: int) -> None:
    padded = bytes((padding,)) + content + bytes(padding)
    assert frames.unpadded(frames.PADDED | other_flags, padded) == content
    assert frames.unpadded(other_flags & ~frames.PADDED, content) == content


@given(st.integers(0, 255), st.integers(0, 255))
def test_padding_that_leaves_no_room_for_its_own_length_is_refused(padding: int, rest: int) -> None:
    body = bytes((padding,)) + bytes(rest)
    if padding <= rest:
        assert frames.unpadded(frames.PADDED, body) == bytes(rest - padding)
        return
    with pytest.raises(ConnectionFault) as caught:
        frames.unpadded(frames.PADDED, body)
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


def test_a_padded_frame_without_even_a_length_is_refused() -> None:
    with pytest.raises(ConnectionFault) as caught:
        frames.unpadded(frames.PADDED, b"")
    assert caught.value.code in {ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR}


@given(BODIES)
def test_a_priority_is_five_bytes_before_the_headers(content: bytes) -> None:
    assert frames.without_priority(frames.HAS_PRIORITY, b"12345" + content) == content
    assert frames.without_priority(frames.END_HEADERS, content) == content


@pytest.mark.parametrize("size", range(5))
def test_headers_too_short_for_their_priority_are_refused(size: int) -> None:
    with pytest.raises(ConnectionFault) as caught:
        frames.without_priority(frames.HAS_PRIORITY, bytes(size))
    assert caught.value.code in {ErrorCode.PROTOCOL_ERROR, ErrorCode.FRAME_SIZE_ERROR}


def test_a_body_of_another_size_than_it_must_have_is_refused() -> None:
    assert frames.sized(b"1234", 4, "RST_STREAM") == b"1234"
    with pytest.raises(ConnectionFault, match="RST_STREAM has 3 bytes") as caught:
        frames.sized(b"123", 4, "RST_STREAM")
    assert caught.value.code is ErrorCode.FRAME_SIZE_ERROR
