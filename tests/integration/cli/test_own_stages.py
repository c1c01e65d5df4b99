"""Design S3's three stages, brought along by the operator: real processes, told by dotted names."""

import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from backscroll import Author, Client, Message, SystemPrompt
from backscroll_sidecar.cli.commands import app

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs/guide/own-stages.md"
NOON = 1_795_176_000_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
TALK = [
    Message(f"m{n}", (ANN, BEN)[n % 2], text, NOON + n)
    for n, text in enumerate(["tea?", "no", "/roll 6", "four", "cake then", "never"])
]
STAGES = {
    "BACKSCROLL_NAIVE_PROVIDER": "mine:SaidByAsker",
    "BACKSCROLL_NAIVE_COMPRESSOR": "mine:NoCommands",
    "BACKSCROLL_NAIVE_ASSEMBLER": "mine:OneMessage",
}
WRONG = """
class Nothing: pass
class Needs:
    def __init__(self, what): pass
class Broken:
    def __init__(self): raise OSError("no such host")
class Recent:
    name = "recent"
    def gather(self, query): pass
class Nameless:
    def gather(self, query): pass
class Lists:
    def compress(self, lines, limits): return list(lines)
    def assemble(self, parts, layout, include_system): return []
class TooFew:
    def compress(self, lines): return lines
    def assemble(self, parts): return parts
"""


@pytest.fixture
def own(shell):
    """A shell beside a module of own stages: those of the documentation."""
    (block,) = re.findall(r"```python\n(# mine\.py\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (shell.directory / "mine.py").write_text(block)
    (shell.directory / "wrong.py").write_text(WRONG)
    shell.environment["PYTHONPATH"] = str(shell.directory)
    return shell


@pytest.mark.row("S3-26")
def test_a_server_with_three_stages_of_ones_own(own):
    """Those of the documentation serve `naive`, every other profile is what it was."""
    with own.serving(**STAGES) as process, Client(process.address) as client:
        client.append("room", TALK)
        asked = {"asker": "u1", "asked_at": NOON + 99, "speaker_style": "role", "explain": True}
        context = client.build_context(
            "room", "and?", profile="naive", system=SystemPrompt("Be kind."), **asked
        )
        told = "and?\n\nBe kind.\n\nUser: tea?\nUser: cake then"
        assert context.payload["messages"] == [{"role": "user", "content": told}]
        assert [item.message.id for item in context.items] == ["m0", "m4"]
        fates = {c.message_id: c.fate for c in context.raw.explanation.candidates}
        assert set(fates) == {"m0", "m2", "m4"}
        assert fates["m0"] == fates["m4"] != fates["m2"]
        assert all(list(i.own_sources) == ["said_by_asker"] for i in context.items)
        cut = [e for e in context.raw.events if e.type == "context.compressed"]
        assert [(e.payload["original_count"], e.payload["compressed_count"]) for e in cut] == [
            ("3", "2")
        ]
        assert not context.degradations
        other = client.build_context("room", "and?", profile="room", **asked)
        assert [item.message.id for item in other.items] == [f"m{n}" for n in range(6)]
        assert len(other.payload["messages"]) == 7


WORDS = [
    ("provider", "nowhere:Thing", "no module 'nowhere'; put its directory on PYTHONPATH"),
    ("compressor", "wrong:Lists", "compress gave list, a Compressed is wanted"),
    ("assembler", "wrong", "a class of your own is named module:Class"),
    ("provider", "mine:Thing", "mine has no Thing; docs/guide/own-stages.md"),
    ("provider", "wrong:Nothing", "it has no name"),
    ("provider", "wrong:Nameless", "it has no name"),
    ("provider", "wrong:Recent", "'recent' is the name of a source that is built in"),
    ("provider", "recents", "it is one of recent, window"),
    ("provider", "mine.NoCommands", "or module:Class"),
    ("compressor", "nowhere.at.all:Thing", "no module 'nowhere'"),
    ("compressor", "wrong:Nothing", "it has no method compress(lines, limits)"),
    ("compressor", "wrong:TooFew", "its compress cannot be called as compress(lines, limits)"),
    ("compressor", "wrong:Needs", "cannot be made without arguments"),
    ("compressor", "wrong:Broken", "OSError('no such host')"),
    ("compressor", "NoCommands", "a class of your own is named module:Class"),
    ("assembler", "mine:SaidByAsker", "it has no method assemble(parts, layout, *, include"),
    ("assembler", "wrong:TooFew", "its assemble cannot be called"),
    ("assembler", "wrong:Lists", "assemble gave list, an Assembled is wanted"),
]


@pytest.mark.row("S3-26")
@pytest.mark.parametrize(("stage", "value", "words"), WORDS[:3])
def test_a_wrong_stage_ends_the_start(own, stage, value, words):
    """With what to do about it, and no database is made."""
    done = own.run(
        "serve", "--listen", "127.0.0.1:0", **{f"BACKSCROLL_NAIVE_{stage.upper()}": value}
    )
    assert done.returncode == 2, done.stderr
    said = " ".join(done.stderr.split())
    assert words in said
    assert f"naive_{stage}" in said.lower()
    assert "Traceback" not in said
    assert not (own.directory / "state" / "backscroll.db").exists()


@pytest.mark.row("S3-26")
@pytest.mark.parametrize(("stage", "value", "words"), WORDS)
def test_check_config_says_what_is_wrong_with_a_stage(own, monkeypatch, stage, value, words):
    """In the words that end a start."""
    monkeypatch.syspath_prepend(str(own.directory))
    for module in ("mine", "wrong"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.chdir(own.directory)
    state = {"BACKSCROLL_STATE_DIR": str(own.directory), "COLUMNS": "1000"}
    done = CliRunner().invoke(
        app, ["check-config"], env={**state, f"BACKSCROLL_NAIVE_{stage.upper()}": value}
    )
    assert done.exit_code == 1, done.output
    assert words in " ".join(done.output.split())
