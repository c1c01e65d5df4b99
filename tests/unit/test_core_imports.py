"""What the core is made of: its own neutral messages, nobody else's types."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

CORE = (
    "domain",
    "errors",
    "ports",
    "context",
    "strategies",
    "channels",
    "adapters",
    "analyze",
    "history",
)
FOREIGN = (
    "openai", "anthropic", "google.genai", "google.generativeai", "mistralai", "litellm", "langchain", "langchain_core",
    "tiktoken", "aiosqlite", "sqlite3", "grpc", "google.protobuf", "backscroll",
)  # fmt: skip


def imported_by(modules: list[str]) -> set[str]:
    """Everything a fresh interpreter has in memory once these modules are imported."""
    code = f"import sys\nfor name in {modules!r}: __import__(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def modules_of(part: str) -> list[str]:
    """A part of the core: its module, or its package with everything in it."""
    package = import_module(f"backscroll_sidecar.{part}")
    inside = pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")
    return [package.__name__, *(module.name for module in inside)]


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return imported_by([name for part in CORE for name in modules_of(part)])


@pytest.mark.row("S3-02")
@pytest.mark.parametrize("name", FOREIGN)
def test_the_core_imports_no_provider(loaded, name):
    """S3-02: the whole core runs on its own neutral message, without a vendor's, a driver's or the wire's types."""
    assert "backscroll_sidecar.context.builder" in loaded
    assert name not in loaded


@pytest.mark.row("S3-02")
def test_the_check_sees_what_is_imported():
    """S3-02: the check can fail: the edge, which translates, does bring the wire's types."""
    assert {"google.protobuf", "backscroll"} <= imported_by(
        ["backscroll_sidecar.edge.convert.built"]
    )
