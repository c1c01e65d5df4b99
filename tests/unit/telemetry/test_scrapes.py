"""The HTTP side of scrapes."""

import socket
import urllib.request

from backscroll_sidecar.telemetry import scrapes


class NoMetrics:
    def read(self):
        return ()


def test_a_silent_connection_is_closed_without_a_word(monkeypatch, capfd):
    """Each connection has a thread: one that never asks would keep it for ever."""
    monkeypatch.setattr(scrapes, "MOST_SILENCE_S", 0.1)
    server = scrapes.MetricsServer("127.0.0.1", 0, NoMetrics())
    try:
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port)), timeout=30) as silent:
            silent.sendall(b"GET /metr")
            assert silent.recv(1) == b""
        with urllib.request.urlopen(f"http://{server.address}/metrics", timeout=30) as answer:
            assert answer.status == 200
    finally:
        server.close()
    assert capfd.readouterr().err == ""
