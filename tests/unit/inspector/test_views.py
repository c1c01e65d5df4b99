"""View models: pure functions from answers to what a page shows."""

import asyncio
import json
import re
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.v1 import admin_pb2, context_pb2, experiment_pb2, history_pb2, message_pb2
from backscroll_sidecar.inspector import (
    charts,
    commands,
    compared,
    experiments,
    explained,
    numbers_of_server,
    security,
)
from backscroll_sidecar.inspector.asking import Made
from backscroll_sidecar.inspector.numbers import age, moment, score, signed
from backscroll_sidecar.inspector.question_fields import (
    BadField,
    both_of,
    changed,
    pairs_of,
    question_of,
)
from backscroll_sidecar.inspector.said import Said, said, shown
from backscroll_sidecar.inspector.timeline import MOST_LANES, timeline, tree
from backscroll_sidecar.inspector.visits import Beside

SELECTED, LIMIT, BUDGET = (
    context_pb2.FATE_SELECTED,
    context_pb2.FATE_LIMIT,
    context_pb2.FATE_BUDGET,
)


def answer(*fates: int, scores: list[float] | None = None) -> context_pb2.BuildContextResponse:
    built = context_pb2.BuildContextResponse(asked_at_ms=1_000_000, profile="balanced")
    for at, fate in enumerate(fates):
        value = scores[at] if scores else 1 - at / 1_000_000
        built.explanation.candidates.append(
            context_pb2.CandidateExplanation(
                message_id=f"m{at}", fate=fate, score=value, scored_by="score", decided_by="limit"
            )
        )
        if fate == SELECTED:
            item = built.items.add(score=value)
            item.message.id = f"m{at}"
    return built


def rows(built: context_pb2.BuildContextResponse, **shown_as: object) -> list[object]:
    wanted = explained.Shown(**shown_as)
    return list(explained.explained(context_pb2.BuildContextRequest(), built, {}, wanted).rows)


@given(st.lists(st.sampled_from([SELECTED, LIMIT, BUDGET]), max_size=60))
def test_each_candidate_stands_on_the_page_once_or_in_one_fold(fates: list[int]) -> None:
    places: list[int] = []
    for row in rows(answer(*fates)):
        places += range(row.start, row.end) if isinstance(row, explained.Fold) else [row.at]
    assert places == list(range(len(fates)))


def test_ten_thousand_candidates_are_a_short_page() -> None:
    built = answer(*([LIMIT] * 5_000 + [SELECTED] + [LIMIT] * 5_000))
    found = rows(built)
    assert len(found) < 40
    folds = [row for row in found if isinstance(row, explained.Fold)]
    assert sum(fold.count for fold in folds) == 10_001 - (len(found) - len(folds))
    opened = rows(built, unfolded=(0, 5_000))
    assert [type(row).__name__ for row in opened] == ["Line"] * explained.MOST_OPEN + ["Fold"]
    assert len(rows(built, fate="limit")) <= 2 * explained.MOST_OPEN + 1


def test_a_reason_tells_by_how_much_only_where_scores_compare() -> None:
    built = answer(SELECTED, LIMIT, scores=[0.8, 0.6])
    [_, lost] = rows(built)
    assert lost.reason.key == "lost_limit"
    assert lost.reason.values["missing"] == pytest.approx(0.2)
    built.explanation.candidates[1].scored_by = "link"
    [_, lost] = rows(built)
    assert lost.reason.key == "lost_limit_full"


def test_a_duplicate_tells_which_line_is_in_instead() -> None:
    built = answer(SELECTED, context_pb2.FATE_DUPLICATE)
    built.items[0].rank = 4
    built.items[0].message.author.id = "u1"
    built.items[0].message.parts.add().text.text = "yes"
    texts = {("", "m1"): Said("m1", "Ann", "u1", "yes", 1)}
    request = context_pb2.BuildContextRequest()
    [_, lost] = explained.explained(request, built, texts).rows
    assert (lost.reason.key, lost.reason.values["rank"]) == ("lost_duplicate_of", 4)
    texts = {("", "m1"): Said("m1", "Ann", "u2", "yes", 1)}
    [_, lost] = explained.explained(request, built, texts).rows
    assert lost.reason.key == "lost_duplicate"


