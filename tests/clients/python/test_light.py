"""The base install is light (EXAMPLES 15): grpc and protobuf, nothing numeric, nothing of the server."""

import subprocess
import sys

HEAVY = {"numpy", "numba", "pydantic", "openai", "typer", "rich", "structlog", "hnswlib", "uvloop"}
SERVER = {"backscroll_sidecar", "backscroll_scoring", "backscroll_bench"}


def modules_loaded_by(statement):
    said = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.partition(".")[0] for name in said.stdout.split()}


def test_import_is_light():
    loaded = modules_loaded_by("import backscroll; backscroll.Client().close()")
    assert "grpc" in loaded
    assert not loaded & (HEAVY | SERVER)


def test_the_generated_code_alone_is_reachable():
    loaded = modules_loaded_by("from backscroll.v1 import history_pb2_grpc")
    assert not loaded & (HEAVY | SERVER)
