"""`backscroll quality` counts as the independent referee does: the same figures, to the third digit.

Both hear the same chats through servers of their own. Skipped where the referee does not lie beside the project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
SELECTORS = {"recency": "recency", "bench.quality.sidecar:Sidecar": "balanced"}
"""Names of the referee's, and ours."""
SLICES = {"irc_dev": ("--groups", "3", "--every", "4"), "madial_en_dev": ("--every", "4")}
THIRD_DIGIT = 0.0005

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (SHARED / "referee").is_dir(), reason="there is no referee"),
]


@pytest.mark.parametrize("data", SLICES)
def test_both_count_the_same(data: str, tmp_path: Path) -> None:
    """Every measure that both have; what counts tokens only where the referee has its tokenizer, else it guesses."""
    told, ours = by_referee(data, tmp_path / "referee.jsonl"), by_us(data)
    has_tokenizer = find_spec("tiktoken") is not None
    for theirs, name in SELECTORS.items():
        shared = {
            measure
            for measure in told[theirs].keys() & ours[name].keys()
            if has_tokenizer or not measure.endswith("tok")
        }
        assert len(shared) >= 4
        different = {
            measure: (told[theirs][measure], ours[name][measure])
            for measure in shared
            if abs(told[theirs][measure] - ours[name][measure]) >= THIRD_DIGIT
        }
        assert not different


def by_referee(data: str, out: Path) -> dict[str, dict[str, float]]:
    """The referee's means of its selectors."""
    path = [str(SHARED / "referee"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    command = [
        sys.executable, "-m", "quality.evaluate", "--data", data, *SLICES[data],
        "--selector", *SELECTORS, "--out", str(out),
    ]  # fmt: skip
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    rows = map(json.loads, out.read_text("utf-8").splitlines())
    return {row["selector"]: row["mean"] for row in rows}


def by_us(data: str) -> dict[str, dict[str, float]]:
    """Ours, of our own selectors."""
    command = [
        sys.executable, "-m", "backscroll._cli_entry", "quality", "--json", "--profile", "balanced",
        *SLICES[data], "--data", str(SHARED / "quality" / data),
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    results: list[dict[str, Any]] = json.loads(done.stdout)["sets"][0]["results"]
    return {
        one["selector"]: {name: figure["value"] for name, figure in one["figures"].items()}
        for one in results
    }
