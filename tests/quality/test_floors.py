"""Selection quality, a fixed slice of real chats, through a live server: a change that makes it worse turns red.

After a change that makes it better on purpose, or that trades one figure for another, write the floors anew, look at
the difference and commit it:

    .venv/bin/python -m pytest tests/quality --update-floors
"""

from __future__ import annotations

import json

import pytest

from backscroll import Client
from backscroll_bench.quality import LiveServer, find_set, judge, read_set, shipped_sets, summarise
from backscroll_sidecar.cli.process import server
from tests.quality.floors import FLOORS, below, figures, written

pytestmark = pytest.mark.slow

PROFILES = ("balanced", "chain_recent", "classic")
SLICE = {"irc": (3, 3), "kdconv": (1, 3), "madial_zh": (1, 1), "madial_en": (1, 1)}
"""Of each set: how many groups, every which question."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, pytestconfig):
    """What the slice gives now."""
    folder = tmp_path_factory.mktemp("quality")
    flags = [
        "--database",
        str(folder / "quality.db"),
        "--state-dir",
        str(folder),
        "--durability",
        "normal",
    ]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NUMBA_CACHE_DIR", str(pytestconfig.cache.mkdir("kernels")))
        with (
            shipped_sets() as names,
            server(flags, folder) as running,
            Client(running.address, timeout_s=60.0) as client,
        ):
            return figures([report(name, client) for name in names])


def report(name, client):
    """One set of the slice, judged."""
    files = find_set(name)
    groups, every = SLICE[files[0]]
    chats = read_set(*files, groups=groups, every=every)
    return summarise(chats, judge(chats, LiveServer(client), PROFILES))


def test_nothing_is_found_less_often_than_before(measured, pytestconfig):
    if pytestconfig.getoption("--update-floors"):
        FLOORS.write_text(written(measured), "utf-8")
    floors = json.loads(FLOORS.read_text("utf-8"))
    assert not below(floors, measured)
    assert floors.keys() == measured.keys() == SLICE.keys()
    assert all({"recency", *PROFILES} == selectors.keys() for selectors in floors.values())


def test_the_default_is_never_worse_than_pasting_the_last_messages(measured):
    for data, selectors in measured.items():
        for name, value in selectors["recency"].items():
            assert selectors["balanced"][name] >= value, (data, name)


def test_a_figure_that_falls_is_named():
    """The guard itself: a point lost is within the margin, two are not."""
    before = {"irc": {"balanced": {"hit@5": 0.9}}}
    floors = json.loads(written(before))
    assert floors == {"irc": {"balanced": {"hit@5": 0.89}}}
    assert below(floors, before) == []
    assert below(floors, {"irc": {"balanced": {"hit@5": 0.8905}}}) == []
    assert below(floors, {"irc": {"balanced": {"hit@5": 0.88}}}) == [
        "irc balanced hit@5: 0.88 is below 0.89"
    ]
    assert below(floors, {"irc": {}}) == ["irc balanced hit@5: None is below 0.89"]
