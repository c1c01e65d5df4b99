"""Server-sent events, however the bytes are cut."""

from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.models.sse import event_data
from backscroll_sidecar.ports import ModelError, ModelFault

BODY = (
    ': ping\r\n\r\ndata: {"a": "猫"}\n\nevent: x\nid: 1\ndata:{"b":\r\ndata: "🐟\u2028\u0085"}\n\n'
    "retry: 5\n\n\n\ndata: [DONE]\r\r"
).encode()
EVENTS = [
    '{"a": "猫"}'.encode(),
    '{"b":\n"🐟\u2028\u0085"}'.encode(),
    b"[DONE]",
]


async def each(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def read(*pieces: bytes) -> list[bytes]:
    return [data async for events in event_data(each(pieces)) for data in events]


@given(st.lists(st.integers(0, len(BODY)), max_size=40))
async def test_any_pieces_give_the_same_events(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    assert await read(*(BODY[a:b] for a, b in pairwise(places))) == EVENTS


async def test_every_byte_alone() -> None:
    assert await read(*(bytes([byte]) for byte in BODY)) == EVENTS


async def test_an_event_is_there_with_its_last_byte() -> None:
    """Nothing waits for the piece after it."""
    heard = []

    async def body() -> AsyncIterator[bytes]:
        for n in range(3):
            yield b"data: %d\n" % n
            assert len(heard) == n
            yield b"\n"
            assert len(heard) == n + 1

    async for events in event_data(body()):
        heard += events
    assert heard == [b"0", b"1", b"2"]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("last", [b"[DONE]", b'{"a": 1}'])
async def test_the_last_event_needs_no_blank_line(last: bytes, end: bytes) -> None:
    assert await read(b"data: 1\n\n", b"data: " + last + end) == [b"1", last]


@pytest.mark.parametrize(
    "half", [b"d", b"data", b"data:", b'data: {"a', b"data: [DO", b'data: {"a":\n']
)
async def test_a_body_that_ends_inside_an_event_was_cut(half: bytes) -> None:
    events = event_data(each([b"data: 1\n\n", half]))
    assert await anext(events) == [b"1"]
    with pytest.raises(ModelError) as cut:
        await anext(events)
    assert cut.value.fault is ModelFault.CONNECTION


@pytest.mark.parametrize(
    "rest", [b"", b": pin", b"<html>", b"event: done", b"data of nobody\n", b"\n\n"]
)
async def test_what_is_no_event_is_nobodys_loss(rest: bytes) -> None:
    assert await read(b"data: 1\n\n", rest) == [b"1"]
