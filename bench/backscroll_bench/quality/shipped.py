"""The sets that come with Backscroll: excerpts whose licences permit it (see samples/README.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

SHIPPED = ("irc", "kdconv", "madial_zh", "madial_en")
WITH_TALK = ("madial_zh", "madial_en")
"""Those whose questions tell the talk that led to them."""


@contextmanager
def shipped_sets() -> Iterator[Mapping[str, str]]:
    """Of each set what `find_set` takes for it, while the block lasts."""
    folder = resources.files("backscroll_bench.quality") / "samples"
    with resources.as_file(folder) as path:
        yield {name: str(Path(path) / name) for name in SHIPPED}
