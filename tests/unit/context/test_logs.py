"""S5-52: what a build logs: the path taken, the number of messages, errors with their stage; never a text."""

from __future__ import annotations

import io
import json
import logging

import pytest
import structlog

import backscroll_sidecar.context.builder as builder_module
import backscroll_sidecar.context.candidates as gather_module
import backscroll_sidecar.context.fallback_ladder as picking_module
import backscroll_sidecar.context.response as result_module
from backscroll_sidecar.telemetry import logs
from tests.kit.chats import ANN, BEN, HOUR_MS, say
from tests.kit.rooms import Failing, Room, broken_store

SECRET = "my card number is 4929"
HELD_UP = "a source held up all calls"
"""Said on a busy machine whatever is asked."""
LINES = [say(f"m{n}", BEN, f"{SECRET} {n}", HOUR_MS - n) for n in range(5)]


@pytest.fixture
def log_lines(monkeypatch):
    """Everything logged as JSON at level debug, as the server logs it, but what depends on the machine."""
    config, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure("debug", "json", stream)
    for module in (builder_module, gather_module, picking_module, result_module):
        monkeypatch.setattr(module, "log", structlog.get_logger(module.__name__))

    def told():
        lines = [json.loads(line) for line in stream.getvalue().splitlines()]
        return [one for one in lines if one["event"] != HELD_UP]

    yield told
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**config)


def broken(*args):
    raise RuntimeError("boom")


def test_an_ordinary_build(log_lines):
    """S5-52: one line with profile, rung, number of messages and tokens; no text."""
    built = Room(LINES).build_now(f"{SECRET}?", ANN, profile="room", preferences=(SECRET,))
    (line,) = log_lines()
    assert line["event"] == "context built"
    assert (line["profile"], line["rung"], line["messages"]) == ("room", "RANKED", 5)
    assert (line["tokens"], line["degradations"]) == (built.tokens.total, [])
    assert (line["context_id"], line["level"]) == (built.context_id, "debug")
    assert SECRET not in json.dumps(line)


@pytest.mark.injects_fault
def test_a_fallback(log_lines):
    """S5-52: the error on a fallback, its stage and type, as a warning."""
    room = Room(LINES, ranker=broken, own=[Failing("window", ValueError("odd"))])
    room.build_now(f"{SECRET}?", ANN, profile="classic", preferences=(SECRET,))
    source, ranking, built = log_lines()
    assert (source["event"], source["source"], source["error"]) == (
        "source failed",
        "window",
        "ValueError",
    )
    assert (ranking["event"], ranking["stage"], ranking["error"]) == (
        "picking failed",
        "rank",
        "RuntimeError",
    )
    assert (built["rung"], built["level"]) == ("RECENT", "warning")
    assert built["degradations"] == ["gather:window:ERROR", "rank::ERROR"]


@pytest.mark.injects_fault
def test_tracebacks_hold_no_texts(log_lines):
    """S5-52: no text bodies, not even in the traceback of what broke."""
    Room(LINES, ranker=broken).build_now(
        f"{SECRET}?", ANN, profile="classic", preferences=(SECRET,)
    )
    assert len(log_lines()) == 2
    assert SECRET not in json.dumps(log_lines())


def test_a_lost_history(log_lines):
    """S5-52, S2-14: a store that is down is logged with its reason."""
    room = Room(LINES, hot=False)
    room.reader.error = broken_store()
    room.build_now(f"{SECRET}?", ANN)
    lost, built = log_lines()
    assert (lost["event"], lost["reason"]) == ("history unavailable", "STORE_UNAVAILABLE")
    assert (built["rung"], built["messages"]) == ("EMPTY", 0)
    assert SECRET not in json.dumps(log_lines())
