"""Asks a server for its health every 50 ms from a process of its own, until its input closes.

``python -m tests.kit.health_probe ADDRESS`` prints one JSON list: seconds of each
answer, -1 for one that was not SERVING.
"""

import json
import math
import subprocess
import sys
import threading
import time
from typing import Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

EVERY_S = 0.05


class HealthProbe:
    """The process, for as long as the block lasts; then `seconds` has what it measured, in order of size."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.health_probe", self._address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            told, _ = self._process.communicate(timeout=120)
        finally:
            self._process.kill()
        self.seconds = sorted(math.inf if one < 0 else one for one in json.loads(told))

    def at(self, share: float) -> float:
        """The time that this share of the answers stayed below."""
        return self.seconds[min(int(len(self.seconds) * share), len(self.seconds) - 1)]


def _probe(address: str) -> list[float]:
    took: list[float] = []
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while not over.is_set():
            began = time.monotonic()
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
                is_serving = answer.status == health_pb2.HealthCheckResponse.SERVING
            except grpc.RpcError:
                is_serving = False
            took.append(time.monotonic() - began if is_serving else -1.0)
            over.wait(max(0.0, began + EVERY_S - time.monotonic()))
    return took


if __name__ == "__main__":
    print(json.dumps(_probe(sys.argv[1])))
