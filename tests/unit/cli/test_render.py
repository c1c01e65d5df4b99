"""The score table, from a response made by hand."""

import io

import pytest
from rich.console import Console

from backscroll.v1 import context_pb2, message_pb2
from backscroll_sidecar.cli.render import (
    Spoken,
    age,
    as_dict,
    score_table,
    summary_line,
    unknown_ids,
)

NOW = 1_700_000_000_000


def response(
    *fates: str, factors=("reply_chain", "time_decay")
) -> context_pb2.BuildContextResponse:
    built = context_pb2.BuildContextResponse(
        asked_at_ms=NOW, profile="balanced", rung=context_pb2.RUNG_RANKED
    )
    built.explanation.factors.extend(factors)
    for number, fate in enumerate(fates):
        taken = fate == "SELECTED"
        built.explanation.candidates.add(
            message_id=f"m{number}", shares=[0.1] * len(factors), score=number / 10, rank=number if taken else 0,
            fate=getattr(context_pb2, f"FATE_{fate}"), decided_by="floor", sources=[context_pb2.SOURCE_RECENT],
        )  # fmt: skip
        if taken:
            author = message_pb2.Author(id="u", name="Ann [bold]")
            message = message_pb2.Message(id=f"m{number}", author=author, sent_at_ms=NOW - 90_000)
            message.parts.add().text.text = f"taken\n{number}"
            built.items.add(message=message)
    return built


def printed(renderable, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue()


def test_every_fate_has_its_row_in_time_order():
    """P-01: what was taken, what was not, and why."""
    built = response("SELECTED", "THRESHOLD", "SELECTED", "BUDGET")
    said = {"m1": Spoken("Ben", "too weak", NOW - 5_000)}
    rows = [line for line in printed(score_table(built, said)).splitlines() if "recent" in line]
    assert [row.split()[-1] for row in rows] == ["floor", "threshold", "floor", "budget"]
    assert "taken 0" in rows[0]
    assert "Ann [bold]" in rows[0]
    assert "1m" in rows[0]
    assert "too weak" in rows[1]
    assert "m3" in rows[3]
    assert unknown_ids(built) == ["m1", "m3"]


def test_each_score_says_of_what_it_is():
    """Law 7: two kinds of probability stand in one column."""
    built = response("SELECTED", "SELECTED", "LIMIT")
    for one, kind in zip(
        built.explanation.candidates, ("link", "link", "conversation"), strict=True
    ):
        one.scored_by = kind
    built.explanation.candidates[0].decided_by = "link"
    built.explanation.candidates[1].decided_by = "chain"
    rows = [
        line.split() for line in printed(score_table(built, {})).splitlines() if "recent" in line
    ]
    assert [(row[-4], row[-3], row[-1]) for row in rows] == [
        ("0.00", "link", "taken"),
        ("0.10", "link", "chain"),
        ("0.20", "conversation", "limit"),
    ]


@pytest.mark.parametrize(
    ("score", "shown"), [(0.0, "0.00"), (0.0044, "0.004"), (-0.0044, "-0.004"), (0.005, "0.01"), (0.31, "0.31")]
)  # fmt: skip
def test_a_small_score_is_not_nought(score, shown):
    built = response("SELECTED")
    built.explanation.candidates[0].score = score
    (row,) = [one for one in printed(score_table(built, {})).splitlines() if "recent" in one]
    assert shown in row.split()


@pytest.mark.parametrize(("width", "told"), [(160, {"by", "reply"}), (100, {"by"}), (80, set())])
def test_a_narrow_table_leaves_out_scores_before_words(width, told):
    """What was said can be read at 80 columns, and what is not told is named."""
    built = response("SELECTED", factors=["reply_chain", *(f"other{n}_x" for n in range(20))])
    built.explanation.candidates[0].shares[0] = 1.0
    built.items[0].message.parts[0].text.text = "thirty characters can be read."
    shown = printed(score_table(built, {}, width=width), width)
    assert "thirty characters can be read." in shown
    assert {one for one in ("by", "reply") if one in shown.splitlines()[1]} == told
    assert ("wider terminal" in shown) == (width < 160)


def test_only_the_best_of_the_others_are_shown_and_the_marked_always():
    built = response("SELECTED", *["LIMIT"] * 20)
    shown = printed(score_table(built, {}, others=2, marked={"m1"}))
    assert [name for name in ("m1 ", "m2 ", "m19 ", "m20 ") if name in shown] == [
        "m1 ",
        "m19 ",
        "m20 ",
    ]
    assert "★–" in shown
    assert "and 17 more" in shown


def test_of_many_factors_the_strongest_are_shown_and_the_rest_as_a_sum():
    built = response("SELECTED", factors=[f"factor{number}_x" for number in range(27)])
    built.explanation.candidates[0].shares[20] = 0.5
    shown = printed(score_table(built, {}))
    assert "factor20" in shown
    assert "rest" in shown
    assert shown.count("factor") == 4
    assert "2.30" in shown


def test_a_response_without_an_explanation_says_so():
    assert "no explanation" in printed(score_table(context_pb2.BuildContextResponse(), {}))


def test_what_failed_stands_in_the_summary():
    built = response("SELECTED")
    built.rung = context_pb2.RUNG_RECENT
    built.degradations.add(stage="gather", source="semantic", reason="TIMEOUT")
    line = printed(summary_line(built))
    assert "fell back to: recent" in line
    assert "gather semantic TIMEOUT" in line
    built.degradations[0].reason = "NOT_CONFIGURED"
    assert "no embedder: nothing found by meaning" in summary_line(built)


def test_as_json_a_payload_is_the_json_it_is():
    built = response()
    built.payloads.add(
        format=context_pb2.PAYLOAD_FORMAT_OPENAI_CHAT, body='{"model":"喵"}'.encode()
    )
    assert as_dict(built)["payloads"][0]["body"] == {"model": "喵"}


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [(0, "0s"), (59, "59s"), (60, "1m"), (7_200, "2h"), (90_000, "1d"), (3e8, "9y"), (-61, "+1m")],
)
def test_age(seconds, wanted):
    assert age(NOW - round(seconds * 1000), NOW) == wanted


def test_a_message_without_a_time_has_no_age():
    assert age(0, NOW) == ""
