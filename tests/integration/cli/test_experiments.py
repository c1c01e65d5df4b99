"""`backscroll experiments` against a server of its own."""

import json

import pytest

from backscroll_sidecar.cli.arm_words import arm_of, words_of
from backscroll_sidecar.cli.console import CommandError
from tests.integration.cli.in_process import Commands
from tests.kit.served import in_background


@pytest.fixture(scope="module")
def commands():
    with in_background() as client:
        yield Commands(client._target)


@pytest.mark.row("S5-39", "S5-40", "S5-55")
def test_a_rollout_from_its_begin_to_its_end(commands):
    run = commands.run
    begun = run(
        "experiments",
        "put",
        "short",
        "--arm",
        "ten:max_context=10",
        "--percentage",
        "5",
        "--holdout",
        "10",
    )
    assert begun.stdout == "short is running: 5 % of the channels, 10 % held out\n", begun.stderr
    wider = run(
        "experiments",
        "put",
        "short",
        "--arm",
        "ten:max_context=10",
        "--percentage",
        "50",
        "--holdout",
        "10",
    )
    assert "50 % of the channels" in wider.stdout
    narrow = run(
        "experiments",
        "put",
        "short",
        "--arm",
        "ten:max_context=10",
        "--percentage",
        "5",
        "--holdout",
        "10",
    )
    assert narrow.returncode == 1
    assert "CHANNELS_WOULD_MOVE" in narrow.stderr
    assert "--move" in narrow.stderr
    dry = run(
        "experiments", "put", "short", "--arm", "ten:max_context=10", "--percentage", "10", "--holdout", "10",
        "--move", "--dry-run",
    )  # fmt: skip
    assert dry.stdout.endswith("36.0% of the channels would move\n")
    other = run("experiments", "put", "two", "--arm", "a", "--arm", "b:profile=classic")
    assert "stop short first" in other.stderr
    shown = run("experiments", "show", "short").stdout
    assert "50 % of the channels, 10 % held out" in shown
    assert "max_context=10" in shown
    for channel in ("a", "b", "c"):
        commands.call("BuildContext", channel, question="hello?")
    report = run("experiments", "report", "short")
    assert "note: " in report.stdout
    assert "control" in report.stdout
    told = commands.json("experiments", "report", "short")
    assert sum(int(one.get("builds", 0)) for one in told["arms"]) == 3
    (record, *_) = run("records", "list", "a", "--json").stdout.splitlines()
    assert json.loads(record)["experiment_id"] == "short"
    arms = {json.loads(run("records", "list", one, "--json").stdout)["arm"] for one in "abc"}
    of_arm = run(
        "records", "list", "--experiment", "short", "--arm", min(arms), "--shadows", "--json"
    )
    assert {json.loads(line)["arm"] for line in of_arm.stdout.splitlines()} == {min(arms)}
    assert run("records", "list", "--experiment", "other", "--json").stdout == ""
    listed = run("experiments", "list").stdout
    assert listed.split("\n")[1].split()[:2] == ["short", "running"]
    kept = run("experiments", "show", "short", "--json").stdout
    stopped = run("experiments", "stop", "short")
    assert stopped.stdout.startswith("short is stopped")
    given = {name: value for name, value in json.loads(kept).items() if name != "state"}
    again = run("experiments", "put", "short", "--file", "-", stdin=json.dumps(given))
    assert again.stdout.startswith("short is running"), again.stderr
    assert run("experiments", "delete", "short").stdout == "deleted\n"
    assert run("experiments", "delete", "short").stdout == "there was none\n"
    missing = run("experiments", "show", "short")
    assert "backscroll experiments list" in missing.stderr
    assert run("experiments", "list").stderr == "there are no experiments\n"


@pytest.mark.row("S5-40")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--arm"),
        (["--arm", "a", "--file", "x.json"], "--arm"),
        (["--arm", "a:nope=1"], "there is no setting 'nope'"),
        (["--arm", "a:max_context=many"], "'many' is no value of max_context"),
        (["--arm", "a:layout=round"], "layout"),
        (["--file", "/nowhere/x.json"], "cannot be read"),
        (["--arm", "a", "--percentage", "101"], ""),
    ],
)
def test_what_makes_no_sense_is_said(commands, arguments, words):
    done = commands.run("experiments", "put", "e", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_arms_are_read_as_they_are_shown():
    word = (
        "profile=classic,layout=single_user,use_intelligent_context=true,max_context=5,relevance_threshold=0.25,"
        "sources=recent+lexical,weights.time_decay=0.5"
    )
    assert words_of(arm_of(f"甲:{word}").to_proto()) == word
    assert words_of(arm_of("plain:weight=2").to_proto()) == ""
    with pytest.raises(CommandError):
        arm_of("a:use_intelligent_context=maybe")
