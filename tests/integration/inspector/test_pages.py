"""Pages over HTTP, without a browser: what they show is what the calls answer."""

import html
import json
import re
import shlex
import subprocess
import sys
import threading

import httpx2
import pytest
from google.protobuf import json_format

from backscroll.v1 import admin_pb2, context_pb2, experiment_pb2, history_pb2
from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.http.app import http_app
from backscroll_sidecar.inspector.addresses import PAGES
from backscroll_sidecar.inspector.app import Inspector
from backscroll_sidecar.inspector.facts import Facts
from backscroll_sidecar.inspector.page_texts import TEXTS
from tests.integration.inspector.conftest import CHANNEL, QUESTION, Site, site

ASKED = {"channel": CHANNEL, "trigger_message_id": QUESTION}
SECURED = ("content-security-policy", "x-content-type-options", "referrer-policy")


def built(chat: Site, **more: object) -> context_pb2.BuildContextResponse:
    return chat.context.BuildContext(context_pb2.BuildContextRequest(**ASKED, explain=True, **more))


def test_an_empty_server_says_what_to_do_next(empty: Site) -> None:
    page = empty.get("")
    assert page.status_code == 200
    assert "backscroll import" in page.text
    assert 'action="/inspector/demo"' in page.text


@pytest.mark.row("N-04")
def test_every_candidate_is_accounted_for(chat: Site) -> None:
    page = chat.json("question", **ASKED, **{"overrides.max_context": "8"})["page"]["page"]
    answer = built(chat, overrides=context_pb2.Overrides(max_context=8))
    lines = [row for row in page["rows"] if "said" in row]
    folds = [row for row in page["rows"] if "said" not in row]
    assert len(lines) + sum(f["end"] - f["start"] for f in folds) == page["candidate_count"]
    assert sum(count for _, count in page["fates"]) == len(answer.explanation.candidates) == 100
    by_id = {one.message_id: one for one in answer.explanation.candidates}
    assert {line["said"]["message_id"] for line in lines if line["taken"]} == {
        item.message.id for item in answer.items
    }
    near = [line for line in lines if line["is_near"]]
    assert near
    for line in lines:
        candidate = by_id[line["said"]["message_id"]]
        assert line["shares"] == pytest.approx(list(candidate.shares))
        assert line["fate"] == context_pb2.Fate.Name(candidate.fate)[5:].lower()
        assert line["reason"]["key"].startswith("taken_" if line["taken"] else "lost_")
    order = [list(by_id).index(line["said"]["message_id"]) for line in lines]
    assert order == sorted(order)


def test_a_fold_opens_to_the_lines_that_it_stands_for(chat: Site) -> None:
    rows = chat.json("question", **ASKED)["page"]["page"]["rows"]
    fold = next(row for row in rows if "said" not in row)
    opened = chat.json("question", **ASKED, **{"from": str(fold["start"]), "to": str(fold["end"])})
    lines = opened["page"]["page"]["rows"]
    assert [line["at"] for line in lines] == list(range(fold["start"], fold["end"]))
    assert all(line["said"]["text"] for line in lines)


@pytest.mark.row("N-04")
@pytest.mark.parametrize(
    ("settings", "fate"),
    [
        ({"overrides.max_context": "3"}, "limit"),
        ({"overrides.relevance_threshold": "0.9"}, "threshold"),
        ({"token_budget": "120"}, "budget"),
    ],
)
def test_a_near_miss_has_the_rule_that_it_lost_to(
    chat: Site, settings: dict[str, str], fate: str
) -> None:
    page = chat.json("question", **ASKED, **settings)["page"]["page"]
    near = [row for row in page["rows"] if row.get("is_near") and row["fate"] == fate]
    assert near, page["fates"]
    reason = near[0]["reason"]
    assert reason["key"].startswith(f"lost_{fate}")
    line = chat.get("line", **ASKED, **settings, line=near[0]["said"]["message_id"])
    assert 'class="verdict' in line.text
    assert "Left out" in line.text


