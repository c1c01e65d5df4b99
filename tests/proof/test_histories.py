"""Twenty thousand histories, and no vendor refuses a payload of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.proof
@pytest.mark.timeout(2_400)
def test_twenty_thousand_histories():
    """Ten thousand for each way with orphans, through the whole path, judged by the vendors' rules alone."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "a_build_gives",
    ]
    environment = {**os.environ, "BACKSCROLL_HISTORIES": "10000"}
    done = subprocess.run(
        [*command, "tests/property/test_vendor_payloads.py"], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4_000:]
    assert "2 passed" in done.stdout
