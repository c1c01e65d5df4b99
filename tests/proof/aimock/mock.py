"""npm's aimock as the model's server: started on a free port, scripted by fixtures, read by its journal."""

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CLI = HERE / "node_modules/@copilotkit/aimock/dist/cli.js"
START_S = 60.0
LISTENING = "server listening on http://"


def missing() -> str:
    """Why it cannot run here; empty: it can."""
    if shutil.which("node") is None:
        return "Node is not installed"
    if not CLI.is_file():
        return "npm's @copilotkit/aimock is not installed: run `make proof-node`"
    return ""


@dataclass(frozen=True)
class Aimock:
    """A running one. What it answers is in its fixtures alone: whatever matches none of them is refused."""

    address: str

    @property
    def url(self) -> str:
        return f"http://{self.address}/v1"

    def journal(self) -> list[dict]:
        """What it was sent since `forget`, and what it did."""
        return json.loads(self._ask("GET", "/__aimock/journal"))

    def sent(self) -> list[dict]:
        """The bodies it was sent, without the mark it makes on them."""
        bodies = [entry["body"] for entry in self.journal()]
        return [{k: v for k, v in body.items() if not k.startswith("_")} for body in bodies]

    def forget(self) -> None:
        self._ask("POST", "/__aimock/reset/journal")

    def _ask(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read()
        finally:
            connection.close()
        assert response.status == 200, body
        return body


@contextmanager
def running(fixtures: Sequence[dict], folder: Path) -> Iterator[Aimock]:
    """Start it with these fixtures; it is ended with the block."""
    script, output = folder / "fixtures.json", folder / "output.txt"
    script.write_text(json.dumps({"fixtures": fixtures}, ensure_ascii=False), "utf-8")
    command = ["node", CLI, "--port", "0", "--fixtures", script, "--strict", "--validate-on-load"]
    with output.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield Aimock(_address(process, output))
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], output: Path) -> str:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        _, found, rest = output.read_text("utf-8").partition(LISTENING)
        if found and "\n" in rest:
            return rest.split()[0]
        time.sleep(0.05)
    raise AssertionError(f"aimock did not start:\n{output.read_text('utf-8')}")
