"""Builds that break where no test broke anything: each is a defect, although the bot got an answer."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

BUILDER = "backscroll_sidecar.context.builder"

_seen: list[str] = []


def _listen() -> None:
    """Look at every answer of every builder of this process, from now on."""
    builder = sys.modules[BUILDER]
    finish = builder.ContextBuilder._finish
    if finish.__name__ == "watched":
        return

    def watched(self: Any, built: Any, *args: Any) -> None:
        broken = [one for one in built.degradations if one.reason == "ERROR"]
        _seen.extend(f"{one.stage} {one.source} of {built.profile}: ERROR" for one in broken)
        finish(self, built, *args)

    builder.ContextBuilder._finish = watched


@pytest.fixture(autouse=True)
def no_build_breaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """No build of a test that injects no fault loses a part to an error."""
    if BUILDER in sys.modules:
        _listen()
    _seen.clear()
    yield
    if _seen and request.node.get_closest_marker("injects_fault") is None:
        pytest.fail("a build broke: " + "; ".join(dict.fromkeys(_seen)))
