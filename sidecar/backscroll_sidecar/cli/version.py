"""`backscroll version`."""

import platform
from importlib.metadata import version as installed

import typer

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.console import print_json

EPILOG = "Example: backscroll version --json"


def print_version(wanted: bool) -> None:
    """What ``backscroll --version`` does."""
    if wanted:
        print("backscroll", installed("backscroll"))
        raise typer.Exit


def version(as_json: options.Json = False) -> None:
    """Print the version of Backscroll and of what its answers depend on."""
    names = ("backscroll", "grpcio", "protobuf", "numpy", "numba")
    versions = {name: installed(name) for name in names} | {"python": platform.python_version()}
    if as_json:
        print_json(versions)
        return
    for name, number in versions.items():
        print(name, number)