@pytest.mark.row("N-13")
@pytest.mark.parametrize(
    "otherwise",
    [
        {"profile": "classic", "overrides.weights.reply_chain": "0.9"},
        {"overrides.max_context": "5", "token_budget": "300"},
        {"question": "who has a wireless network?"},
        {"profile": "naive"},
        {"profile": "steady", "cache_marks": "true"},
    ],
)
def test_what_if_is_byte_for_byte_what_the_call_answers(
    chat: Site, otherwise: dict[str, str]
) -> None:
    told = chat.json(
        "compare", **ASKED, **{f"b.{name}": value for name, value in otherwise.items()}
    )
    request = context_pb2.BuildContextRequest(**ASKED)
    for name, value in otherwise.items():
        holder, *path = request, *name.split(".")
        for part in path[:-1]:
            holder = getattr(holder, part)
        kind = type(getattr(holder, path[-1]))
        setattr(holder, path[-1], kind(value))
    answer = chat.context.BuildContext(request)
    compared = told["page"]["compared"]
    assert compared["other"]["payload"]["body"].encode() == answer.payloads[0].body
    original = built(chat)
    assert compared["one"]["payload"]["body"].encode() == original.payloads[0].body
    before = {item.message.id for item in original.items}
    after = {item.message.id for item in answer.items}
    marked = {pair["said"]["message_id"]: pair["change"] for pair in compared["pairs"]}
    assert marked == {
        **dict.fromkeys(before & after, "kept"),
        **dict.fromkeys(after - before, "came"),
        **dict.fromkeys(before - after, "went"),
    }


def test_the_payload_is_the_one_that_is_sent(chat: Site) -> None:
    for name, number in (("openai_chat", 1), ("anthropic_messages", 4), ("gemini_contents", 5)):
        sent = chat.get("payload", **ASKED, payload_formats=name, part="body")
        answer = built(chat, payload_formats=[number])
        assert sent.content == answer.payloads[0].body
        assert sent.headers["content-disposition"].startswith("attachment")


def test_a_recorded_build_is_opened_with_its_question_and_terms(chat: Site) -> None:
    context_id = built(chat).context_id
    listed = chat.json("builds", channel=CHANNEL)["page"]["builds"]
    assert context_id in {one["context_id"] for one in listed}
    view = chat.json("build", id=context_id)["page"]
    assert view["record"]["line"]["trigger"]["text"] == "what does [tab][tab] mean?"
    kept = chat.admin.GetUsageRecord(admin_pb2.GetUsageRecordRequest(context_id=context_id)).record
    assert sum(count for _, count in view["record"]["fates"]) == len(kept.candidates)
    lines = [row for row in view["page"]["rows"] if "said" in row]
    assert any(line["shares"] for line in lines)
    assert not [line for line in lines if line["recorded"]]
    assert chat.get("build", id=context_id).status_code == 200


def test_looking_is_recorded_and_counted_nowhere(chat: Site) -> None:
    built(chat)
    listed = admin_pb2.ListUsageRecordsRequest(channel=CHANNEL, limit=1_000)
    asked = admin_pb2.GetMetricsRequest(names=["backscroll_context_builds"])

    def left() -> tuple[int, float]:
        records = chat.admin.ListUsageRecords(listed).records
        return len(records), sum(one.value for one in chat.admin.GetMetrics(asked).samples)

    before = left()
    for path in ("question", "compare", "payload", "case"):
        assert chat.get(path, **ASKED, token_budget="200", profile="steady").status_code == 200
    assert chat.get("question", **ASKED, profile="none").status_code == 400
    assert left() == before
    assert before[1] > 0
    built(chat)
    claimed = {"only-looks": "true", "only_looks": "true"}
    request = context_pb2.BuildContextRequest(**ASKED)
    chat.context.BuildContext(request, metadata=list(claimed.items()))
    answer = httpx2.post(
        f"{chat.url.removesuffix('/inspector')}/backscroll.v1.ContextService/BuildContext",
        json=ASKED, headers=claimed, params=claimed, trust_env=False,
    )  # fmt: skip
    assert answer.status_code == 200
    assert left() == (before[0] + 3, before[1] + 3)


def test_what_came_out_otherwise_than_recorded_is_said(chat: Site) -> None:
    answer = built(chat, overrides=context_pb2.Overrides(max_context=4))
    rows = chat.json("build", id=answer.context_id)["page"]["page"]["rows"]
    assert {row["recorded"] for row in rows if row.get("recorded")} == {"limit"}


