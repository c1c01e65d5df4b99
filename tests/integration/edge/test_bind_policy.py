"""Where a server listens and who may call: P-28, TLS, tokens, sockets."""

import os
import socket
import stat
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc, history_pb2
from backscroll_sidecar.edge.listeners import TlsFiles
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.server import start_server
from tests.integration.edge.conftest import EdgeApp, refused, serving, text
from tests.kit.certificates import certificate_of_own

QUESTION = pb.BuildContextRequest(question="x", channel="g")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return certificate_of_own(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def nowhere() -> EdgeApp:
    """An app for servers that never come to ask it anything."""
    return EdgeApp(None, None)


# --- where ------------------------------------------------------------------------------------------


@pytest.mark.row("P-28")
@pytest.mark.parametrize(
    "listen", ["127.0.0.1:0", "localhost:0", "[::1]:0", "127.0.0.5:0", "unix:{}/b.sock"]
)
async def test_it_serves_on_loopback_and_sockets(listen: str, tmp_path: Path) -> None:
    """P-28: safe without any setting; port 0 tells the port that was bound."""
    if "::1" in listen and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    async with serving(listen=listen.format(tmp_path)) as served:
        assert not served.running.addresses[0].endswith(":0")
        assert (await served.append("g", text("x")))[0].sequence == 1


@pytest.mark.parametrize(
    "listen",
    ["0.0.0.0:0", "[::]:0", ":0", "192.168.1.20:0", "10.1.2.3:0", "example.org:0", "bot-host:0"],
)
@pytest.mark.parametrize("with_tls", [False, True])
async def test_it_refuses_to_be_exposed(
    nowhere: EdgeApp, tls: TlsFiles, listen: str, with_tls: bool
) -> None:
    """P-28: nothing listens, not even on the safe address beside it, and the error names the setting."""
    with pytest.raises(StartRefused) as caught:
        await start_server(
            nowhere,
            listen=["127.0.0.1:0", listen],
            tls=tls if with_tls else None,
            tokens=None if with_tls else {"t": "acme"},
        )
    assert caught.value.setting == ("tokens_file" if with_tls else "tls_cert")


@pytest.mark.row("P-28")
async def test_with_tls_and_a_token_it_serves_the_network(tls: TlsFiles) -> None:
    """P-28: and then a caller needs both."""
    async with serving(listen="0.0.0.0:0", tls=tls, tokens={"s3cret": "acme"}) as served:
        port = served.running.addresses[0].rpartition(":")[2]
        roots = grpc.ssl_channel_credentials(tls.cert.read_bytes())
        async with grpc.aio.secure_channel(f"localhost:{port}", roots) as channel:
            stub = context_pb2_grpc.ContextServiceStub(channel)
            found = await refused(stub.BuildContext(QUESTION))
            assert (found.code, found.reason) == (
                grpc.StatusCode.UNAUTHENTICATED,
                "UNAUTHENTICATED",
            )
            headers = (("authorization", "Bearer s3cret"),)
            assert (await stub.BuildContext(QUESTION, metadata=headers)).context_id
            health = health_pb2_grpc.HealthStub(channel)
            assert (await health.Check(health_pb2.HealthCheckRequest())).status
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as plain:
            stub = context_pb2_grpc.ContextServiceStub(plain)
            found = await refused(stub.BuildContext(QUESTION, metadata=headers))
            assert found.code is grpc.StatusCode.UNAVAILABLE


async def test_with_a_client_ca_a_certificate_is_needed_too(tls: TlsFiles) -> None:
    mutual = TlsFiles(tls.cert, tls.key, client_ca=tls.cert)
    async with serving(listen="127.0.0.1:0", tls=mutual) as served:
        port = served.running.addresses[0].rpartition(":")[2]
        ca, key = tls.cert.read_bytes(), tls.key.read_bytes()
        for credentials, answered in [
            (grpc.ssl_channel_credentials(ca), False),
            (grpc.ssl_channel_credentials(ca, key, ca), True),
        ]:
            async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
                call = context_pb2_grpc.ContextServiceStub(channel).BuildContext(QUESTION)
                if answered:
                    assert (await call).context_id
                else:
                    assert (await refused(call)).code is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("fault", ["no cert", "no key", "no pem", "not its key", "no ca", "bad ca"])
async def test_tls_files_that_cannot_work_do_not_start(
    nowhere: EdgeApp, tls: TlsFiles, tmp_path: Path, fault: str
) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    missing = tmp_path / "missing.pem"
    files = {
        "no cert": TlsFiles(missing, tls.key),
        "no key": TlsFiles(tls.cert, missing),
        "no pem": TlsFiles(bad, tls.key),
        "not its key": TlsFiles(tls.cert, tls.cert),
        "no ca": TlsFiles(tls.cert, tls.key, missing),
        "bad ca": TlsFiles(tls.cert, tls.key, bad),
    }[fault]
    with pytest.raises(StartRefused) as caught:
        await start_server(nowhere, listen=["127.0.0.1:0"], tls=files)
    assert caught.value.setting == ("tls_client_ca" if "ca" in fault else "tls_cert")


async def test_a_port_that_is_taken_is_told(nowhere: EdgeApp) -> None:
    """Without so_reuseport 0, both would bind, silently."""
    async with serving() as served:
        with pytest.raises(StartRefused, match="is taken") as caught:
            await start_server(nowhere, listen=list(served.running.addresses))
        assert caught.value.setting == "listen"


async def test_a_socket_is_for_this_user_only_and_is_never_stolen(
    nowhere: EdgeApp, tmp_path: Path
) -> None:
    path = tmp_path / "b.sock"
    before = os.umask(0o022)
    try:
        async with serving(listen=f"unix:{path}"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
            assert os.umask(0o022) == 0o022
            with pytest.raises(StartRefused, match="is taken"):
                await start_server(nowhere, listen=[f"unix:{path}"])
    finally:
        os.umask(before)


async def test_a_socket_that_a_dead_server_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "b.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()
    async with serving(listen=f"unix:{path}") as served:
        assert (await served.append("g", text("x")))[0].sequence == 1


@pytest.mark.parametrize("kind", ["file", "folder", "no folder", "long"])
async def test_a_path_that_can_be_no_socket_is_told(
    nowhere: EdgeApp, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "b.sock"
    if kind == "file":
        path.write_text("mine")
    path = {"folder": tmp_path, "no folder": path / "x", "long": tmp_path / ("x" * 200)}.get(
        kind, path
    )
    with pytest.raises(StartRefused) as caught:
        await start_server(nowhere, listen=[f"unix:{path}"])
    assert caught.value.setting == "listen"
    if kind == "file":
        assert path.read_text() == "mine"


# --- who --------------------------------------------------------------------------------------------


async def test_tenants_never_meet() -> None:
    """Law 6: the same channel name under two tokens is two channels; no request can say otherwise."""
    async with serving(tokens={"t-one": "one", "t-two": "two"}) as served:
        one, two = ((("authorization", f"Bearer t-{name}"),) for name in ("one", "two"))
        request = history_pb2.AppendMessagesRequest(channel="g", messages=[text("of one")])
        await served.history.AppendMessages(request, metadata=one)
        ask = history_pb2.GetChannelRequest(channel="g")
        assert (await served.history.GetChannel(ask, metadata=one)).message_count == 1
        found = await refused(served.history.GetChannel(ask, metadata=two))
        assert found.reason == "CHANNEL_NOT_FOUND"
        every = history_pb2.ListChannelsRequest()
        listed = [
            (await served.history.ListChannels(every, metadata=who)).channels for who in (one, two)
        ]
        assert [[one.channel for one in page] for page in listed] == [["g"], []]
        assert not (await served.context.BuildContext(QUESTION, metadata=two)).channel_known
        assert (await served.context.BuildContext(QUESTION, metadata=one)).items
        by_author = history_pb2.ListMessagesRequest(author_id="u1")
        assert not (await served.history.ListMessages(by_author, metadata=two)).messages
        assert [record.tenant for record in served.records[:3]] == ["one", "one", "two"]


@pytest.mark.parametrize("rpc", ["BuildContext", "StreamChat", "Chat"])
@pytest.mark.parametrize("token", [None, "wrong", ""])
async def test_every_method_needs_the_token(rpc: str, token: str | None) -> None:
    async with serving(tokens={"s3cret": "acme"}) as served:
        headers = () if token is None else (("authorization", f"Bearer {token}"),)
        request = getattr(pb, f"{rpc}Request")()
        found = await refused(getattr(served.context, rpc)(request, metadata=headers))
        assert found.code is grpc.StatusCode.UNAUTHENTICATED
        listing = history_pb2.ExportMessagesRequest(channel="g")
        found = await refused(served.history.ExportMessages(listing, metadata=headers))
        assert found.code is grpc.StatusCode.UNAUTHENTICATED
