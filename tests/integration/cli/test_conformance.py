"""The scenario for clients of all languages (clients/conformance), with the driver for Python, against both edges.

`make polyglot` runs it with the drivers of every language.
"""

import os
import subprocess
import sys
from functools import partial

import pytest

from tests.integration.cli.conftest import Shell
from tests.kit.conformance import EDGES, ROOT, run, servers, steps

PYTHON = [sys.executable, str(ROOT / "clients/python/conformance.py")]


@pytest.fixture(scope="module")
def places(tmp_path_factory, kernels, prepared):
    def start(settings):
        shell = Shell(tmp_path_factory.mktemp("server"), kernels, prepared=prepared)
        return shell.serving(**settings)

    with servers(start) as found:
        yield {one.edge: one for one in found}


@pytest.mark.slow
@pytest.mark.row("N-01")
@pytest.mark.parametrize("edge", EDGES)
def test_each_step_is_as_expected(places, edge):
    results = run(PYTHON, places[edge], "python")
    assert [one.step for one in results] == [step["step"] for step in steps()]
    assert not [one for one in results if one.faults]


def test_a_driver_that_answers_something_else_is_seen(places):
    """Says OK to everything, and that nothing came."""
    says_nothing = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    answer = {'step': json.loads(line)['step'], 'status': 'OK', 'responses': []}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    results = run([sys.executable, "-c", says_nothing], places["auto"], "says-nothing")
    assert [one.step for one in results if not one.faults] == []


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit('no such stub')", "no such stub"),
        ("print('hello', flush=True)", "hello"),
        ('print(\'{"step": "another"}\', flush=True)', "another"),
    ],
)
def test_a_driver_that_fails_ends_its_run_and_says_why(places, program, said):
    (only,) = run([sys.executable, "-c", program], places["auto"], "fails")
    assert said in only.faults[0]


def tool(name, *arguments, path, skip=""):
    """One of `tools/` with no other programs than those of a folder."""
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / name), *arguments],
        env={**os.environ, "PATH": str(path), f"{name.upper()}_SKIP": skip},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


polyglot, quickstart = partial(tool, "polyglot"), partial(tool, "quickstart")


@pytest.mark.slow
def test_a_language_that_cannot_run_fails_the_whole_unless_it_may_be_left_out(tmp_path):
    failed = polyglot("--languages", "go,ruby", path=tmp_path, skip="ruby")
    assert failed.returncode == 1
    assert "Go: go cannot be found. Install Go" in failed.stderr
    assert "Ruby was left out, as POLYGLOT_SKIP says" in failed.stderr
    assert failed.stdout.splitlines()[0].split() == ["step", "Go", "Ruby"]
    left_out = polyglot("--languages", "go,ruby", path=tmp_path, skip="go, ruby")
    assert left_out.returncode == 0
    written = polyglot("--write-docs", "--languages", "go", path=tmp_path, skip="go")
    assert written.returncode == 1
    assert "is written when all languages ran" in written.stderr
    assert polyglot("--languages", "cobol", path=tmp_path).returncode == 2
    assert polyglot("--languages", "go", path=tmp_path, skip="goo").returncode == 2


def test_a_quickstart_without_its_tools_fails_before_anything_runs_unless_it_may_be_left_out(
    tmp_path,
):
    failed = quickstart("--languages", "go,ruby", path=tmp_path, skip="go")
    assert failed.returncode == 1
    assert failed.stderr.startswith("Ruby: ruby")
    assert failed.stderr.endswith("QUICKSTART_SKIP=ruby leaves it out.\n")
    (left_out,) = failed.stdout.splitlines()
    assert "Go is left out, as QUICKSTART_SKIP says: go cannot be found. Install Go" in left_out
    assert quickstart("--languages", "cobol", path=tmp_path).returncode == 2
    assert quickstart("--languages", "go", path=tmp_path, skip="goo").returncode == 2