@pytest.mark.parametrize("path", sorted(PAGES))
def test_every_page_has_a_twin_and_its_calls(chat: Site, path: str) -> None:
    record = built(chat).context_id
    listed = chat.json("builds", channel=CHANNEL)  # waits for what is queued
    assert listed["page"]["builds"]
    if path == "experiment":
        assert chat.get(path, id="none").status_code == 404
        return
    fields = {
        "message": {"channel": CHANNEL, "id": QUESTION},
        "build": {"id": record},
        "line": {**ASKED, "line": built(chat).items[0].message.id},
    }.get(path, ASKED)
    page = chat.get(path, **fields)
    assert page.status_code == 200, page.text[:2000]
    for name in SECURED:
        assert page.headers[name]
    assert page.headers["cache-control"] == "no-store"
    assert "format=json" in page.text
    twin = chat.json(path, **fields)
    methods = [one["method"] for one in twin["calls"]]
    for method in methods:
        assert f"backscroll.v1.{method}" in page.text
    assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", page.text)


def test_a_command_of_a_page_can_be_run_and_answers_the_same(chat: Site) -> None:
    page = chat.get("question", **ASKED)
    commands = [
        html.unescape(one) for one in re.findall(r"<pre[^>]*>(backscroll call.*?)</pre>", page.text)
    ]
    command = next(one for one in commands if "BuildContext" in one)
    words = shlex.split(command)
    assert words[:2] == ["backscroll", "call"]
    said = subprocess.run(
        [sys.executable, "-m", "backscroll._cli_entry", *words[1:], "--json"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    answer = json_format.ParseDict(json.loads(said.stdout), context_pb2.BuildContextResponse())
    assert [one.message.id for one in answer.items] == [one.message.id for one in built(chat).items]
    assert "grpcurl -plaintext -d" in html.unescape(page.text)


def test_the_demo_is_loaded_by_a_form_of_a_page_and_by_no_other() -> None:
    with site() as one:
        for headers in ({}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert one.http.post("/demo", headers=headers).status_code == 403
        assert not one.history.ListChannels(history_pb2.ListChannelsRequest()).channels
        origin = one.url.removesuffix("/inspector")
        loaded = one.http.post("/demo", headers={"origin": origin})
        assert loaded.status_code == 303
        assert loaded.headers["location"].endswith(f"timeline?channel={CHANNEL}")
        [channel] = one.history.ListChannels(history_pb2.ListChannelsRequest()).channels
        assert (channel.channel, channel.message_count) == (CHANNEL, 400)
        command = re.search(r"backscroll (erase --channel [\w-]+)", TEXTS["try_demo_says"][0])
        assert command
        words = [*command[1].split(), "--yes", "--server", one.address]
        subprocess.run([sys.executable, "-m", "backscroll._cli_entry", *words], check=True)
        assert not one.history.ListChannels(history_pb2.ListChannelsRequest()).channels


async def test_reports_of_browsers_are_counted_and_bounded() -> None:
    inspector = Inspector(calls=None, facts=Facts("127.0.0.1:1"))  # type: ignore[arg-type]
    app = http_app(inspector.routes(), needs_token=False)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for _ in range(3):
            told = await http.post("/inspector/csp-report", content=b'{"csp-report": {}}')
            assert told.status_code == 204
        assert (await http.post("/inspector/csp-report", content=b"x" * 20_000)).status_code == 400
    assert inspector.counts["inspector.blocked"] == 3


def test_another_name_of_this_machine_is_turned_away(chat: Site) -> None:
    assert chat.http.get("/", headers={"host": "evil.example"}).status_code == 403
    assert chat.http.get("/", headers={"host": "localhost:1"}).status_code == 200


def test_with_tokens_a_page_wants_one_and_keeps_it_from_scripts() -> None:
    with site(tokens={"secret-token": "default"}) as one:
        first = one.get("timeline", channel="x y")
        assert first.status_code == 303
        assert (
            first.headers["location"]
            == "/inspector/login?next=%2Finspector%2Ftimeline%3Fchannel%3Dx%2By"
        )
        assert one.get("", format="json").status_code == 401
        told = {"authorization": "bEARER secret-token"}
        assert one.http.get("/", params={"format": "json"}, headers=told).status_code == 200
        origin = {"origin": one.url.removesuffix("/inspector")}
        wrong = one.http.post("/login", data={"token": "no"}, headers=origin)
        assert wrong.status_code == 401
        assert "set-cookie" not in wrong.headers
        assert one.http.post("/login", data={"token": "secret-token"}).status_code == 403
        right = one.http.post(
            "/login",
            data={"token": "secret-token", "next": "https://evil.example/"},
            headers=origin,
        )
        assert right.headers["location"] == "/inspector/"
        cookie = right.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/inspector" in cookie
        page = one.get("")
        assert page.status_code == 200
        assert "secret-token" not in page.text
        assert "BACKSCROLL_TOKEN" in page.text
        out = one.http.post("/logout", headers=origin)
        assert "backscroll_token_" in out.headers["set-cookie"]
        assert one.get("").status_code == 303


@pytest.mark.parametrize(
    "after",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/elsewhere",
        "/inspectorx",
        "",
        "//[",
        "http://[::1",
        "/inspector/..//evil.example",
        "/inspector/%2e%2e/v1/chat/completions",
        "/inspector/\\evil.example",
        "javascript:alert(1)",
    ],
)
def test_a_login_leads_nowhere_else(chat: Site, after: str) -> None:
    origin = {"origin": chat.url.removesuffix("/inspector")}
    answer = chat.http.post("/display", data={"theme": "dark", "next": after}, headers=origin)
    assert answer.headers["location"] == "/inspector/"
    chat.http.cookies.clear()
    login = chat.get("login", next=after)
    assert 'name="next" value="/inspector/"' in login.text


@pytest.mark.parametrize("token", ['a;b,c="d"', "%2F+%", "a b\\"])
def test_a_token_comes_back_as_it_was_given(token: str) -> None:
    with site(tokens={token: "default"}) as one:
        origin = {"origin": one.url.removesuffix("/inspector")}
        assert one.http.post("/login", data={"token": token}, headers=origin).status_code == 303
        assert one.get("").status_code == 200
        wrong = one.http.post("/login", data={"token": "密钥🔑"}, headers=origin)
        assert wrong.status_code == 401


@pytest.mark.parametrize("token", ["密钥🔑", "é \r\nset-cookie: x=y", "\x00;"])
def test_a_server_without_tokens_keeps_whatever_is_given(empty: Site, token: str) -> None:
    origin = {"origin": empty.url.removesuffix("/inspector")}
    login = empty.http.post("/login", data={"token": token}, headers=origin)
    assert login.status_code == 303
    assert [name for name, _ in empty.http.cookies.items()] == [
        f"backscroll_token_{httpx2.URL(empty.url).port}"
    ]
    assert empty.get("").status_code == 200
    empty.http.cookies.clear()


def test_the_address_without_its_slash_names_no_other_host(chat: Site) -> None:
    root = chat.url.removesuffix("/inspector")
    for path in ("/inspector", "/"):
        answer = httpx2.get(f"{root}{path}", trust_env=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/inspector/")
        assert answer.headers["content-security-policy"]


def test_a_broken_origin_is_another_site(chat: Site) -> None:
    for origin in ("http://[", "http://[::1", "//", "null", "file://localhost"):
        answer = chat.http.post("/display", data={"theme": "dark"}, headers={"origin": origin})
        assert answer.status_code == 403, origin


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("en-GB,en;q=0.9", "en"),
        ("fr, zh-TW;q=0.7, en;q=0.3", "zh-Hans"),
        ("fr", "en"),
        ("zh;q=0", "en"),
        ("zh;q=x", "en"),
    ],
)
def test_pages_speak_the_browser_s_language(chat: Site, accepted: str, language: str) -> None:
    page = chat.http.get("/", headers={"accept-language": accepted})
    assert f'<html lang="{language}"' in page.text


REFUSED = [
    ("timeline", {"channel": "nobody"}, 404, "CHANNEL_NOT_FOUND"),
    ("question", {"channel": CHANNEL}, 400, "QUESTION_MISSING"),
    ("question", {**ASKED, "profile": "none"}, 400, "UNKNOWN_PROFILE"),
    ("question", {**ASKED, "token_budget": "many"}, 400, "token_budget: a whole number"),
    ("question", {**ASKED, "nonsense": "1"}, 400, "a question has no such field"),
    ("question", {**ASKED, "layout": "x"}, 400, "turns, context_and_question"),
    ("line", {**ASKED, "line": "none"}, 404, "MESSAGE_NOT_FOUND"),
    ("message", {"channel": CHANNEL, "id": "none"}, 404, "MESSAGE_NOT_FOUND"),
    ("build", {"id": "none"}, 404, "CONTEXT_NOT_FOUND"),
    ("nowhere", {}, 404, "There is no such page"),
]
"""Path, fields, status, and words of the page in English."""


def test_a_page_that_is_not_there_says_so_in_chinese(chat: Site) -> None:
    page = chat.http.get("/nowhere", headers={"accept-language": "zh"})
    assert page.status_code == 404
    assert "没有这个页面" in page.text
    assert "no such page" not in page.text


@pytest.mark.parametrize(("path", "fields", "status", "words"), REFUSED)
def test_what_cannot_be_shown_says_why(
    chat: Site, path: str, fields: dict[str, str], status: int, words: str
) -> None:
    page = chat.get(path, **fields)
    assert page.status_code == status
    assert words in html.unescape(page.text)
    assert page.headers["content-security-policy"]


@pytest.mark.parametrize(("path", "fields", "status", "words"), REFUSED)
def test_on_a_chinese_page_english_is_but_the_detail(
    chat: Site, path: str, fields: dict[str, str], status: int, words: str
) -> None:
    page = chat.http.get(f"/{path}", params=fields, headers={"accept-language": "zh"})
    assert page.status_code == status
    main = page.text.partition('tabindex="-1">')[2].partition("</main>")[0]
    assert re.search(r"[\u4e00-\u9fff]", re.search(r'<p class="lead">(.*?)</p>', main)[1])
    told = chat.get(path, **fields, format="json") if path != "nowhere" else None
    error = told.json()["error"] if told else {"message": "", "metadata": {}}
    if error["message"]:
        detail = re.search(r'<p class="raw" lang="en">(.*?)</p>', main)
        assert html.unescape(detail[1]) == error["message"]
    if field := error["metadata"].get("field"):
        assert f"字段： <code>{field}</code>" in main
    bare = re.sub(
        r'<p class="raw".*?</p>|<code>.*?</code>|<nav.*?</nav>', "", main, flags=re.DOTALL
    )
    bare = re.sub(r"<[^>]*>|\bprofile\b|\bid\b|\btoken\b", "", bare)
    assert not re.search(r"[A-Za-z]{2}", bare)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        (
            "overrides.weights.reply_chain",
            "7",
            ("This value is not permitted. From 0 to 1.", "不允许这个值。 应在 0 到 1 之间。"),
        ),
        (
            "overrides.time_window_hours",
            "many",
            (
                "This value is not permitted. From 1 to 87,600.",
                "不允许这个值。 应在 1 到 87,600 之间。",
            ),
        ),
        (
            "token_budget",
            "-5",
            ("This value is not permitted. At least 1.", "不允许这个值。 至少为 1。"),
        ),
        (
            "token_budget",
            "1",
            (
                "The token budget is too small for the question and the fixed parts. At least LEAST.",
                "token 预算太小，放不下提问和固定部分。 至少为 LEAST。",
            ),
        ),
        ("profile", "none", ("There is no profile of this name.", "没有这个名称的 profile。")),
    ],
)
def test_a_refused_what_if_keeps_its_form_and_says_why_at_the_field(
    chat: Site, field: str, value: str, why: tuple[str, str]
) -> None:
    given = {"b.question": "who has a <b> network?", f"b.{field}": value}
    page = chat.get("compare", **ASKED, **given)
    assert page.status_code == 400
    assert ">who has a &lt;b&gt; network?</textarea>" in page.text
    if field == "profile":
        assert f"<option selected>{value}</option>" in page.text
    else:
        assert re.search(rf'name="b.{field}" value="{value}"', page.text)
    faults = dict(
        re.findall(r'<span class="fault" id="fault-([^"]*)"[^>]*>([^<]*)</span>', page.text)
    )
    assert {name for name, words in faults.items() if words} == {field}
    told = chat.get("compare", **ASKED, **given, format="json")
    metadata = told.json()["error"]["metadata"]
    assert (told.status_code, metadata["field"]) == (400, field)
    english, chinese = (one.replace("LEAST", metadata.get("least_tokens", "")) for one in why)
    assert html.unescape(faults[field]) == english
    page = chat.http.get("/compare", params={**ASKED, **given}, headers={"accept-language": "zh"})
    assert f">{chinese}</span>" in page.text
    part = chat.http.get("/compare", params={**ASKED, **given}, headers={"hx-request": "true"})
    assert part.status_code == 400
    assert "<form" not in part.text
    placed = re.findall(r'id="fault-([^"]*)" role="alert" hx-swap-oob="true">([^<]+)<', part.text)
    assert [name for name, _ in placed] == [field]


