"""Tuning and quality by an export of usage records, on the command line."""

import gzip
import json

import pytest

from backscroll.v1 import admin_pb2
from backscroll_sidecar.cli.usage_lines import usage_line
from tests.integration.cli.in_process import Commands
from tests.integration.learning.test_tuning import a_trial

run = Commands("127.0.0.1:1").run  # no server is asked


async def exported(client, path):
    """A file as `backscroll records export` writes it."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        async for one in client.export_usage_records():
            if hasattr(one, "record"):
                file.write(json.dumps(usage_line(one)) + "\n")


@pytest.mark.slow
@pytest.mark.sqlite(
    "questions asked at once come in any order there: at times a guard decides that a file lacks"
)
@pytest.mark.row("S5-53")
async def test_a_file_says_what_the_server_would_do(tmp_path):
    """S5-53: tune, then quality, by the same lines; what the server says by its records is the same."""
    path = tmp_path / "usage.jsonl.gz"
    async with a_trial() as (trial, client, _, channel):
        await trial.window(400)
        await exported(client, path)
        served = await client.tune_channel(channel.name, dry_run=True)
    assert served.reason == admin_pb2.TUNING_REASON_ADOPTED
    done = run("tune", "--records", str(path), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["reason"] == "TUNING_REASON_ADOPTED"
    assert told["proposed_weights"] == pytest.approx(list(served.proposed_weights), rel=1e-4)
    assert told["evidence"]["guards"][-1] == {"name": "missed_replies"}  # a file has no lines
    words = run("tune", "--records", str(path)).stdout
    assert "missed_replies was not measured" in words
    gain = told["evidence"]["doubly_robust"]["value"]
    assert gain == pytest.approx(served.evidence.doubly_robust.value, rel=1e-3)
    done = run("quality", "--records", str(path), "--json")
    (policy,) = json.loads(done.stdout)["policies"]
    assert policy["policy_id"].startswith("classic@")
    assert (policy["builds"], policy["rated"], policy["explored_rate"]) == (400, 400, 1.0)
    assert policy["success_lower"] < policy["success"] < policy["success_upper"]
    assert "classic@" in run("quality", "--records", str(path)).stdout


@pytest.mark.row("S5-53")
def test_the_interval_of_the_success_is_one_of_a_share(tmp_path):
    """However few and however alike they are: it stays between 0 and 1, and is no point."""
    path = tmp_path / "usage.jsonl"
    said = {"alike": (1.0, 1.0), "few": (0.0, 1.0), "one": (0.5,)}
    lines = [
        {"version": 1, "policy_id": name, "channel": f"c{place}", "success_indicator": value}
        for name, values in said.items()
        for place, value in enumerate(values)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = run("quality", "--records", str(path), "--json")
    found = {one["policy_id"]: one for one in json.loads(done.stdout)["policies"]}
    assert found["alike"]["success"] == found["alike"]["success_upper"] == 1.0
    assert 0.0 < found["alike"]["success_lower"] < 1.0
    for name in ("few", "one"):
        one = found[name]
        assert 0.0 <= one["success_lower"] < one["success"] < one["success_upper"] <= 1.0


@pytest.mark.row("S5-53")
def test_a_file_that_is_none_is_told_with_its_line(tmp_path):
    path = tmp_path / "x.jsonl"
    for text, words in (
        ('{"version": 2}\n', "x.jsonl:1: has version 2, not 1"),
        ("\n{}\n", "x.jsonl:2: is no usage record"),
        ("[1]\n", "x.jsonl:1: is no usage record"),
        ('{"version": 1, "candidates": 3}\n', "x.jsonl:1: is no usage record"),
    ):
        path.write_text(text)
        for command in ("tune", "quality"):
            refused = run(command, "--records", str(path))
            assert refused.returncode == 2
            assert words in refused.stderr
    path.write_text("")
    empty = run("tune", "--records", str(path), "--channel", "room")
    assert empty.returncode == 1
    assert "holds no build of classic in room" in empty.stderr
    assert run("tune", "--records", str(tmp_path / "none")).returncode == 2
    assert run("tune", "--records", str(path), "--all").returncode == 2
