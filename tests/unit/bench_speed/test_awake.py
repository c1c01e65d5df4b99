"""Cores are kept from sleeping for as long as the block lasts, where the system lets us."""

import os
from pathlib import Path

import pytest

from backscroll_bench import awake
from backscroll_bench.awake import DEVICE, NO_SLEEP, Awake, stay_awake


def requests() -> int:
    """How often this process holds the device open."""
    return sum(os.path.realpath(fd) == str(DEVICE) for fd in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not stay_awake(), reason="cores cannot be kept awake here")
def test_it_is_asked_for_until_the_end() -> None:
    before = requests()
    with Awake():
        assert requests() == before + 1
    assert requests() == before


@pytest.mark.skipif(not stay_awake(), reason="cores cannot be kept awake here")
def test_the_system_grants_no_sleep_at_all() -> None:
    with Awake():
        assert DEVICE.read_bytes() == NO_SLEEP


def test_without_the_device_it_does_nothing(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(awake, "DEVICE", tmp_path / "none")
    with Awake():
        assert not stay_awake()
        assert not list(tmp_path.iterdir())
