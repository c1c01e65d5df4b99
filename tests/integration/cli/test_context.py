"""`backscroll context` and `backscroll call` against a server with the demo chat."""

import json

import pytest

from tests.integration.cli.conftest import CHANNEL
from tests.kit.certificates import certificate_of_own

pytestmark = pytest.mark.slow

QUESTION = "what does [tab][tab] mean?"
ASKED = ("--asker", "azriel", "--trigger", "irc-2011-11-13_02:1190")
BODY = {"channel": CHANNEL, "question": QUESTION, "trigger_message_id": ASKED[3]}


@pytest.mark.row("P-01")
def test_the_table_shows_every_share_and_what_became_of_each(chat):
    """P-01."""
    done = chat.run("context", CHANNEL, QUESTION, *ASKED, "--others", "3", "--profile", "classic")
    assert done.returncode == 0
    for heading in ("reply", "user", "time", "mention", "keyword", "score", "found by", "why"):
        assert heading in done.stdout
    assert "azriel, the names" in done.stdout
    assert sum(line.lstrip().startswith("– ") for line in done.stdout.splitlines()) == 3
    assert "weights: reply chain 0.4" in done.stdout
    assert "more that were not taken" in done.stdout


@pytest.mark.row("P-01")
def test_the_rows_sum_to_the_score(chat):
    """P-01: all components and the threshold."""
    explanation = chat.json("context", CHANNEL, QUESTION, *ASKED, "--profile", "classic")[
        "explanation"
    ]
    assert explanation["threshold"] == 0.3
    assert len(explanation["factors"]) == len(explanation["weights"]) == 5
    for one in explanation["candidates"]:
        shares = one.get("shares", [])
        assert sum(shares) == pytest.approx(one.get("linear", 0.0), abs=1e-9)
        taken = one["fate"] == "FATE_SELECTED"
        assert not taken or one["score"] >= 0.3 - 1e-6


def test_the_payload_alone_is_a_body_to_post(chat):
    done = chat.run(
        "context",
        CHANNEL,
        QUESTION,
        *ASKED,
        "--payload",
        "--max-context",
        "2",
        "--layout",
        "single_user",
    )
    body = json.loads(done.stdout)
    assert body["model"] == "gpt-4o-mini"
    assert [one["role"] for one in body["messages"]] == ["user"]
    assert QUESTION in body["messages"][0]["content"]


def test_what_is_looked_in_and_taken_can_be_said(chat):
    """Sources, the least score, the bot's ids, language and time zone, as in a request."""
    recent = chat.json("context", CHANNEL, QUESTION, *ASKED, "--source", "recent")
    sources = {one for item in recent["explanation"]["candidates"] for one in item["sources"]}
    assert sources == {"SOURCE_RECENT"}
    both = chat.json(
        "context", CHANNEL, QUESTION, *ASKED, "--source", "recent", "--source", "thread",
        "--threshold", "0.5",
    )  # fmt: skip
    assert both["explanation"]["threshold"] == 0.5
    assert len(both.get("items", ())) < len(recent["items"])
    for option, value in (
        ("--time-zone", "Mars/One"), ("--language", "xx"), ("--self-id", "x" * 600),
    ):  # fmt: skip
        done = chat.run("context", CHANNEL, QUESTION, *ASKED, option, value)
        assert done.returncode == 1
        assert option.strip("-").replace("-", "_") in done.stderr.replace("-", "_")
    assert chat.run("context", CHANNEL, QUESTION, "--threshold", "2").returncode == 2


def test_a_budget_is_kept_and_one_too_small_says_what_would_do(chat):
    built = chat.json("context", CHANNEL, QUESTION, *ASKED, "--token-budget", "100")
    assert built["tokens"]["total"] <= 100
    done = chat.run("context", CHANNEL, QUESTION, *ASKED, "--token-budget", "3")
    assert done.returncode == 1
    assert "--token-budget at least" in done.stderr


def test_the_time_of_asking_hides_what_came_later(chat):
    early = chat.json("context", CHANNEL, "hello?", "--asked-at", "2011-11-14T02:00:00+00:00")
    assert int(early["asked_at_ms"]) == 1_321_236_000_000
    assert all(int(one["message"]["sent_at_ms"]) <= 1_321_236_000_000 for one in early["items"])
    done = chat.run("context", CHANNEL, "hello?", "--asked-at", "yesterday")
    assert done.returncode == 2
    assert "for example" in done.stderr


