"""What a service manager is told, and what it asks: systemd's datagrams, and `backscroll health`."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

UNITS = Path(__file__).parents[3] / "deploy/systemd"
WAIT_S = 60


@pytest.fixture
def manager(tmp_path):
    """The socket of a manager, with what it was told, one dictionary a datagram."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(WAIT_S)
        yield listening


def told(manager) -> dict[str, str]:
    lines = manager.recv(4_096).decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


def told_once_started(manager) -> dict[str, str]:
    """The first that is said behind the start: one that compiles asks for time before."""
    while "EXTEND_TIMEOUT_USEC" in (one := told(manager)):
        pass
    return one


def rest(manager) -> list[dict[str, str]]:
    """What was told that nobody has read yet."""
    found = []
    manager.settimeout(0)
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(told(manager))
    return found


def test_systemd_is_told_of_start_life_and_stop(shell, manager, tmp_path):
    variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000"}
    with shell.serving(**variables) as process:
        assert told_once_started(manager) == {
            "READY": "1",
            "STATUS": f"serves on {process.address}",
        }
        assert [told(manager) for _ in range(3)] == [{"WATCHDOG": "1"}] * 3
        assert process.stop() == 0
    last = [one for one in rest(manager) if one != {"WATCHDOG": "1"}]
    assert last == [{"STOPPING": "1", "STATUS": "lets running calls end"}]


@pytest.mark.parametrize("watchdog", [{}, {"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}])
def test_no_sign_of_life_where_none_is_asked_for(shell, manager, tmp_path, watchdog):
    with shell.serving(NOTIFY_SOCKET=str(tmp_path / "notify"), **watchdog) as process:
        assert process.stop() == 0
    said = [set(one) for one in rest(manager) if "EXTEND_TIMEOUT_USEC" not in one]
    assert said == [{"READY", "STATUS"}, {"STOPPING", "STATUS"}]


def test_an_abstract_socket_is_told_too(shell):
    name = f"backscroll-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        listening.settimeout(WAIT_S)
        with shell.serving(NOTIFY_SOCKET=f"@{name}"):
            assert told_once_started(listening)["READY"] == "1"


def test_a_manager_that_is_gone_is_no_reason_to_stop(shell, tmp_path):
    with shell.serving(NOTIFY_SOCKET=str(tmp_path / "nobody")) as process:
        assert shell.run("health", "--server", process.address).returncode == 0
        assert process.stop() == 0


def test_a_reload_ends_nothing_where_there_are_no_keys_to_read(shell, manager, tmp_path):
    with shell.serving(NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
        process.popen.send_signal(signal.SIGHUP)
        assert shell.run("health", "--server", process.address).returncode == 0


@pytest.mark.slow
def test_a_start_that_compiles_asks_for_more_time(shell, manager, tmp_path):
    variables = {
        "NOTIFY_SOCKET": str(tmp_path / "notify"),
        "NUMBA_CACHE_DIR": str(tmp_path / "new"),
    }
    command = ("serve", "--listen", "127.0.0.1:0", "--database", ":memory:")
    with shell.start(
        *command, environment=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        first = told(manager)
        process.kill()
    assert int(first["EXTEND_TIMEOUT_USEC"]) >= 60_000_000
    assert first["STATUS"].startswith("compiles kernel ")


def test_health_of_a_server_that_serves(shell):
    with shell.serving() as process:
        done = shell.run("health", "--server", process.address)
        assert (done.returncode, done.stdout) == (0, "serving\n")
        assert shell.json("health", "--server", process.address)["health"] == "serving"


def test_health_where_nobody_listens(shell):
    done = shell.run("health", "--server", "127.0.0.1:1", "--timeout", "5")
    assert done.returncode == 1
    assert "no server answers at 127.0.0.1:1" in done.stderr


def test_health_of_a_server_that_does_not_serve(shell):
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    with ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        done = shell.run("health", "--server", f"127.0.0.1:{port}")
        server.stop(None).wait()
    assert (done.returncode, done.stdout) == (1, "not_serving\n")
    assert "does not serve" in done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_takes_the_units(tmp_path):
    program = tmp_path / "backscroll"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/backscroll/bin/backscroll", str(program))
        (tmp_path / unit.name).write_text(text)
    units = sorted(str(one) for one in tmp_path.glob("backscroll*.*") if one != program)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(units) == 3


def test_the_units_of_the_guide_are_those_that_come_with_it():
    page = (UNITS.parents[1] / "docs/guide/backup.md").read_text()
    shown = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    assert shown == [
        (UNITS / f"backscroll-backup.{kind}").read_text() for kind in ("service", "timer")
    ]


def test_the_unit_says_what_the_server_does():
    unit = (UNITS / "backscroll.service").read_text()
    assert "Type=notify" in unit
    assert "StateDirectory=backscroll" in unit
    # A server whose history moved ends with 0, and is started on the new database.
    assert "Restart=always" in unit
    assert "BACKSCROLL_STATE_DIR=/var/lib/backscroll" in unit
