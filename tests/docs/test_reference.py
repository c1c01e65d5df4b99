"""The pages say what the code does."""

import functools
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from backscroll import Client
from backscroll_sidecar.cli.commands import app
from backscroll_sidecar.config.settings import MemorySettings, Settings
from backscroll_sidecar.config.sources import environment_name, known_names

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guide"
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "template.md"),
]
EVERY_PAGE = [
    *sorted(ROOT.glob("*.md")),
    *sorted(
        page
        for folder in ("docs", "bench", "clients", "examples", "sidecar", "tests")
        for page in (ROOT / folder).rglob("*.md")
        if page.name != "template.md" and "node_modules" not in page.parts
    ),
]


MADE = (
    "cli.md", "settings.md", "profiles.md", "model-words.md", "metrics.md", "errors.md", "contract.md",
)  # fmt: skip


def test_the_reference_pages_are_fresh(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/generate-reference", tmp_path], check=True)
    for page in MADE:
        fresh, committed = (tmp_path / page).read_text("utf-8"), ROOT / "docs/reference" / page
        assert fresh == committed.read_text("utf-8"), (
            "run: .venv/bin/python tools/generate-reference"
        )


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_the_cells_of_its_head(page):
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        counts = {row: len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(set(counts.values())) == 1, counts


def test_the_page_of_the_contract_holds_every_name_of_it():
    page = (ROOT / "docs/reference/contract.md").read_text("utf-8")
    tables = {
        name: re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
        for name, table in re.findall(
            r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL
        )
    }
    for proto in (ROOT / "proto/backscroll/v1").glob("*.proto"):
        file = import_module(f"backscroll.v1.{proto.stem}_pb2").DESCRIPTOR
        for one in file.message_types_by_name.values():
            told = [name for name in tables.pop(one.name) if name not in one.oneofs_by_name]
            assert told == [field.name for field in one.fields], one.name
        for one in file.enum_types_by_name.values():
            assert tables.pop(one.name) == [value.name for value in one.values], one.name
        for one in file.services_by_name.values():
            assert tables.pop(one.name) == [method.name for method in one.methods], one.name
    assert not tables


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_settings_of_the_guide_are_those_of_the_code():
    """S0-01: the page names the server's defaults."""
    page = (GUIDE / "deploying.md").read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| `?([^|`]+)`? \|", page, re.MULTILINE)
    assert len(rows) > 5
    defaults = {
        environment_name(section, field): info.get_default(call_default_factory=True)
        for section in (Settings, MemorySettings)
        for field, info in section.model_fields.items()
    }
    for name, said in rows:
        value = defaults[name]
        if name == "BACKSCROLL_STATE_DIR":
            continue
        shown = (
            "unset"
            if value is None
            else ", ".join(value) or "unset"
            if isinstance(value, tuple)
            else str(value)
        )
        assert said.strip() == shown, name


def test_every_profile_is_in_the_guide():
    from backscroll.values import LayoutName
    from backscroll_sidecar.config.types import PROFILE_NAMES

    page = (GUIDE / "profiles.md").read_text("utf-8")
    rows = re.compile(r"^\| `([a-z_]+)` \|", re.MULTILINE)
    profiles, _, layouts = page.partition("## Layouts")
    assert tuple(rows.findall(profiles)) == PROFILE_NAMES
    assert rows.findall(layouts) == list(get_args(LayoutName))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_variables_on_a_page_exist(page):
    text = page.read_text("utf-8")
    commands = {command.name for command in app.registered_commands} | {"bench", "quality"}
    commands |= {group.name for group in app.registered_groups}
    for name in re.findall(r"(?:^|`|\$ )backscroll ([a-z-]+)", text, re.MULTILINE):
        assert name in commands, name
    for name in re.findall(r"\b(?:BACKSCROLL|MEMORY)_[A-Z_]+\b", text):
        assert name in known_names() or name.endswith("_"), name


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", page.read_text("utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), target
        if place:
            assert place in places(path), f"{target}#{place}"


