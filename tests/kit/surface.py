"""Which public surface a test went through: gRPC, the Python client, the command line.

A test that names a row of the features in a marker proves it from outside: `Surfaces` looks at what was called during
the test and during the fixtures it stands on, and fails it where that is nothing.
"""

import functools
import importlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

import pytest

INTERNAL_ROWS = frozenset({"S3-01", "S3-02", "S3-05", "S3-06", "S3-07"})
"""Interfaces and purity: a replaced stub, an import rule, a property of a function."""

CALLS: Counter[str] = Counter()
"""Calls since the process began, by surface: "gRPC", "client", "command line"."""

_GRPC = {
    "grpc._channel": (
        "_UnaryUnaryMultiCallable",
        "_UnaryStreamMultiCallable",
        "_SingleThreadedUnaryStreamMultiCallable",
        "_StreamUnaryMultiCallable",
        "_StreamStreamMultiCallable",
    ),
    "grpc.aio._channel": (
        "UnaryUnaryMultiCallable",
        "UnaryStreamMultiCallable",
        "StreamUnaryMultiCallable",
        "StreamStreamMultiCallable",
    ),
}


def watch() -> None:
    """Count from now on. To be called once, before tests are collected; what is not installed is left out."""
    sys.addaudithook(_processes)
    for module, names in _GRPC.items():
        if importlib.util.find_spec("grpc") is None:
            return
        for name in names:
            kind = getattr(importlib.import_module(module), name)
            for method in {"__call__", "with_call", "future"} & vars(kind).keys():
                _count(kind, method, "gRPC")
    client = importlib.import_module("backscroll")
    _count(client.Client, "__init__", "client")
    _count(client.AsyncClient, "__init__", "client")
    if importlib.util.find_spec("typer") is not None:
        _count(importlib.import_module("typer.testing").CliRunner, "invoke", "command line")
        pipeline = importlib.import_module("backscroll_sidecar.edge.call_pipeline").CallPipeline
        _count(pipeline, "_admit", "gRPC")


def _count(kind: type, method: str, surface: str) -> None:
    inner: Callable[..., Any] = getattr(kind, method)

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> Any:
        CALLS[surface] += 1
        return inner(*args, **kwargs)

    setattr(kind, method, counted)


def _processes(event: str, args: tuple[Any, ...]) -> None:
    """Count a started process whose program or arguments are ours."""
    if event == "subprocess.Popen" and any("backscroll" in str(one) for one in args[:2]):
        CALLS["command line"] += 1


class Surfaces:
    """The plugin: fails a marked test that called no surface, and tells at the end which row was proved how."""

    def __init__(self, *, is_report_wanted: bool) -> None:
        self._is_report_wanted = is_report_wanted
        self._of_fixture: dict[object, set[str]] = {}
        self._of_row: dict[str, dict[str, set[str]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """Remember what a fixture called: tests that share it stand on the same answers."""
        before = CALLS.copy()
        try:
            return (yield)
        finally:
            self._of_fixture[fixturedef] = set(CALLS - before)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail where a row is claimed and nothing public was called."""
        before = CALLS.copy()
        result = yield
        rows = rows_of(item)
        if not rows:
            return result
        used = set(CALLS - before)
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for one in definitions:
                used |= self._of_fixture.get(one, set())
        outside = rows - INTERNAL_ROWS
        if outside and not used:
            pytest.fail(
                f"{', '.join(sorted(outside))}: called no server, client or command", pytrace=False
            )
        item.user_properties.append(("rows", {row: sorted(used) or ["inside"] for row in rows}))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what workers and this process tell of passed tests."""
        if report.when == "call" and report.passed:
            for rows in [value for name, value in report.user_properties if name == "rows"]:
                for row, used in rows.items():
                    surfaces = self._of_row.setdefault(row, {})
                    for surface in used:
                        surfaces.setdefault(surface, set()).add(report.nodeid.split("[")[0])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print a line a row: its surfaces, how many tests, one of them."""
        if not self._is_report_wanted:
            return
        for row, surfaces in sorted(self._of_row.items(), key=lambda one: _order(one[0])):
            tests = sorted(set().union(*surfaces.values()))
            terminalreporter.write_line(
                f"{row:6} {', '.join(sorted(surfaces)):28} {len(tests):3} {tests[0]}"
            )
        terminalreporter.write_line(f"{len(self._of_row)} rows")


def rows_of(item: pytest.Item) -> set[str]:
    """The rows that a test names in its markers."""
    return {row for marker in item.iter_markers("row") for row in marker.args}


def _order(row: str) -> tuple[str, int]:
    letters, _, number = row.partition("-")
    return letters, int(number)
