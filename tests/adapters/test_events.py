"""What each platform tells, as events: tables that need no framework."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from backscroll.adapters import lark, onebot, slack, telegram
from tests.adapters.kit import NODE, node_with
from tests.adapters.plain import TABLES, cases, plain

CAT = SimpleNamespace(id=900, username="catbot", first_name="Cat")


def by_what(table):
    return [pytest.param(one, id=one["what"]) for one in cases(table)]


@pytest.mark.parametrize("case", by_what("telegram"))
def test_telegram(case):
    assert plain(telegram.event_of(case["given"], CAT)) == case["event"]


@pytest.mark.proof
def test_telegram_in_node():
    """The same table, so that both languages store the same."""
    node, table = node_with("grammy"), TABLES / "telegram.json"
    command = [node, "tables.mjs", "telegram", str(table), json.dumps(vars(CAT))]
    said = subprocess.run(command, cwd=NODE, capture_output=True, text=True, check=True).stdout
    events = [case["event"] for case in cases("telegram")]
    assert json.loads(said) == events


@pytest.mark.parametrize("case", by_what("slack"))
def test_slack(case):
    assert plain(slack.event_of(case["given"], "UB")) == case["event"]


def test_slack_knows_names_from_users_info():
    told = cases("slack")[0]["given"]
    ann = {"id": "U1", "name": "ann.l", "profile": {"display_name": "", "real_name": "Ann Lee"}}
    event = plain(slack.event_of(told, "UB", ann))
    assert event["said"]["name"] == "Ann Lee"
    assert event["members"] == [{"id": "U1", "name": "Ann Lee", "aliases": ["ann.l"]}]


@pytest.mark.parametrize("case", by_what("lark"))
def test_lark(case):
    assert plain(lark.event_of(case["given"], "ou_cat")) == case["event"]


@pytest.mark.parametrize("case", by_what("onebot"))
def test_onebot(case):
    assert plain(onebot.event_of(case["given"])) == case["event"]


@pytest.mark.parametrize(("number", "channel"), [(0, "group:5"), (1, "private:1")])
def test_the_message_that_a_bot_of_onebot_sent(number, channel):
    text = "[CQ:reply,id=-7]At nine."
    told = {"time": 1795132801, "message_id": -9, "sender": {"user_id": 900, "nickname": "Cat"}}
    answered = cases("onebot")[number]["given"]
    event = plain(onebot.event_of(told | {"message": text}, answered))
    assert event == {
        "said": {
            "id": "-9",
            "author": "900",
            "name": "Cat",
            "kind": "bot",
            "text": "At nine.",
            "sent_at": 1795132801000,
            "reply": {"to": "-7", "kind": "quote", "user": ""},
            "role": "assistant",
        },
        "channel": f"onebot:900:{channel}",
        "self": "900",
    }
