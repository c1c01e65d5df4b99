"""backscroll bench: rows in the order of the table, as JSON; what cannot be measured is told before anything is."""

import json

import pytest

ROW_KEYS = {"name", "value", "gate", "goal", "held", "reached"}


@pytest.mark.slow
def test_one_command_measures_rows_beside_an_empty_call(shell):
    """Issue 5, the bench: value, gate, goal, held, reached; machine and versions; both sides round by round."""
    slo = shell.directory / "slo.toml"
    slo.write_text("[balanced-1k]\np50_ms = 0.000001\n")
    done = shell.run(
        "bench",
        "kernel-numpy",
        "balanced-1k",
        "--quick",
        "--allow-noise",
        "--json",
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
    assert body["versions"].keys() >= {"backscroll", "grpcio", "numpy"}
    assert body["cores"] >= 1
    assert done.returncode == 1
    assert body["breaches"] == [json.loads(done.stderr)["error"]]
    assert body["breaches"][0].startswith("balanced-1k: p50_ms is ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nope",), "there is no row nope"),
        (("--rounds", "3"), "--rounds"),
        (("--slo-file", "nowhere.toml"), "nowhere.toml: cannot be read"),
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
