"""Imports of both clients against a server on a real socket."""

import threading

import pytest

from backscroll import AsyncClient, Client, Message
from tests.clients.python.calls_kit import MIB, lines, wait_until
from tests.clients.python.fake_server import THREAD_NAME


def test_import_takes_messages_and_batches_of_them(client, fake):
    progress = []
    mixed = [Message("a", "ann", "1", channel="attic"), lines(1_200), Message("b", "ann", "2")]
    summary = client.import_messages(mixed, channel="room", progress=progress.append)
    assert summary.stored_count == 1_202
    assert progress == [1_000, 1_202]
    assert len(fake.channels["room"]) == 1_201
    assert len(fake.channels["attic"]) == 1


def test_import_again_changes_nothing(client):
    assert client.import_messages(lines(10), channel="room").stored_count == 10
    assert client.import_messages(iter(lines(10)), channel="room").duplicate_count == 10
    assert client.import_messages([]).stored_count == 0


def test_import_counts_what_no_call_can_carry(client):
    giant = Message("giant", "ann", "x" * (9 * MIB))
    summary = client.import_messages([giant, *lines(2)], channel="room")
    assert (summary.stored_count, summary.refused_count) == (2, 1)
    assert summary.problems[0].message_id == "giant"


def test_an_error_of_the_callers_iterable_comes_back_as_it_is(client, fake):
    def broken():
        yield lines(1_001)
        wait_until(lambda: fake.requests("ImportMessages"))
        raise KeyError("the source broke")

    with pytest.raises(KeyError, match="the source broke"):
        client.import_messages(broken(), channel="room")
    assert fake.ended.wait(60)


def test_a_failed_call_inside_the_callers_iterable_is_the_callers(client):
    import grpc

    class TheirCall(grpc.RpcError):
        pass

    def broken():
        yield lines(10)
        raise TheirCall("another server's business")

    with pytest.raises(TheirCall):
        client.import_messages(broken(), channel="room")


def test_an_import_that_fails_midway_stops_reading(client, fake, fakes):
    import grpc

    fake.fail(
        "ImportMessages", fakes.status_of(grpc.StatusCode.UNAVAILABLE, reason="STORE_READ_ONLY")
    )
    taken = []

    def endless():
        for n in range(10**9):
            taken.append(n)
            yield lines(1_000, "x" * 1_000)

    with pytest.raises(Exception, match="STORE_READ_ONLY") as caught:
        client.import_messages(endless(), channel="room")
    assert type(caught.value).__name__ == "Unavailable"
    assert len(taken) < 100
    assert len(fake.requests("ImportMessages")) == 1  # not retried


def test_import_reads_on_the_callers_thread(fake):
    threads = set()

    def messages():
        for message in lines(3):
            threads.add(threading.current_thread())
            yield message

    with Client(fake.address) as client:
        client.import_messages(messages(), channel="room")
    assert threads == {threading.current_thread()}


def _threads_of_clients():
    """How many threads there are beside those that answer in the same process, as many as calls met each other."""
    return sum(not one.name.startswith(THREAD_NAME) for one in threading.enumerate())


def test_import_leaves_no_thread_behind(fake):
    def broken():
        yield lines(10)
        raise KeyError

    with Client(fake.address) as client:
        before = _threads_of_clients()
        for _ in range(5):
            with pytest.raises(KeyError):
                client.import_messages(broken(), channel="room")
        wait_until(lambda: _threads_of_clients() <= before)
        assert _threads_of_clients() <= before


async def test_import_takes_an_asynchronous_iterable(fake):
    async def messages():
        for message in lines(3):
            yield message
        yield lines(5)

    async with AsyncClient(fake.address) as client:
        summary = await client.import_messages(messages(), channel="room")
    assert (summary.stored_count, summary.duplicate_count) == (5, 3)


@pytest.mark.slow
def test_a_server_that_does_not_take_holds_the_import_back(client, fake):
    """Back-pressure: what is read and not yet taken is bounded, far below what there is."""
    taken = []
    batch = [Message(f"m{n}", "ann", "x" * 60_000).to_proto() for n in range(50)]  # 3 MB
    fake.hold.clear()
    release = threading.Timer(1.5, lambda: (taken.append("released"), fake.hold.set()))
    release.start()

    def messages():
        for n in range(60):
            taken.append(n)
            yield batch

    client.import_messages(messages(), channel="room")
    assert taken.index("released") < 30
    assert taken[-1] == 59