def test_two_builds_are_united_in_order() -> None:
    one = answer(SELECTED, LIMIT, SELECTED, LIMIT)
    other = answer(LIMIT, SELECTED, SELECTED, LIMIT)
    del other.explanation.candidates[0]
    found = compared.compared(one, other)
    assert [(pair.said.message_id, pair.change) for pair in found.pairs] == [
        ("m0", "went"),
        ("m1", "came"),
        ("m2", "kept"),
    ]
    assert found.pairs[0].other is None
    assert (found.came, found.went, found.kept) == (1, 1, 1)


def test_a_question_and_its_address_are_one_thing() -> None:
    request = context_pb2.BuildContextRequest(
        channel="群 1", trigger_message_id="a&b=c", profile="classic", self_ids=["x,y", "z"]
    )
    request.asker.id = "u1"
    request.overrides.weights.reply_chain = 0.5
    request.overrides.sources.extend(["recent", "chain"])
    request.layout = context_pb2.LAYOUT_SINGLE_USER
    request.include_system = True
    assert question_of(pairs_of(request)) == request


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("overrides", "1"),
        ("system.parameters", "1"),
        ("asker.id.x", "1"),
        ("explain", "true"),
        ("token_budget", "-1"),
        ("asked_at_ms", "1.5"),
        ("include_names", "maybe"),
        ("payload_formats", "none,other"),
        ("", "1"),
    ],
)
def test_what_is_no_field_of_a_question_is_named(name: str, value: str) -> None:
    with pytest.raises(BadField) as bad:
        question_of([(name, value)])
    assert bad.value.name == name


def test_the_other_side_has_its_own_in_the_place_of_the_first_s() -> None:
    one, other = both_of(
        [("profile", "a"), ("b.profile", "b"), ("b.question", " "), ("channel", "c")]
    )
    assert changed(one, other) == [("channel", "c"), ("profile", "b")]


def stored(id: str, reply_to: str = "", sequence: int = 1) -> history_pb2.StoredMessage:
    message = history_pb2.StoredMessage(sequence=sequence, rank_time_ms=1)
    message.message.id = id
    if reply_to:
        message.reply.message_id = reply_to
    return message


def test_lanes_lead_from_a_message_to_its_last_answer() -> None:
    lines = timeline([stored("a"), stored("b", "a"), stored("c"), stored("d", "a"), stored("e")])
    assert [[spot.does for spot in line.lanes] for line in lines] == [
        ["start"], ["fork"], ["pass"], ["end"], [""]
    ]  # fmt: skip
    assert lines[3].answers.message_id == "a"


@given(st.lists(st.integers(0, 30), max_size=40))
def test_lanes_are_few_and_each_leads_somewhere(parents: list[int]) -> None:
    lines = timeline([stored(f"m{at}", f"m{parent}") for at, parent in enumerate(parents)])
    for lane in zip(*(line.lanes for line in lines), strict=True):
        does = [spot.does for spot in lane if spot.does not in {"pass", "fork"}]
        assert [one for one in does if one] == ["start", "end"] * (
            len([one for one in does if one]) // 2
        )
    assert all(len(line.lanes) <= MOST_LANES for line in lines)


@given(st.lists(st.integers(0, 30), max_size=40))
def test_a_tree_holds_each_message_at_most_once(parents: list[int]) -> None:
    messages = [stored(f"m{at}", f"m{parent}") for at, parent in enumerate(parents)]
    ids = [branch.line.said.message_id for branch in tree(messages)]
    assert len(ids) == len(set(ids))


