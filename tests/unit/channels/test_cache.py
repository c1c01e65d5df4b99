"""All hot channels: one load at a time, told of every commit, kept under a byte limit."""

import asyncio

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import Channels
from backscroll_sidecar.domain import ChannelKey, Member, StoredMessage
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Applied, EraseReceipt
from tests.kit.chats import ANN, KEY, PlainCodec, say, stored_in_order
from tests.kit.rooms import ShelfReader


def keys(count: int) -> list[ChannelKey]:
    return [ChannelKey("default", f"c{n}") for n in range(count)]


def full_reader(count: int, lines: int = 3) -> ShelfReader:
    """`count` channels of a few lines each."""
    messages = [
        say(f"{key.channel}-{n}", ANN, "x" * 100, 100 - n, channel=key.channel)
        for key in keys(count)
        for n in range(lines)
    ]
    return ShelfReader(stored_in_order(messages))


def late_row(seq: int, id: str = "new") -> StoredMessage:
    return replace(stored_in_order([say(id, ANN, "new line", 0)])[0], seq=seq)


async def test_one_load_for_all_who_wait():
    """Single flight."""
    reader = full_reader(1)
    reader.delay_s = 0.02
    channels = Channels(reader, PlainCodec())
    views = await asyncio.gather(*(channels.view(keys(1)[0]) for _ in range(20)))
    assert reader.loads == 1
    assert {view.count for view in views} == {3}


async def test_who_gives_up_does_not_stop_the_others():
    """N-09: a cancelled waiter leaves the load to those who still wait."""
    reader = full_reader(1)
    reader.delay_s = 0.05
    channels = Channels(reader, PlainCodec())
    impatient = asyncio.create_task(channels.view(keys(1)[0]))
    patient = asyncio.create_task(channels.view(keys(1)[0]))
    await asyncio.sleep(0.01)
    impatient.cancel()
    assert (await patient).count == 3
    assert reader.loads == 1


async def test_a_load_that_fails_is_tried_again():
    """Law 5: the error reaches who waits, once; the next one loads anew."""
    reader = full_reader(1)
    reader.error = StoreUnavailable("down")
    channels = Channels(reader, PlainCodec())
    with pytest.raises(StoreUnavailable):
        await channels.view(keys(1)[0])
    reader.error = None
    assert (await channels.view(keys(1)[0])).count == 3
    assert len(channels) == 1


async def test_a_channel_never_heard_of_is_not_kept():
    channels = Channels(ShelfReader(), PlainCodec())
    assert await channels.view(KEY) is None
    assert (len(channels), channels.nbytes) == (0, 0)
    assert channels.empty_view(KEY).count == 0


async def test_a_commit_while_loading():
    """Law 2: what is committed during a load is there after it, whether the load saw it or not."""
    for seen in (False, True):
        reader = full_reader(1)
        reader.delay_s = 0.02
        channels, key = Channels(reader, PlainCodec()), keys(1)[0]
        loading = asyncio.create_task(channels.view(key))
        await asyncio.sleep(0.005)
        row = late_row(99)
        if seen:
            reader.stored.append(replace(row, message=replace(row.message, channel=key.channel)))
        channels.publish(key, Applied(stored=(row,)))
        view = await loading
        assert view.message_ids[: view.count] == ["c0-0", "c0-1", "c0-2", "new"]
        assert channels.hot_view(key).count == 4


async def test_an_erasure_while_loading():
    """Law 2, N-10: what was erased during a load is not there after it: the channel is read again."""
    reader = full_reader(1)
    reader.delay_s = 0.02
    channels, key = Channels(reader, PlainCodec()), keys(1)[0]
    loading = asyncio.create_task(channels.view(key))
    await asyncio.sleep(0.005)
    channels.publish(key, Applied(erased_ids=("c0-1",)))
    reader.stored = [row for row in reader.stored if row.message.id != "c0-1"]
    view = await loading
    assert view.message_ids[: view.count] == ["c0-0", "c0-2"]


async def test_an_erasure_forgets_names():
    """N-10, law 2: a hot channel keeps nothing of a person who was erased."""
    reader = full_reader(1)
    reader.members = [Member("u1", "Ann")]
    channels, key = Channels(reader, PlainCodec()), keys(1)[0]
    assert (await channels.view(key)).people.user_for_name("Ann") == "u1"
    reader.members, reader.stored = [], []
    channels.publish(key, Applied(erased_ids=("c0-0", "c0-1", "c0-2")))
    assert channels.hot_view(key) is None
    assert await channels.view(key) is None
    assert channels.nbytes == 0


