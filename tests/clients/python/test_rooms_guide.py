"""The guide to rooms as it stands: each block of Python is run, and prints what the block behind it shows."""

import re
import sys
from pathlib import Path

import pytest

from backscroll_sidecar.domain import Role, ToolCallPart
from tests.integration.rooms.room import CatModel
from tests.kit.served import in_background

GUIDE = Path(__file__).parents[3] / "docs/guide/rooms.md"
pytestmark = pytest.mark.slow


def answer(name, request):
    """What the cats of the guide say."""
    told, asked = request.messages[0].content, request.messages[-1].content
    if "It is night" in told:
        return "/kill Ben"
    if "the vote" in told:
        return "/vote Ann" if name == "Tom" else "/vote Tom"
    if "your turn to speak" in told:
        return "I slept all night." if name == "Tom" else "Then who was on the roof?"
    if "Stage:" in told:
        return "Fish are far away." if name == "Tom" else "/approve It will do."
    if request.messages[-1].role is Role.TOOL:
        return f"There are {asked}."
    if "menu" in asked:
        return [ToolCallPart("c1", "menu", '{"day": "friday"}')]
    if name == "Tom":
        return "Five more minutes."
    return "At eight." if "breakfast" in asked else "You are late."


def blocks():
    """Each block of Python, and what is shown behind it."""
    text = GUIDE.read_text("utf-8")
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(found) > 10
    assert len(re.findall("^```text", text, re.MULTILINE)) == sum(bool(shown) for _, shown in found)
    return found


def test_the_guide_does_what_it_shows(tmp_path, monkeypatch, capsys):
    found = blocks()
    [own] = [code for code, _ in found if code.startswith("# counting.py")]
    (tmp_path / "counting.py").write_text(own, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with in_background(
        model=CatModel(answers=answer, names=("Tom", "Kit", "Ash")), modes=("counting:Counting",)
    ) as client:
        space = {}
        capsys.readouterr()
        for code, shown in found:
            if code is own:
                continue
            exec(code.replace("127.0.0.1:7171", client._target), space)
            said = "".join(
                line
                for line in capsys.readouterr().out.splitlines(keepends=True)
                if not re.match(r"\d{4}-\d\d-\d\d \d\d:", line)  # the server's log
            )
            assert said == shown, code
        space["client"].close()
    sys.modules.pop("counting", None)
