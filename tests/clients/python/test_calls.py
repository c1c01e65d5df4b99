"""Both clients against a server on a real socket: each call does what it says."""

from __future__ import annotations

import math
import threading
import time

import pytest

from backscroll import (
    AppendReport,
    AsyncClient,
    Author,
    Client,
    Member,
    Message,
    NotFound,
    TlsConfig,
    text_of,
)
from backscroll.v1 import history_pb2

MIB = 2**20


def lines(count, text="line"):
    return [Message(f"m{n}", "ann", f"{text} {n}", 1_795_132_800_000 + n) for n in range(count)]


def wait_until(condition, timeout_s=5.0):
    end = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture
def room(fake):
    for message in lines(5):
        fake.append("room", message.to_proto())
    return fake


# --- append ---------------------------------------------------------------------------------------


def test_append_reports_each_message(client):
    report = client.append("room", [*lines(2), Message("", "ann", "x"), *lines(1)])
    assert [result.message_id for result in report.results] == ["m0", "m1", "", "m0"]
    assert (report.stored, report.duplicates) == (2, 1)
    assert [result.field for result in report.problems] == ["id"]
    assert (
        repr(report)
        == "<AppendReport: 4 messages, 2 stored, 1 duplicates, 1 problems: '' refused, missing_id (id)>"
    )


def test_a_report_says_what_became_of_the_first_problem():
    conflict = history_pb2.AppendResult(
        message_id="m1", outcome=history_pb2.APPEND_OUTCOME_CONFLICT
    )
    assert repr(AppendReport((conflict, conflict))) == (
        "<AppendReport: 2 messages, 0 stored, 0 duplicates, 2 problems: 'm1' conflict>"
    )


def test_append_takes_one_message_or_a_generator_or_protobuf(client, fake):
    assert client.append("room", Message("a", "ann", "1")).stored == 1
    assert client.append("room", (message for message in lines(2))).stored == 2
    assert client.append("room", Message("b", "ann", "1").to_proto()).stored == 1
    assert client.append("room", []).results == ()
    assert len(fake.requests("AppendMessages")) == 3


def test_append_splits_by_number(client, fake):
    report = client.append("room", lines(2_500))
    assert [len(request.messages) for request in fake.requests("AppendMessages")] == [
        1_000,
        1_000,
        500,
    ]
    assert [result.message_id for result in report.results] == [f"m{n}" for n in range(2_500)]
    assert report.stored == 2_500


def test_append_splits_by_size(client, fake):
    messages = [Message(f"m{n}", "ann", "猫" * 20_000) for n in range(150)]  # 60 KB each
    assert client.append("room", messages).stored == 150
    sizes = [request.ByteSize() for request in fake.requests("AppendMessages")]
    assert len(sizes) == 3
    assert max(sizes) < 4 * MIB
    assert max(sizes) > 3.3 * MIB


def test_a_message_no_call_can_carry_is_refused_here_and_harms_no_other(client, fake):
    giant = Message("giant", "ann", "x" * (9 * MIB))
    report = client.append("room", [*lines(2), giant, Message("after", "ann", "y")])
    assert [result.message_id for result in report.results] == ["m0", "m1", "giant", "after"]
    (problem,) = report.problems
    assert problem.outcome == history_pb2.APPEND_OUTCOME_REFUSED
    assert problem.refusal == history_pb2.APPEND_REFUSAL_TEXT_TOO_LARGE
    assert problem.field == "parts"
    assert report.stored == 3


# --- build_context --------------------------------------------------------------------------------


def test_a_context_has_what_a_bot_needs(client, room):
    context = client.build_context("room", "那猫呢？", asker="ben", model="gpt", explain=True)
    assert [text_of(item.message) for item in context.items] == [f"line {n}" for n in range(5)]
    assert context.messages[-1] == {"role": "user", "content": "那猫呢？"}
    assert context.payload["messages"][-1]["content"] == "那猫呢？"
    assert "那猫呢？".encode() in context.payload_bytes
    assert context.payload["model"] == "gpt"
    assert context.text == "\n".join(f"line {n}" for n in range(5))
    assert context.explanation.profile == "balanced"
    assert context.tokens.total == 42
    assert context.raw.channel_known
    assert repr(context) == "<Context c1: 5 items, 42 tokens, ranked>"


def test_an_unknown_channel_gives_an_empty_context(client):
    context = client.build_context("nowhere", "hello?")
    assert not context.raw.channel_known
    assert not context.items
    assert not context.degradations
    assert context.explanation is None


def test_a_context_without_payload_says_so(client):
    context = client.build_context("room", "hello?", payload_formats="none")
    with pytest.raises(LookupError, match="without a payload"):
        _ = context.payload


# --- reading --------------------------------------------------------------------------------------


