"""Which addresses `Listeners` takes, which it leaves to others, and what is left when it stops."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import grpc
import pytest

from backscroll_sidecar.edge.bind_policy import parse_address
from backscroll_sidecar.edge.http2 import server as module
from backscroll_sidecar.edge.listeners import EdgeName, Listeners, TlsFiles
from backscroll_sidecar.errors import StartRefused
from backscroll_sidecar.server import start_server
from tests.kit.certificates import certificate_of_own
from tests.kit.endpoints import endpoints, unary_unary

EDGES: tuple[EdgeName, ...] = ("auto", "grpc")
PATIENCE_S = 30.0
ANY_PORT = "127.0.0.1:0"


def _has_v6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_v6 = pytest.mark.skipif(not _has_v6(), reason="this machine has no IPv6")


@pytest.fixture(params=EDGES)
def edge(request: pytest.FixtureRequest) -> EdgeName:
    name: EdgeName = request.param
    return name


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return certificate_of_own(tmp_path_factory.mktemp("tls"))


def listening(edge: EdgeName = "auto", tls: TlsFiles | None = None, name: str = "") -> Listeners:
    """A server of one method, which says the server's name."""

    async def say(_: bytes, __: Any) -> bytes:
        return name.encode()

    return Listeners(endpoints(Say=unary_unary(say)), tls, edge)


@asynccontextmanager
async def stopping(*servers: Listeners) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for one in servers:
            await asyncio.wait_for(one.stop(0), PATIENCE_S)


@asynccontextmanager
async def started(
    *addresses: str, edge: EdgeName = "auto", name: str = "", tls: TlsFiles | None = None
) -> AsyncIterator[list[str]]:
    """A server at these addresses, told as they were bound."""
    server = listening(edge, tls, name)
    async with stopping(server):
        targets = take(server, *addresses)
        await server.start()
        yield targets


def take(server: Listeners, *addresses: str) -> list[str]:
    return [server.bind(parse_address(one)) for one in addresses]


async def said(target: str, tls: TlsFiles | None = None) -> str:
    """What the server at an address says of itself."""
    if tls is None:
        channel = grpc.aio.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)])
    else:
        roots = grpc.ssl_channel_credentials(tls.cert.read_bytes())
        channel = grpc.aio.secure_channel(target, roots)
    async with channel:
        say: Any = channel.unary_unary("/t/Say")
        answer: bytes = await say(b"", timeout=PATIENCE_S)
        return answer.decode()


def port_of(target: str) -> int:
    return int(target.rpartition(":")[2])


