"""What a figure depends on besides the code: the machine and the versions."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from backscroll_bench.awake import stay_awake
from backscroll_bench.speed.loops import LOOP_CORE

PACKAGES = ("backscroll", "grpcio", "protobuf", "numpy", "numba", "uvloop")


def describe() -> dict[str, Any]:
    """Date, processor, cores this process may use, whether they can be kept awake, the event loops' one, versions."""
    versions = {platform.python_implementation(): platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "cpu": _cpu(),
        "cores": _cores(),
        "cores_awake": stay_awake(),
        "loop_core": LOOP_CORE,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": versions | {"SQLite": sqlite3.sqlite_version},
    }


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
