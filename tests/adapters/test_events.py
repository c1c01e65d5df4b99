"""What each platform tells, as events: tables that need no framework."""

from types import SimpleNamespace

import pytest

from backscroll.adapters import telegram
from tests.adapters.plain import cases, plain

CAT = SimpleNamespace(id=900, username="catbot", first_name="Cat")


def by_what(table):
    return [pytest.param(one, id=one["what"]) for one in cases(table)]


@pytest.mark.parametrize("case", by_what("telegram"))
def test_telegram(case):
    assert plain(telegram.event_of(case["given"], CAT)) == case["event"]
