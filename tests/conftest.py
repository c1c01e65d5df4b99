"""What every test gets: options, and how properties are tried. Markers and warnings are set in pyproject.toml."""

import importlib
import importlib.util
import os
import signal

import hypothesis
import pytest

# The first example of a run may load tables or compile a kernel, so no example has a deadline; the same examples
# every time, so that a failure is somebody's change and not somebody's luck.
hypothesis.settings.register_profile(
    "backscroll",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("backscroll")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before workers and the servers of tests would each do it: 45 s and a time limit."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(config.cache.mkdir("kernels")))
    if not hasattr(config, "workerinput") and importlib.util.find_spec("numba"):
        importlib.import_module("backscroll_scoring")


def pytest_addoption(parser: pytest.Parser) -> None:
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
