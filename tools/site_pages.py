"""mkdocs asks this: which pages beside docs/ are in the site, and where links from page to page lead there.

Pages are written to be read in the source tree. Here links to pages become links of the site, and links to sources and
folders, which are not in it, become their words.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ("python", "node", "go", "rust", "java", "cpp", "ruby")
BESIDE = {
    "README.md": "index.md",
    "README.zh.md": "index.zh.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "bench.md",
    **{f"clients/{name}/README.md": f"clients/{name}.md" for name in CLIENTS},
}
"""Pages outside docs/, and what they are called in the site."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_IN_TREE = {site: tree for tree, site in BESIDE.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A folder in the nav stands for its pages, by name, without its README.md, which is told where it goes."""
    config.nav = [_unfolded(one) for one in config.nav]
    return config


def _unfolded(entry: Any) -> Any:  # noqa: ANN401 - as YAML has it
    if isinstance(entry, dict):
        return {name: _unfolded(inside) for name, inside in entry.items()}
    if isinstance(entry, list):
        return [_unfolded(one) for one in entry]
    if not entry.endswith("/"):
        return entry
    if entry == "clients/":
        return [f"clients/{name}.md" for name in CLIENTS]
    names = sorted(page.name for page in (ROOT / "docs" / entry).glob("*.md"))
    return [entry + name for name in names if name not in {"README.md", "template.md"}]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages beside docs/."""
    for tree, site in BESIDE.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / tree)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Turn links of the tree into links of the site."""
    here = page.file.src_uri
    tree = _IN_TREE.get(here, f"docs/{here}")
    parts = CODE.split(markdown)
    for at in range(0, len(parts), 2):
        parts[at] = LINK.sub(lambda found: _link(found, here, tree, files), parts[at])
    return "".join(parts)


def _link(found: re.Match[str], here: str, tree: str, files: Files) -> str:
    mark, text, target = found.groups()
    path, _, anchor = target.partition("#")
    if not path or ":" in path:
        return found[0]
    there = posixpath.normpath(posixpath.join(posixpath.dirname(tree), path))
    site = BESIDE.get(there, there.removeprefix("docs/"))
    is_ours = there in BESIDE or there.startswith("docs/")
    if is_ours and files.get_file_from_path(site):
        to = posixpath.relpath(site, posixpath.dirname(here) or ".")
        return f"{mark}[{text}]({to}{'#' + anchor if anchor else ''})"
    if not (ROOT / there).exists():
        raise SystemExit(f"{tree}: {target} leads nowhere")
    return text
