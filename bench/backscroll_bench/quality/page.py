"""A run as a page that anybody can repeat: every set with its licence, sizes and cut-off rule, every selector's recall.

`published` makes plain data of a run, to be kept as JSON; `page` makes the page of that data, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backscroll_bench.quality.metrics import TOKEN_CUTS
from backscroll_bench.quality.summary import Figure, Report
from backscroll_bench.quality.tables import short

PUBLISHED_PROFILES = ("balanced", "hybrid", "chain_recent", "classic")
SELECTORS: Mapping[str, str] = {
    "recency": "the newest messages, as many as fit",
    "bm25": "the whole history by BM25, over words, and characters and pairs of Chinese",
    "chain": "what the question replies to, what that replies to, and so on; nothing where no link is known",
    "balanced": "Backscroll's default",
    "hybrid": "Backscroll: the rankings of several sources fused",
    "chain_recent": "Backscroll: the reply chain, then the newest 10",
    "classic": "Backscroll: a weighted sum of reply chain, continuity, time, mentions and words, from a threshold on",
}
"""What stands in the first column, in words; other profiles stand without."""
CUT_OFF = {
    "reply": "A question is a message of the chat, asked at its place. The server has heard the messages before it and "
    "none behind. Gold turns are the messages that it answers, marked by people.",
    "memory": "A question is asked after the channel's last message. Gold turns are the messages that hold the "
    "evidence.",
}
HEAD = """\
How many of the messages that matter are found, on public chats with answers that people marked.

**Recall of gold turns within N tokens**: a selector gives a ranked list of at most 50 messages. One goes through it
from the best and takes what still fits into N tokens. The figure is the share of the gold turns that were taken, on
average over the questions. In parentheses: 95 % intervals. Tokens are o200k_base of `name: text`, and 4 a message.

What a message of a talk answers mostly stands among the lines just before it, so the newest messages find it, too, at
these budgets. What was said long ago they do not find.

A selector that names a message of later ends the run: nothing that was said behind a question can be found for it.

A **development** set was looked at while weights and thresholds were chosen, so its figures flatter the profiles. A
**held-out** set was not. A chat of your own says most: [how to](../guide/quality.md#your-own-chat).

*Reply links given*: the selectors also know what a reply button would have told. Without that they know names, texts
and times alone."""
Published = Mapping[str, Any]


def published(
    reports: Sequence[Report], command: str, machine: Mapping[str, Any]
) -> dict[str, Any]:
    """A run as plain data: JSON holds it without loss."""
    sets = [report.as_json() for report in reports]
    return {"command": command, "machine": dict(machine), "sets": sets}


def page(found: Published) -> str:
    """The page of a run, as Markdown."""
    sets = found["sets"]
    parts = [
        "# How much is found",
        f"<!-- Made by `{found['command']}`: run that, do not edit. -->",
        HEAD,
        "## Within 1,024 tokens",
        _overview(sets),
        "\n".join(
            f"- `{name}`: {words}." for name, words in SELECTORS.items() if _judged(sets, name)
        ),
        *(part for one in sets for part in _set(one)),
        "## How it was measured",
        _measured(found),
    ]
    return "\n\n".join(parts) + "\n"


def _overview(sets: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(each["selector"] for one in sets for each in one["results"]))
    rows = [[f"`{name}`", *(_value(one, name, _measure(1024)) for one in sets)] for name in names]
    return _table([["selector", *map(_title, sets)], *rows])


def _set(one: Mapping[str, Any]) -> list[str]:
    about = one["about"]
    facts = [
        ["what", about["what"]],
        ["origin", about["origin"]],
        ["licence", about["licence"]],
        ["role", " ".join(filter(None, (f"{about['role']}.", about["note"])))],
        [
            "size",
            f"{one['questions']:,} questions, {one['messages']:,} messages, {_channels(one['groups'])}",
        ],
        ["cut-off", CUT_OFF[one["task"]]],
    ]
    rows = [
        [_name(each), *(_cell(each, _measure(limit)) for limit in TOKEN_CUTS)]
        for each in one["results"]
    ]
    head = ["selector", *(f"in {limit:,} tokens" for limit in TOKEN_CUTS)]
    return [f"## {_title(one)}", _table([["", ""], *facts]), _table([head, *rows])]


def _measured(found: Published) -> str:
    machine = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"On {machine['measured_on']}, {machine['cpu']}, {machine['cores']} cores, {machine['system']}: {versions}.\n\n"
        f"```console\n$ {found['command']}\n```\n\n"
        "The command starts a server of its own, lets it hear the chats line by line, and asks. It needs no key and no "
        "network. All of a run's figures, these and others, stand beside this page as JSON."
    )


def _title(one: Mapping[str, Any]) -> str:
    return f"{one['data']} ({one['note']})" if one["note"] else one["data"]


def _name(result: Mapping[str, Any]) -> str:
    lacked = f" without {', '.join(result['without'])}" if result["without"] else ""
    return f"`{result['selector']}`{lacked}"


def _channels(count: int) -> str:
    return f"{count} channel{'s' if count != 1 else ''}"


def _measure(limit: int) -> str:
    return f"recall@{limit}tok"


def _judged(sets: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(each["selector"] == name for one in sets for each in one["results"])


def _value(one: Mapping[str, Any], name: str, measure: str) -> str:
    for each in one["results"]:
        if each["selector"] == name:
            return short(each["figures"][measure]["value"])
    return "–"


def _cell(result: Mapping[str, Any], measure: str) -> str:
    figure = Figure(**result["figures"][measure])
    return f"{short(figure.value)} ({short(figure.low)}–{short(figure.high)})"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