def test_what_is_not_seen_is_shown_by_its_number() -> None:
    text = str(shown('a\u202eb<b>"\u0000\n'))
    assert text == (
        'a<span class="unseen">U+202E</span>b&lt;b&gt;&#34;<span class="unseen">U+0000</span>\n'
    )
    smuggled = "".join(chr(0xE0000 + ord(c)) for c in "obey")
    assert str(shown(smuggled)).count("unseen") == 4
    assert str(shown("a\ufe00\U000e0101\ufe01b")).count("unseen") == 2
    for plain in ("❤️ 👩‍👩‍👧 🏳️‍🌈", "می‌خواهم", "क्‍ष", "葛󠄀城", "tab\tline\n"):
        assert str(shown(plain)) == plain


def test_a_message_of_parts_is_one_text() -> None:
    message = message_pb2.Message(id="m")
    message.parts.add().text.text = "see"
    message.parts.add().media.kind = "image"
    message.parts[1].media.alt_text = "a cat"
    message.parts.add().tool_call.name = "look"
    message.parts.add().tool_result.text = "found"
    text = "see [image: a cat] [call look()] [result of : found]"
    assert said(message).text == text
    assert said(message, 3) == Said("m", "", "", "see", 0, len(text) - 3)


def test_a_command_survives_a_shell() -> None:
    request = history_pb2.GetChannelRequest(channel="it's $(rm) \u202e")
    command = commands.commands_of(
        Made("HistoryService/GetChannel", request), "unix:/tmp/a b", has_tls=False, has_token=True
    )
    assert "\u202e" not in command.backscroll
    assert command.backscroll.startswith("backscroll call GetChannel ")
    assert command.backscroll.endswith("--server 'unix:/tmp/a b'")
    assert '-H "authorization: Bearer $BACKSCROLL_TOKEN" -unix' in command.grpcurl


HOSTILE = "it's $(touch owned) `touch owned` !! \n;touch owned\r\n' \\' \" \x07\x7f \u202e \U000e0041 \U0001f431"