def test_list_messages_walks_the_pages(client, room):
    found = client.list_messages("room", page_size=2)
    assert [stored.message.id for stored in found] == ["m0", "m1", "m2", "m3", "m4"]
    assert [request.page_token for request in room.requests("ListMessages")] == ["", "2", "4"]


@pytest.mark.parametrize(
    ("limit", "page_size", "asked"),
    [(3, None, [3]), (3, 2, [2, 1]), (5, None, [5]), (9, None, [9]), (0, None, [])],
)
def test_list_messages_stops_at_the_limit(client, room, limit, page_size, asked):
    found = client.list_messages("room", newest_first=True, limit=limit, page_size=page_size)
    assert [stored.message.id for stored in found] == ["m4", "m3", "m2", "m1", "m0"][:limit]
    assert [request.limit for request in room.requests("ListMessages")] == asked


def test_wrong_arguments_come_up_before_the_first_page(fake):
    with Client(fake.address) as client, pytest.raises(TypeError):
        client.list_messages("room", limit="x")
    assert not fake.seen


def test_the_small_reads(client, room):
    assert client.get_channel("room").newest_message_id == "m4"
    assert client.get_thread("room", "m1", limit=7).root_message_id == "m1"
    assert room.requests("GetThread")[0].limit == 7
    assert [hit.message.message.id for hit in client.search("room", "line 3")] == ["m3"]
    assert client.search("room", "line 3").exhaustive
    assert [member.user_id for member in client.list_members("room")] == ["ann"]


def test_a_bot_that_was_down_appends_only_what_is_missing(client):
    """P-26: the newest id says where to go on."""
    with pytest.raises(NotFound):
        client.get_channel("room")
    platform = lines(10)
    client.append("room", platform[:6])
    newest = client.get_channel("room")
    missing = [message for message in platform if message.sent_at > newest.newest_sent_at_ms]
    assert client.append("room", missing).stored == 4
    assert client.get_channel("room").message_count == 10


def test_export_gives_every_message(client, room):
    assert [stored.sequence for stored in client.export_messages("room")] == [1, 2, 3, 4, 5]


def test_health_says_what_the_health_service_says(client, fake):
    assert client.health() == "serving"
    fake.health.enter_graceful_shutdown()
    assert client.health() == "not_serving"
    with pytest.raises(NotFound):
        client.health("no.such.Service")


# --- changing -------------------------------------------------------------------------------------


def test_edit_recall_and_erase(client, room):
    edited = client.edit_message(
        "room", "m1", "better", mentions=["ben"], edited_at=1_795_132_800_007
    )
    assert (text_of(edited.message), edited.revision) == ("better", 1)
    request = room.requests("EditMessage")[0]
    assert (request.mentions[0].user_id, request.edited_at_ms) == ("ben", 1_795_132_800_007)
    assert client.recall_message("room", "m1") is None
    assert client.erase("room", message_ids=["m2", "m3"]) == {"messages": 2}
    assert client.erase("room", user_id="ann") == {"messages": 3}


def test_upsert_members_splits_and_takes_one(client, room):
    assert (
        client.upsert_members(
            "room", Member("u", "Una", ["U"], "bot", 1_795_132_800_001, 1_795_132_800_002)
        )
        is None
    )
    client.upsert_members("room", (Member(f"u{n}") for n in range(1_001)))
    client.upsert_members("room", [])
    assert [len(request.members) for request in room.requests("UpsertMembers")] == [1, 1_000, 1]


# --- import ---------------------------------------------------------------------------------------


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
    assert fake.ended.wait(5)


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


def test_import_leaves_no_thread_behind(fake):
    def broken():
        yield lines(10)
        raise KeyError

    with Client(fake.address) as client:
        before = threading.active_count()
        for _ in range(5):
            with pytest.raises(KeyError):
                client.import_messages(broken(), channel="room")
        wait_until(lambda: threading.active_count() <= before + 2)  # the fake server's own
        assert threading.active_count() <= before + 2


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


# --- streams that are left ------------------------------------------------------------------------


def test_leaving_the_loop_ends_the_call(room):
    room.endless_export = True
    with Client(room.address) as client:
        for stored in client.export_messages("room"):
            assert stored.sequence == 1
            break
        assert room.ended.wait(5)


async def test_leaving_the_loop_ends_the_call_async(room):
    import asyncio

    room.endless_export = True
    async with AsyncClient(room.address) as client:
        async for stored in client.export_messages("room"):
            assert stored.sequence == 1
            break
        assert await asyncio.to_thread(room.ended.wait, 5)


# --- connections ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timeout_s", "own", "expected"),
    [
        (10.0, None, 10),
        (3.0, None, 3),
        (3.0, 7.0, 7),
        (3.0, math.inf, None),
        (math.inf, None, None),
    ],
)
def test_every_call_has_a_deadline(connect, fake, timeout_s, own, expected):
    client = connect(fake.address, timeout_s=timeout_s)
    client.build_context("room", "hello", timeout_s=own)
    left = fake.seen[0].seconds_left
    if expected is None:
        assert left is None or left > 10**6
    else:
        assert left == pytest.approx(expected, abs=0.5)


