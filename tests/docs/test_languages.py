"""A page that is there in Chinese, too, shows the same commands and programs in both languages."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOTH = sorted(
    page
    for folder in (ROOT, ROOT / "docs/guide")
    for page in folder.glob("*.md")
    if page.with_suffix(".zh.md").exists()
)
CHINESE = r"[\u4e00-\u9fff]"
SAID = re.compile(r'"[^"]*"|\'[^\']*\'')


def blocks(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def without_words(kind, text):
    """A block without what is said in a language: comments, and the insides of strings that hold letters of it."""
    if kind == "console":
        lines = [re.sub(r"\s+# .*", "", line) for line in text.splitlines()]
        return [
            "…".join(SAID.split(line)) if line.startswith("$ backscroll") else line
            for line in lines
        ]
    if kind == "python":
        skipped = {tokenize.COMMENT, tokenize.NL}
        return [
            "…" if one.type == tokenize.STRING and re.search(f" |{CHINESE}", one.string) else one.string
            for one in tokenize.generate_tokens(io.StringIO(text).readline)
            if one.type not in skipped
        ]  # fmt: skip
    return [re.findall(r"<\w+>|\"\w+\":", line) for line in text.splitlines()]


def test_readme_and_quickstart_are_there_in_chinese():
    assert {page.name for page in BOTH} >= {"README.md", "quickstart.md"}


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.name)
def test_both_languages_show_the_same(page):
    chinese = page.with_suffix(".zh.md")
    here, there = blocks(page), blocks(chinese)
    assert [kind for kind, _ in here] == [kind for kind, _ in there]
    for (kind, ours), (_, theirs) in zip(here, there, strict=True):
        assert without_words(kind, ours) == without_words(kind, theirs)


@pytest.mark.parametrize("page", BOTH, ids=lambda page: page.name)
def test_both_languages_name_the_other_and_the_same_pages(page):
    chinese = page.with_suffix(".zh.md")
    links = {
        one: set(re.findall(r"\]\(([^)]+)\)", one.read_text("utf-8"))) for one in (page, chinese)
    }
    assert chinese.name in links[page]
    assert page.name in links[chinese]
    missing = {
        one for one in links[page] - links[chinese] - {chinese.name}
        if not {one.replace(".md", ".zh.md"), one.replace(".png", "-zh.png")} & links[chinese]
    }  # fmt: skip
    assert not missing
