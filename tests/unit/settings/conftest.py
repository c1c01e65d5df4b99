import os

import pytest


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch, tmp_path):
    """Settings come from the working directory and the environment: neither may leak into a test."""
    for name in list(os.environ):
        if name.upper().startswith(("BACKSCROLL_", "MEMORY_", "TG_", "MAX_CHARS")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