def test_a_refused_question_itself_is_no_what_if(chat: Site) -> None:
    page = chat.get("compare", **ASKED, profile="none", **{"b.token_budget": "300"})
    assert page.status_code == 400
    assert 'class="whatif"' not in page.text


@pytest.mark.parametrize(
    ("otherwise", "note"),
    [
        ({"profile": "classic"}, "silent_weight"),
        ({"profile": "classic", "overrides.weights.reply_chain": "0.9"}, "silent_weight"),
        ({"overrides.weights.reply_chain": "0.9"}, "foreign_weights"),
        ({"profile": "hybrid"}, None),
        ({"token_budget": "100000"}, "nothing_lost"),
        ({"token_budget": "120"}, None),
        ({"profile": "SAME"}, "same_profile"),
    ],
)
def test_a_change_that_comes_to_nothing_says_why(
    chat: Site, otherwise: dict[str, str], note: str | None
) -> None:
    usual = built(chat).profile
    given = {f"b.{name}": value.replace("SAME", usual) for name, value in otherwise.items()}
    notes = chat.json("compare", **ASKED, **given)["page"]["notes"]
    assert [one["key"] for one in notes] == ([note] if note else [])
    page = chat.get("compare", **ASKED, **given)
    for one in notes:
        assert TEXTS[f"note_{one['key']}"][0].format(**one["values"]) in html.unescape(page.text)
    assert page.text.count('class="note"') == len(notes)


