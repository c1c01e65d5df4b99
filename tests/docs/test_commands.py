"""Every command of README and guide is run, page by page, against a server, or says why not (`shown.ELSEWHERE`)."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.shown import ELSEWHERE, ROOT, World, blocks, commands, hidden, program, world
from tests.kit.certificates import certificate_of_own
from tests.kit.forked import Forks

PAGES = [
    page
    for page in (*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs/guide").glob("*.md")))
    if blocks(page)
]


def of_backups(here: World, _: str) -> None:
    backups = here.directory / "backups"
    backups.mkdir()
    here.instead = {
        "/var/backups/backscroll/": f"{backups}/",
        "restore backscroll-20261128T030000Z.backup": f"restore {backups}/*.backup",
        "restore chat.backup": f"restore {backups}/*.backup",
        "/var/lib/backscroll/": f"{here.directory}/state/",
        "/var/tmp/": f"{here.directory}/",
    }


def of_deploying(here: World, _: str) -> None:
    files = certificate_of_own(here.directory)
    here.instead = {"chain.pem": str(files.cert), "key.pem": str(files.key)}
    here.run("backscroll keys create --file tokens.toml --tenant my-bot")


def of_erasure(here: World, _: str) -> None:
    here.instead = {"--receipt erasures.jsonl": "--receipt erasures.jsonl --yes"}  # nobody is asked


def of_experiments(here: World, text: str) -> None:
    classes = re.findall(r"```python\n(# mine.py\n.*?)```", text, re.DOTALL)
    (here.directory / "mine.py").write_text(classes[0])
    resolved = "put ab --arm now --arm new:profile=steady --resolver"
    before = {"put try": ("stop ab", ""), resolved: ("stop try", "--move")}
    here.instead = {  # each way of the page begins without those before
        f"experiments {one}": f"experiments {other} && backscroll experiments {one} {more}"
        for one, (other, more) in before.items()
    }


def of_exports(here: World, _: str) -> None:
    built = here.json('backscroll context my-group "which one did you mean?" --asker u17')
    here.instead = {"3f0c…": built["context_id"]}


def of_importing(here: World, _: str) -> None:
    exports = ROOT / "tests/data/exports"
    shutil.copy(exports / "telegram_topics.json", here.directory / "result.json")
    (here.directory / "#room.log").write_text("10:00 <ann> who is there?\n10:01 <ben> I am\n")


def of_memory(here: World, _: str) -> None:
    here.run("backscroll memory set --user ann --topic drink --value tea --text 'drinks tea'")
    kept = here.json("backscroll memory list --user ann")
    here.instead = {"3f0c…": kept["id"]}


def of_own_stages(here: World, text: str) -> None:
    [classes] = re.findall(r"```python\n(# mine.py\n.*?)```", text, re.DOTALL)
    (here.directory / "mine.py").write_text(classes)


def of_quickstart(here: World, _: str) -> None:
    (here.directory / "sidecar").symlink_to(ROOT / "sidecar")  # the reader is in the source tree


def of_tuning(here: World, _: str) -> None:
    here.run("cp my-group.jsonl chat.jsonl")
    tune = "backscroll tune --channel my-group --roll-back"
    here.instead = {tune: f"! {tune}"}  # nothing was tuned that could be rolled back
    here.run('backscroll context my-group "and what of the red one?" --asker u17 --profile classic')


PREPARED = {
    "backup.md": of_backups,
    "deploying.md": of_deploying,
    "erasure.md": of_erasure,
    "experiments.md": of_experiments,
    "exports.md": of_exports,
    "importing.md": of_importing,
    "memory.md": of_memory,
    "own-stages.md": of_own_stages,
    "quickstart.md": of_quickstart,
    "quickstart.zh.md": of_quickstart,
    "tuning.md": of_tuning,
}
"""What a page's commands take for granted."""


@pytest.fixture(scope="module")
def programs(prepared, tmp_path_factory):
    """`backscroll` for a shell's PATH."""
    forks = Forks(prepared, tmp_path_factory.mktemp("programs") / "bin")
    yield forks.directory
    forks.close()


def run_here(page: Path) -> list[str]:
    return [
        command
        for block in blocks(page)
        for command in commands(block)
        if program(command) not in ELSEWHERE
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [one for one in PAGES if run_here(one)], ids=lambda page: page.name
)
def test_every_command_of_a_page_runs(page, tmp_path, programs, kernels):
    todo = run_here(page)
    if missing := [one for one in map(program, todo) if one == "curl" and not shutil.which(one)]:
        pytest.skip(f"{missing[0]} is not installed")
    with world(tmp_path, programs, kernels) as here:
        if prepare := PREPARED.get(page.name):
            prepare(here, page.read_text("utf-8"))
        for command in todo:
            here.run(command)


def test_whatever_is_not_run_is_shown_somewhere():
    shown = {program(one) for page in PAGES for block in blocks(page) for one in commands(block)}
    assert not set(ELSEWHERE) - shown


def test_no_page_shows_commands_that_are_not_marked_as_such():
    guide = (ROOT / "docs/guide").glob("*.md")
    found = {page.name: hidden(page) for page in (*ROOT.glob("README*.md"), *guide)}
    assert not {name: lines for name, lines in found.items() if lines}