def is_open(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
        return one.connect_ex((host, port)) == 0


@contextmanager
def a_taken_port() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def leave_behind(path: Path) -> None:
    """What a server that was killed leaves."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()


# --- ports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", EDGES)
async def test_a_port_has_one_server(edge: EdgeName, second: EdgeName) -> None:
    """Whichever edges the two have; the first is not harmed, and once it has stopped the port is free."""
    first, other = listening(edge, name="first"), listening(second, name="second")
    async with stopping(first, other):
        (target,) = take(first, ANY_PORT)
        with pytest.raises(StartRefused, match="is taken") as caught:
            take(other, target)
        assert caught.value.setting == "listen"
        await first.start()
        assert await said(target) == "first"
        await first.stop(0)
        assert take(other, target) == [target]
        await other.start()
        assert await said(target) == "second"


async def test_a_port_of_somebody_else_is_not_taken(edge: EdgeName) -> None:
    server = listening(edge)
    with a_taken_port() as port:
        async with stopping(server):
            with pytest.raises(StartRefused, match=f"127.0.0.1:{port} is taken"):
                take(server, f"127.0.0.1:{port}")


async def test_an_address_of_another_machine_is_told(edge: EdgeName) -> None:
    server = listening(edge)
    async with stopping(server):
        with pytest.raises(StartRefused, match="or not ours"):
            take(server, "192.0.2.1:0")


async def test_who_connects_before_the_start_is_answered_after_it(edge: EdgeName) -> None:
    server = listening(edge, name="late")
    async with stopping(server):
        (target,) = take(server, ANY_PORT)
        asking = asyncio.ensure_future(said(target))
        await asyncio.sleep(0.03)
        await server.start()
        assert await asyncio.wait_for(asking, PATIENCE_S) == "late"


def names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `localhost` what it is on most machines, whatever this one's file says."""
    real = socket.getaddrinfo

    def both(host: Any, *args: Any, **options: Any) -> Any:
        if host != "localhost":
            return real(host, *args, **options)
        return [*real("::1", *args, **options), *real("127.0.0.1", *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", both)


@needs_v6
async def test_localhost_is_both_versions_with_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    names_both(monkeypatch)
    server = listening(name="both")
    async with stopping(server):
        (target,) = take(server, "localhost:0")
        port = port_of(target)
        assert target == f"localhost:{port}"
        await server.start()
        for host in ("127.0.0.1", "[::1]"):
            assert await said(f"{host}:{port}") == "both"
    assert not is_open(port)
    assert not is_open(port, "::1")


@needs_v6
async def test_localhost_takes_no_port_that_is_taken_in_one_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of it would send callers to a stranger."""
    names_both(monkeypatch)
    server = listening()
    with a_taken_port() as port:
        with pytest.raises(StartRefused, match="is taken"):
            take(server, f"localhost:{port}")
        await server.stop(0)
        assert not is_open(port, "::1")


@needs_v6
async def test_localhost_with_any_port_finds_one_that_both_versions_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That the first port the system gives is taken in the other version is nobody's mistake: there are more."""
    names_both(monkeypatch)
    real = module._listening
    server = listening(name="found")
    with a_taken_port() as port:
        given = iter((port,))

        def unlucky(family: int, where: Any) -> socket.socket:
            if where[1] == 0:
                where = (where[0], next(given, 0))
            return real(family, where)

        monkeypatch.setattr(module, "_listening", unlucky)
        async with stopping(server):
            (target,) = take(server, "localhost:0")
            assert port_of(target) != port
            await server.start()
            assert await said(f"127.0.0.1:{port_of(target)}") == "found"
        assert not is_open(port, "::1")


async def test_localhost_is_what_of_it_this_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that cannot be bound costs itself."""
    names_both(monkeypatch)
    real = module._listening

    def no_v6(family: int, where: Any) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(99, "Cannot assign requested address")
        return real(family, where)

    monkeypatch.setattr(module, "_listening", no_v6)
    async with started("localhost:0", name="four") as (target,):
        assert await said(f"127.0.0.1:{port_of(target)}") == "four"


@needs_v6
async def test_an_address_of_version_6_has_its_brackets(edge: EdgeName) -> None:
    async with started("[::1]:0", edge=edge, name="six") as (target,):
        assert target == f"[::1]:{port_of(target)}"
        assert port_of(target)
        assert await said(target) == "six"


@needs_v6
async def test_an_address_of_version_4_in_one_of_6(edge: EdgeName) -> None:
    async with started("[::ffff:127.0.0.1]:0", name="mapped", edge=edge) as (target,):
        assert await said(f"127.0.0.1:{port_of(target)}") == "mapped"


async def test_several_addresses_have_their_own_ports(edge: EdgeName) -> None:
    async with started(ANY_PORT, "127.0.0.2:0", ANY_PORT, name="all", edge=edge) as targets:
        assert len({port_of(one) for one in targets}) == 3
        assert [await said(one) for one in targets] == ["all"] * 3


# --- both edges -----------------------------------------------------------------------------------


async def test_tls_and_plain_loopback_are_served_side_by_side(
    tls: TlsFiles, tmp_path: Path
) -> None:
    """TLS by gRPC's edge, a unix socket beside it and another server's loopback by ours, all on one loop."""
    path = tmp_path / "b.sock"
    safe, open_ = listening(tls=tls, name="safe"), listening(name="open")
    async with stopping(safe, open_):
        secure, local = take(safe, ANY_PORT, f"unix:{path}")
        (plain,) = take(open_, ANY_PORT)
        await safe.start()
        await open_.start()
        assert await said(f"localhost:{port_of(secure)}", tls) == "safe"
        assert await said(local) == "safe"
        assert await said(plain) == "open"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await said(secure)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await safe.stop(0)
        await asyncio.wait_for(safe.wait(), PATIENCE_S)
        assert not path.exists()
        assert not is_open(port_of(secure))
        assert await said(plain) == "open"


async def test_with_tls_nothing_on_a_port_is_plain(tls: TlsFiles, edge: EdgeName) -> None:
    """Not even loopback: who asked for TLS gets it."""
    async with started(ANY_PORT, edge=edge, tls=tls) as (target,):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await said(target)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_one_stop_ends_both_edges(tls: TlsFiles, tmp_path: Path) -> None:
    """And as often as one likes, also two at once."""
    server = listening(tls=tls)
    path = tmp_path / "b.sock"
    secure, _ = take(server, ANY_PORT, f"unix:{path}")
    await server.start()
    waiting = asyncio.ensure_future(server.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    await asyncio.gather(server.stop(0), server.stop(0))
    await asyncio.wait_for(waiting, PATIENCE_S)
    await server.stop(0)
    assert not is_open(port_of(secure))
    assert not path.exists()


async def test_a_server_that_never_started_can_be_stopped(edge: EdgeName, tmp_path: Path) -> None:
    """What it had taken is free then."""
    server, path = listening(edge), tmp_path / "b.sock"
    targets = take(server, ANY_PORT, f"unix:{path}")
    await asyncio.wait_for(server.stop(0), PATIENCE_S)
    assert not is_open(port_of(targets[0]))
    assert not path.exists()
    await asyncio.wait_for(server.wait(), PATIENCE_S)


# --- unix sockets ---------------------------------------------------------------------------------


async def test_a_socket_is_this_users_and_the_umask_is_as_before(
    edge: EdgeName, tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        server, path = listening(edge, name="mine"), tmp_path / "b.sock"
        async with stopping(server):
            take(server, f"unix:{path}")
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
            assert os.umask(0o022) == 0o022
            with pytest.raises(StartRefused):
                take(server, f"unix:{tmp_path}/no folder/b.sock")
            assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


async def test_a_stale_socket_is_replaced(edge: EdgeName, tmp_path: Path) -> None:
    path = tmp_path / "b.sock"
    leave_behind(path)
    async with started(f"unix:{path}", name="new", edge=edge) as (target,):
        assert await said(target) == "new"
    assert not path.exists()


@pytest.mark.parametrize("kind", ["file", "folder", "pipe", "link to a file", "link to nothing"])
async def test_what_is_no_socket_stays(edge: EdgeName, tmp_path: Path, kind: str) -> None:
    path, words = tmp_path / "b.sock", tmp_path / "words"
    words.write_text("mine")
    match kind:
        case "file":
            path.write_text("mine")
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to(words if "file" in kind else tmp_path / "nothing")
    before = os.lstat(path)
    server = listening(edge)
    async with stopping(server):
        with pytest.raises(StartRefused, match="is no socket") as caught:
            take(server, f"unix:{path}")
        assert caught.value.setting == "listen"
    assert os.lstat(path) == before
    assert words.read_text() == "mine"
    assert not (tmp_path / "nothing").exists()


async def test_a_link_to_a_living_socket_is_taken(edge: EdgeName, tmp_path: Path) -> None:
    path, link = tmp_path / "b.sock", tmp_path / "link.sock"
    first, second = listening(edge, name="first"), listening(edge)
    async with stopping(first, second):
        (target,) = take(first, f"unix:{path}")
        await first.start()
        link.symlink_to(path)
        with pytest.raises(StartRefused, match="is taken"):
            take(second, f"unix:{link}")
        assert link.is_symlink()
        assert await said(target) == "first"


async def test_a_link_to_a_stale_socket_gives_its_place(edge: EdgeName, tmp_path: Path) -> None:
    """The server listens where it was told to; what stood there is not needed by anybody."""
    path, link = tmp_path / "b.sock", tmp_path / "link.sock"
    leave_behind(path)
    link.symlink_to(path)
    async with started(f"unix:{link}", name="new", edge=edge) as (target,):
        assert await said(target) == "new"


async def test_a_server_with_a_full_queue_is_alive(edge: EdgeName, tmp_path: Path) -> None:
    """Who cannot take a caller at once is not dead, and its socket is not stolen."""
    path = tmp_path / "b.sock"
    with socket.socket(socket.AF_UNIX) as busy, ExitStack() as stack:
        busy.bind(str(path))
        busy.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.setblocking(False)
            one.connect_ex(str(path))
        inode, server = path.stat().st_ino, listening(edge)
        async with stopping(server):
            with pytest.raises(StartRefused, match="is taken"):
                take(server, f"unix:{path}")
        assert path.stat().st_ino == inode


async def test_a_server_that_has_not_started_yet_keeps_its_socket(
    edge: EdgeName, tmp_path: Path
) -> None:
    first, second = listening(edge), listening(edge)
    async with stopping(first, second):
        take(first, f"unix:{tmp_path}/b.sock")
        with pytest.raises(StartRefused, match="is taken"):
            take(second, f"unix:{tmp_path}/b.sock")


async def test_a_stop_that_takes_long_leaves_the_next_servers_socket(
    edge: EdgeName, tmp_path: Path
) -> None:
    """While calls end, another server may take the place of this one; it keeps it."""
    began, go = asyncio.Event(), asyncio.Event()

    async def wait(_: bytes, __: Any) -> bytes:
        began.set()
        await go.wait()
        return b"at last"

    path = tmp_path / "b.sock"
    first = Listeners(endpoints(Wait=unary_unary(wait)), edge=edge)
    second = listening(edge, name="second")
    async with stopping(second):
        (target,) = take(first, f"unix:{path}")
        await first.start()
        async with grpc.aio.insecure_channel(target) as channel:
            wait_there: Any = channel.unary_unary("/t/Wait")
            call = wait_there(b"", timeout=PATIENCE_S)
            await asyncio.wait_for(began.wait(), PATIENCE_S)
            leaving = asyncio.ensure_future(first.stop(PATIENCE_S))
            async with asyncio.timeout(PATIENCE_S):
                while path.exists():  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.005)
            take(second, target)
            await second.start()
            go.set()
            assert await call == b"at last"
            await asyncio.wait_for(leaving, PATIENCE_S)
        await first.stop(0)
        assert path.exists()
        assert await said(target) == "second"


@pytest.mark.parametrize(
    "edge",
    [
        "auto",
        pytest.param("grpc", marks=pytest.mark.xfail(reason="gRPC removes what stands there")),
    ],
)
async def test_a_stop_leaves_a_socket_that_is_not_its_own(edge: EdgeName, tmp_path: Path) -> None:
    """Somebody took its file away, and another server has bound the path since."""
    path = tmp_path / "b.sock"
    first, second = listening(edge, name="first"), listening(edge, name="second")
    async with stopping(second):
        take(first, f"unix:{path}")
        await first.start()
        path.unlink()
        (target,) = take(second, f"unix:{path}")
        await second.start()
        await first.stop(0)
        assert path.exists()
        assert await said(target) == "second"


async def test_a_socket_that_somebody_removed_does_not_keep_it_from_stopping(
    edge: EdgeName, tmp_path: Path
) -> None:
    server, path = listening(edge), tmp_path / "b.sock"
    take(server, f"unix:{path}")
    await server.start()
    path.unlink()
    await asyncio.wait_for(server.stop(0), PATIENCE_S)
    await asyncio.wait_for(server.wait(), PATIENCE_S)


# --- all or nothing -------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["port", "path"])
async def test_when_one_address_is_taken_none_stays_open(
    edge: EdgeName, tmp_path: Path, last: str
) -> None:
    """What was bound before it is free at once, for a server with better settings."""
    path = tmp_path / "b.sock"
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        free = int(one.getsockname()[1])
    with a_taken_port() as port:
        (tmp_path / "words").write_text("mine")
        bad = f"127.0.0.1:{port}" if last == "port" else f"unix:{tmp_path}/words"
        with pytest.raises(StartRefused):
            await start_server(App(), listen=[f"127.0.0.1:{free}", f"unix:{path}", bad], edge=edge)
    assert not is_open(free)
    assert not path.exists()
    again = listening(edge)
    async with stopping(again):
        take(again, f"127.0.0.1:{free}", f"unix:{path}")


class App:
    """What a server needs that never comes to answer."""

    history: Any = None
    builder: Any = None
    chat: Any = None
    preferences: Any = None
    summaries: Any = None
    periods: Any = None
    replays: Any = None
    rooms: Any = MagicMock()
    learning: Any = MagicMock()
    profiles: Any = MagicMock()
    numbers: Any = None
    spans: Any = None
    replicas: Any = None

    async def warm_up(self) -> None:
        raise AssertionError("it must not come to that")


async def test_a_bind_that_fails_leaves_nothing_open_after_a_stop(
    edge: EdgeName, tmp_path: Path
) -> None:
    """Also for who keeps the object."""
    server, path = listening(edge), tmp_path / "b.sock"
    (tmp_path / "words").write_text("mine")
    targets: Sequence[str] = take(server, ANY_PORT, f"unix:{path}")
    with pytest.raises(StartRefused):
        take(server, f"unix:{tmp_path}/words")
    await asyncio.wait_for(server.stop(0), PATIENCE_S)
    assert not is_open(port_of(targets[0]))
    assert not path.exists()
