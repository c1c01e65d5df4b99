"""Every language that `make polyglot` runs has what its users look for."""

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from backscroll._channel import _RETRY_POLICY, RETRIED
from tests.kit.conformance import languages, steps

ROOT = Path(__file__).parents[2]
MOST_LINES = 79
VERSIONS = {
    "node/package.json": r'"version": "(.*)"',
    "node/package-lock.json": r'"name": "backscroll",\s+"version": "(.*)"',
    "node/README.md": r"backscroll-(\S+)\.tgz",
    "rust/Cargo.toml": r'^name = "backscroll"\nversion = "(.*)"',
    "rust/Cargo.lock": r'^name = "backscroll"\nversion = "(.*)"',
    "java/pom.xml": r"^  <version>(.*)</version>",
    "java/client/pom.xml": r"^    <version>(.*)</version>",
    "java/examples/pom.xml": r"^    <version>(.*)</version>",
    "java/README.md": r"^  <version>(.*)</version>",
    "ruby/backscroll.gemspec": r'spec\.version = "(.*)"',
}
"""Where clients tell their version, by file."""
GUIDE = ROOT / "docs/guide/other-languages.md"


@pytest.mark.parametrize("language", languages().values(), ids=languages())
def test_a_language_has_a_readme_a_quickstart_a_driver_and_a_short_bot(language):
    assert language.keys() == {
        "title", "folder", "tools", "get", "generate", "build", "run", "libraries", "driver", "bot",
    }  # fmt: skip
    folder = ROOT / language["folder"]
    readme = (folder / "README.md").read_text("utf-8")
    (block,) = re.findall(
        r"^## Quickstart\n.*?^```bash\n(.*?)^```", readme, re.MULTILINE | re.DOTALL
    )
    assert '"$BACKSCROLL/clients/chat.jsonl"' in block
    assert language["generate"] in readme
    assert (ROOT / language["driver"]).is_relative_to(folder)
    assert (ROOT / language["driver"]).is_file()
    bot = (ROOT / language["bot"]).read_text("utf-8")
    assert len(bot.splitlines()) <= MOST_LINES
    assert f"[{language['title']}](../../{language['folder']}/README.md)" in GUIDE.read_text(
        "utf-8"
    )


def test_the_table_of_the_reference_has_every_step_and_every_language():
    page = (ROOT / "docs/reference/clients.md").read_text("utf-8")
    titles = [one["title"] for one in languages().values()]
    rows = [["step", *titles], ["---"] * (len(titles) + 1)]
    rows += [[step["step"], *["yes"] * len(titles)] for step in steps()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    assert f"\n\n{table}\n\n" in page, "run: tools/polyglot --write-docs"


@pytest.mark.parametrize("file", VERSIONS)
def test_a_client_has_the_version_of_the_project(file):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told = re.findall(VERSIONS[file], (ROOT / "clients" / file).read_text("utf-8"), re.MULTILINE)
    assert set(told) == {project["version"]}


def test_the_python_client_retries_as_the_service_config_says():
    (method,) = json.loads((ROOT / "clients/service-config.json").read_text("utf-8"))[
        "methodConfig"
    ]
    assert method["retryPolicy"] == _RETRY_POLICY
    assert all(one["method"] in RETRIED[one["service"]] for one in method["name"])


def test_the_java_client_retries_what_the_python_client_does():
    source = (ROOT / "clients/java/client/src/main/java/io/backscroll/Backscroll.java").read_text(
        "utf-8"
    )
    for service in ("ContextService", "HistoryService"):
        (names,) = re.findall(rf"{service}Grpc.SERVICE_NAME,\s+List.of\((.*?)\)", source, re.DOTALL)
        assert sorted(re.findall(r'"(\w+)"', names)) == sorted(RETRIED[f"backscroll.v1.{service}"])


def test_the_chat_of_the_bots_asks_at_its_end():
    lines = (ROOT / "clients/chat.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["for_me"] for event in events] == [False] * (len(events) - 1) + [True]


@pytest.mark.parametrize("proto", sorted((ROOT / "proto/backscroll/v1").glob("*.proto")), ids=str)
def test_the_committed_stubs_for_go_hold_every_field_and_call(proto):
    file = import_module(f"backscroll.v1.{proto.stem}_pb2").DESCRIPTOR
    made = (ROOT / f"clients/go/backscroll/v1/{proto.stem}.pb.go").read_text("utf-8")
    for message in file.message_types_by_name.values():
        (struct,) = re.findall(
            rf"^type {message.name} struct {{\n(.*?)^}}", made, re.MULTILINE | re.DOTALL
        )
        tags = re.findall(r'protobuf:"\w+,(\d+),[a-z,]+,name=(\w+)', struct)
        cases = re.findall(
            rf"^type {message.name}_\w+ struct {{\n(.*?)^}}", made, re.MULTILINE | re.DOTALL
        )
        tags += re.findall(r'protobuf:"\w+,(\d+),[a-z,]+,name=(\w+)[^"]*oneof"', "".join(cases))
        told = {(str(field.number), field.name) for field in message.fields}
        assert told == set(tags), "run: go generate, in clients/go"
    for service in file.services_by_name.values():
        calls = (ROOT / f"clients/go/backscroll/v1/{proto.stem}_grpc.pb.go").read_text("utf-8")
        for method in service.methods:
            assert f'"/{service.full_name}/{method.name}"' in calls, (
                "run: go generate, in clients/go"
            )
