"""HAProxy takes the configuration as it is, and the proof finds in it what it puts its own addresses in place of."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import grpc
import pytest

from tests.kit.haproxy import CONFIGURATION, PROGRAM, HAProxy, free_ports


@pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
def test_haproxy_takes_it(tmp_path: Path) -> None:
    assert PROGRAM is not None
    ports = free_ports(6)
    own = HAProxy(tmp_path, list(zip(ports[:3], ports[3:], strict=True)))
    for file in CONFIGURATION, own.file:
        told = subprocess.run([PROGRAM, "-c", "-f", file], check=False, capture_output=True)
        assert told.returncode == 0, told.stderr.decode()
        assert b"WARNING" not in told.stderr


def test_calls_keep_to_servers_and_leave_those_that_are_down() -> None:
    told = CONFIGURATION.read_text()
    for line in (
        "balance hdr(x-backscroll-channel)",
        "hash-type consistent",
        "http-check send meth GET uri /healthz",
        "on-marked-down shutdown-sessions",
        "retry-on conn-failure",
    ):
        assert line in told


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@pytest.fixture
def stand_in() -> Iterator[tuple[int, int]]:
    """Ports of a server that takes any call, and of its health."""
    taken = grpc.unary_unary_rpc_method_handler(lambda request, _: request)
    with ThreadPoolExecutor(2) as threads, HTTPServer(("127.0.0.1", 0), Healthy) as health:
        calls = grpc.server(threads)
        calls.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("any", {"Call": taken}),)
        )
        port = calls.add_insecure_port("127.0.0.1:0")
        calls.start()
        threads.submit(health.serve_forever)
        yield port, health.server_port
        health.shutdown()
        calls.stop(None).wait()


@pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
def test_a_key_has_so_many_calls_a_second(tmp_path: Path, stand_in: tuple[int, int]) -> None:
    with (
        HAProxy(tmp_path, [stand_in] * 3, with_limit=True) as proxy,
        grpc.insecure_channel(proxy.address) as channel,
    ):
        call = channel.unary_unary("/any/Call")

        def ended(key: str) -> grpc.StatusCode:
            try:
                call(b"", metadata=[("authorization", f"Bearer {key}")], timeout=30)
            except grpc.RpcError as error:
                return error.code()
            return grpc.StatusCode.OK

        ends = [ended("busy") for _ in range(250)]
        assert ends == 200 * [grpc.StatusCode.OK] + 50 * [grpc.StatusCode.RESOURCE_EXHAUSTED]
        assert ended("calm") is grpc.StatusCode.OK
