"""What a platform should not tell, and sometimes does: nothing is raised, and what comes later is answered."""

import copy
import itertools
import logging
import re

import pytest

from backscroll import text_of
from backscroll.adapters import Bridge
from backscroll.testing import serve
from tests.adapters.plain import cases
from tests.adapters.platforms import PLATFORMS

HUGE = "猫" * 2_000_000
"""More than a call can carry."""
STRANGE = (
    None,
    "",
    "\ud83d\0",
    "9" * 5_000,
    -1,
    10**40,
    1.5,
    True,
    [],
    {},
    [None],
    [[]],
    {"id": {}},
)


@pytest.fixture(scope="module")
def server():
    with serve() as running:
        yield running


@pytest.fixture(params=PLATFORMS)
def platform(request):
    return PLATFORMS[request.param]


NUMBERS = itertools.count(1)


@pytest.fixture
def m():
    """Messages of the test's own, by number."""
    first = 100 * next(NUMBERS)
    return [first + number for number in range(4)]


@pytest.fixture
def bridge(server):
    return Bridge(server.client)


def lines(server, platform, m):
    stored = server.client.list_messages(platform.channel, include_recalled=True)
    ids = [platform.id(number) for number in m]
    return [text_of(one.message) for one in stored if one.message.id in ids]


def is_answered(bridge, platform, number):
    return bridge.take(platform.read(platform.said(number, "when is dinner?"))) is not None


def test_what_is_delivered_again_after_a_restart_is_not_answered_again(server, platform, m):
    assert is_answered(Bridge(server.client), platform, m[1])
    assert not is_answered(Bridge(server.client), platform, m[1])
    assert lines(server, platform, m) == ["when is dinner?"]


def test_an_edit_of_a_message_that_was_never_seen_is_stored(server, platform, bridge, m):
    if platform.edited is None:
        return  # it tells of no edits
    assert bridge.take(platform.read(platform.edited(m[1], "at ten?"))) is None
    assert not is_answered(bridge, platform, m[1])  # the message itself, late
    assert is_answered(bridge, platform, m[2])
    assert lines(server, platform, m) == ["at ten?", "when is dinner?"]


def test_the_bot_answers_neither_itself_nor_its_edits(server, platform, bridge, m):
    own = platform.read(platform.said(m[1], "at nine", **platform.own))
    assert own.message.role == "assistant"
    assert bridge.take(own) is None
    if platform.edited:
        assert bridge.take(platform.read(platform.edited(m[1], "at ten", **platform.own))) is None
    assert lines(server, platform, m) == ["at ten" if platform.edited else "at nine"]


def test_a_deletion_of_a_message_that_was_never_seen_holds_when_it_comes(
    server, platform, bridge, m
):
    assert bridge.take(platform.read(platform.deleted(m[1]))) is None
    assert not is_answered(bridge, platform, m[1])
    assert bridge.take(platform.read(platform.deleted(m[1]))) is None
    assert is_answered(bridge, platform, m[2])
    assert sorted(lines(server, platform, m)) == ["", "when is dinner?"]


def test_a_deletion_of_what_is_refused_harms_nothing(platform, bridge, m):
    assert bridge.take(platform.read(platform.deleted(m[1]))) is None
    assert bridge.take(platform.read(platform.said(m[1], HUGE))) is None
    assert is_answered(bridge, platform, m[2])


@pytest.mark.parametrize("length", [30_000, len(HUGE)])
def test_a_huge_text_is_logged_and_the_next_is_answered(
    server, platform, bridge, m, caplog, length
):
    assert bridge.take(platform.read(platform.said(m[1], HUGE[:length]))) is None
    assert f"a message of {platform.channel} was not stored" in caplog.text
    assert is_answered(bridge, platform, m[2])
    if platform.edited:
        assert bridge.take(platform.read(platform.edited(m[2], HUGE[:length]))) is None
        assert f"an event of {platform.channel} was not stored" in caplog.text
    assert is_answered(bridge, platform, m[3])
    assert lines(server, platform, m) == ["when is dinner?"] * 2


def test_somebody_whom_the_platform_does_not_name_is_heard(platform, bridge, m):
    asked = bridge.take(platform.read(platform.said(m[1], "when?", **platform.nobody)))
    assert asked.message.author.id == platform.nobody_id
    assert is_answered(bridge, platform, m[2])


# --- every field of every table, left out or of another kind ---------------------------------------


def spoilt(given):
    """An event once for each of its fields without it, and once for each strange value in its place."""
    for path in paths(given):
        for value in (..., *STRANGE):
            made = copy.deepcopy(given)
            *inside, last = path
            at = made
            for name in inside:
                at = at[name]
            if value is ...:
                del at[last]
            else:
                at[last] = copy.deepcopy(value)
            yield made


def paths(given, so_far=()):
    named = (
        given.items()
        if isinstance(given, dict)
        else enumerate(given)
        if isinstance(given, list)
        else ()
    )
    for name, value in named:
        yield (*so_far, name)
        yield from paths(value, (*so_far, name))


NAME = re.compile(r"[a-z]+(:(?!None|True)[^:\[{]+){1,3}")
"""A channel's: of no part that is missing or no id."""
READ = {table: PLATFORMS[table].read for table in ("lark", "onebot", "slack", "telegram")}


@pytest.mark.parametrize("table", READ)
def test_no_event_raises_whatever_is_in_it(table, caplog):
    caplog.set_level(logging.CRITICAL, "backscroll")
    for case in cases(table):
        for told in spoilt(case["given"]):
            event = READ[table](told)
            assert event is None or NAME.fullmatch(event.channel), event
    for told in (*STRANGE, "hi", 7, [{}]):
        READ[table](told)


@pytest.mark.parametrize("table", READ)
def test_no_event_stops_a_bridge(table, bridge, caplog, m):
    """One event of each kind, spoilt in every way, goes to the server; then somebody asks."""
    caplog.set_level(logging.CRITICAL, "backscroll")
    platform, kinds = PLATFORMS[table], {}
    for case in cases(table):
        kinds.setdefault(type(READ[table](case["given"])), case["given"])
    taken = {}
    for given in kinds.values():
        for told in spoilt(given):
            event = READ[table](told)
            taken[repr(event)] = event
    assert len(taken) > 50
    for event in taken.values():
        bridge.take(event)
    assert is_answered(bridge, platform, m[1])


def test_what_cannot_be_read_is_logged(caplog):
    assert PLATFORMS["slack"].read({"team_id": "T1", "event": {"type": "message"}}) is None
    assert "backscroll.adapters.slack: an event could not be read" in caplog.text
