"""Builds that break where no test broke anything: each is a defect, although the bot got an answer."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

BUILDER, PICKING = (
    "backscroll_sidecar.context.builder",
    "backscroll_sidecar.context.fallback_ladder",
)
HIDDEN = ("joining failed", "choosing failed")
"""What the quick ways log before the long one does their work: nobody but the log would know."""

_seen: list[str] = []


class _Listening:
    """A logger that is listened to."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)

    def warning(self, event: str, **values: Any) -> None:
        if event in HIDDEN:
            _seen.append(f"{event}: {values.get('error')}")
        self._logger.warning(event, **values)


def _listen() -> None:
    """Look at every answer of every builder of this process, from now on."""
    builder, picking = sys.modules[BUILDER], sys.modules[PICKING]
    if isinstance(builder.log, _Listening):
        return
    builder.log, picking.log = _Listening(builder.log), _Listening(picking.log)
    finish = builder.ContextBuilder._finish

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
