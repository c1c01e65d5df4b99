"""Pages in a real browser: the way to a reason, keys, languages, sizes, hostile chats, and what axe finds."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from backscroll.v1 import context_pb2, history_pb2, message_pb2
from tests.integration.inspector.browser import browsing
from tests.integration.inspector.conftest import CHANNEL, QUESTION, Site, site

AXE = (Path(__file__).parents[2] / "data/axe/axe.min.js").read_text("utf-8")
SERIOUS = {"serious", "critical"}
ASKED = f"channel={CHANNEL}&trigger_message_id={QUESTION}"
NOON_MS = 1_795_176_000_000
HOSTILE = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    '"><svg onload=window.hacked=1>',
    "' onmouseover='window.hacked=1' x='",
    "javascript:window.hacked=1",
    "{{ 7*7 }} {% raw %} ${window.hacked=1}",
    "</textarea></title></style><script>window.hacked=1</script>",
    "\u202egnp.exe\u202c evil \u2066isolated",
    "<a hx-get=/inspector/demo hx-trigger=load>x</a>",
    "]]><!--<script>window.hacked=1</script>-->",
    "x" * 60_000,
    "\u0300" * 400 + "zalgo",
    "مرحبا بالعالم — שלום עולם",
)


def said(
    id: str, text: str, at_s: int, author: str = "u1", name: str = "Ann"
) -> message_pb2.Message:
    return message_pb2.Message(
        id=id,
        author=message_pb2.Author(id=author, name=name),
        parts=[message_pb2.Part(text=message_pb2.TextPart(text=text))],
        sent_at_ms=NOON_MS + at_s * 1_000,
    )


def append(one: Site, channel: str, messages: list[message_pb2.Message]) -> None:
    for at in range(0, len(messages), 500):
        batch = messages[at : at + 500]
        answer = one.history.AppendMessages(
            history_pb2.AppendMessagesRequest(channel=channel, messages=batch)
        )
        assert {result.outcome for result in answer.results} == {history_pb2.APPEND_OUTCOME_STORED}


def faults(tab: Any) -> list[tuple[str, str]]:
    """What axe finds that is serious."""
    found = tab.evaluate(
        f"() => {{ {AXE}; return axe.run(document, {{resultTypes: ['violations']}}) }}"
    )
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in found["violations"]
        if one["impact"] in SERIOUS
    ]


@pytest.mark.row("N-04")
def test_from_an_empty_server_to_the_reason_of_a_line_in_six_clicks(tab: Any) -> None:
    with site() as one:
        clicks = 0
        tab.goto(f"{one.url}/")
        for step in (
            "text=Load the demo chat",
            "li:has-text('what does [tab][tab] mean?') .go",
            ".near [data-open]",
        ):
            tab.click(step)
            clicks += 1
        verdict = tab.wait_for_selector(".line-detail .verdict").inner_text()
        assert verdict.startswith("Left out: ")
        assert clicks <= 6


def test_a_line_opens_and_closes_where_it_stands(chat: Site, tab: Any) -> None:
    tab.goto(f"{chat.url}/question?{ASKED}")
    first = tab.locator("tr.taken [data-open]").first
    first.click()
    tab.wait_for_selector("tr.detail .factors")
    assert tab.url.endswith(ASKED)
    first.click()
    tab.wait_for_selector("tr.detail", state="detached")


def test_a_fold_opens_where_it_stands(chat: Site, tab: Any) -> None:
    tab.goto(f"{chat.url}/question?{ASKED}")
    before = tab.locator("tr[id^=c]").count()
    tab.click(".fold [data-open] >> nth=0")
    expect(tab.locator("tr[id^=c]")).not_to_have_count(before, timeout=60_000)


def test_what_if_follows_the_form(chat: Site, tab: Any) -> None:
    tab.goto(f"{chat.url}/compare?{ASKED}")
    assert "The same payload" in tab.inner_text(".outcome")
    tab.fill("input[name='b.overrides.max_context']", "5")
    tab.press("input[name='b.overrides.max_context']", "Tab")
    expect(tab.locator(".outcome")).to_contain_text("went", timeout=60_000)
    assert "b.overrides.max_context=5" in tab.url
    tab.reload()
    assert "went" in tab.inner_text(".outcome")
    assert tab.input_value("input[name='b.overrides.max_context']") == "5"


def test_a_refused_what_if_says_so_at_its_field_and_goes_on(chat: Site, browser: Any) -> None:
    tab = browser.new_page()  # it logs the status 400
    tab.goto(f"{chat.url}/compare?{ASKED}")
    weight = "input[name='b.overrides.weights.reply_chain']"
    fault = tab.locator("[id='fault-overrides.weights.reply_chain']")
    expect(fault).to_be_empty()
    tab.select_option("select[name='b.profile']", "classic")
    expect(tab.locator(".sides section >> nth=1")).to_contain_text("classic", timeout=60_000)
    expect(tab.locator(".note")).to_contain_text("reply_chain")
    tab.fill(weight, "7")
    tab.press(weight, "Tab")
    expect(fault).to_contain_text("From 0 to 1", timeout=60_000)
    expect(tab.locator(".refused")).to_contain_text("overrides.weights.reply_chain")
    assert tab.input_value(weight) == "7"
    assert tab.input_value("select[name='b.profile']") == "classic"
    assert fault.bounding_box()["y"] - tab.locator(weight).bounding_box()["y"] < 60
    tab.reload()
    expect(fault).to_contain_text("From 0 to 1")
    assert tab.input_value(weight) == "7"
    assert not faults(tab)
    tab.fill(weight, "0.5")
    tab.press(weight, "Tab")
    expect(tab.locator(".refused")).to_have_count(0, timeout=60_000)
    expect(fault).to_be_empty()
    expect(tab.locator(".sides section >> nth=1")).to_contain_text("classic")
    tab.close()


def test_two_servers_of_one_host_keep_their_logins_apart(tab: Any) -> None:
    with site(tokens={"one-token": "default"}) as one, site(tokens={"two-token": "default"}) as two:
        for at, token in ((one, "one-token"), (two, "two-token")):
            tab.goto(f"{at.url}/")
            tab.fill("[name=token]", token)
            tab.click("main button.main")
            tab.wait_for_selector("text=Nothing is stored yet")
        tab.goto(f"{one.url}/")
        assert tab.is_visible("text=Nothing is stored yet")
        tab.click("text=Log out")
        tab.wait_for_selector("[name=token]")
        tab.goto(f"{two.url}/")
        assert tab.is_visible("text=Nothing is stored yet")


def test_keys_move_open_find_and_help(chat: Site, tab: Any) -> None:
    tab.goto(f"{chat.url}/timeline?channel={CHANNEL}")
    focused = "document.activeElement.closest('[data-row]')?.id ?? ''"
    tab.keyboard.press("j")
    first = tab.evaluate(focused)
    tab.keyboard.press("j")
    second = tab.evaluate(focused)
    assert first != second
    assert first
    tab.keyboard.press("k")
    assert tab.evaluate(focused) == first
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.name") == "query"
    tab.keyboard.type("j?")
    assert tab.input_value("[name=query]") == "j?"
    tab.keyboard.press("Escape")
    tab.keyboard.press("?")
    assert tab.is_visible("dialog#keys")
    tab.keyboard.press("Escape")
    assert not tab.is_visible("dialog#keys")
    tab.keyboard.press("j")
    with tab.expect_navigation():
        tab.keyboard.press("Enter")
    assert "/message?" in tab.url


def test_a_chinese_page_and_a_dark_one_by_their_switches(chat: Site, tab: Any) -> None:
    tab.goto(f"{chat.url}/question?{ASKED}")
    tab.click("button[value=zh]")
    tab.wait_for_selector("html[lang=zh-Hans]")
    assert QUESTION in unquote(tab.url)
    assert "候选" in tab.text_content("table.candidates caption")
    assert "未入选" in tab.inner_text(".because >> nth=0")
    light = tab.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    tab.click("button[value=dark]")
    tab.wait_for_selector("html[data-theme=dark]")
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light
    tab.click("button[value=light]")
    tab.wait_for_selector("html[data-theme=light]")
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == light


def test_copying_gives_the_payload_as_sent(chat: Site, browser: Any, tab: Any) -> None:
    browser.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.goto(f"{chat.url}/payload?{ASKED}")
    tab.click("main [data-copy]")
    expect(tab.locator("#live")).not_to_be_empty(timeout=60_000)
    copied = tab.evaluate("navigator.clipboard.readText()")
    answer = chat.context.BuildContext(
        context_pb2.BuildContextRequest(channel=CHANNEL, trigger_message_id=QUESTION)
    )
    assert copied.encode() == answer.payloads[0].body


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(chat: Site, tab: Any, theme: str) -> None:
    tab.emulate_media(color_scheme=theme)
    record = chat.context.BuildContext(
        context_pb2.BuildContextRequest(channel=CHANNEL, trigger_message_id=QUESTION)
    ).context_id
    assert chat.json("builds", channel=CHANNEL)["page"]["builds"]
    found = {}
    for path in (
        "",
        f"timeline?channel={CHANNEL}",
        f"message?channel={CHANNEL}&id={QUESTION}",
        f"question?{ASKED}",
        f"compare?{ASKED}&b.profile=classic",
        f"payload?{ASKED}",
        f"case?{ASKED}",
        f"builds?channel={CHANNEL}",
        f"build?id={record}",
        f"events?channel={CHANNEL}",
        "trends",
        "health",
        "experiments",
        "login",
    ):
        tab.goto(f"{chat.url}/{path}")
        if path.startswith("question"):
            tab.click(".near [data-open] >> nth=0")
            tab.wait_for_selector("tr.detail")
        if at := faults(tab):
            found[path] = at
    assert not found


@pytest.mark.row("N-04")
def test_a_hostile_chat_runs_nothing_and_the_policy_has_nothing_to_report(tab: Any) -> None:
    with site() as one:
        reports: list[str] = []
        tab.on(
            "request",
            lambda asked: reports.append(asked.url) if "csp-report" in asked.url else None,
        )
        names = [text[:120] for text in HOSTILE]
        messages = [
            said(f"m{at}{text[:60]}", text, at, author=f"u{at}{names[at]}", name=names[at])
            for at, text in enumerate(HOSTILE)
        ]
        channel = '"><script>window.hacked=1</script>\u202egnp'
        append(one, channel, messages)
        tab.goto(f"{one.url}/")
        tab.click("tbody [data-open]")
        width = "document.documentElement.scrollWidth <= innerWidth"
        trouble = "window.hacked === undefined && document.querySelectorAll('main script, main img').length === 0"
        for step in (None, "li:has-text('zalgo') .go", ".taken [data-open] >> nth=0"):
            if step:
                tab.click(step)
                tab.wait_for_load_state()
            assert tab.evaluate(trouble)
            assert tab.evaluate(width), step
        tab.wait_for_selector("tr.detail")
        for name in ("compare", "payload", "case"):
            tab.click(f".steps a[href*='/{name}?']")
            tab.wait_for_load_state()
            assert tab.evaluate(trouble)
        assert "\u202e" not in tab.inner_text("nav.crumbs")
        assert "U+202E" in tab.inner_text("nav.crumbs")
        assert not reports


def test_a_report_of_the_policy_is_sent_and_counted(chat: Site, browser: Any) -> None:
    page = browser.new_page()
    page.goto(f"{chat.url}/")
    with page.expect_response("**/csp-report") as told:
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.hacked=1>')"
        )
    assert told.value.status == 204
    assert page.evaluate("window.hacked === undefined")
    page.close()


def test_chinese_and_arabic_stand_as_they_are_written(tab: Any) -> None:
    with site() as one:
        texts = [
            "服务器昨晚又崩溃了，谁知道原因？",
            "مرحبا، متى الاجتماع؟",
            "重启数据库之后就好了",
            "什么时候重启的？",
        ]
        append(
            one,
            "群聊：运维",
            [said(f"m{i}", text, i * 30, f"u{i % 2}", "小明") for i, text in enumerate(texts)],
        )
        tab.goto(f"{one.url}/")
        tab.click("text=群聊：运维")
        for text in texts:
            assert tab.is_visible(f"text={text}")
        arabic = tab.locator(f"bdi:has-text('{texts[1]}')").first
        assert arabic.evaluate("one => getComputedStyle(one).unicodeBidi") == "isolate"
        tab.click("li:has-text('什么时候') .go")
        tab.wait_for_selector("tr.taken")


@pytest.mark.parametrize("width", [390, 820])
def test_a_narrow_page_has_no_line_beyond_its_edge(chat: Site, tab: Any, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    for path in (
        f"timeline?channel={CHANNEL}",
        f"question?{ASKED}",
        f"compare?{ASKED}&b.profile=naive",
    ):
        tab.goto(f"{chat.url}/{path}")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_ten_thousand_candidates_stay_usable(tab: Any) -> None:
    """All of them are counted; a page holds few of them, and opens the rest a part at a time."""
    with site() as one:
        words = [
            "apple",
            "river",
            "stone",
            "cloud",
            "music",
            "paper",
            "green",
            "happy",
            "seven",
            "train",
        ]
        messages = [
            said(
                f"m{at}", f"{words[at % 10]} {words[at // 10 % 10]} number {at}", at, f"u{at % 40}"
            )
            for at in range(10_001)
        ]
        append(one, "crowd", messages)
        fields = "channel=crowd&question=what about apple and river?&catch_up.since_message_id=m0&asker.id=u1"
        page = one.get("question", **dict(pair.split("=") for pair in fields.split("&")))
        assert page.status_code == 200, page.text[:1500]
        assert len(page.content) < 400_000
        tab.goto(f"{one.url}/question?{fields}")
        assert "10,000" in tab.inner_text(".facts")
        assert tab.locator("tr[data-row]").count() < 1_100
        before = tab.locator("tr[id^=c]").count()
        tab.evaluate(
            "[...document.querySelectorAll('.fold [data-open]')]"
            ".sort((a, b) => b.textContent.length - a.textContent.length)[0].click()"
        )
        expect(tab.locator("tr[id^=c]")).not_to_have_count(before, timeout=60_000)
        assert tab.locator("tr[id^=c]").count() <= before + 200


def test_without_scripts_everything_is_there(chat: Site, playwright: Any) -> None:
    with browsing(playwright, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{chat.url}/question?{ASKED}")
        page.click(".fold [data-open] >> nth=0")
        assert page.locator("tr[id^=c]").count() > 20
        page.go_back()
        page.click(".near [data-open] >> nth=0")
        assert page.inner_text(".verdict").startswith("Left out")
        page.click(".steps a[href*='/compare?']")
        page.fill("input[name='b.overrides.max_context']", "5")
        page.click("text=Build both")
        assert "went" in page.inner_text(".outcome")
        page.click("button[value=dark]")
        assert page.get_attribute("html", "data-theme") == "dark"
        assert "b.overrides.max_context=5" in page.url
