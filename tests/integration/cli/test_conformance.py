"""The scenario for clients of all languages (clients/conformance), with the driver for Python, against both edges.

`make polyglot` runs it with the drivers of every language.
"""

import sys

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
