"""An export of 100 MB is streamed: the importing process stays small, and everything arrives."""

import json
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.cli.conftest import COMMAND, Shell

pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]

FILE_BYTES, RESIDENT_BYTES = 100_000_000, 300_000_000
HEAD = {"name": "Big", "type": "private_supergroup", "id": 1234567890}


def write_export(path) -> int:
    """A Telegram Desktop file of a little more than `FILE_BYTES`; returns how many messages are in it."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(HEAD)[:-1] + ', "messages": [')
        while file.tell() < FILE_BYTES:
            batch = [
                {
                    "id": n, "type": "message", "date": "2025-07-11T10:00:00",
                    "date_unixtime": str(1_752_219_371 + n), "from": f"Person {n % 50}",
                    "from_id": f"user{n % 50}", "text": f"message {n} 你好 " + "of some words " * 6,
                }
                for n in range(count + 1, count + 1_001)
            ]  # fmt: skip
            file.write(("," if count else "") + json.dumps(batch, ensure_ascii=False)[1:-1])
            count += len(batch)
        file.write("]}")
    return count


def peak_bytes(pid: int) -> int:
    """The most memory a process had, of its own: what `wait4` tells begins with that of who made it."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1_024
    return 0


@pytest.mark.row("P-32")
def test_a_hundred_megabytes_take_little_memory(tmp_path, request):
    export = tmp_path / "result.json"
    count = write_export(export)
    shell = Shell(tmp_path, request.config.rootpath / ".pytest_cache/d/kernels")
    with shell.serving() as server:
        importing = subprocess.Popen(
            [*COMMAND, "import", str(export), "--json", "--server", server.address],
            stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=shell.variables({}),
        )  # fmt: skip
        assert importing.stdout is not None
        resident = 0
        while importing.poll() is None:
            resident = max(resident, peak_bytes(importing.pid))
            time.sleep(0.05)
        with importing.stdout as output:
            said = output.read()
    assert importing.returncode == 0
    assert json.loads(said)["stored"] == count
    print(f"{export.stat().st_size:,} bytes, {count:,} messages: {resident:,} bytes resident")
    assert 0 < resident <= RESIDENT_BYTES
