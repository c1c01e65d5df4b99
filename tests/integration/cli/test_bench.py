"""backscroll bench: rows in the order of the table, as JSON; what cannot be measured is told before anything is."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from backscroll_bench.speed import latency, read_slo

ROW_KEYS = {"name", "value", "gate", "goal", "held", "reached"}


@pytest.mark.row("N-14")
@pytest.mark.slow
def test_one_command_measures_rows_beside_an_empty_call(shell):
    """N-14, its speed: value, gate, goal, held, reached; machine and versions; both sides round by round."""
    slo = shell.directory / "slo.toml"
    slo.write_text("[balanced-1k]\np50_ms = 0.000001\n")
    done = shell.run(
        "bench",
        "kernel-numpy",
        "balanced-1k",
        "--quick",
        "--allow-noise",
        "--json",
        "--full",
        "--slo-file",
        str(slo),
    )
    body = json.loads(done.stdout)
    build, kernel = body["rows"]
    assert (build["name"], kernel["name"]) == ("balanced-1k", "kernel-numpy")
    for row in (build, kernel):
        assert row.keys() >= ROW_KEYS
        assert row["value"] > 0
        assert row["held"] is (
            row["value"] <= row["gate"] if row is build else row["value"] >= row["gate"]
        )
        assert len(row["rounds"]["values"]) == len(row["rounds"]["bases"]) == body["rounds"] == 3
    assert build["details"].keys() >= {"p50_ms", "p99_ms", "r0_p50_ms"}
    assert body["quick"] is True
    assert body["command"].startswith("backscroll bench kernel-numpy balanced-1k --quick")
    assert body["versions"].keys() >= {"backscroll", "grpcio", "numpy"}
    assert body["cores"] >= 1
    assert done.returncode == 1
    assert json.loads(done.stderr.splitlines()[-1])["error"].startswith("balanced-1k: p50_ms is ")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_its_servers_end_with_it_however_it_ends(shell, number):
    """The server and R0: neither is left, whatever ended the bench."""
    popen = shell.start(
        "bench", "balanced-10k", environment={"TMPDIR": str(shell.directory)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert _until(500, lambda: _is_filling(shell.directory)), "no message was stored"
        children = {pid for pid, (parent, _) in _running().items() if parent == popen.pid}
    finally:
        popen.send_signal(number)
        assert popen.wait(120) == -number
    assert len(children) >= 2
    ended = _until(120, lambda: not children & _running().keys())
    for pid in children & _running().keys():
        os.kill(pid, signal.SIGKILL)
    assert ended


def _is_filling(directory):
    """Whether the bench's server is storing messages."""
    return any(
        path.stat().st_size > 2**20 for path in directory.glob("backscroll-bench-*/*.db-wal")
    )


def _running():
    """Parent and command line of every process that has not ended, by id."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split(None, 3) for line in listed.splitlines()]
    return {int(one[0]): (int(one[1]), one[3]) for one in fields if not one[2].startswith("Z")}


def _until(seconds, look):
    """What `look` finds, or the last nothing."""
    end = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_json_is_what_was_promised_and_nothing_else(shell):
    """{"rows": [{"name", "value", "gate", "goal", "held", "reached"}]}."""
    body = shell.json("bench", "kernel-numpy", "--quick", "--allow-noise")
    assert body.keys() == {"rows"}
    assert [row.keys() for row in body["rows"]] == [ROW_KEYS]


def test_a_peer_that_is_not_installed_is_an_error_where_it_is_named(shell):
    done = shell.run("bench", "peer-chromadb", "--peers", "nowhere", "--json")
    assert json.loads(done.stdout)["rows"][0]["held"] is None
    assert done.returncode == 1
    assert "make peers" in json.loads(done.stderr)["error"]


def test_a_quick_run_warns_and_refuses_nothing_and_shows_how_far_it_is(shell):
    """Noise and a peer that is missing: the table, exit code 0. With --json the warnings are JSON, too."""
    rows = ("kernel-numpy", "peer-chromadb")
    done = shell.run("bench", *rows, "--quick", "--peers", "nowhere")
    assert done.returncode == 0, done.stderr
    assert "kernel-numpy" in done.stdout
    assert "measuring 1 of 2: " in done.stderr
    assert "measuring 2 of 2: " in done.stderr
    assert "warning: peer-chromadb: " in done.stderr
    done = shell.run("bench", *rows, "--quick", "--peers", "nowhere", "--json")
    assert done.returncode == 0
    assert [row["name"] for row in json.loads(done.stdout)["rows"]] == list(rows)
    warnings = [json.loads(line)["warning"] for line in done.stderr.splitlines()]
    assert any("make peers" in warning for warning in warnings)


@pytest.mark.row("N-14")
@pytest.mark.slow
def test_latency_is_told_in_tables_beside_the_pictures(shell):
    """N-14: p50 and p99 by history, channels and callers, R0 beside them, machine and versions named."""
    pytest.importorskip("matplotlib")
    done = shell.json("bench", "--plots", "pictures", "--quick", "--slo")
    folder = shell.directory / "pictures"
    assert {Path(one).name for one in done["files"]} == {one.name for one in folder.iterdir()}
    body = json.loads((folder / "points.json").read_text("utf-8"))
    page = (folder / "latency.md").read_text("utf-8")
    assert page == latency.page(body, read_slo(None))
    for name, column in (
        ("history", "messages"),
        ("channels", "channels"),
        ("concurrency", "callers"),
    ):
        assert body["points"][name]
        for one in body["points"][name]:
            assert re.search(
                rf"^\| {one[column]:,} \| `\w+`.* \| {one['per_second']:,.0f} \|",
                page,
                re.MULTILINE,
            )
            assert one["p50_ms"] <= one["p99_ms"]
    assert body["machine"]["cpu"]
    assert body["note"] in page


def test_a_quick_run_takes_what_a_noisy_machine_gives(started):
    """Every denominator is called noisy here: a run that is not quick refuses it."""
    shell = started
    (shell.directory / "sitecustomize.py").write_text(
        "from backscroll_bench.speed import stats\nstats.MOST_SPREAD = 0.0\n"
    )
    noisy = {"PYTHONPATH": str(shell.directory)}
    done = shell.run("bench", "kernel-numpy", "--quick", **noisy)
    assert done.returncode == 0, done.stderr
    assert "warning: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nope",), "there is no row nope"),
        (("--rounds", "3"), "--rounds"),
        (("--slo-file", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--plots", "pictures", "balanced-1k"), "--plots measures no rows"),
    ],
)
def test_what_cannot_be_measured_is_told_before_anything_is(shell, arguments, says):
    done = shell.run("bench", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_rows_are_listed_with_their_units(shell):
    rows = shell.json("bench", "--list")["rows"]
    assert {"name": "first-delta", "unit": "ms"}.items() <= {
        key: value for row in rows if row["name"] == "first-delta" for key, value in row.items()
    }.items()


def test_help_shows_an_example(shell):
    assert (
        "Example: backscroll bench balanced-10k append-50 --slo"
        in shell.run("bench", "--help").stdout
    )
