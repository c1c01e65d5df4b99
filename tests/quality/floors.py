"""The figures of the fixed slice, and the floors that they may not fall below."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from backscroll_bench.quality.summary import Report

FLOORS = Path(__file__).parent / "floors.json"
MARGIN = 0.01
WATCHED = {
    "reply": ("hit@1", "hit@5", "hit@10", "conv_recall_cap@20"),
    "memory": ("recall@10", "recall@1024tok"),
}
Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Set, selector, measure."""


def figures(reports: Sequence[Report]) -> Figures:
    """The watched measures of every selector on every set."""
    return {
        report.data: {
            result.selector: {name: result.figures[name].value for name in WATCHED[report.task]}
            for result in report.results
        }
        for report in reports
    }


def below(floors: Figures, measured: Figures) -> list[str]:
    """What has fallen below its floor, or is not measured any more, in words."""
    lost = []
    for data, selectors in floors.items():
        for selector, names in selectors.items():
            for name, floor in names.items():
                value = measured.get(data, {}).get(selector, {}).get(name)
                if value is None or value < floor:
                    lost.append(f"{data} {selector} {name}: {value} is below {floor}")
    return lost


def written(measured: Figures) -> str:
    """The floors as the file holds them: what is measured, less the margin, to the third digit."""
    floors = {
        data: {
            selector: {name: round(max(0.0, value - MARGIN), 3) for name, value in names.items()}
            for selector, names in selectors.items()
        }
        for data, selectors in measured.items()
    }
    return json.dumps(floors, indent=2) + "\n"
