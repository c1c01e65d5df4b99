"""The pages for contributors name what is there: every path of theirs, and every file of a room."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "sidecar/backscroll_sidecar"
SCORING = ROOT / "scoring/backscroll_scoring"
CLIENT = ROOT / "clients/python/backscroll"
INTERNALS = ROOT / "docs/internals"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(INTERNALS.glob("*.md"))]
PATH = re.compile(
    r"[\w.*-]+(/[\w.*-]+)*/|[\w.*-]+(/[\w.*-]+)+|[\w*-]+\.(py|md|proto|sql|toml|jsonl?|patch)"
)

MADE = (".venv/", "build/", "dist/")
"""What targets of make leave behind, which a fresh clone has not."""


def spans(page: Path) -> list[str]:
    """What stands in back-ticks, without the blocks of code."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


def rooms(page: Path) -> list[Path]:
    """The folders that the title names."""
    title = page.read_text("utf-8").partition("\n")[0]
    return [ROOT / one for one in re.findall(r"`([^`]+)/`", title)]


def named(page: Path) -> Iterator[tuple[str, list[Path]]]:
    """Each path of a page, and what is there. A name alone is looked for in the page's rooms, else anywhere.

    ``<name>`` stands for any file, since those that a change adds are not there yet.
    """
    for word in " ".join(spans(page)).split():
        path = word.rstrip(",;:.").replace("<name>", "*")
        if not PATH.fullmatch(path) or path.startswith(MADE):
            continue
        folders = [*rooms(page), ROOT, SERVER, SCORING.parent]
        found = [one for folder in folders for one in folder.glob(path.rstrip("/"))]
        if "/" not in path and not rooms(page) and not found:
            found = [
                one for top in ("sidecar", "tests", "bench") for one in (ROOT / top).rglob(path)
            ]
        yield word, found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_on_a_page_is_there(page):
    assert not [word for word, found in named(page) if not found]


def test_every_file_stands_on_a_page_of_its_room():
    pages = [page for page in INTERNALS.glob("*.md") if rooms(page)]
    told = {one for page in pages for _, found in named(page) for one in found}
    missing = []
    for top in (SERVER, SCORING, CLIENT):
        for path in top.rglob("*.py"):
            is_plain = path.name == "__init__.py" or "_pb2" in path.name
            if not is_plain and path not in told:
                missing.append(str(path.relative_to(ROOT)))
    assert not missing