def test_a_channel_never_heard_of_gives_an_empty_context(chat):
    done = chat.run("context", "nowhere", "anybody?")
    assert done.returncode == 0
    assert "no messages yet" in done.stderr
    assert "weights" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([CHANNEL, "hi", "--profile", "best"], 'no profile "best"'),
        ([CHANNEL, "hi", "--profile", "best"], "profiles are: balanced"),
        ([CHANNEL, ""], "--trigger"),
        ([CHANNEL, "", "--trigger", "none"], "check the message id"),
        ([CHANNEL, "hi", "--server", "127.0.0.1:9"], "backscroll serve"),
    ],
)
def test_errors_say_what_to_do(chat, arguments, says):
    done = chat.run("context", *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert "TLS" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--server", "http://127.0.0.1:7171"], "no address"),
        (["--server", "127.0.0.1"], "no address"),
        (["--asked-at", "1700000000"], "looks like seconds"),
    ],
)
def test_a_wrong_address_or_time_is_a_wrong_call(chat, arguments, says):
    done = chat.run("context", CHANNEL, "hi", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_trigger_in_an_unknown_channel_names_those_that_may_be_meant(chat):
    done = chat.run("context", CHANNEL.replace("irc", "irk"), "--trigger", "m1")
    assert done.returncode == 1
    assert f"did you mean {CHANNEL}?" in done.stderr


def test_what_was_not_used_is_said_in_words(chat):
    assert "no message has the id" in chat.run("context", CHANNEL, "hi", "--trigger", "no").stdout
    assert "no embedder" in chat.run("context", CHANNEL, "hi", "--profile", "retrieval").stdout


def test_a_server_that_speaks_tls_gets_the_advice(tmp_path, shell):
    tls = certificate_of_own(tmp_path)
    with shell.serving("--tls-cert", str(tls.cert), "--tls-key", str(tls.key)) as process:
        done = shell.run("context", CHANNEL, "hi", "--server", process.address)
        checked = shell.run("doctor", "--server", process.address)
    assert done.returncode == 1
    assert "maybe it speaks TLS: give --tls-ca" in done.stderr
    assert "maybe it speaks TLS: give --tls-ca" in checked.stdout


def test_errors_are_json_where_json_was_asked_for(chat):
    done = chat.run("context", CHANNEL, "hi", "--profile", "best", "--json")
    assert done.returncode == 1
    assert "UNKNOWN_PROFILE" in json.loads(done.stderr)["error"]


def test_call_finds_methods_by_reflection(chat):
    methods = chat.json("call", "--list")
    assert "backscroll.v1.HistoryService/ExportMessages" in methods
    for name in (
        "BuildContext",
        "ContextService/BuildContext",
        "backscroll.v1.ContextService.BuildContext",
    ):
        answer = chat.json("call", name, json.dumps(BODY))
        assert answer["channel_known"]
    assert answer["trigger"]["author"]["id"] == "azriel"


def test_call_reads_requests_and_writes_streams_line_by_line(chat):
    message = {
        "author": {"id": "u"},
        "parts": [{"text": {"text": "hi"}}],
        "sent_at_ms": 1_700_000_000_000,
    }
    requests = "\n".join(
        json.dumps({"channel": channel, "messages": [{**message, "id": "1"}]})
        for channel in ("s1", "s2")
    )
    assert chat.json("call", "ImportMessages", "-", stdin=requests)["stored_count"] == "2"
    done = chat.run("call", "ExportMessages", json.dumps({"channel": CHANNEL}))
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(len(run["messages"]) for run in runs) == 400


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["GetChannel", '{"channel": "nowhere"}'], 1, "CHANNEL_NOT_FOUND"),
        (["StreamChat", "{}"], 1, "MISSING_FIELD"),
        (["Nothing"], 2, "--list"),
        ([], 2, "--list"),
        (["GetChannel", "{"], 2, "GetChannelRequest"),
        (["GetChannel", '{"chanel": "x"}'], 2, "chanel"),
        (["GetChannel", '{"channel": "a"} {"channel": "b"}'], 2, "one request"),
        (["GetChannel", "{}", "--server", "127.0.0.1:9"], 1, "backscroll serve"),
    ],
)
def test_call_says_what_is_wrong(chat, arguments, code, says):
    done = chat.run("call", *arguments)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.row("P-13")
def test_compact_shows_what_holds_then(chat):
    """A channel's summary by hand, in the people's own words where there is no model; builds show it."""
    lines = "\n".join(
        json.dumps({
            "id": f"m{n}", "author": {"id": f"u{n % 3}", "name": f"P{n % 3}"}, "sent_at_ms": 1_795_000_000_000 + n,
            "text": f"my order is ORDER-{n:05} and " + "so on " * 40,
        })
        for n in range(150)
    )  # fmt: skip
    assert chat.run("import", "-", "--channel", "long", stdin=lines).returncode == 0
    done = chat.run("compact", "long")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[m")
    assert "tokens became" in done.stderr
    told = chat.json("compact", "long")
    assert told["outcome"] == "COMPACT_OUTCOME_NOTHING_TO_DO"
    assert told["summary"].strip() == done.stdout.strip()
    assert "nothing to do" in chat.run("compact", "long").stderr
    built = chat.json("context", "long", "and now?", "--asker", "u1")
    assert built["summary"] == told["summary"]
    assert "Example: backscroll compact" in chat.run("compact", "--help").stdout


@pytest.mark.row("P-30")
def test_what_happened_since(chat):
    """Behind a message, or from a time on; both at once is a wrong call."""
    page = chat.json("call", "ListMessages", json.dumps({"channel": CHANNEL, "limit": 400}))
    known, newest = (page["messages"][place]["message"] for place in (300, -1))
    built = chat.run("context", CHANNEL, "--catch-up-after", known["id"], "--asker", "qin")
    assert built.returncode == 0, built.stderr
    assert "Since 2011-11-14" in built.stdout
    assert "messages by" in built.stdout
    since = str(int(known["sent_at_ms"]) + 1)
    by_time = json.loads(chat.run("context", CHANNEL, "--catch-up-since", since, "--json").stdout)
    assert by_time["items"]
    nothing = chat.run("context", CHANNEL, "--catch-up-after", newest["id"])
    assert "Nothing was said since" in nothing.stdout
    both = chat.run("context", CHANNEL, "--catch-up-after", "x", "--catch-up-since", since)
    assert both.returncode == 2
    unknown = chat.run("context", CHANNEL, "--catch-up-after", "never")
    assert unknown.returncode == 1
    assert "MESSAGE_NOT_FOUND" in unknown.stderr
