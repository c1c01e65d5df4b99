"""The site has every page: those of the guide where the nav puts them, all others by their folder."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
FOLDERS = {"decisions", "internals", "reference"}


def test_every_page_of_docs_is_in_the_nav_of_the_site():
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    told = set(re.findall(r"[\w./-]+\.md", NAV))
    unfolded = {one for one in pages if Path(one).parts[0] in FOLDERS}
    assert set(re.findall(r" (\w+)/$", NAV, re.MULTILINE)) == FOLDERS | {"clients"}
    assert not pages - told - unfolded


def test_the_nav_names_no_page_that_is_gone():
    beside = set(re.findall(r'": "([\w.-]+\.md)"', (ROOT / "tools/site_pages.py").read_text()))
    told = set(re.findall(r"[\w./-]+\.md", NAV))
    assert beside <= told
    assert not {one for one in told - beside if not (ROOT / "docs" / one).exists()}