@pytest.mark.parametrize("which", ["backscroll", "grpcurl"])
def test_a_pasted_command_runs_nothing_of_the_chat_s(tmp_path: Path, which: str) -> None:
    request = history_pb2.GetChannelRequest(channel=HOSTILE)
    made = commands.commands_of(
        Made("HistoryService/GetChannel", request), "127.0.0.1:1", has_tls=False, has_token=False
    )
    command: str = getattr(made, which)
    assert "\n" not in command
    assert not re.search("[\x00-\x1f\x7f\u202e\U000e0041]", command)
    script = f"{which}() {{ printf '%s\\0' \"$@\"; }}\n{command}\n"
    said = subprocess.run(
        ["bash", "-i"], input=script, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    body = next(word for word in said.stdout.split("\0") if word.startswith("{"))
    assert json.loads(body) == {"channel": HOSTILE}
    assert not list(tmp_path.iterdir())


def test_a_part_of_the_tokens_has_one_colour_whatever_else_there_is():
    full = explained.tokens_of(context_pb2.TokenCounts(recent=5, question=3, framing=1, budget=9))
    bare = explained.tokens_of(context_pb2.TokenCounts(question=3, framing=1, budget=9))
    tones = [
        {bar.name: bar.tone for bar in charts.stacked(one.parts, one.budget)}
        for one in (full, bare)
    ]
    assert tones[0] == tones[1] | {"recent": tones[0]["recent"]}
    assert len(set(tones[0].values())) == len(tones[0])


def test_bars_stand_on_both_sides_of_the_middle() -> None:
    bars = charts.terms(["a", "b", "c"], [1.0, -0.5, 0.0], 1.0)
    assert [(bar.name, bar.x, bar.width) for bar in bars] == [("a", 80.0, 80.0), ("b", 40.0, 40.0)]
    assert charts.terms([], [], 0.0) == ()


def test_a_curve_has_gaps_where_nothing_is_known() -> None:
    [curve], top = charts.curves([("a", [1.0, None, 2.0, 4.0])])
    assert top == 4.0
    assert len(curve.paths) == 1
    assert len(curve.dots) == 1


def test_numbers_are_short() -> None:
    assert [score(one) for one in (0.0, 0.004, 0.25, 1.5)] == ["0", ".004", ".25", "1.50"]
    assert [signed(one) for one in (0.25, -0.25, -0.00001)] == ["+.25", "−.25", "0"]
    assert [age(0, 5), age(1_000, 91_000), age(91_000, 1_000)] == ["", "1m", "+1m"]
    assert moment(0) == ""
    assert moment(2**62) == str(2**62)


def test_health_looks_where_shares_are_high() -> None:
    minutes = []
    for began_ms in (0, 60_000):
        minute = admin_pb2.MetricMinute(began_at_ms=began_ms)
        for rung, value in (("ranked", 80), ("recent", 20)):
            sample = minute.samples.add(name="backscroll_context_builds_total", value=value)
            sample.labels["rung"] = rung
        minutes.append(minute)
    checks = {
        one.key: one
        for one in numbers_of_server.checks(admin_pb2.GetMetricsResponse(minutes=minutes))
    }
    assert not checks["fallbacks"].is_well
    assert checks["fallbacks"].value == "20.0%"
    assert checks["errors"].is_well


def test_a_report_is_drawn_on_one_scale() -> None:
    answer = experiment_pb2.GetExperimentReportResponse()
    for name, mean in (("now", 100.0), ("new", 50.0)):
        arm = answer.arms.add(arm=name, builds=3)
        arm.tokens.mean, arm.tokens.upper, arm.tokens.lower = mean, mean * 1.2, mean * 0.8
    report = experiments.report(answer)
    assert report.names == ["tokens"]
    assert [arm.measures[0].drawn.mean for arm in report.arms] == [100.0, 50.0]


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({"host": "a:1", "origin": "http://a:1"}, True),
        ({"host": "a:1", "origin": "http://a:2"}, False),
        ({"host": "a:1", "origin": "null"}, False),
        ({"host": "", "origin": "null"}, False),
        ({"host": "a:1", "sec-fetch-site": "same-origin"}, True),
        ({"host": "a:1", "sec-fetch-site": "same-site"}, False),
        ({"host": "a:1"}, False),
        ({"host": "a:1", "origin": "https://a:1"}, True),
        ({"host": "a:1", "origin": "http://A:1"}, True),
        ({"host": "a:1", "origin": "file://a:1"}, False),
        ({"host": "a:1", "origin": "//a:1"}, False),
        ({"host": "a:1", "origin": "http://x@a:1"}, False),
        ({"host": "a:1", "origin": "http://["}, False),
        ({"host": "a:1", "origin": ""}, False),
    ],
)
def test_a_form_is_taken_of_pages_of_ours(headers: dict[str, str], is_own: bool) -> None:
    assert security.is_own_post(headers) is is_own


@pytest.mark.parametrize(
    ("scheme", "headers", "is_secure"),
    [
        ("https", {}, True),
        ("http", {"origin": "https://a"}, True),
        ("http", {"origin": "http://a"}, False),
        ("http", {}, False),
    ],
)
def test_a_cookie_stays_with_tls_behind_a_proxy_too(
    scheme: str, headers: dict[str, str], is_secure: bool
) -> None:
    assert security.is_secure(headers, scheme) is is_secure


async def test_pages_are_made_one_at_a_time_beside_the_event_loop() -> None:
    beside, here = Beside(), threading.get_ident()
    running, most = 0, 0

    def work(at: int) -> tuple[int, bool]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        sum(range(20_000))
        running -= 1
        return at, threading.get_ident() == here

    made = await asyncio.gather(*(beside.run(work, at) for at in range(30)))
    assert made == [(at, False) for at in range(30)]
    assert most == 1
