"""backscroll bench: rows in the order of the table, as JSON; what cannot be measured is told before anything is."""

import json

import pytest

ROW_KEYS = {"name", "value", "gate", "goal", "held", "reached"}


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
    assert body["versions"].keys() >= {"backscroll", "grpcio", "numpy"}
    assert body["cores"] >= 1
    assert done.returncode == 1
    assert json.loads(done.stderr)["error"].startswith("balanced-1k: p50_ms is ")


def test_json_is_what_was_promised_and_nothing_else(shell):
    """Issue 5: {"rows": [{"name", "value", "gate", "goal", "held", "reached"}]}."""
    body = shell.json("bench", "kernel-numpy", "--quick", "--allow-noise")
    assert body.keys() == {"rows"}
    assert [row.keys() for row in body["rows"]] == [ROW_KEYS]


def test_a_peer_that_is_not_installed_is_an_error_where_it_is_named(shell):
    done = shell.run("bench", "peer-chromadb", "--quick", "--peers", "nowhere", "--json")
    assert json.loads(done.stdout)["rows"][0]["held"] is None
    assert done.returncode == 1
    assert "make peers" in json.loads(done.stderr)["error"]


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
