"""The shape of the product: functions that can be read at once, no imports in a circle."""

import ast
import functools
import graphlib
from collections.abc import Set
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOTS = [ROOT / "sidecar", ROOT / "scoring"]
MOST_LINES, MOST_ARGUMENTS = 120, 12


@functools.cache
def sources() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for root in ROOTS
        for path in sorted(root.rglob("*.py"))
    }


def test_no_function_is_too_long_or_takes_too_much() -> None:
    found = set()
    for tree in sources().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno
                given = node.args
                every = (*given.posonlyargs, *given.args, *given.kwonlyargs)
                whole = node.end_lineno - node.lineno + 1
                if whole <= MOST_LINES and len(every) <= MOST_ARGUMENTS:
                    continue
                is_command = any("typer.Option" in ast.unparse(one) for one in every)
                count = 0 if is_command else len(every)  # a command has as many as it has options
                first = node.body[0].lineno if is_command else node.lineno
                lines = node.end_lineno - first + 1
                if lines > MOST_LINES or count > MOST_ARGUMENTS:
                    found.add(node.name)
    assert not found, "larger than a reader can hold"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even where it is only for the types."""
    trees = sources()
    imports = {name: imported(tree, trees.keys()) - {name} for name, tree in trees.items()}
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, with the circle


def imported(tree: ast.Module, known: Set[str]) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            module = f"backscroll_scoring.{node.module}" if node.level else node.module
            for name in (f"{module}.{one.name}" for one in node.names):
                found.add(name if name in known else module)
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return {name for name in found if name in known}
