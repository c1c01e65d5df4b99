"""Anything at all: bytes, frames and conversations by lot."""

import asyncio
import gzip
import itertools
import random
import socket
from collections.abc import Sequence

import hpack
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.edge.bind_policy import Address, Reach
from backscroll_sidecar.edge.http2.frames import GOAWAY, PREFACE, ErrorCode, frame
from backscroll_sidecar.edge.listeners import Listeners
from tests.integration.edge.http2.peer import CALL, GOOD, HELLO, message
from tests.integration.edge.http2.serving import SHAPES, until
from tests.integration.edge.http2.wire import hung_up, settle, wired
from tests.kit.endpoints import endpoints
from tests.kit.examples import examples


async def survived(reads: Sequence[bytes]) -> None:
    """Whatever was read: nothing is raised, no failure of ours, whatever is whole is answered, nothing is left."""
    before = asyncio.all_tasks()
    wire = wired(100_000)
    for one in reads:
        if not wire.is_shut:
            wire.connection.data_received(one)
        await asyncio.sleep(0)
    await settle(wire)
    codes = [
        ErrorCode(int.from_bytes(one.body[4:8], "big"))
        for one in wire.frames()
        if one.kind == GOAWAY
    ]
    assert ErrorCode.INTERNAL_ERROR not in codes
    assert wire.is_shut == bool(codes)
    for stream in wire.connection._streams.values():
        waits = not stream.has_ended  # for the client to say more
        assert waits or stream._unsent, "neither answered nor held back by a window"
    await hung_up(wire, before)


@settings(max_examples=examples(150))
@given(st.lists(st.binary(max_size=60), max_size=5), st.booleans())
async def test_any_bytes_end_in_an_answer_or_a_farewell(
    reads: list[bytes], is_greeted: bool
) -> None:
    await survived([HELLO, *reads] if is_greeted else reads)


FRAMES = st.builds(
    frame,
    st.integers(0, 11),
    st.sampled_from([0, 1, 4, 5, 8, 9, 0x0D, 0x20, 0x2D, 0xFF]),
    st.sampled_from([0, 1, 2, 3, 5, 7, 2**31 - 1, 2**32 - 1]),
    st.one_of(
        st.sampled_from(
            [b"", bytes(4), b"\0\0\0\x08", b"\x7f\xff\xff\xff", bytes(5), bytes(8), b"\0\4\0\0\0\0",
             message(b"text"), message(gzip.compress(b"x", mtime=0), 1), bytes(hpack.Encoder().encode(CALL))]
        ),
        st.binary(max_size=30),
    ),
)  # fmt: skip


@settings(max_examples=examples(250))
@given(st.lists(FRAMES, max_size=12))
async def test_any_frames_end_in_an_answer_or_a_farewell(given_frames: list[bytes]) -> None:
    await survived([HELLO, *given_frames])


@settings(max_examples=examples(250))
@given(st.integers(0, 2**32))
async def test_a_good_conversation_with_faults_ends_in_answers_or_a_farewell(seed: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(GOOD)
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        at = chance.randrange(len(PREFACE) if chance.random() < 0.95 else 0, len(raw))
        match chance.randrange(5):
            case 0:
                raw[at] = chance.randrange(256)
            case 1:
                raw[at] ^= 1 << chance.randrange(8)
            case 2:
                del raw[at : at + chance.choice([1, 4, 9, 30])]
            case 3:
                raw[at:at] = chance.randbytes(chance.choice([1, 4, 9, 30]))
            case _:
                raw[at:at] = raw[at : at + chance.choice([9, 13, 50])]
    cuts = sorted(chance.choices(range(len(raw)), k=chance.choice([0, 1, 10])))
    await survived([bytes(raw[a:b]) for a, b in itertools.pairwise([0, *cuts, len(raw)])])


async def test_a_good_conversation_without_faults_is_answered_whole() -> None:
    """What the one above starts from."""
    await survived([GOOD])


async def test_what_is_small_is_sent_at_once() -> None:
    """TCP_NODELAY, whatever the loop: asyncio sets it only on sockets that say they are TCP's."""
    listeners = Listeners(endpoints(**SHAPES))
    target = listeners.bind(Address("127.0.0.1", 0, Reach.LOOPBACK))
    await listeners.start()
    _, writer = await asyncio.open_connection("127.0.0.1", int(target.rsplit(":", 1)[1]))
    known = listeners._local._connections
    await until(lambda: known, "it is connected")
    accepted = next(iter(known))._transport.get_extra_info("socket")
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    writer.close()
    await listeners.stop(0.0)