async def test_an_erased_member_without_messages():
    """N-10, law 2: an erasure that took no row still makes the channel forget the name."""
    reader = full_reader(1)
    reader.members = [Member("u7", "Zoe")]
    channels, key = Channels(reader, PlainCodec()), keys(1)[0]
    assert (await channels.view(key)).people.user_for_name("Zoe") == "u7"
    reader.members = []
    channels.publish(key, Applied(receipt=EraseReceipt({"members": 1})))
    assert (await channels.view(key)).people.user_for_name("Zoe") is None


async def test_commits_to_cold_channels_cost_nothing():
    channels = Channels(full_reader(1), PlainCodec())
    channels.publish(keys(1)[0], Applied(stored=(late_row(9),)))
    assert len(channels) == 0


async def test_the_oldest_goes_first():
    """Hot channels are dropped by bytes, the least recently used first; the one in use stays."""
    reader = full_reader(5)
    one = Channels(reader, PlainCodec())
    await one.view(keys(1)[0])
    room_for_three = 3 * one.nbytes + 10
    channels = Channels(reader, PlainCodec(), max_bytes=room_for_three)
    for key in keys(3):
        await channels.view(key)
    assert channels.hot_view(keys(3)[0]) is not None  # used again: now the second is the oldest
    await channels.view(keys(4)[3])
    assert [channels.hot_view(key) is not None for key in keys(4)] == [True, False, True, True]
    assert channels.nbytes <= room_for_three
    tiny = Channels(reader, PlainCodec(), max_bytes=1)
    for key in keys(3):
        assert (await tiny.view(key)).count == 3
        assert len(tiny) == 1


async def test_one_channel_larger_than_the_limit_stays_beside_the_others(caplog):
    """Uses of others do not push it out, nor it them; of two such the one used last stays. It is said once."""
    reader = full_reader(3)
    large, small, other = keys(3)
    one = Channels(reader, PlainCodec())
    await one.view(small)
    channels = Channels(reader, PlainCodec(), max_bytes=2 * one.nbytes + 10)
    await channels.view(large)
    rows = tuple(late_row(10 + n, f"n{n}") for n in range(600))
    channels.publish(large, Applied(stored=rows))
    for key in (small, large, other, large, small):
        await channels.view(key)
    assert channels.hot(large).view().count == 603
    assert (len(channels), reader.loads) == (3, 4), (
        "one of the loads was of the channel for the size"
    )
    channels.publish(small, Applied(stored=rows))
    assert channels.hot_view(large) is None
    assert channels.hot_view(small).count == 603
    said = [one.getMessage() for one in caplog.records if "hot_channel_bytes" in one.getMessage()]
    assert len(said) == 1


async def test_a_channel_larger_than_the_limit_goes_when_the_others_need_the_room():
    """Least recently used as any: it is not kept for ever."""
    reader = full_reader(4)
    large, *others = keys(4)
    one = Channels(reader, PlainCodec())
    await one.view(large)
    channels = Channels(reader, PlainCodec(), max_bytes=2 * one.nbytes + 10)
    await channels.view(large)
    channels.publish(large, Applied(stored=tuple(late_row(10 + n, f"n{n}") for n in range(600))))
    for key in others:
        await channels.view(key)
    assert channels.hot_view(large) is None
    assert len(channels) == 2


async def test_growing_channels_push_others_out():
    """The limit holds for channels that grow by commits, not only at loads."""
    reader = full_reader(2)
    channels = Channels(reader, PlainCodec(), max_bytes=60_000)
    for key in keys(2):
        await channels.view(key)
    key = keys(2)[1]
    for n in range(200):
        row = late_row(10 + n, f"n{n}")
        channels.publish(key, Applied(stored=(row,)))
    assert channels.hot_view(keys(2)[0]) is None
    assert channels.hot_view(key).count == 203
    assert len(channels) == 1


async def test_dropped_is_loaded_again():
    reader = full_reader(1)
    channels, key = Channels(reader, PlainCodec()), keys(1)[0]
    before = await channels.view(key)
    channels.drop(key)
    assert (channels.hot_view(key), channels.nbytes) == (None, 0)
    after = await channels.view(key)
    assert (reader.loads, after.count) == (2, before.count)
    assert channels.nbytes > 0


async def test_all_a_user_said():
    """S1-03: N newest lines of one user across channels, oldest first, without edges of their channels."""
    lines = [
        say(f"m{n}", ANN, f"line {n}", 100 - n, channel=f"c{n % 3}", reply_to="m0")
        for n in range(6)
    ]
    channels = Channels(ShelfReader(stored_in_order(lines)), PlainCodec())
    view = await channels.view_of_user("default", "u1", 4)
    assert view.message_ids[: view.count] == ["m2", "m3", "m4", "m5"]
    assert view.columns.parent.tolist() == [-1] * 4
    assert await channels.view_of_user("default", "nobody", 4) is None
