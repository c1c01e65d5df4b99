"""`golden(name, value)`: compare with, or with --update-goldens write, a file under tests/golden/files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.rooms import Built

FILES = Path(__file__).parent / "files"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    def compare(name: str, value: Any) -> None:
        if isinstance(value, Built):
            value = as_golden(value)
        path = FILES / f"{name}.json"
        text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), (
            f"{path} is missing: run pytest --update-goldens and read what it writes"
        )
        assert json.loads(path.read_text(encoding="utf-8")) == value

    return compare


def as_golden(built: Built) -> dict[str, Any]:
    """What a reader of a golden wants to see: the neutral list, the payload's messages, the text form."""
    return {
        "messages": [
            {"role": message.role.name.lower(), "content": message.content}
            for message in built.messages
        ],
        "payload_messages": json.loads(built.payloads[0].body)["messages"],
        "text": built.text,
    }
