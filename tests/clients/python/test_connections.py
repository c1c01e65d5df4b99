"""Deadlines, tokens, sockets, TLS and threads of both clients."""

import math

import pytest

from backscroll import AsyncClient, Author, Client, Member, Message, TlsConfig, Unavailable
from tests.clients.python.calls_kit import lines


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
        client = connect(fake.address)
        with pytest.raises(Unavailable, match=r"it may speak TLS \(give tls=TlsConfig"):
            client.health()
    with fakes.FakeServer() as plain:
        client = connect(plain.address, tls=tls)
        with pytest.raises(Unavailable, match=r"or none \(leave tls out\)"):
            client.health()
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