def test_a_weight_that_counts_has_no_note() -> None:
    with site() as one:
        append(one, "room", ["the server is down", "again?", "which server?"])
        reply = {
            "id": "m9",
            "author": {"id": "u2"},
            "parts": [{"text": {"text": "what happened to it?"}}],
            "sent_at_ms": 1_795_176_009_000,
            "reply": {"message_id": "m0"},
        }
        batch = {"channel": "room", "messages": [reply]}
        one.history.AppendMessages(
            json_format.ParseDict(batch, history_pb2.AppendMessagesRequest())
        )
        fields = {"channel": "room", "trigger_message_id": "m9", "b.profile": "classic"}
        assert one.json("compare", **fields)["page"]["notes"] == []


def test_wrong_tokens_have_to_wait_and_right_ones_have_not() -> None:
    with site(tokens={"secret-token": "default"}) as one:
        origin = {"origin": one.url.removesuffix("/inspector"), "accept-language": "zh"}

        def login(token: str) -> httpx2.Response:
            return one.http.post(
                "/login", data={"token": token, "next": "/inspector/trends"}, headers=origin
            )

        for _ in range(15):
            assert login("secret-token").status_code == 303
        one.http.cookies.clear()
        for at in range(10):
            assert login(f"wrong {at}").status_code == 401
        for token in ("wrong", "secret-token"):
            refused = login(token)
            assert refused.status_code == 429
            assert 0 < int(refused.headers["retry-after"]) <= 6
            assert "TOO_MANY_LOGINS" in refused.text
            assert TEXTS["why_TOO_MANY_LOGINS"][1] in refused.text
            assert 'name="next" value="/inspector/trends"' in refused.text
            assert "set-cookie" not in refused.headers
        told = {"authorization": "Bearer secret-token"}
        assert one.http.get("/", headers=told).status_code == 200


