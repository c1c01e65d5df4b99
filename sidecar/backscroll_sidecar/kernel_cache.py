"""Where compiled kernels are kept: in the user's cache, whatever database a server has (decision 0021).

numba knows a kernel by the path, time and size of its own file and by the processor. It does not know what else the
kernel was compiled with, and its processes number their files without asking each other. So each build of the kernels
has a directory of its own: by the release of Backscroll, the files of all its kernels with their paths and times,
Python, numba and the processor. What lies in there serves this installation and no other. All its processes write the
same bytes, each file at once (numba renames it into its place).
Nothing here imports numba.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

LISTED_DIGITS = 16
"""Hexadecimal digits of the name: enough for builds of one user."""
KEPT_UNUSED_S = 30 * 86_400
"""Builds that no process has begun with for so long are deleted: an upgrade leaves the one before it behind."""
_KERNEL = re.compile(rb"^@kernel\(", re.MULTILINE)
_BUILD_NAME = re.compile(rf"[^-]+-py\d+-numba.+-[0-9a-f]{{{LISTED_DIGITS}}}")


class KernelCache(NamedTuple):
    """A directory that exists and can be written. `fallback_reason`: why it is not the user's cache, else empty."""

    directory: Path
    fallback_reason: str = ""


def kernel_cache(state_dir: Path) -> KernelCache:
    """``NUMBA_CACHE_DIR`` as it is, else the user's cache, else, where that cannot be written, the state directory.

    Makes the directory, and deletes those of other builds beside it that nobody uses any more. Raises `OSError` where
    none can be written.
    """
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return KernelCache(_writable(Path(own)))
    name = _build_name()
    try:
        return KernelCache(_among_others(user_cache() / "kernels" / name))
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        directory = _among_others(state_dir / "kernels" / name)
        return KernelCache(directory, f"the user's cache cannot be used ({error})")


def user_cache() -> Path:
    """``$XDG_CACHE_HOME/backscroll``, else ``~/.cache/backscroll``. Raises `RuntimeError` where there is no home."""
    told = Path(os.environ.get("XDG_CACHE_HOME") or "")
    # The standard: a path that is not absolute is to be ignored.
    return (told if told.is_absolute() else Path("~/.cache").expanduser()) / "backscroll"


def kernel_sources() -> list[Path]:
    """The files that kernels are compiled from, in the order of their names."""
    found = importlib.util.find_spec("backscroll_scoring")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'backscroll_scoring'", name="backscroll_scoring")
    return sorted(Path(found.origin).parent.rglob("*.py"))


def kernel_count() -> int:
    """How many kernels there are, by their sources: none of them has to be imported."""
    return sum(len(_KERNEL.findall(path.read_bytes())) for path in kernel_sources())


def _build_name() -> str:
    binding = importlib.import_module("llvmlite.binding")  # what numba asks; imports no numpy
    digest = hashlib.sha256(binding.get_host_cpu_features().flatten().encode())
    for path in kernel_sources():
        digest.update(f"{path.resolve()}\0{path.stat().st_mtime_ns}\0".encode() + path.read_bytes())
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    processor = binding.get_host_cpu_name() or "generic"
    built = f"{version('backscroll')}-{python}-numba{version('numba')}-{processor}"
    return f"{built}-{digest.hexdigest()[:LISTED_DIGITS]}"


def _among_others(directory: Path) -> Path:
    """The directory, made and its use noted in its time; others like it are deleted when theirs is too long ago.

    Whoever still runs with a deleted one has its kernels in memory, and compiles them again at its next start.
    """
    _writable(directory)
    os.utime(directory)
    oldest_s = time.time() - KEPT_UNUSED_S
    with contextlib.suppress(
        OSError
    ):  # another process deletes them, too: the next start looks again
        for other in list(directory.parent.iterdir()):
            if _BUILD_NAME.fullmatch(other.name) and other.lstat().st_mtime < oldest_s:
                shutil.rmtree(other, ignore_errors=True)  # not where a link leads
    return directory


def _writable(directory: Path) -> Path:
    """The directory, made where it was missing and tried. Only its user may write there: it holds code."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    tempfile.TemporaryFile(dir=directory).close()
    return directory
