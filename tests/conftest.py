"""What every test gets: options, and how properties are tried. Markers and warnings are set in pyproject.toml."""

import gc
import importlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest
import structlog

from tests.kit.examples import examples
from tests.kit.faults import no_build_breaks  # noqa: F401 - for every test
from tests.kit.logs_restored import logging_stays_as_it_is  # noqa: F401 - for every test
from tests.kit.surface import Surfaces, watch

# The first example of a run may load tables or compile a kernel, so no example has a deadline; the same examples
# every time, so that a failure is somebody's change and not somebody's luck.
hypothesis.settings.register_profile(
    "backscroll",
    deadline=None,
    max_examples=examples(100),
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("backscroll")

# A traceback with the arrays of every frame, as structlog draws it by default, takes a second.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)

# What `config.cache.mkdir("kernels")` makes. Numba reads it when first imported: the conftest.py of a directory that is
# named on the command line does so before `pytest_configure`.
KERNELS = Path(__file__).parents[1] / ".pytest_cache" / "d" / "kernels"
os.environ.setdefault("NUMBA_CACHE_DIR", str(KERNELS))

# Files of tests outlive their processes and nothing else, so they are kept in memory where that has room and runs
# programs: there a commit does not wait for a disk.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 4 * 2**30
if (
    "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and shutil.disk_usage(MEMORY).free >= ROOM_BYTES
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# The many commands and servers that tests start as processes would each compile all of Python's modules again, and
# pytest would rewrite the assertions of all tests again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Kernels compile when they are imported, which a list of the tests has no use for.
IS_LISTING = not {"--co", "--collect-only"}.isdisjoint(sys.argv)
if IS_LISTING:
    os.environ["NUMBA_DISABLE_JIT"] = "1"


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before workers and servers of tests would each do it: 75 s of a core, and a limit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not IS_LISTING and not hasattr(config, "workerinput") and importlib.util.find_spec("numba"):
        if any(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbi")):
            importlib.import_module("backscroll_scoring")
        else:
            _compile_with_two_processes()
    watch()
    config.pluginmanager.register(Surfaces(is_report_wanted=config.option.rows))


HALF = ("kernels_links", "kernels_conversations", "kernels_vectors")
"""Modules of kernels that the package imports last; compiling them takes about as long as compiling the others."""

COMPILE = """
import importlib, sys, types
package = types.ModuleType("backscroll_scoring")  # a stand-in, so that nothing but these modules is imported
package.__path__ = [sys.argv[1]]
sys.modules[package.__name__] = package
for module in sys.argv[2:]:
    importlib.import_module(f"{package.__name__}.{module}")
"""


def _compile_with_two_processes() -> None:
    """A second process compiles half of the kernels into the cache; should it fail, this one compiles all."""
    package = importlib.util.find_spec("backscroll_scoring")
    assert package is not None
    assert package.origin is not None
    directory = str(Path(package.origin).parent)
    with subprocess.Popen([sys.executable, "-c", COMPILE, directory, *HALF]) as beside:
        try:
            importlib.import_module("backscroll_scoring")
        finally:
            beside.terminate()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: a worker that meets one last keeps all waiting, 104 s once."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection() -> None:
    """Nearly nothing of a collection is garbage: looking for it took each worker 7 s of 25."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is imported and collected stays for ever: a `gc.collect()` of a test need not look at it, .3 s each time."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rows",
        action="store_true",
        help="print which row of the features was proved through which surface",
    )
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what the program produces into tests/golden/files; read the diff before you commit it",
    )
    parser.addoption(
        "--update-floors",
        action="store_true",
        help="write tests/quality/floors.json from what the selection finds now; read the diff before you commit it",
    )
