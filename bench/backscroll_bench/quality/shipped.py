"""The sets that come with Backscroll: excerpts whose licences permit it (see samples/README.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

SHIPPED = ("irc", "kdconv", "madial_zh", "madial_en")


@contextmanager
def shipped_sets(names: Sequence[str] = SHIPPED) -> Iterator[list[str]]:
    """Names that `find_set` takes for these sets, while the block lasts."""
    folder = resources.files("backscroll_bench.quality") / "samples"
    with resources.as_file(folder) as path:
        yield [str(Path(path) / name) for name in names]