def test_every_method_has_a_deadline(client, room):
    client.append("room", lines(1))
    client.build_context("room", "q")
    client.edit_message("room", "m0", "x")
    client.get_channel("room")
    client.get_thread("room", "m0")
    client.list_members("room")
    client.list_messages("room")
    client.recall_message("room", "m0")
    client.search("room", "x")
    client.upsert_members("room", [Member("u")])
    client.erase("room", message_ids=["m0"])
    assert [seen.seconds_left for seen in room.seen] == pytest.approx([10] * 11, abs=0.5)
    room.seen.clear()
    client.wait_for_index("room")
    client.wait_for_index("room", wait_s=1.5)
    assert [request.timeout_ms for request in room.requests("WaitForIndex")] == [0, 1_500]
    assert [seen.seconds_left for seen in room.seen] == pytest.approx([20, 11.5], abs=0.5)
    assert not room.requests("WaitForIndex")[0].HasField("timeout_ms")
    room.seen.clear()
    client.export_messages("room")
    client.import_messages(lines(1), channel="room")
    assert [seen.seconds_left for seen in room.seen] == pytest.approx([600, 600], abs=5)


def test_the_token_goes_with_every_call(connect, room):
    client = connect(room.address, token="secret")
    client.get_channel("room")
    client.list_messages("room")
    client.export_messages("room")
    client.import_messages(lines(1), channel="room")
    assert [seen.metadata["authorization"] for seen in room.seen] == ["Bearer secret"] * 4


@pytest.mark.parametrize(
    "target",
    [
        "127.0.0.1:1",
        "localhost:1",
        "[::1]:1",
        "unix:/x",
        "dns:///localhost:1",
        "ipv4:127.0.0.9:1",
    ],
)
def test_a_token_may_go_to_this_machine(target):
    Client(target, token="secret").close()


@pytest.mark.parametrize(
    "target", ["10.0.0.1:7171", "backscroll:7171", "dns:///localhost.evil.com:1"]
)
def test_a_token_goes_nowhere_else_in_the_clear(target):
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="unencrypted"):
            kind(target, token="secret")


@pytest.mark.parametrize("token", ["", "secret\n", "geheimnisvolle Tür"])
def test_a_token_no_header_can_carry_is_refused_without_being_shown(token):
    with pytest.raises(ValueError, match="the token") as caught:
        Client(token=token)
    assert "geheim" not in str(caught.value)


def test_a_unix_socket_will_do(connect, fakes, tmp_path):
    with fakes.FakeServer(f"unix:{tmp_path}/s") as fake:
        assert connect(fake.address).append("room", lines(1)).stored == 1


def test_a_web_proxy_is_not_for_us(connect, fake, monkeypatch):
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert connect(fake.address, timeout_s=3).append("room", lines(1)).stored == 1


def test_answers_up_to_16_mib(client, fake):
    for n in range(240):
        fake.append("room", Message(f"m{n}", "ann", "x" * 60_000).to_proto())  # 14.4 MB
    assert len(client.list_messages("room", page_size=1_000)) == 240


def test_tls_both_ways(connect, fakes, tmp_path):
    import subprocess

    import grpc

    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=backscroll.test"),
            *("-addext", "subjectAltName=DNS:backscroll.test"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    key, cert = (tmp_path / "key.pem").read_bytes(), (tmp_path / "cert.pem").read_bytes()
    credentials = grpc.ssl_server_credentials([(key, cert)], cert, require_client_auth=True)
    with fakes.FakeServer(credentials=credentials) as fake:
        tls = TlsConfig(
            ca=tmp_path / "cert.pem",
            certificate=str(tmp_path / "cert.pem"),
            private_key=key,
            server_name="backscroll.test",
        )
        client = connect(fake.address, tls=tls, token="secret")
        assert client.append("room", lines(1)).stored == 1
        assert fake.seen[0].metadata["authorization"] == "Bearer secret"


def test_an_async_client_may_be_made_before_there_is_a_loop(fake):
    import asyncio

    client = AsyncClient(fake.address)

    async def use():
        async with client:
            return await client.append("room", Message("m1", Author("ann"), "hello"))

    assert asyncio.run(use()).stored == 1
    asyncio.run(AsyncClient(fake.address).close())  # never used


def test_a_client_is_shared_between_threads(fake):
    from concurrent.futures import ThreadPoolExecutor

    with Client(fake.address) as client, ThreadPoolExecutor(8) as pool:
        reports = pool.map(lambda n: client.append("room", Message(f"t{n}", "ann", "x")), range(50))
        assert sum(report.stored for report in reports) == 50
