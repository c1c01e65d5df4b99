"""HAProxy takes the configuration as it is, and the proof finds in it what it puts its own addresses in place of."""

import subprocess
from pathlib import Path

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
