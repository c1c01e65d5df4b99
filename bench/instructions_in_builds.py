"""How many instructions a build takes and how much memory it touches, by callgrind: nearly the same on a busy host.

``python bench/instructions_in_builds.py [PROFILE ...]`` (balanced, vector, classic_full; by default the first and the
last) prints for each, in process, without gRPC: instructions a build, the mean of `BUILDS`; and of one build whose code
and data are in no cache, how many lines of 64 bytes of code and of data it fetches. It needs valgrind and takes one to
three minutes a profile.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path

from backscroll_sidecar.telemetry import logs
from kernels_in_builds import PROFILES, ready

WARM_ROUNDS, BUILDS = 10, 80
PLAIN = ("--tool=callgrind", "--instr-atstart=no")
CACHES = ("--cache-sim=yes", "--I1=65536,16,64", "--D1=49152,12,64", "--LL=4194304,16,64")
"""The last level holds all that a build touches, so each line is fetched once."""
COUNTED = re.compile(r"== (Collected|LLi misses|LLd misses) *: +([0-9,]+)")


def counted(profile: str, builds: int, *caches: str) -> dict[str, int]:
    """What callgrind says of so many builds in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        out = f"--callgrind-out-file={Path(place) / 'callgrind.out'}"
        inner = (sys.executable, __file__, "--inside", profile, str(builds))
        done = subprocess.run(
            ("valgrind", *PLAIN, *caches, out, *inner),
            env=os.environ | {"TMPDIR": place},  # the process inside clears nothing away
            capture_output=True,
            text=True,
            check=True,
        )
    return {name: int(number.replace(",", "")) for name, number in COUNTED.findall(done.stderr)}


async def run_inside(profile: str, builds: int) -> None:
    """Fill a channel, warm up, and let callgrind count these builds alone. The process ends in the midst of it."""
    async with ready(profile) as (build, requests):
        for request in requests * WARM_ROUNDS:
            await build(request)
        _count("on")
        for request in islice(cycle(requests), builds):
            await build(request)
        _count("off")
        os._exit(0)  # what a server does to end is long under valgrind


def _count(switch: str) -> None:
    """By the shell: of all ways to run a command this one has the least code to be counted, some hundred lines."""
    if os.system(f"callgrind_control -i {switch} {os.getpid()} >/dev/null"):
        raise SystemExit("callgrind_control does not reach this process")


def main(profiles: list[str]) -> None:
    """Print the counts of these profiles."""
    for profile in profiles:
        warm, cold = counted(profile, BUILDS), counted(profile, 1, *CACHES)
        print(
            f"{profile}: {warm['Collected'] / BUILDS:,.0f} instructions a build; cold, "
            f"{cold['LLi misses']:,} lines of code and {cold['LLd misses']:,} of data"
        )


if __name__ == "__main__":
    logs.configure("error")
    if sys.argv[1:2] == ["--inside"]:
        asyncio.run(run_inside(sys.argv[2], int(sys.argv[3])))
    else:
        main(sys.argv[1:] or [PROFILES[0], PROFILES[2]])
