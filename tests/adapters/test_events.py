"""What each platform tells, as events: tables that need no framework."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from backscroll.adapters import lark, onebot, slack, telegram
from tests.adapters.kit import NODE, ROOT, node_with, python_with
from tests.adapters.plain import TABLES, cases, plain

CAT = SimpleNamespace(id=900, username="catbot", first_name="Cat")


def by_what(table):
    return [pytest.param(one, id=one["what"]) for one in cases(table)]


@pytest.mark.parametrize("case", by_what("telegram"))
def test_telegram(case):
    assert plain(telegram.event_of(case["given"], CAT)) == case["event"]


IN_NODE = {"telegram": "grammy", "discord": "discord.js", "koishi": "koishi"}
"""Adapters and what they are for. Telegram's and Discord's tables are those of Python, so that both store the same."""


def in_node(adapter, *more):
    node, table = node_with(IN_NODE[adapter]), TABLES / f"{adapter}.json"
    command = [node, "tables.mjs", adapter, str(table), *more]
    done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.proof
@pytest.mark.parametrize("adapter", IN_NODE)
def test_in_node(adapter):
    rows = cases(adapter)
    found = dict(zip((one["what"] for one in rows), in_node(adapter), strict=True))
    assert found == {one["what"]: one["event"] for one in rows}


@pytest.mark.proof
@pytest.mark.parametrize("adapter", IN_NODE)
def test_no_event_throws_in_node_whatever_is_in_it(adapter):
    assert in_node(adapter, "--spoilt") > len(cases(adapter))


@pytest.mark.proof
def test_discord_with_discord_py():
    """Packets of the gateway, which the framework itself makes messages of."""
    command = [python_with("discord"), "-m", "tests.adapters.discord_packets"]
    path = f"{ROOT}:{ROOT / 'clients/python'}"
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = cases("discord")
    found = dict(zip((one["what"] for one in rows), json.loads(done.stdout), strict=True))
    assert found == {one["what"]: one["event"] for one in rows}


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
