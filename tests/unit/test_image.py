"""What the image is made of is there, fixed, and what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from backscroll_sidecar.config.sources import known_names

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "deploy/image/requirements.txt"
EXTRAS = ("scoring", "server", "http", "mcp", "otel", "postgres")
LINUX = {"sys_platform": "linux", "platform_machine": "x86_64"}
OF_THE_COMMAND_LINE = {"BACKSCROLL_SERVER"}


def test_every_dependency_is_in_the_image_in_a_release_that_is_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(one) for one in project["dependencies"]]
    asked += [
        Requirement(one) for extra in EXTRAS for one in project["optional-dependencies"][extra]
    ]
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", LOCKED.read_text(), re.MULTILINE))
    for one in asked:
        if one.name != "backscroll" and (one.marker is None or one.marker.evaluate(LINUX)):
            version = locked.get(canonicalize_name(one.name), "0")
            assert one.specifier.contains(version), f"{one} is {version}: make lock"


def test_every_release_in_the_image_has_its_hashes():
    for name in ("requirements.txt", "build-requirements.txt"):
        entries = re.split(r"^(?=\S)", (LOCKED.parent / name).read_text(), flags=re.MULTILINE)[1:]
        assert entries
        assert all("--hash=sha256:" in one for one in entries)


def test_what_the_dockerfile_copies_is_there_and_its_settings_are_known():
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    copied = [one for one in re.findall(r"^COPY (.*)", text, re.MULTILINE) if "--from" not in one]
    for line in copied:
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
    for name in re.findall(r"\b(BACKSCROLL_\w+)=", text):
        assert name in known_names() | OF_THE_COMMAND_LINE, name


def test_the_project_is_in_what_is_sent_to_the_engine():
    """All that the wheel is made of, as pyproject.toml names it, is copied, and .dockerignore lets it through."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    sent = {
        one[1:] for one in (ROOT / ".dockerignore").read_text().splitlines() if one.startswith("!")
    }
    copied = set(
        re.findall(
            r"\S+",
            " ".join(re.findall(r"^COPY (.*)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)),
        )
    )
    for package in build["targets"]["wheel"]["packages"]:
        parents = {package, str(Path(package).parent)}
        assert parents & sent, package
        assert parents & copied, package
