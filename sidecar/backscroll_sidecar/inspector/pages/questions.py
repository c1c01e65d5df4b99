"""Pages of a question: its candidates, one of them, another way to build it, its payload, and it as a test."""

from __future__ import annotations

from typing import Any

from backscroll.v1 import history_pb2
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import cases, compared, explained, payload, what_if
from backscroll_sidecar.inspector.question_fields import BadField, both_of, changed, pairs_of
from backscroll_sidecar.inspector.refusals import refusal_of, told
from backscroll_sidecar.inspector.said import WHOLE_TEXT
from backscroll_sidecar.inspector.shared_calls import (
    built_of,
    explained_with_texts,
    listed,
    texts_of_lines,
    with_moment,
)
from backscroll_sidecar.inspector.visits import Page, Visit


async def question(visit: Visit) -> Page:
    """A question, as it would be built: every candidate and what decided."""
    request, built = await built_of(visit, visit.question_pairs)
    shown = _shown(visit)
    view = {
        "page": await explained_with_texts(visit, request, built, shown),
        "pairs": with_moment(visit.question_pairs, request, built),
        "fate": shown.fate,
    }
    return Page(
        "_rows.html" if visit.is_part else "question.html", view, "question", request.channel
    )


async def line(visit: Visit) -> Page:
    """One candidate of a question: each term of its score, and the reason."""
    request, built = await built_of(visit, visit.question_pairs)
    wanted = (visit.field("of"), visit.field("line"))
    texts = await texts_of_lines(visit, request.channel, [wanted], WHOLE_TEXT)
    shown = explained.Shown(keys={wanted})
    page = await visit.beside.run(explained.explained, request, built, texts, shown)
    lines = explained.lines_of(page.rows)
    chosen = next((o for o in lines if (o.channel, o.said.message_id) == wanted), None)
    if chosen is None:
        raise Refused(Code.NOT_FOUND, "the build has no such candidate", "MESSAGE_NOT_FOUND")
    view = {
        "page": page,
        "line": chosen,
        "said": texts.get(wanted, chosen.said),
        "pairs": with_moment(visit.question_pairs, request, built),
    }
    return Page("_line.html" if visit.is_part else "line.html", view, "line", request.channel)


async def compare(visit: Visit) -> Page:
    """One question built in two ways."""
    mine, otherwise = both_of(visit.question_pairs)
    request, one = await built_of(visit, mine)
    asked = with_moment(mine, request, one)
    view: dict[str, Any] = {
        "question": explained.question_of(request, one),
        "pairs": asked,
        "otherwise": dict(otherwise),
        "asked_at_ms": one.asked_at_ms,
        "compared": None,
        "is_part": visit.is_part,
    }
    template = "_compared.html" if visit.is_part else "compare.html"
    page = Page(template, view, "compare", request.channel)
    try:
        other_request, other = await built_of(visit, changed(asked, otherwise))
    except BadField as bad:
        page.refused = refusal_of(bad)
    except Refused as refused:
        if refused.code is Code.UNAUTHENTICATED:
            raise
        page.refused = refused
    else:
        view["compared"] = await visit.beside.run(compared.compared, one, other)
        view["other_pairs"] = pairs_of(other_request)
        view["notes"] = what_if.notes(dict(otherwise), one, other)
    view["error"] = told(page.refused) if page.refused else None
    return page


async def payload_sent(visit: Visit) -> Page:
    """What the model is sent, byte for byte."""
    request, built = await built_of(visit, visit.question_pairs, explain=False)
    page = payload.payload_page(built)
    file = None
    if visit.field("part") == "body" and page.payload:
        file = ("application/json", "payload.json", page.payload.body.encode())
    view = {
        "page": page,
        "tokens": explained.tokens_of(built.tokens),
        "pairs": with_moment(visit.question_pairs, request, built),
        "formats": payload.FORMATS,
    }
    return Page("payload.html", view, "payload", request.channel, file)


async def test_case(visit: Visit) -> Page:
    """The question with its chat as a test."""
    request, built = await built_of(visit, visit.question_pairs)
    listing = history_pb2.ListMessagesRequest(
        channel=request.channel,
        limit=cases.MOST_MESSAGES,
        newest_first=True,
        until_ms=built.asked_at_ms + 1,
    )
    found = await listed(visit, listing, cases.MOST_MESSAGES)
    case = await visit.beside.run(cases.case_of, request, built, found[::-1])
    files = {
        "json": ("application/json", "case.json", case.case_json.encode()),
        "test": ("text/x-python", "test_case.py", case.test.encode()),
    }
    view = {"case": case, "pairs": with_moment(visit.question_pairs, request, built)}
    return Page("case.html", view, "case", request.channel, files.get(visit.field("part")))


def _shown(visit: Visit) -> explained.Shown:
    start, end = visit.field("from"), visit.field("to")
    are_numbers = all(one.isascii() and one.isdigit() and len(one) < 10 for one in (start, end))
    unfolded = (int(start), int(end)) if are_numbers else None
    return explained.Shown(visit.field("fate"), unfolded)
