"""Nothing compiles inside a request, and nothing depends on compilation."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import backscroll_scoring
from backscroll_scoring import (
    ScoreParameters,
    ancestors,
    kernels_replies,
    score_rows,
    top_order,
    warm,
)

OF_KERNELS = (
    "test_scores.py",
    "test_factors.py",
    "test_shingle_cache.py",
    "test_graph_values.py",
    "test_vector_search.py",
    "test_lexical.py",
    "test_memory.py",
    "test_line_table.py",
    "test_newest.py",
    "test_selection.py",
    "test_fusion.py",
    "test_links.py",
    "test_strings.py",
    "test_row_bits.py",
)
MODULES = [
    importlib.import_module(f"backscroll_scoring.{path.stem}")
    for path in Path(backscroll_scoring.__file__).parent.glob("kernels_*.py")
]
KERNELS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, Dispatcher) and "no_cpython_wrapper" not in value.targetoptions
]
compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT is set")


def frozen(array):
    array.flags.writeable = False
    return array


@compiled
def test_every_kernel_has_one_signature_and_takes_no_other():
    assert len(KERNELS) > 30
    for kernel in KERNELS:
        assert len(kernel.signatures) == 1
        assert not kernel._can_compile


@compiled
def test_calls_compile_nothing(columns, query):
    """Read-only, writable, strided rows, NumPy scalars: still one signature."""
    talk = [{"time_ms": i, "keywords": [i], "mentions": [i % 2]} for i in range(300)]
    writable = columns(talk)
    read_only = type(writable)(
        *(frozen(getattr(writable, name).copy()) for name in writable.__slots__)
    )
    asked = query(time_ms=np.int64(300), author=1, parent=5, keywords=[3], mentions=[0])
    everything = np.arange(300, dtype=np.int32)
    scores = []
    for channel in (writable, read_only):
        for rows in (everything[::3], frozen(everything[::3].copy()), everything[::-1][::3][::-1]):
            for parameters in (ScoreParameters(), ScoreParameters(weights=(1, 0, 2, 0, 1))):
                scored = score_rows(channel, asked, rows, parameters)
            top_order(frozen(scored.scores), rows[: len(rows)].copy(), limit=5)
            scores.append(scored.scores)
        ancestors(channel.parent, np.int64(7), 4)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[3])
    assert [len(kernel.signatures) for kernel in KERNELS] == [1] * len(KERNELS)


@compiled
def test_a_kernel_refuses_strided_arrays():
    with pytest.raises(TypeError, match="No matching definition"):
        kernels_replies.roots(np.zeros(8, np.int32)[::2], np.zeros(4, np.int32))


def test_warm_compiles_nothing_new():
    before = [len(kernel.signatures) for kernel in KERNELS]
    warm()
    assert [len(kernel.signatures) for kernel in KERNELS] == before


@pytest.mark.proof
def test_without_the_compiler():
    """The kernels' Python, not compiled, passes the same tests: so coverage means something."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "--no-header"]
        + [str(Path(__file__).with_name(name)) for name in OF_KERNELS],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=850,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_imports():
    """numpy and numba only, and nothing that does I/O, logs or reads a configuration.

    But for the package's own weights, which `link_model` reads once.
    """
    allowed = {
        "numpy",
        "numba",
        "math",
        "dataclasses",
        "functools",
        "typing",
        "types",
        "collections",
        "__future__",
    }
    allowed |= {"itertools", "re"}
    found = set()
    for path in Path(backscroll_scoring.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add((node.module or "").split(".")[0])
            if path.name == "warmup.py":
                found.discard("time")  # a stopwatch for `warm`
            if path.name == "link_model.py":
                found -= {"json", "pathlib"}
    assert found <= allowed
