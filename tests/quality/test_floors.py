"""A fixed slice of real chats, through a live server: a change that makes the selection worse turns red.

After a change that makes it better on purpose, or that trades one figure for another, write the floors anew, look at
the difference and commit it:

    .venv/bin/python -m pytest tests/quality --update-floors
"""

import json
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from backscroll import Client
from backscroll_bench.quality import (
    LiveServer,
    find_set,
    judge,
    lived,
    mixed,
    paused,
    read_set,
    shipped_sets,
    summarise,
)
from backscroll_sidecar.cli.process import server
from tests.quality.floors import FLOORS, below, figures, written

pytestmark = pytest.mark.slow

PROFILES = ("balanced", "chain_recent", "classic")
SLICE = {"irc": (3, 3), "kdconv": (1, 3), "madial_zh": (1, 1), "madial_en": (1, 1)}
"""Of each set: how many groups, every which question."""
VARIANTS = {
    "irc 3600 s": ("irc", slice(3), 3, partial(paused, pause_s=3_600)),
    "kdconv with irc": ("kdconv", slice(2, 3), 6, lambda chats: mixed(chats, shipped_set("irc"))),
    "kdconv in pairs": ("kdconv", slice(3), 12, lambda chats: mixed(chats, None)),
    "madial_zh 10 s": ("madial_zh", slice(1), 1, partial(paused, pause_s=10)),
    "madial_zh live": ("madial_zh", slice(1), 8, lived),
    "madial_en live": ("madial_en", slice(1), 8, lived),
}
"""As people live it, too: a reply an hour late; a memory right behind the last line, or at the end of a talk with the
bot; two crowds in one room. The set, its groups, every which question, what is changed."""
ALL = [*SLICE, *VARIANTS]
BY_WORDS_ALONE = ("irc", "irc 3600 s", "kdconv with irc", "kdconv in pairs")
"""Replies, whose figures vectors move by less than the margin: they would be most of the time. `kdconv` has them."""


@pytest.fixture
def judged(tmp_path, pytestconfig):
    """The reports of the slice as it is now."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NUMBA_CACHE_DIR", str(pytestconfig.cache.mkdir("kernels")))
        with judging(tmp_path, "local") as client:
            found = [report(client, name) for name in ALL if name not in BY_WORDS_ALONE]
        with judging(tmp_path, "none") as client:
            found += [report(client, name) for name in BY_WORDS_ALONE]
    return sorted(found, key=lambda one: ALL.index(one.data))


@contextmanager
def judging(folder, embedder):
    """A server with the embedder that ships, or with none."""
    (folder / "backscroll.toml").write_text(f'embedder = "{embedder}"\n')
    flags = ["--database", str(folder / f"{embedder}.db"), "--state-dir", str(folder)]
    with (
        server(
            [*flags, "--durability", "normal", "--config", "backscroll.toml"], folder
        ) as running,
        Client(running.address, timeout_s=60.0) as client,
    ):
        yield client


def shipped_set(name, groups=slice(None), every=1):
    """Some questions of a set that ships."""
    with shipped_sets() as shipped:
        return read_set(*find_set(shipped[name]), groups=groups, every=every)


def report(client, name):
    """A set of the slice as it is, or a variant of one by the default profile."""
    if name in SLICE:
        groups, every = SLICE[name]
        chats, profiles = shipped_set(name, slice(groups), every), PROFILES
    else:
        base, groups, every, changed = VARIANTS[name]
        chats = replace(changed(shipped_set(base, groups, every)), name=name)
        profiles = ("balanced",)
    return summarise(chats, judge(chats, LiveServer(client), profiles))


@pytest.mark.row("S5-47")
def test_real_chats_are_read_as_well_as_before(judged, pytestconfig):
    """S5-47 and the floors, in one test: two workers would each judge the slice."""
    measured = figures(judged)
    if pytestconfig.getoption("--update-floors"):
        FLOORS.write_text(written(measured), "utf-8")
    nothing_is_found_less_often_than_before(measured)
    the_default_is_never_worse_than_pasting_the_last_messages(measured)
    mixed_topics_take_fewer_tokens_and_more_of_them_are_to_the_point(judged)


def nothing_is_found_less_often_than_before(measured):
    floors = json.loads(FLOORS.read_text("utf-8"))
    assert not below(floors, measured)
    assert floors.keys() == measured.keys()
    assert measured.keys() == SLICE.keys() | VARIANTS.keys()
    assert all({"recency", *PROFILES} == floors[name].keys() for name in SLICE)


def the_default_is_never_worse_than_pasting_the_last_messages(measured):
    for data, selectors in measured.items():
        for name, value in selectors["recency"].items():
            assert selectors["balanced"][name] >= value, (data, name)


def mixed_topics_take_fewer_tokens_and_more_of_them_are_to_the_point(judged):
    """Channels in which conversations run side by side, against the newest 50 messages of a day's window."""
    for report in judged:
        if report.data in {"irc", "kdconv"}:
            by_name = {result.selector: result for result in report.results}
            ours, newest = by_name["balanced"], by_name["recency"]
            precision = "conv_prec@20"
            assert ours.figures[precision].value > 1.2 * newest.figures[precision].value
            assert ours.match_share < 0.75 * newest.match_share


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
