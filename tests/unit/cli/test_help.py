"""What `--help` says: whole sentences, examples to copy, and nothing else done."""

import pytest
import typer
from typer.testing import CliRunner

from backscroll_sidecar.cli.commands import COMMANDS, GROUPS, app


def shown(*arguments: str) -> str:
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, list(arguments))
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


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_can_be_copied(command):
    lines = shown(command, "--help").splitlines()
    for line in COMMANDS[command][1].splitlines():
        assert f"  {line}" in lines


def test_what_stands_behind_two_dashes_is_a_word():
    done = CliRunner().invoke(app, ["context", "--server", "127.0.0.1:1", "--", "g", "--help"])
    assert done.exit_code
    assert "Usage:" not in done.stdout