def test_a_form_that_is_none_of_ours_or_too_long_is_told_of_in_the_readers_language(
    chat: Site,
) -> None:
    chinese = {"accept-language": "zh"}
    page = chat.http.post("/display", data={"theme": "dark"}, headers=chinese)
    assert page.status_code == 403
    assert TEXTS["why_OTHER_SITE"][1] in page.text
    own = {**chinese, "origin": chat.url.removesuffix("/inspector")}
    page = chat.http.post("/display", data={"theme": "x" * 20_000}, headers=own)
    assert page.status_code == 400
    assert TEXTS["why_TOO_LARGE"][1] in page.text


def test_a_copied_test_case_passes_and_fails_when_more_is_expected(chat: Site, tmp_path) -> None:
    """As it was copied, and beside it with another line expected."""
    fields = {**ASKED, "overrides.max_context": "8"}
    for folder in ("copied", "more"):
        (tmp_path / folder).mkdir()
    for part, name in (("json", "case.json"), ("test", "test_case.py")):
        answer = chat.get("case", **fields, part=part)
        assert name in answer.headers["content-disposition"]
        for folder in ("copied", "more"):
            (tmp_path / folder / name).write_bytes(answer.content)
    case = json.loads((tmp_path / "more" / "case.json").read_text("utf-8"))
    case["expected"].append("another")
    (tmp_path / "more" / "case.json").write_text(json.dumps(case), "utf-8")
    alone = ["-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    alone += ["--import-mode=importlib", "-v"]
    run = [sys.executable, "-m", "pytest", *alone, str(tmp_path)]
    ended = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    told = ended.stdout + ended.stderr
    verdicts = re.findall(r"^(copied|more)/test_case\.py::\w+ (PASSED|FAILED)", told, re.MULTILINE)
    assert verdicts == [("copied", "PASSED"), ("more", "FAILED")], told
    assert ended.returncode == 1


def test_an_experiment_is_shown_with_what_its_arms_came_to() -> None:
    with site() as one:
        message = {"id": "m1", "author": {"id": "ann"}, "parts": [{"text": {"text": "hello"}}]}
        batch = {"channel": "room", "messages": [message]}
        one.history.AppendMessages(
            json_format.ParseDict(batch, history_pb2.AppendMessagesRequest())
        )
        arms = [{"name": "now"}, {"name": "new", "profile": "steady"}]
        asked = {"experiment": {"experiment_id": "try <b>", "arms": arms, "description": "which?"}}
        one.admin.PutExperiment(json_format.ParseDict(asked, experiment_pb2.PutExperimentRequest()))
        for at in range(3):
            one.context.BuildContext(
                context_pb2.BuildContextRequest(channel="room", question=f"hello {at}?")
            )
        assert one.json("builds", channel="room")["page"]["builds"][0]["experiment"]
        listed = one.get("experiments")
        assert "try &lt;b&gt;" in listed.text
        assert "profile=steady" in html.unescape(listed.text)
        report = one.json("experiment", id="try <b>")["page"]["report"]
        assert sum(arm["builds"] for arm in report["arms"]) == 3
        assert "tokens" in report["names"]
        page = one.get("experiment", id="try <b>")
        assert page.status_code == 200
        assert 'class="interval"' in page.text


def test_events_of_a_build_that_was_cut_are_listed(chat: Site) -> None:
    answer = built(chat, token_budget=300)
    chat.json("builds", channel=CHANNEL)
    listed = chat.json("events", channel=CHANNEL)["page"]["events"]
    assert "context.compressed" in {one["type"] for one in listed}
    of_it = chat.json("build", id=answer.context_id)["page"]["events"]
    assert "context.compressed" in {one["type"] for one in of_it}
    assert "context.compressed" in chat.get("events", channel=CHANNEL).text


def append(one: Site, channel: str, texts: list[str]) -> None:
    messages = [
        {
            "id": f"m{at}",
            "author": {"id": f"u{at % 3}"},
            "parts": [{"text": {"text": text}}],
            "sent_at_ms": 1_795_176_000_000 + at * 1_000,
        }
        for at, text in enumerate(texts)
    ]
    for at in range(0, len(messages), 40):
        batch = {"channel": channel, "messages": messages[at : at + 40]}
        one.history.AppendMessages(
            json_format.ParseDict(batch, history_pb2.AppendMessagesRequest())
        )


def test_lines_of_a_channel_that_shares_have_their_own_text_and_page() -> None:
    with site() as one:
        append(one, "here", ["hello", "lunch?", "when does the museum open?"])
        append(one, "there", ["the museum opens at nine", "the museum is closed on Monday", "yes"])
        for channel in ("here", "there"):
            settings = {"settings": {"channel": channel, "sharing": {"groups": ["friends"]}}}
            request = json_format.ParseDict(settings, admin_pb2.SetChannelSettingsRequest())
            one.admin.SetChannelSettings(request)
        fields = {"channel": "here", "trigger_message_id": "m2"}
        rows = one.json("question", **fields)["page"]["page"]["rows"]
        theirs = {row["said"]["message_id"]: row["said"]["text"] for row in rows if row["channel"]}
        ours = {
            row["said"]["message_id"]: row["said"]["text"] for row in rows if not row["channel"]
        }
        assert theirs["m0"] == "the museum opens at nine"
        assert ours["m0"] == "hello"
        opened = one.json("line", **fields, line="m0", of="there")["page"]
        assert opened["said"]["text"] == "the museum opens at nine"
        assert opened["line"]["visible_by"] == "sharing"
        page = one.get("question", **fields)
        assert "line=m0&amp;of=there" in page.text
        compared = one.json("compare", **fields, **{"b.overrides.max_context": "1"})["page"][
            "compared"
        ]
        assert "the museum opens at nine" in {pair["said"]["text"] for pair in compared["pairs"]}


def test_many_candidates_are_written_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[tuple[int, str]] = []

    def noted(built: BuiltContext, *given: object) -> bytes:
        threads.append((len(built.explanation.message_ids), threading.current_thread().name))
        return encode_built(built, *given)

    monkeypatch.setattr("backscroll_sidecar.edge.services.context.encode_built", noted)
    with site() as one:
        append(one, "crowd", [f"apple {at}" for at in range(800)])
        fields = {"channel": "crowd", "question": "apple?", "asker.id": "u1"}
        few = one.json("question", **fields, **{"overrides.recent_limit": "5"})["page"]["page"]
        many = one.json("question", **fields, **{"catch_up.since_message_id": "m0"})["page"]["page"]
    assert few["candidate_count"] < 120 < 700 < many["candidate_count"]
    assert [count for count, _ in threads] == [few["candidate_count"], many["candidate_count"]]
    assert threads[0][1] == "site" != threads[1][1]


def test_lines_together_larger_than_an_answer_are_all_there() -> None:
    with site() as one:
        append(one, "room", [*(f"{at} " + "word " * 9_000 for at in range(100)), "which word?"])
        fields = {"channel": "room", "trigger_message_id": "m100", "overrides.max_context": "1"}
        rows = one.json("question", **fields, **{"from": "0", "to": "200"})["page"]["page"]["rows"]
        lines = [row for row in rows if "said" in row]
        assert len(lines) > 80
        assert all(line["said"]["text"] for line in lines)
        case = json.loads(one.get("case", **fields, part="json").content)
        assert len(case["messages"]) == 101


def test_a_key_sees_on_pages_what_it_may_and_nothing_else() -> None:
    tokens = {
        "all-of-it": "default",
        "one-channel": {"tenant": "default", "rights": ["read"], "channels": ["here"]},
        "another": "elsewhere",
    }
    with site(tokens=tokens) as one:
        owner = {"metadata": [("authorization", "Bearer all-of-it")]}
        for channel in ("here", "there"):
            message = {"id": "m1", "author": {"id": "u"}, "parts": [{"text": {"text": "hello"}}]}
            batch = {"channel": channel, "messages": [message]}
            one.history.AppendMessages(
                json_format.ParseDict(batch, history_pb2.AppendMessagesRequest()), **owner
            )

        def got(token: str, path: str, **fields: str) -> httpx2.Response:
            headers = {"authorization": f"Bearer {token}"}
            return one.http.get(f"/{path}", params=fields, headers=headers)

        listed = got("one-channel", "").text
        assert "channel=here" in listed
        assert "channel=there" not in listed
        assert got("one-channel", "message", channel="here", id="m1").status_code == 200
        assert got("one-channel", "question", channel="here", question="hi?").status_code == 200
        for path in ("timeline", "builds", "events", "question"):
            refused = got("one-channel", path, channel="there", question="hi?")
            assert refused.status_code == 403, path
            assert "hello" not in refused.text
        for path in ("trends", "experiments", "builds"):
            assert got("one-channel", path, channel="here").status_code == 403
        assert "Nothing is stored yet" in got("another", "").text
        assert got("another", "timeline", channel="here").status_code == 404
        assert got("nobody", "", format="json").status_code == 401