@functools.cache
def places(page):
    """What its headings are called in links."""
    headings = re.findall(r"^#+ (.*)", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    server = subprocess.Popen(
        [sys.executable, "-m", "backscroll._cli_entry", "serve", "--listen", "127.0.0.1:0", "--database", ":memory:"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path_factory.mktemp("server"),
    )  # fmt: skip
    with server:
        yield server.stdout.readline().split()[3]
        server.terminate()


READMES = [ROOT / "README.md", ROOT / "README.zh.md"]
QUICKSTARTS = [GUIDE / "quickstart.md", GUIDE / "quickstart.zh.md"]


def bot_of(page, address, monkeypatch):
    """What the one Python block of a page defines, and the bodies its model is asked with. The model says one line."""
    [code] = python_blocks(page)
    asked: list[dict] = []

    class Model:
        def __init__(self) -> None:
            self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

        def create(self, **body):
            asked.append(body)
            return SimpleNamespace(
                choices=[SimpleNamespace(message=SimpleNamespace(content="At six."))]
            )

    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=Model))
    space: dict = {}
    exec(code.replace("127.0.0.1:7171", address), space)
    return space, asked


@pytest.mark.slow
@pytest.mark.parametrize("page", [*READMES, *QUICKSTARTS], ids=lambda page: page.name)
def test_the_bots_of_the_pages_run(page, address, monkeypatch):
    """The Python block as it stands, against a server and a model."""
    space, asked = bot_of(page, address, monkeypatch)
    event = {
        "channel": page.name,
        "user_id": "u1",
        "user_name": "Ann",
        "reply_to": None,
        "is_for_me": False,
    }
    space["on_message"](
        SimpleNamespace(id="1", text="we meet at six", time_ms=1_700_000_000_000, **event)
    )
    sent = SimpleNamespace(id="3", time_ms=1_700_000_002_000)
    event |= {"is_for_me": True, "user_id": "u2", "reply": lambda _: sent}
    space["on_message"](SimpleNamespace(id="2", text="when?", time_ms=1_700_000_001_000, **event))
    with Client(address) as client:
        stored = [one.message.parts[0].text.text for one in client.list_messages(page.name)]
    space["chat"].close()
    assert stored == ["we meet at six", "when?", "At six."]
    *before, meeting, question = asked[0]["messages"]
    assert [one["role"] for one in before] == ["system"] * (page in QUICKSTARTS)
    assert meeting["content"].endswith("we meet at six")
    assert question["content"].endswith("when?")


@pytest.mark.slow
@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_what_the_model_of_a_readme_gets_is_what_the_readme_shows(page, address, monkeypatch):
    [shown] = re.findall(r"```text\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    space, asked = bot_of(page, address, monkeypatch)
    lines = [json.loads(line) for line in shown.splitlines()]
    for number, line in enumerate(lines):
        name, user, text = re.fullmatch(r"(.*) <(\w+)>: (.*)", line["content"]).groups()
        space["on_message"](
            SimpleNamespace(
                id=f"m{number}", user_id=user, user_name=name, text=text, channel=f"shown in {page.name}",
                time_ms=1_700_000_000_000 + number, is_for_me=number == len(lines) - 1,
                reply=lambda _: SimpleNamespace(id="answer", time_ms=1_700_000_000_100),
            )
        )  # fmt: skip
    space["chat"].close()
    assert asked[0]["messages"] == lines


@pytest.mark.slow
def test_the_chat_of_the_guide_runs(address, capsys):
    """The Python block as it stands; in the server, an echo."""
    [code] = python_blocks(GUIDE / "chats-and-tools.md")
    space = {}
    exec(code.replace("127.0.0.1:7171", address), space)
    space["chat"].close()
    assert "do we need a coat?" in capsys.readouterr().out


def test_every_override_and_factor_and_kind_of_score_is_explained():
    from backscroll.v1 import context_pb2
    from backscroll_scoring import CLASSIC_FACTORS, MEMORY_FACTORS
    from backscroll_scoring.links import SHARES

    overrides = (ROOT / "docs/reference/overrides.md").read_text("utf-8")
    assert re.findall(r"^\| `(\w+)` \|", overrides, re.MULTILINE) == list(
        context_pb2.Overrides.DESCRIPTOR.fields_by_name
    )
    explained = (GUIDE / "explain.md").read_text("utf-8")
    kinds = ("link", "conversation", "memory", "score", "recency")
    for name in (*SHARES, *MEMORY_FACTORS, *CLASSIC_FACTORS, *kinds):
        assert f"`{name}`" in explained, name
