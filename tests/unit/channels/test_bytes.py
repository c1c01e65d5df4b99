"""What a channel says it takes in memory is what it takes: the byte limit of all channels rests on it."""

import gc
import pickle
import random
import tracemalloc
from collections.abc import Callable

import pytest

from backscroll_sidecar.channels.channel import HotChannel
from backscroll_sidecar.domain import Author
from backscroll_sidecar.ports import Applied
from tests.kit.chats import KEY, PlainCodec, say, stored_in_order

CHARACTERS = "今天编译又失败了因为有人改了参数请检查日志服务器重启网络问题"
CHANNELS = 2


def few_words(rng: random.Random) -> str:
    return " ".join(
        rng.choices(
            ["the", "build", "fails", "again", "on", "linux", "please", "check", "logs"], k=12
        )
    )


def chinese(rng: random.Random) -> str:
    return "".join(rng.choices(CHARACTERS, k=40))


def new_words(rng: random.Random) -> str:
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(12))


def as_read(text: Callable[[random.Random], str], rows: int) -> bytes:
    """Rows as a store would make them, nothing shared with anybody else, once they are unpacked."""
    rng = random.Random(1)
    said = [
        say(f"{rng.getrandbits(128):032x}", Author(f"user{n % 7}", f"Name {n % 7}"), text(rng), rows - n)
        for n in range(rows)
    ]  # fmt: skip
    return pickle.dumps(stored_in_order(said))


def filled(packed: bytes) -> HotChannel:
    """The rows, published one by one and looked at."""
    channel = HotChannel(KEY, PlainCodec())
    for row in pickle.loads(packed):
        channel.publish(Applied(stored=(row,)))
    channel.view()
    return channel


def bytes_taken(packed: bytes) -> tuple[float, int]:
    """What a channel of these rows takes, the mean of some, and what it is said to take."""
    gc.collect()
    tracemalloc.start()
    try:
        channels = [filled(packed) for _ in range(CHANNELS)]
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / CHANNELS, channels[0].nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [few_words, chinese, new_words])
@pytest.mark.parametrize("rows", [1, 10, 300])
def test_bytes_are_counted(text: Callable[[random.Random], str], rows: int) -> None:
    """Never much less than it is, whether rows are few, their script is wide or their words are all new."""
    packed = as_read(text, rows)
    filled(packed)  # what is made once a process is not the channel's
    taken, counted = bytes_taken(packed)
    assert 0.9 * taken <= counted <= 1.6 * taken
