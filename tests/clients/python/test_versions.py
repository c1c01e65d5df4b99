"""The base install works with the oldest and the newest of what pyproject.toml claims."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SMOKE = "tests.clients.python.smoke"


def claims():
    """Lower bound of each dependency of the base install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    matches = [re.match(r"([\w.-]+)>=([\d.]+),<\d+$", each) for each in project["dependencies"]]
    assert all(matches), "a dependency without a lower and an upper bound"
    return {match[1]: match[2] for match in matches}


def test_the_base_is_grpc_and_protobuf():
    assert set(claims()) == {"grpcio", "grpcio-status", "protobuf"}


@pytest.mark.proof
@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_the_base_install_works(tmp_path, which, record_property):
    home = tmp_path / which
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if "PYTHON" not in name}

    def run(*command, cwd=tmp_path):
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    constraints = tmp_path / "constraints.txt"
    oldest = claims() if which == "oldest" else {}
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in oldest.items()))
    run(python, "-m", "pip", "install", "-q", "--upgrade", ROOT, "-c", constraints)
    report = json.loads(run(python, "-W", "error", "-m", SMOKE, cwd=ROOT))

    for name, version in report["versions"].items():
        record_property(f"{which} {name}", version)
    print(f"\n{which}, Python {sys.version.split()[0]}: {report['versions']}")
    assert not report["heavy"]
    assert set(report["installed"]) - {"pip", "setuptools", "typing_extensions"} == {
        *("backscroll", "googleapis-common-protos", "grpcio", "grpcio-status", "protobuf"),
    }
    if which == "oldest":
        assert oldest.items() <= report["versions"].items()
    else:
        assert not claims().items() & report["versions"].items(), "the newest is the oldest"
