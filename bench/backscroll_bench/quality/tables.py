"""Reports as tables: Markdown, and for a terminal."""

from __future__ import annotations

from rich.table import Table

from backscroll_bench.quality.metrics import COLUMNS
from backscroll_bench.quality.summary import Figure, Report, Result

HEADINGS = {
    "conv_recall_cap@20": "conv recall@20",
    "conv_prec@20": "conv precision@20",
    "history_share": "from history",
    "recall@512tok": "in 512 tokens",
    "recall@1024tok": "in 1,024",
    "recall@2048tok": "in 2,048",
}
MATCH = "tokens to match recency@50"
NEVER = "not in 50"


def title(report: Report) -> str:
    """What a table is about, in one line."""
    changed = f" ({report.note})" if report.note else ""
    return (
        f"{report.data}{changed}: {report.questions:,} questions, {report.messages:,} messages, "
        f"{report.groups} {'channels' if report.groups != 1 else 'channel'}"
    )


def markdown(report: Report) -> str:
    """A heading and a table, each figure with its interval behind it."""
    columns = COLUMNS[report.task]
    head = ["selector", *(HEADINGS.get(name, name) for name in columns), MATCH]
    rows = [
        [_name(one), *(_cell(one.figures.get(name), " ") for name in columns), _match(one)]
        for one in report.results
    ]
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"**{title(report)}**\n\n{table}\n"


def terminal(report: Report) -> Table:
    """The same for a terminal, each interval below its figure."""
    columns = COLUMNS[report.task]
    table = Table(title=title(report), title_justify="left", show_edge=False)
    table.add_column("selector")
    for name in columns:
        table.add_column(HEADINGS.get(name, name), justify="right")
    table.add_column(MATCH, justify="right")
    for one in report.results:
        cells = (_cell(one.figures.get(name), "\n") for name in columns)
        table.add_row(_name(one, ""), *cells, _match(one))
    return table


def _name(result: Result, quote: str = "`") -> str:
    lacked = f" without {', '.join(result.without)}" if result.without else ""
    return f"{quote}{result.selector}{quote}{lacked}"


def _cell(figure: Figure | None, between: str) -> str:
    if figure is None:
        return "–"
    return f"{short(figure.value)}{between}({short(figure.low)}–{short(figure.high)})"


def short(value: float) -> str:
    """A share to the third digit, without the leading zero: .659, 1.000."""
    return f"{value:.3f}".removeprefix("0")


def _match(result: Result) -> str:
    if result.match_share is None:
        return NEVER
    return f"{result.match_share:.2f} ({result.match_messages})"
