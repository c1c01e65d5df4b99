"""Whether traces are sent, and what is said where they cannot be."""

import sys

import pytest

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.configured_traces import configured_spans
from backscroll_sidecar.errors import StartRefused


def test_traces_without_their_packages_are_refused(monkeypatch):
    """Not silently none: who sets it wants them. The message says what to install."""
    for name in [one for one in sys.modules if one.startswith("backscroll_sidecar.telemetry.otel")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(StartRefused, match=r"pip install \"\.\[otel\]\"") as caught:
        configured_spans(Settings(traces="otlp"))
    assert caught.value.setting == "traces"
    assert configured_spans(Settings()) is None
