"""Measure every profile on the development sets and put the tables into bench/README.md.

    .venv/bin/python bench/quality/refresh.py FOLDER [SET …]

FOLDER holds the sets; with names of sets only those. What stands between the markers of the page is replaced.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

from backscroll_sidecar.settings_types import PROFILE_NAMES

PAGE = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"
SETS = ("irc_dev", "kdconv_mix_dev", "locomo_dev", "madial_zh_dev", "madial_en_dev")
COMPARED = ("balanced", "chain_recent", "classic")
PASSES = (
    (
        "As they are",
        ("irc_dev", "locomo_dev", "madial_zh_dev", "madial_en_dev"),
        PROFILE_NAMES,
        (),
    ),
    ("As they are, every fourth question", ("kdconv_mix_dev",), PROFILE_NAMES, ("--every", "4")),
    (
        "With the reply links that a reply button would have given",
        ("irc_dev",),
        COMPARED,
        ("--explicit",),
    ),
    (
        "Asked 10 seconds after the last line, by one of the two who spoke last",
        ("irc_dev", "locomo_dev", "madial_zh_dev", "madial_en_dev"),
        COMPARED,
        ("--pause", "10", "--every", "2"),
    ),
    (
        "Asked an hour after the last line",
        ("irc_dev", "kdconv_mix_dev"),
        COMPARED,
        ("--pause", "3600", "--every", "4"),
    ),
    ("With half of the names", ("irc_dev",), COMPARED, ("--name-share", "0.5", "--every", "2")),
)
"""What is measured: heading, sets, profiles, further options."""


def measured(folder: Path, wanted: tuple[str, ...]) -> str:
    """All tables, each pass below its command."""
    parts = []
    for heading, sets, profiles, more in PASSES:
        chosen = [name for name in sets if name in wanted]
        if not chosen:
            continue
        options = [*more, *(word for one in profiles for word in ("--profile", one))]
        shown = " ".join(
            ["backscroll quality --markdown", *options, *(f"--data {one}" for one in chosen)]
        )
        files = [word for name in chosen for word in ("--data", str(folder / name))]
        command = [
            sys.executable,
            "-m",
            "backscroll._cli_entry",
            "quality",
            "--markdown",
            *options,
            *files,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        parts.append(f"### {heading}\n\n```\n{shown}\n```\n\n{done.stdout.strip()}\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> None:
    """Rewrite the part of the page between the markers."""
    tables = measured(Path(arguments[0]), tuple(arguments[1:]) or SETS)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "grpcio"))
    stamp = (
        f"Measured on {date.today().isoformat()}, CPython {platform.python_version()}, {packages}."  # noqa: DTZ011
    )
    text = PAGE.read_text("utf-8")
    fresh, count = re.subn(
        f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{tables}\n{stamp}\n{END}", text, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{PAGE} has not one pair of markers")
    PAGE.write_text(fresh, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
