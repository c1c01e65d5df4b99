"""What `--help` says: whole sentences, examples to copy, and nothing else done."""

import re

import pytest
import typer
from typer.testing import CliRunner

from backscroll_sidecar.cli.commands import COMMANDS, GROUPS, app


def shown(*arguments: str, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def valued_options() -> list[tuple[str, str]]:
    """The first option of each command that takes a value."""
    commands = typer.main.get_group(app).commands
    return [
        (
            name,
            next(
                one.opts[0]
                for one in commands[name].params
                if one.opts[0].startswith("--") and not one.is_flag
            ),
        )
        for name in COMMANDS
        if name != "version"
    ]


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_a_list_of_commands_has_whole_sentences(group):
    listed = shown(*group.split(), "--help").partition("Commands:")[2]
    assert "..." not in listed
    for name in GROUPS[group][1] if group else (*COMMANDS, *GROUPS):
        assert f"\n  {name}  " in listed


@pytest.mark.parametrize(("command", "option"), valued_options())
def test_help_is_no_value_of_an_option(command, option):
    assert shown(command, option, "--help") == shown(command, "--help")


EVERY = [
    *COMMANDS,
    *(f"{group} {name}" for group, (_, commands) in GROUPS.items() for name in commands),
]


@pytest.mark.parametrize("command", EVERY)
def test_values_have_a_word_and_no_type(command):
    """Between the names and what is said of them: CHANNEL, N or full|normal; in usage ID... and [ID...]."""
    said = shown(*command.split(), "--help", columns=200)
    about, _, options = said.partition("\nOptions:\n")
    usage = next(line for line in about.splitlines() if line.startswith("Usage:"))
    assert re.fullmatch(
        rf"Usage: backscroll {command} \[OPTIONS\]( [A-Z_]+(\.\.\.)?)*( \[[A-Z_]+(\.\.\.)?\])*",
        usage,
    )
    for name, word in re.findall(r"^  (?:-\w, )?(--[\w-]+) (\S.*?)(?:  |$)", options, re.MULTILINE):
        is_flag = word.startswith("/ --")
        assert is_flag or re.fullmatch(r"[A-Z][A-Z_:=|-]*(\.md)?|[a-z_-]+(\|[a-z_-]+)+", word), name
    assert "<" not in about.partition("\nArguments:\n")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_can_be_copied(command):
    lines = shown(command, "--help").splitlines()
    for line in COMMANDS[command][1].splitlines():
        assert f"  {line}" in lines


def test_what_stands_behind_two_dashes_is_a_word():
    done = CliRunner().invoke(app, ["context", "--server", "127.0.0.1:1", "--", "g", "--help"])
    assert done.exit_code
    assert "Usage:" not in done.stdout
