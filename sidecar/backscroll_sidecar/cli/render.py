"""A built context as a table for a terminal: what was taken, what was not, and why. Prints nothing itself."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from backscroll.v1 import context_pb2, message_pb2

SHOWN_FACTORS = 4
SHOWN_OTHERS = 8
TEXT_CHARS = 300
WIDE = 160
MESSAGE_WIDTH = 30
SHARES_WIDTH, SHARE_WIDTH = 98, 8
"""What a table takes without the shares of the score; what each of these adds."""
SOURCES: Mapping[int, str] = {
    number: name.removeprefix("SOURCE_").lower() for name, number in context_pb2.Source.items()
}
FATES: Mapping[int, str] = {
    number: name.removeprefix("FATE_").lower() for name, number in context_pb2.Fate.items()
}
DEGRADED: Mapping[tuple[str, str, str], str] = {
    ("question", "", "TRIGGER_NOT_FOUND"): "no message has the id of the trigger: not used",
    ("question", "", "REPLY_NOT_FOUND"): "no message has the id that is replied to: not used",
    ("gather", "semantic", "NOT_CONFIGURED"): "no embedder: nothing found by meaning",
}
LEGEND = (
    "# is the place in the ranking, – was not taken; by: what the score is of, link (the question answers this "
    "message), conversation (it belongs to the same one) or memory (it answers the question from long ago); "
    "found by: what proposed it; why: what kept it or left it out"
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """Who said what, for a row of the table."""

    who: str
    text: str
    sent_at_ms: int


def spoken(message: message_pb2.Message) -> Spoken:
    """The one line of a message that fits a table."""
    pieces = [
        part.text.text if part.HasField("text") else f"[{part.WhichOneof('content') or 'empty'}]"
        for part in message.parts
    ]
    text = " ".join(" ".join(pieces).split())
    return Spoken(message.author.name or message.author.id, text[:TEXT_CHARS], message.sent_at_ms)


def age(then_ms: int, now_ms: int) -> str:
    """How long ago, in at most four characters, or with a plus for the future; nothing where no time was sent."""
    if then_ms <= 0:
        return ""
    seconds = (now_ms - then_ms) / 1000
    sign = "+" if seconds < 0 else ""
    seconds = abs(seconds)
    for unit, length in (("y", 31_557_600), ("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{sign}{int(seconds // length)}{unit}"
    return f"{sign}{int(seconds)}s"


def score_table(
    response: context_pb2.BuildContextResponse,
    said: Mapping[str, Spoken],
    *,
    marked: Collection[str] = (),
    others: int = SHOWN_OTHERS,
    width: int = WIDE,
) -> RenderableType:
    """The candidates in time order: all that were taken and the best `others` that were not.

    `said` holds the text of messages that are no items; `marked` ids get a star. Where the table is narrow, less is
    told of the scores, so that what was said can be read.
    """
    if not response.HasField("explanation"):
        return Text("The server gave no explanation.")
    explanation = response.explanation
    texts = {**said, **{item.message.id: spoken(item.message) for item in response.items}}
    shown, hidden = _shown(explanation.candidates, others, marked)
    columns = _columns(explanation, shown)
    left_out = []
    if width < SHARES_WIDTH + SHARE_WIDTH * len(columns):
        columns, left_out = [], ["shares"]
    tells_how = width >= SHARES_WIDTH
    if not tells_how:
        left_out += ["by", "found by"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("ago", justify="right", no_wrap=True)
    table.add_column("who", no_wrap=True, overflow="ellipsis", max_width=13)
    table.add_column("message", no_wrap=True, overflow="ellipsis", ratio=1, min_width=MESSAGE_WIDTH)
    for _, name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    if tells_how:
        table.add_column("by", no_wrap=True)
        table.add_column("found by", no_wrap=True, overflow="ellipsis", max_width=14)
    table.add_column("why", no_wrap=True)
    for candidate in shown:
        is_marked = candidate.message_id in marked
        cells = _cells(candidate, texts, columns, response.asked_at_ms, is_marked, tells_how)
        style = "" if candidate.fate == context_pb2.FATE_SELECTED else "dim"
        table.add_row(*cells, style=style)
    lines: list[RenderableType] = [table]
    if left_out:
        words = f"{', '.join(left_out)}: in a wider terminal, or with --json"
        lines.append(Text(words, style="dim"))
    if hidden:
        lines.append(Text(f"and {hidden} more that were not taken", style="dim"))
    return Group(*lines)


def summary_line(response: context_pb2.BuildContextResponse) -> str:
    """One line, with markup, about the whole build."""
    tokens, rung = (
        response.tokens,
        context_pb2.Rung.Name(response.rung).removeprefix("RUNG_").lower(),
    )
    count = response.diagnostics.candidate_count
    stages = sum(response.diagnostics.stage_microseconds.values())
    pieces = [
        f"profile [bold]{escape(response.profile)}[/]",
        f"{len(response.items)} of {count} messages",
        f"{tokens.total:,} of {tokens.budget:,} tokens",
    ]
    if stages:
        pieces.append(f"{stages / 1000:.1f} ms")
    if rung != "ranked":
        pieces.append(f"[yellow]fell back to: {rung}[/]")
    for lost in response.degradations:
        pieces += [f"[yellow]degraded: {escape(_words(lost))}[/]"]
    return " · ".join(pieces)


def as_dict(response: context_pb2.BuildContextResponse) -> dict[str, Any]:
    """The response as JSON, each payload as the JSON it is."""
    value = json_format.MessageToDict(response, preserving_proto_field_name=True)
    for payload, body in zip(value.get("payloads", ()), response.payloads, strict=True):
        payload["body"] = json.loads(body.body)
    return value


def unknown_ids(response: context_pb2.BuildContextResponse) -> list[str]:
    """Candidates whose text the response does not hold."""
    held = {item.message.id for item in response.items}
    return [one.message_id for one in response.explanation.candidates if one.message_id not in held]


def _words(lost: context_pb2.Degradation) -> str:
    """What failed, in words where we have some."""
    known = DEGRADED.get((lost.stage, lost.source, lost.reason))
    return known or " ".join(filter(None, (lost.stage, lost.source, lost.reason)))


def _shown(
    candidates: Sequence[context_pb2.CandidateExplanation], others: int, marked: Collection[str]
) -> tuple[list[context_pb2.CandidateExplanation], int]:
    """Those to show, in the order given, and how many are left out."""
    lost = [one for one in candidates if one.fate != context_pb2.FATE_SELECTED]
    best = sorted(range(len(lost)), key=lambda at: (-lost[at].score, -at))[:others]
    kept = {*marked, *(lost[at].message_id for at in best)}
    shown = [
        one for one in candidates if one.fate == context_pb2.FATE_SELECTED or one.message_id in kept
    ]
    return shown, len(candidates) - len(shown)


def _columns(
    explanation: context_pb2.Explanation, shown: Sequence[context_pb2.CandidateExplanation]
) -> list[tuple[int, str]]:
    """The factors that moved most, by index and heading; -1 stands for the sum of the rest."""
    totals = [
        sum(abs(one.shares[at]) for one in shown if at < len(one.shares))
        for at in range(len(explanation.factors))
    ]
    if len(totals) <= SHOWN_FACTORS + 1:  # a sum of one would save nothing
        chosen = list(range(len(totals)))
    else:
        chosen = sorted(sorted(range(len(totals)), key=lambda at: -totals[at])[:SHOWN_FACTORS])
    short = [explanation.factors[at].partition("_")[0] for at in chosen]
    names = short if len(set(short)) == len(short) else [explanation.factors[at] for at in chosen]
    columns = list(zip(chosen, names, strict=True))
    return [*columns, (-1, "rest")] if len(totals) > len(chosen) else columns


def _cells(
    candidate: context_pb2.CandidateExplanation,
    texts: Mapping[str, Spoken],
    columns: Sequence[tuple[int, str]],
    now_ms: int,
    marked: bool,
    tells_how: bool,
) -> list[str | Text]:
    """A row of the table."""
    line = texts.get(candidate.message_id, Spoken("", candidate.message_id, now_ms))
    taken = candidate.fate == context_pb2.FATE_SELECTED
    named = {at for at, _ in columns}
    rest = sum(share for at, share in enumerate(candidate.shares) if at not in named)
    shares = [rest if at < 0 else _at(candidate.shares, at) for at, _ in columns]
    sources = [
        SOURCES.get(one, str(one)) for one in candidate.sources if one != context_pb2.SOURCE_OWN
    ]
    found_by = " ".join([*sources, *candidate.own_sources])
    return [
        f"{'★' if marked else ''}{candidate.rank if taken else '–'}",
        age(line.sent_at_ms, now_ms),
        Text(line.who),
        Text(line.text),
        *(_number(share).replace("0.", ".", 1) if share else "·" for share in shares),
        _number(candidate.score),
        *((candidate.scored_by, found_by) if tells_how else ()),
        _kept(candidate) if taken else FATES.get(candidate.fate, ""),
    ]


def _number(score: float) -> str:
    """Two digits behind the point; one that counts where those are noughts, as .004."""
    return f"{score:.2f}" if not score or abs(score) >= 0.005 else f"{score:.1g}"


def _kept(candidate: context_pb2.CandidateExplanation) -> str:
    """What kept it, if that was not its score alone."""
    return "taken" if candidate.decided_by == candidate.scored_by else candidate.decided_by


def _at(shares: Sequence[float], at: int) -> float:
    return shares[at] if at < len(shares) else 0.0
