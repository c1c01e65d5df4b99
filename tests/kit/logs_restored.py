"""Logging as it was: what a test, or a program run in this process, configures does not reach the next test."""

import logging
from collections.abc import Iterator

import pytest
import structlog

OURS = ("backscroll", "backscroll_sidecar", "backscroll_scoring", "backscroll_bench")


@pytest.fixture(autouse=True)
def logging_stays_as_it_is() -> Iterator[None]:
    """For every test: levels, structlog's form, and no handler left behind. Those of pytest are its own business."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, OURS)]
    levels, config = [one.level for one in loggers], structlog.get_config()
    yield
    for one, level in zip(loggers, levels, strict=True):
        if one.level != level:
            one.setLevel(level)
    if structlog.get_config() != config:
        structlog.configure(**config)
    for handler in root.handlers[:]:
        if type(handler) is logging.StreamHandler:
            root.removeHandler(handler)
